"""What is known of a user, and whether something can be found, on the operator's page: as the API says it."""

from typing import Any

from playwright.async_api import Browser, Locator, Page, expect

from tests.conftest import Service, StartService
from tests.console.conftest import page_of, reading_key
from tests.journeys.looks import WAIT_MS

FACTS = "/resources/ines/facts"
KEY = "a-key-of-sixteen-or-more"


async def said(service: Service, key: str, *texts: str) -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    answer = await service.client.post(f"/sessions/{key}/messages", json={"messages": messages, "resource_id": "ines"})
    assert answer.status_code == 201, answer.text


async def two_sessions(service: Service) -> None:
    await said(service, "chat-7", "I moved to Lisbon.", "The bell is broken.", "Velopost takes 3.20 per parcel.")
    await said(service, "mail-2", "Good morning.", "Velopost wants 4.10 per parcel from January.")


async def note(service: Service, text: str, **fields: Any) -> dict[str, Any]:
    answer = await service.client.post(FACTS, json={"text": text, "category": "profile"} | fields)
    assert answer.status_code == 201, answer.text
    fact: dict[str, Any] = answer.json()
    return fact


async def known(service: Service, **parameters: Any) -> list[dict[str, Any]]:
    facts: list[dict[str, Any]] = (await service.get(FACTS, **parameters))["items"]
    return facts


def fact(page: Page, text: str) -> Locator:
    return page.locator(".fact", has_text=text)


async def test_what_was_said_is_found_and_leads_to_its_messages(service: Service, browser: Browser) -> None:
    await two_sessions(service)
    query: dict[str, Any] = {"query": "Velopost parcel", "neighbours": 1}
    here = (await service.client.post("/sessions/chat-7/recall", json=query)).json()["hits"]
    everywhere = (await service.client.post("/resources/ines/recall", json=query)).json()["hits"]
    assert len(everywhere) > len(here)
    async with page_of(browser, f"{service.url}/#/chat-7/recall") as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/recall") else None)
        await page.get_by_label("Query").press_sequentially(query["query"])
        await page.get_by_label("Neighbours").select_option("1")
        assert asked == []
        await page.get_by_label("Query").press("Enter")
        texts = page.locator(".hit pre:not(.beside)")
        await expect(texts).to_have_text([hit["text"] for hit in here])
        await expect(page.locator(".hit").first.locator(".beside")).to_have_text(["#2 user: The bell is broken."])
        await expect(
            page.get_by_role("status").get_by_text(f"{len(here)} hits in chat-7, best first (")
        ).to_be_visible()
        assert asked == [f"{service.url}/sessions/chat-7/recall"]

        await page.get_by_role("combobox", name="In", exact=True).select_option("resource")
        await page.get_by_role("button", name="Search").click()
        await expect(texts).to_have_text([hit["text"] for hit in everywhere])
        await page.locator(".hit", has_text="4.10").get_by_role("link", name="#2").click()
        await expect(page.get_by_role("heading", name="mail-2")).to_be_visible()
        await expect(page.locator("#message-2.marked")).to_be_focused()
        await page.go_back()
        await expect(texts).to_have_text([hit["text"] for hit in everywhere])
        await page.locator(".hit", has_text="3.20").get_by_role("button", name="#3").click()
        await expect(page.locator("#message-3.marked")).to_be_focused()

        await page.get_by_role("link", name="Recall").click()
        await page.get_by_label("Kind").select_option("facts")
        await page.get_by_label("Query").press("Enter")
        await expect(
            page.get_by_role("status").get_by_text("Nothing was found in the sessions of ines")
        ).to_be_visible()
        await note(service, "Velopost counts each parcel twice.")
        await page.get_by_role("button", name="Search").click()
        await expect(texts).to_have_text(["Velopost counts each parcel twice."])


async def test_what_is_written_from_right_to_left_is_held_so(service: Service, browser: Browser) -> None:
    """A Hebrew query stood at the left, its full stop before it."""
    await two_sessions(service)
    async with page_of(browser, f"{service.url}/#/chat-7/recall") as page:
        query = page.get_by_label("Query")
        for text, direction in (("איפה אני גר?", "rtl"), ("Where do I live?", "ltr")):
            await query.fill(text)
            await expect(query).to_have_css("direction", direction)
        await page.get_by_role("link", name="Facts").click()
        await page.get_by_role("button", name="Add").click()
        fact = page.get_by_role("dialog").get_by_label("Fact")
        await fact.fill("أفضل القهوة بدون سكر")
        await expect(fact).to_have_css("direction", "rtl")


async def test_a_search_that_failed_is_asked_again_by_its_button_alone(service: Service, browser: Browser) -> None:
    """It was posted every 5 seconds, each time with a call of the model where recall has vectors."""
    await two_sessions(service)
    context = await browser.new_context()
    page = await context.new_page()
    await page.clock.install()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/recall") else None)
    await page.route("**/recall", lambda route: route.fulfill(status=503, json={"detail": "the database is away"}))
    await page.goto(f"{service.url}/#/chat-7/recall")
    await page.get_by_label("Query").fill("Velopost")
    await page.get_by_role("button", name="Search").click()
    await expect(page.get_by_role("alert").first).to_have_text("the database is away")
    await page.clock.run_for(60_000)
    assert len(asked) == 1
    await page.unroute_all()
    await page.get_by_role("button", name="Search").click()
    await expect(page.locator(".hit").first).to_contain_text("Velopost")
    await context.close()


async def test_facts_are_added_corrected_ended_and_deleted_by_hand(service: Service, browser: Browser) -> None:
    await two_sessions(service)
    async with page_of(browser, f"{service.url}/#/chat-7/facts", timezone_id="Asia/Tokyo") as page:
        await expect(page.get_by_text("There is no current fact about ines.")).to_be_visible()
        await page.get_by_role("button", name="Add").click()
        await page.get_by_label("Fact", exact=True).fill("Ines lives in Lisbon.")
        await page.get_by_label("Trust").select_option("user")
        await page.get_by_label("From").fill("2026-08-03T09:30")
        await page.get_by_label("Messages of chat-7").fill("1, #2-3")
        await page.get_by_role("dialog").get_by_role("button", name="Add").click()
        await expect(fact(page, "Ines lives in Lisbon.").get_by_role("button", name="#1-3")).to_be_visible()
        (added,) = await known(service)
        assert (added["category"], added["trust"], added["valid_from"]) == ("profile", "user", "2026-08-03T00:30:00Z")
        assert [(source["session"], source["cites"]) for source in added["sources"]] == [("chat-7", [1, 2, 3])]

        other = await note(service, "Ines prefers mail.", valid_from="2026-08-04T10:00:59.5Z")
        await page.get_by_label("Category").select_option("profile")
        await fact(page, "Ines prefers mail.").get_by_role("button", name="Edit").click()
        await page.get_by_role("dialog").get_by_label("Category").select_option("preference")
        await page.get_by_role("button", name="Save").click()
        await expect(fact(page, "Ines prefers mail.")).to_have_count(0)
        await page.get_by_label("Category").select_option("")
        await expect(page.get_by_role("list", name="Preferences").get_by_role("listitem")).to_have_count(1)
        corrected = (await service.get(f"{FACTS}/{other['id']}")) | {"updated_at": other["updated_at"]}
        assert corrected == other | {"category": "preference"}

        await fact(page, "Ines lives in Lisbon.").get_by_role("button", name="End").click()
        await page.get_by_role("dialog").get_by_role("button", name="End").click()
        await expect(fact(page, "Ines lives in Lisbon.")).to_have_count(0)
        assert [ended["id"] for ended in await known(service, validity="past")] == [added["id"]]
        await page.get_by_label("Show").select_option("past")
        await fact(page, "Ines lives in Lisbon.").get_by_role("button", name="Delete").click()
        await page.get_by_role("button", name="Cancel").click()
        assert len(await known(service, validity="all")) == 2
        await fact(page, "Ines lives in Lisbon.").get_by_role("button", name="Delete").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(page.get_by_text("No fact matches.")).to_be_visible()
        assert [left["id"] for left in await known(service, validity="all")] == [other["id"]]

        await page.get_by_label("Show").select_option("current")
        await page.get_by_role("button", name="Delete all").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete all").click()
        await expect(page.get_by_text("There is no current fact about ines.")).to_be_visible()
        assert await known(service, validity="all") == []


async def test_facts_are_found_by_words_and_by_when_they_held_and_noted_ones_appear(
    service: Service, browser: Browser
) -> None:
    await two_sessions(service)
    for number in range(50):
        await note(service, f"Ines has shop number {number}.")
    await note(service, "Ines was in Porto.", valid_from="2020-01-01T00:00:00Z", valid_to="2021-01-01T00:00:00Z")
    async with page_of(browser, f"{service.url}/#/chat-7/facts") as page:
        await expect(page.locator(".fact")).to_have_count(50)
        await expect(page.get_by_role("button", name="More")).to_have_count(0)
        await page.get_by_label("At (empty: now)").fill("2020-06-01T12:00")
        await expect(page.locator(".fact")).to_have_count(1)
        await expect(fact(page, "Ines was in Porto.").locator(".tag").first).to_have_text("current")
        await page.get_by_label("At (empty: now)").fill("")
        await page.get_by_label("Show").select_option("all")
        await page.get_by_role("button", name="More").click()
        await expect(page.get_by_role("button", name="More")).to_be_disabled()  # and not gone, with the focus
        await expect(page.get_by_role("button", name="More")).to_be_focused()
        await expect(fact(page, "Ines was in Porto.").locator(".tag").first).to_have_text("past")
        await page.get_by_label("Show").select_option("past")
        await page.get_by_label("Show").select_option("all")
        await page.get_by_label("Contains").fill("IN PORTO")
        await expect(page.locator(".fact pre")).to_have_text(["Ines was in Porto."])

        await page.get_by_label("Contains").fill("moved")
        await expect(page.get_by_text("No fact matches.")).to_be_visible()
        await service.client.post("/sessions/chat-7/end")
        moved = fact(page, "I moved to Lisbon.")
        await expect(moved).to_be_visible()
        await said(service, "mail-2", "I moved to Berlin.")
        await service.client.post("/sessions/mail-2/end")
        await service.context("mail-2", min_seq=3, wait_ms=WAIT_MS)  # told to those who look at that session alone
        await page.get_by_role("button", name="Redrive").click()
        await fact(page, "I moved to Lisbon.").get_by_role("button", name="fact").click()
        await expect(fact(page, "I moved to Berlin.")).to_be_focused()
        await fact(page, "I moved to Berlin.").get_by_role("link", name="#3").click()
        await expect(page.get_by_role("heading", name="mail-2")).to_be_visible()
        await expect(page.locator("#message-3.marked")).to_be_focused()


async def test_a_key_that_may_only_read_finds_and_is_offered_no_change(
    start_service: StartService, database_url: str, browser: Browser
) -> None:
    async with start_service(bootstrap_key=KEY) as service:
        secret, _ = await reading_key(database_url)
        service.client.headers["Authorization"] = f"Bearer {KEY}"
        await two_sessions(service)
        await note(service, "Ines prefers mail.")
        await service.observe("chat-7")
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(f"{service.url}/#/chat-7/facts")
        await page.get_by_label("Key").fill(secret)
        await page.get_by_role("button", name="Open").click()
        await expect(page.get_by_text("read only")).to_be_visible()
        await expect(fact(page, "Ines prefers mail.")).to_be_visible()
        await expect(page.locator(".buttons")).to_have_count(0)
        await page.get_by_role("link", name="Log").click()
        await expect(page.locator(".log > li").first).to_be_visible()
        await expect(page.locator(".buttons")).to_have_count(0)
        await page.get_by_role("button", name="Forget key").click()
        await page.get_by_label("Key").fill(KEY)
        await page.get_by_role("button", name="Open").click()
        await expect(page.get_by_role("button", name="Redrive")).to_be_visible()
        await expect(page.locator(".log").get_by_role("button", name="Edit").first).to_be_visible()
        await expect(page.get_by_text("read only")).to_have_count(0)
        await page.get_by_role("link", name="Recall").click()
        await page.get_by_label("Query").fill("bell")
        await page.get_by_label("Query").press("Enter")
        await expect(page.locator(".hit").first).to_contain_text("The bell is broken.")
        await page.route("**/recall", lambda route: route.fulfill(status=503, json={"detail": "the database is away"}))
        await page.get_by_role("button", name="Search").click()
        await expect(page.get_by_role("alert").first).to_have_text("the database is away")
        await expect(page.locator(".hit")).to_have_count(0)
        await context.close()


async def test_facts_have_no_tab_where_no_resource_has_them(service: Service, browser: Browser) -> None:
    await service.append("alone", {"role": "user", "content": "Hello"})
    async with page_of(browser, f"{service.url}/#/alone/facts") as page:
        await expect(page.get_by_text("This session belongs to no resource")).to_be_visible()
        await expect(page.get_by_role("link", name="Facts")).to_have_count(0)
        await page.get_by_role("link", name="Recall").click()
        await expect(page.get_by_label("Kind")).to_be_visible()
        await expect(page.get_by_role("combobox", name="In", exact=True)).to_have_count(0)
