"""The operator's page in a real browser: what it shows is what the service says, as it happens."""

import asyncio
import re
from typing import Any

import httpx2 as httpx
import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped] # is untyped
from playwright.async_api import Browser, Locator, Page, Route, expect

from app.commands.issuing import revoke
from app.settings import Settings
from tests.conftest import Service, StartService
from tests.console.conftest import PATIENCE_MS, page_of, reading_key, tab_seen
from tests.journeys.looks import items, until_stalled
from tests.journeys.talk import plain_talk
from tests.model_server import Fault, ModelServer, Said

KEY = "a-key-of-sixteen-or-more"
SMALL: dict[str, Any] = {
    "preset": "compact",
    "message_tokens": 300,
    "observation_tokens": 400,
    "memory_budget": 2_000,
    "keep_last": 4,
}
A_LINE = 20  # pixels
# What is observed by a model, as soon as eight messages are there.
WAITING: dict[str, Any] = {"message_tokens": 400, "observation_tokens": 100, "buffer_every": None, "keep_last": 0}


async def talked(service: Service, key: str = "support-1", messages: int = 40) -> None:
    await service.configure(key, **SMALL)
    for message in plain_talk(messages):
        await service.append(key, message, wait_ms=50_000)


def figure(page: Page, name: str) -> Locator:
    return page.locator(".figures div", has=page.get_by_text(name, exact=True)).locator("dd").first


async def test_a_session_is_found_and_grows_as_messages_are_appended(service: Service, browser: Browser) -> None:
    await talked(service)
    await talked(service, "mail-7", messages=2)
    async with page_of(browser, service.url) as page:
        await page.get_by_label("Search").fill("SUPPORT")
        await expect(page.locator(".sessions li")).to_have_count(1)
        await page.get_by_role("link", name="support-1").click()
        await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
        await expect(figure(page, "Messages")).to_have_text("40")
        memory = await service.memory("support-1")
        assert memory["log"]["version"] > 0
        await expect(page.locator(".coverage svg rect")).to_have_count(len(memory["coverage"]["intervals"]) + 1)
        await expect(page.locator(".chart canvas")).to_be_visible()

        await service.append("support-1", {"role": "user", "content": "My new address is Rua Augusta 12."})
        await expect(page.get_by_text("My new address is Rua Augusta 12.")).to_be_visible()
        await expect(figure(page, "Messages")).to_have_text("41")


async def test_a_session_without_a_message_says_so_and_one_that_is_gone_too(service: Service, browser: Browser) -> None:
    await service.configure("new-1", **SMALL)
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{service.url}/#/new-1")
    await expect(page.get_by_text("There is no message yet")).to_be_visible()
    await expect(page.locator(".pager")).to_have_count(0)
    await service.append("new-1", {"role": "user", "content": "Hello"})
    await expect(page.locator("#message-1")).to_be_visible()
    await service.client.delete("/sessions/new-1")
    await page.get_by_role("button", name="Observe").click()
    await expect(page.get_by_role("alert").first).to_have_text("there is no session 'new-1'")
    await expect(page.locator("#message-1")).to_have_count(0)
    await context.close()


@pytest.mark.parametrize("place", ["nobody/log", "100%/log"])
async def test_where_there_is_no_session_it_says_so_and_leads_back(
    service: Service, browser: Browser, place: str
) -> None:
    await talked(service, messages=1)
    context = await browser.new_context(viewport={"width": 360, "height": 740})
    page = await context.new_page()
    await page.goto(f"{service.url}/#/{place}")
    await expect(page.get_by_role("heading")).to_have_text(place.partition("/")[0])
    await expect(page.get_by_role("alert").first).to_be_visible()
    await page.get_by_role("link", name="All sessions").click()
    await expect(page.get_by_role("link", name="support-1")).to_be_visible()
    await context.close()


async def test_on_a_narrow_screen_the_figures_are_a_row_and_leave_room_for_the_view(
    service: Service, browser: Browser
) -> None:
    """They took three rows, so that the views' tabs were at the bottom edge and their content below it."""
    await talked(service, messages=1)
    async with page_of(browser, f"{service.url}/#/support-1", viewport={"width": 400, "height": 850}) as page:
        figures = page.get_by_role("region", name="Figures")
        await expect(figures).to_have_attribute("tabindex", "0")
        box = await figures.bounding_box()
        assert box is not None
        assert box["height"] < 200
        await page.set_viewport_size({"width": 1300, "height": 900})
        await expect(figures).not_to_have_attribute("tabindex", "0")


@pytest.mark.parametrize("view", ["nonsense", "constructor"])
async def test_a_view_that_there_is_not_is_the_first_and_its_tab_says_so(
    service: Service, browser: Browser, view: str
) -> None:
    await talked(service, messages=1)
    async with page_of(browser, f"{service.url}/#/support-1/{view}") as page:
        await expect(page.locator("#message-1")).to_be_visible()
        await expect(page.locator(".tabs [aria-current]")).to_have_text("Timeline")


async def test_a_service_that_was_away_is_asked_again(service: Service, browser: Browser) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.route("**/sessions?*", lambda route: route.fulfill(status=503, json={"detail": "the database is away"}))
    await page.goto(service.url)
    await expect(page.get_by_role("alert").first).to_have_text("the database is away")
    await page.unroute("**/sessions?*")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await expect(page.get_by_role("main")).to_be_focused()
    await context.close()


async def test_a_message_that_comes_is_drawn_without_asking_for_the_others_again(
    service: Service, browser: Browser
) -> None:
    await talked(service, messages=4)
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        await expect(page.locator(".chart canvas")).to_be_visible()
        await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
        async with page.expect_request(lambda asked: "/messages?" in asked.url and "limit=500" in asked.url) as drawn:
            await service.append("support-1", {"role": "user", "content": "My new address is Rua Augusta 12."})
        assert "after_seq=4" in (await drawn.value).url


async def test_what_is_no_longer_shown_is_forgotten(service: Service, browser: Browser) -> None:
    """A tab on a busy session took 0.2 MB for each message that came, until the browser ended it."""
    for begin in (1, 51):
        numbered = ({"role": "user", "content": f"Number {begin + index}."} for index in range(50))
        await service.append("support-1", *numbered)
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        told = await page.context.new_cdp_session(page)

        async def kept_after(last: int) -> int:
            for number in range(last - 9, last + 1):
                await service.append("support-1", {"role": "user", "content": f"Number {number}."})
                await expect(page.locator(f"#message-{number}")).to_be_visible()
            lists = await told.send("Runtime.evaluate", {"expression": "Array.prototype"})
            found = await told.send("Runtime.queryObjects", {"prototypeObjectId": lists["result"]["objectId"]})
            call = {"functionDeclaration": "function () { return this.length }", "returnByValue": True}
            counted = await told.send("Runtime.callFunctionOn", call | {"objectId": found["objects"]["objectId"]})
            await told.send("Runtime.releaseObject", {"objectId": found["objects"]["objectId"]})
            return int(counted["result"]["value"])

        before = await kept_after(110)
        assert await kept_after(120) < 1.1 * before


async def test_notes_that_have_left_the_log_are_asked_for_once(service: Service, browser: Browser) -> None:
    """In a session of 100,000 messages they are 20 MB, which each event had the page ask for again."""
    await talked(service)
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        await expect(page.locator(".chart canvas")).to_be_visible()
        await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
        for kind in ("observations", "reflections"):
            async with page.expect_request(re.compile(f"/memory/{kind}")) as notes:
                await service.append("support-1", {"role": "user", "content": f"I read the {kind}."})
            assert "status=" in (await notes.value).url


CURVE = """async (given) => {
  const { growth } = await import("/console/growth.js");
  return growth({ ...given, told: new Map(given.told) }).log;
}"""


def is_in(note: dict[str, Any], version: int) -> bool:
    born, retired = note["born_version"], note["retired_version"]
    return born is not None and born <= version and (retired is None or version < retired)


async def test_the_curve_of_the_log_is_its_size_at_each_version(service: Service, browser: Browser) -> None:
    await talked(service)
    path = "/sessions/support-1/memory"
    versions = await items(service, f"{path}/versions")
    notes = [*await items(service, f"{path}/observations"), *await items(service, f"{path}/reflections")]
    sizes = {one["version"]: sum(note["tokens"] for note in notes if is_in(note, one["version"])) for one in versions}
    messages = await items(service, "/sessions/support-1/messages")

    def at(seq: int, least: int = 0) -> int | None:
        """What the log was, where that of versions from ``least`` on is known."""
        newest = max((one["version"] for one in versions if one["last_seq"] <= seq), default=0)
        return (sizes[newest] if newest >= least else None) if newest else 0

    newest = max(sizes)
    assert sizes[newest] == (await service.memory("support-1"))["log"]["tokens"]
    given = {"messages": messages, "versions": versions, "notes": notes, "told": [[newest, sizes[newest]]]}
    async with page_of(browser, service.url) as page:
        whole = await page.evaluate(CURVE, given | {"isWhole": True})
        part = await page.evaluate(CURVE, given | {"isWhole": False})
    assert len(sizes) > 3
    assert whole == [at(message["seq"]) for message in messages]
    assert part == [at(message["seq"], newest) for message in messages]


async def test_of_an_erased_message_is_told_that_it_was(service: Service, browser: Browser) -> None:
    await service.append("support-1", *({"id": f"m-{n}", "role": "user", "content": f"Of {n}."} for n in (1, 2)))
    assert (await service.client.delete("/sessions/support-1/messages/m-1")).status_code == 200
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        await expect(page.locator("#message-2 .tag")).to_have_count(0)
        await expect(page.locator("#message-1 .tag")).to_have_text(["erased"])


async def test_who_speaks_is_told_and_a_tool_s_result_that_is_an_error(service: Service, browser: Browser) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}
    failed = {"type": "tool_result", "tool_call_id": "c1", "output": "no such table", "is_error": True}
    await service.append(
        "support-1",
        {"role": "user", "name": "Ana", "content": "Where is my parcel?"},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [failed]},
        {"role": "tool", "content": [failed | {"is_error": False}]},
    )
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        await expect(page.locator("#message-1 .tag")).to_have_text(["Ana"])
        await expect(page.locator("#message-2 .tag")).to_have_text(["tool call", "operator"])
        await expect(page.locator("#message-3 .tag")).to_have_text(["tool result", "error", "tool"])
        await expect(page.locator("#message-4 .tag")).to_have_text(["tool result", "tool"])


async def test_reasoning_without_a_word_is_named(service: Service, browser: Browser) -> None:
    """As where it is encrypted, or a compatible server tells it as objects."""
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    said = {"role": "assistant", "content": "Looking.", "tool_calls": [call], "reasoning_content": ""}
    await service.append("support-1", said)
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        await expect(page.locator("#message-1 pre")).to_have_text(["(reasoning)", "Looking.", "search({})"])


async def test_a_picture_is_drawn_and_a_file_is_told_with_what_it_says(service: Service, browser: Browser) -> None:
    """A picture in URL-safe base64, as Gemini's SDK writes it."""
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk-A8AAQUBAScY42YAAAAASUVORK5CYII="
    picture = {"type": "image", "data": dot, "media_type": "image/png", "name": "a dot"}
    lease = {"type": "file", "name": "lease.txt", "content": "The rent is 940 euros."}
    scan = {"type": "file", "data": "JVBERi0=", "media_type": "application/pdf"}
    await service.append("s1", {"role": "user", "content": [picture, lease, scan]})
    async with page_of(browser, f"{service.url}/#/s1") as page:
        message = page.locator("#message-1")
        await expect(message).to_contain_text("[file: lease.txt]\nThe rent is 940 euros.")
        await expect(message).to_contain_text("[file: application/pdf]")
        drawn = message.get_by_role("img", name="a dot")
        await expect(drawn).to_have_js_property("naturalWidth", 1)


async def test_a_citation_leads_to_the_message_behind_it(service: Service, browser: Browser) -> None:
    await talked(service)
    async with page_of(browser, f"{service.url}/#/support-1/log") as page:
        citation = page.locator(".log .cite").first
        number = (await citation.inner_text()).split("-")[0].removeprefix("#")
        await citation.click()
        await expect(page.locator(f"#message-{number}")).to_be_focused()
        await expect(page.locator(f"#message-{number}.marked")).to_be_visible()


async def test_a_message_is_reached_by_its_number_without_a_mouse(service: Service, browser: Browser) -> None:
    for begin in range(1, 180, 60):
        numbered = ({"role": "user", "content": f"Number {begin + index}."} for index in range(60))
        await service.append("support-1", *numbered)
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        await expect(page.locator("#message-180")).to_be_visible()
        await page.get_by_label("Message", exact=True).focus()
        await page.keyboard.type("7")
        await page.keyboard.press("Enter")
        await expect(page.locator("#message-7.marked")).to_be_focused()
        await expect(page.locator("#message-7")).to_contain_text("Number 7.")


async def test_large_messages_take_none_off_the_pages(start_service: StartService, browser: Browser) -> None:
    """A page of them ends early: a cited one was not on the page, and Newer skipped those between."""
    large = [{"role": "user", "content": f"Number {number}." * 40} for number in range(1, 21)]
    async with start_service(sessions={"page_bytes_max": 2_000}, memory={"enabled": False}) as service:
        await service.append("support-1", *large)
        async with page_of(browser, f"{service.url}/#/support-1/timeline/3") as page:
            await expect(page.locator("#message-3.marked")).to_be_focused()
            shown = page.locator(".message")
            newest = 2 + await shown.count()
            assert newest < len(large)
            await page.get_by_role("button", name="Newer").click()
            await expect(shown.last).to_have_id(f"message-{newest + 1}")
            await page.get_by_role("button", name="Older").click()
            await expect(shown.first).to_have_id(f"message-{newest}")


async def test_who_goes_back_or_reloads_is_where_they_were(service: Service, browser: Browser) -> None:
    """They were at the top, of a list of hundreds too."""
    for number in range(40):
        await service.append(f"mail-{number:02}", *({"role": "user", "content": "Hello"} for _ in range(20)))
    kept = "scrollY > 0 && history.state?.y === scrollY"
    async with page_of(browser, service.url, viewport={"width": 390, "height": 700}) as page:
        await page.get_by_role("link", name="mail-30").scroll_into_view_if_needed()
        await until(page, kept)
        await page.get_by_role("link", name="mail-30").click()
        await expect(page.get_by_role("heading", name="mail-30")).to_be_visible()
        await page.locator("#message-5").scroll_into_view_if_needed()
        await until(page, kept)
        await page.reload()
        await expect(page.locator("#message-5")).to_be_in_viewport()
        await page.go_back()
        await expect(page.get_by_role("link", name="mail-30")).to_be_in_viewport()


async def test_a_page_of_the_timeline_is_gone_back_to_and_kept_through_a_reload(
    service: Service, browser: Browser
) -> None:
    """Whoever had leafed to #61 and followed a citation came back to the newest page."""
    for begin in range(1, 180, 60):
        numbered = ({"role": "user", "content": f"Number {begin + index}."} for index in range(60))
        await service.append("support-1", *numbered)
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        newest, oldest = page.locator(".message").first, page.locator(".message").last
        await page.get_by_role("button", name="Older").click()
        await expect(newest).to_have_id("message-120")
        await page.get_by_role("button", name="Older").click()
        await expect(newest).to_have_id("message-60")
        await page.reload()
        await expect(newest).to_have_id("message-60")
        await page.go_back()
        await expect(newest).to_have_id("message-120")
        await page.get_by_role("link", name="Runs").click()
        await expect(page.get_by_text("There is no run yet.")).to_be_visible()
        await page.go_back()
        await expect(newest).to_have_id("message-120")
        await expect(page.locator(".message.marked")).to_have_count(0)
        await page.get_by_role("button", name="Newer").click()
        await expect(oldest).to_have_id("message-121")
        await page.go_back()
        await page.get_by_role("button", name="Newest").click()
        await expect(newest).to_have_id("message-180")
        await page.goto(f"{service.url}/#/support-1/timeline/-60")
        await expect(newest).to_have_id("message-60")
        await page.goto(f"{service.url}/#/support-1/timeline/-0")
        await expect(newest).to_have_id("message-180")


async def test_a_very_long_text_is_laid_out_once_it_is_seen(service: Service, browser: Browser) -> None:
    """Ten outputs of a tool of 900,000 letters held up the page for ten seconds."""
    long = "A line of what the tool told.\n" * 1_000
    await service.append("support-1", *({"role": "user", "content": long} for _ in range(20)))
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        oldest = page.locator("#message-1 pre")
        is_laid_out = "document.querySelector('#message-1 pre').scrollHeight > 1000"
        await expect(oldest).to_be_attached()
        assert not await page.evaluate(is_laid_out)
        await oldest.scroll_into_view_if_needed()
        await until(page, is_laid_out)
        await expect(oldest).to_have_attribute("tabindex", "0")


async def test_who_stands_on_a_session_stays_there_when_another_comes(service: Service, browser: Browser) -> None:
    """The keyboard was on the new one, which stood where theirs had been."""
    await talked(service, messages=1)
    async with page_of(browser, service.url) as page:
        mine = page.get_by_role("link", name="support-1")
        await mine.focus()
        await service.append("mail-7", {"role": "user", "content": "Hello"})
        await expect(page.locator(".sessions a")).to_have_count(2)
        await expect(page.locator(".sessions a").first).to_contain_text("mail-7")
        await expect(mine).to_be_focused()


async def test_each_session_has_a_title_of_its_own(service: Service, browser: Browser) -> None:
    """Of several tabs, and in the browser's history."""
    await talked(service, messages=1)
    async with page_of(browser, service.url) as page:
        await expect(page).to_have_title("Daybook")
        await page.get_by_role("link", name="support-1").click()
        await expect(page).to_have_title("support-1 · Daybook")
        await page.go_back()
        await expect(page).to_have_title("Daybook")


async def test_who_has_gone_on_from_a_cited_message_is_not_taken_back_to_it(service: Service, browser: Browser) -> None:
    """Each message that came took the keyboard from whoever had followed a citation before."""
    await talked(service)
    async with page_of(browser, f"{service.url}/#/support-1/log") as page:
        await page.locator(".log .cite").first.click()
        await expect(page.locator(".message.marked").first).to_be_focused()
        await page.get_by_label("Search").focus()
        await service.append("support-1", {"role": "user", "content": "My new address is Rua Augusta 12."})
        await expect(figure(page, "Messages")).to_have_text("41")
        async with page.expect_request(re.compile("/messages")):
            await service.append("support-1", {"role": "user", "content": "The bell is broken."})
        await expect(figure(page, "Messages")).to_have_text("42")
        await expect(page.get_by_label("Search")).to_be_focused()


async def test_a_shared_log_says_whose_its_lines_are_and_leads_there(service: Service, browser: Browser) -> None:
    rules = {"scope": "resource", "message_tokens": 60, "retain_tokens": 0, "buffer_every": None}
    for key in ("mail-2", "chat-1"):
        await service.client.put(f"/sessions/{key}", json={"resource_id": "ana", "config": rules})
    for number, key in enumerate(("mail-2", "chat-1", "mail-2"), start=1):
        paid = f"Ana paid invoice {number} of {number}20 euros for the shop in Porto, and we keep it open. " * 4
        await service.append(key, {"role": "user", "content": paid}, wait_ms=50_000)
    async with page_of(browser, f"{service.url}/#/chat-1/log") as page:
        told = page.locator(".log .note .right")
        await expect(told).to_have_count(3)
        spans = [text.split(" · ")[0] for text in await told.all_inner_texts()]
        assert spans == ["mail-2 #1-1", "chat-1 #1-1", "mail-2 #2-2"]
        await page.get_by_role("button", name="#chat-1:1").first.click()
        await expect(page.locator("#message-1.marked")).to_be_visible()
        await expect(page.locator(".notes .note .right")).to_have_count(1)
        await page.goto(f"{service.url}/#/chat-1/log")
        await page.get_by_role("link", name="#mail-2:1").first.click()
        await expect(page.get_by_role("heading", name="mail-2")).to_be_visible()
        await expect(page.locator("#message-1.marked")).to_be_focused()


async def test_the_log_is_shown_as_it_was_at_each_version(service: Service, browser: Browser) -> None:
    await talked(service)
    newest = (await service.memory("support-1"))["log"]["version"]
    async with page_of(browser, f"{service.url}/#/support-1/versions") as page:
        slider = page.get_by_role("slider", name="Version")
        await expect(page.locator("output")).to_have_text(f"{newest} of {newest}")
        for version in (1, newest - 1):
            await slider.fill(str(version))
            log = await service.get("/sessions/support-1/memory/log", version=version)
            await expect(page.locator("pre.payload")).to_have_text(log["text"])


async def test_every_format_of_the_context_is_shown_with_its_segments(service: Service, browser: Browser) -> None:
    await talked(service)
    async with page_of(browser, f"{service.url}/#/support-1/context") as page:
        options = await page.get_by_label("Format").locator("option").all_inner_texts()
        for shape in options:
            async with page.expect_request(re.compile(rf"\?format={shape}&")):
                await page.get_by_label("Format").select_option(label=shape)
            await expect(page.get_by_label("Format").locator("option:checked")).to_have_text(shape)
            context = await service.context("support-1", format=shape, explain=True)
            await expect(page.locator("tbody tr")).to_have_count(len(context["segments"]))
            await expect(page.get_by_text(context["cache"]["epoch"])).to_be_visible()
    answer = await service.client.get("/sessions/support-1/context", params={"format": "none"})
    assert all(shape in answer.text for shape in options)


async def test_who_looks_at_a_context_is_no_call_that_the_agents_next_one_is_compared_with(
    service: Service, browser: Browser
) -> None:
    async def call() -> dict[str, Any]:
        asked = {"system": "You are a travel assistant."}
        answer = await service.client.post("/sessions/support-1/context?format=anthropic", json=asked)
        cache: dict[str, Any] = answer.json()["cache"]
        return cache

    await talked(service, messages=4)
    await call()
    async with page_of(browser, f"{service.url}/#/support-1/context") as page:
        await expect(page.locator("tbody tr").first).to_be_visible()
    cache = await call()
    assert (cache["shared_with_previous_tokens"], cache["break_reason"]) == (cache["stable_tokens"], None)


async def test_a_stalled_memory_is_redriven_and_its_failures_are_told(
    start_service: StartService, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")  # where nobody answers
    async with start_service(provider="openai", model="none") as service:
        await service.append("s", *plain_talk(2))
        async with page_of(browser, f"{service.url}/#/s/runs") as page:
            await page.get_by_role("button", name="Observe").click()
            failed = page.locator("tr.failed")
            await expect(failed.first).to_be_visible()
            await expect(page.get_by_role("alert").first).to_contain_text("observe:")
            await page.get_by_label("Outcome").select_option(label="recorded")
            await expect(page.get_by_text("No run has this outcome.")).to_be_visible()
            await page.get_by_label("Outcome").select_option(label="failed")
            await expect(failed.first).to_be_visible()
            before = await failed.count()
            await page.get_by_role("button", name="Redrive").click()
            await expect(failed.nth(before)).to_be_visible()


async def test_after_clearing_nothing_says_that_something_was_asked_for(service: Service, browser: Browser) -> None:
    """Under the log that was just emptied stood "observe: requested"."""
    await talked(service)
    async with page_of(browser, f"{service.url}/#/support-1/log") as page:
        await page.get_by_role("button", name="Observe").click()
        await expect(page.get_by_text("observe: requested")).to_be_visible()
        await page.get_by_role("button", name="Clear observations").click()
        await page.get_by_role("button", name="Clear", exact=True).click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.get_by_text("observe: requested")).to_have_count(0)


async def test_the_output_of_a_run_that_is_read_stays_when_the_next_run_comes(
    start_service: StartService, browser: Browser, models: ModelServer
) -> None:
    """What was open was the place in the list, so it showed the output of the run that came."""
    models.always = Fault.REPETITIVE
    async with start_service(provider="openai", memory=WAITING) as service:
        await service.append("s", *plain_talk(8))
        async with page_of(browser, f"{service.url}/#/s/runs") as page:
            rejected = page.locator("tr.rejected")
            await expect(rejected.first).to_be_visible()
            opened = page.locator("tr:has(details[open])")
            await rejected.last.get_by_text("Output").click()
            count = await rejected.count()
            await page.get_by_role("button", name="Redrive").click()
            await expect(rejected.nth(count)).to_be_visible()
            await expect(rejected.last.locator("details[open]")).to_be_visible()
            await expect(opened).to_have_count(1)


async def test_the_overview_tells_what_fails_and_leads_to_it(
    start_service: StartService, browser: Browser, models: ModelServer, database_url: str
) -> None:
    models.always = Fault.UNAUTHORIZED
    async with start_service(provider="openai", memory=WAITING, caps={"tenant_tokens_per_day": 10**6}) as service:
        await service.append("calm", {"role": "user", "content": "Hello"})
        await service.append("stuck", *plain_talk(8))
        await until_stalled(service, database_url, "stuck")
        async with page_of(browser, service.url) as page:
            await expect(figure(page, "Ready")).to_have_text("yes")
            await expect(figure(page, "Stalled")).to_have_text("1")
            await expect(figure(page, "Spent today")).to_have_text("0%")
            await expect(page.locator(".attention li").first).to_contain_text("1 memory stalled")
            await expect(page.locator("tbody tr")).to_have_count(3)
            cause = page.locator(".causes li")
            await expect(cause).to_contain_text("observe: unauthorized")

            await page.get_by_role("button", name="1 stalled").click()
            await expect(page.get_by_role("combobox", name="Status")).to_be_focused()
            await page.get_by_role("button", name="Skip to content").focus()
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("main")).to_be_focused()
            await expect(page.locator(".sessions li")).to_have_count(1)
            await page.get_by_role("link", name="Overview", exact=True).click()
            await cause.get_by_role("link", name="stuck").focus()
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("heading", name="stuck")).to_be_visible()
            await expect(page.locator("tr.failed").first).to_be_visible()


@pytest.mark.usefixtures("models")
async def test_what_no_price_is_known_for_is_not_said_to_be_free(start_service: StartService, browser: Browser) -> None:
    """The page said $0.00, and 0% of a cap that such calls never reach."""
    caps = {"tenant_usd_per_day": 5.0}
    async with start_service(provider="openai", model="of-our-own", memory=WAITING, caps=caps) as service:
        await service.append("s", *plain_talk(8), wait_ms=50_000)
        async with page_of(browser, f"{service.url}/#/s") as page:
            await expect(figure(page, "Spent")).to_have_text("not known")
            await page.get_by_role("link", name="Overview", exact=True).click()
            spent = page.locator(".figures div", has=page.get_by_text("Spent today", exact=True))
            await expect(spent).to_contain_text("tokens of no known price")


async def test_a_session_that_ended_or_is_a_branch_says_so(service: Service, browser: Browser) -> None:
    await talked(service, messages=4)
    await service.client.post("/sessions/support-1/branch", json={"key": "try-1", "at_seq": 3})
    await service.client.post("/sessions/try-1/end")
    async with page_of(browser, f"{service.url}/#/try-1", timezone_id="Asia/Tokyo") as page:
        await expect(page.locator(".head .tag", has_text="ended")).to_be_visible()
        await page.locator(".head").get_by_role("link", name="support-1 #3").click()
        await expect(page.locator("#message-3.marked")).to_be_focused()
        await page.get_by_role("link", name="Overview", exact=True).click()
        await expect(page.locator(".head .right")).to_contain_text("GMT+9")


async def test_the_overview_is_looked_at_again_by_itself_and_says_when_it_cannot(
    service: Service, browser: Browser
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.clock.install()
    await page.goto(service.url)
    told = page.get_by_role("status").get_by_text("live", exact=True)
    await expect(told).to_be_visible()
    await expect(page.get_by_text("Nothing needs attention.")).to_be_visible()
    await page.route("**/overview", lambda route: route.fulfill(status=503, json={"detail": "the database is away"}))
    await page.route("**/readyz", lambda route: route.fulfill(status=503, json={"detail": "no schema"}))
    await page.clock.run_for(6_000)
    await expect(page.get_by_role("alert").first).to_have_text("the database is away")
    await expect(figure(page, "Ready")).to_have_text("no")
    await expect(page.locator(".attention li")).to_have_text("The service is not ready: no schema.")
    await expect(told).to_have_count(0)
    await page.unroute_all()
    await page.clock.run_for(6_000)
    await expect(told).to_be_visible()
    await expect(page.get_by_text("Nothing needs attention.")).to_be_visible()
    await page.route("**/overview", lambda route: route.fulfill(status=429, json={"detail": "too often"}))
    await page.clock.run_for(6_000)
    await expect(page.get_by_role("alert").first).to_have_text("too often")
    await expect(page.get_by_text("Nothing needs attention.")).to_have_count(0)
    await context.close()


async def test_a_list_of_sessions_that_is_on_its_way_says_so(service: Service, browser: Browser) -> None:
    """It was as empty as that of a service without sessions."""
    await talked(service, messages=1)
    async with page_of(browser, f"{service.url}/healthz") as page:
        answering = asyncio.Event()

        async def hold(route: Route) -> None:
            await answering.wait()
            await route.continue_()

        await page.route("**/sessions?limit=50*", hold)
        await page.goto(f"{service.url}/")
        sessions = page.get_by_role("complementary", name="Sessions")
        await expect(sessions.get_by_text("Loading")).to_be_visible()
        answering.set()
        await expect(sessions.get_by_role("link", name="support-1")).to_be_visible()
        await expect(sessions.get_by_text("Loading")).to_have_count(0)


async def test_a_page_of_the_timeline_that_is_on_its_way_says_so(service: Service, browser: Browser) -> None:
    """Who had pressed a button saw nothing until it came."""
    for begin in (1, 41):
        numbered = ({"role": "user", "content": f"Number {begin + index}."} for index in range(40))
        await service.append("support-1", *numbered)
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        messages = page.get_by_role("list", name="Messages", exact=True)
        await expect(page.locator("#message-80")).to_be_visible()
        answering = asyncio.Event()

        async def hold(route: Route) -> None:
            await answering.wait()
            await route.continue_()

        await page.route("**/messages?*", hold)
        await page.get_by_role("button", name="Older").click()
        await expect(page.get_by_role("status").get_by_text("Loading")).to_be_visible()
        await expect(messages).to_have_attribute("aria-busy", "true")
        answering.set()
        await expect(page.locator("#message-1")).to_be_visible()
        await expect(page.get_by_role("status").get_by_text("Loading")).to_have_count(0)
        await expect(messages).not_to_have_attribute("aria-busy", "true")


async def test_a_service_that_is_slow_is_asked_once_at_a_time(service: Service, browser: Browser) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.clock.install()
    asked = []
    await page.route("**/overview", lambda route: asked.append(route.request.url))  # answers never
    await page.goto(service.url)
    await expect(page.get_by_text("There is no session yet")).to_be_visible()
    await page.clock.run_for(20_000)
    await expect(page.get_by_text("There is no session yet")).to_be_visible()
    assert len(asked) == 1
    await context.close()


async def test_a_service_that_hangs_is_not_said_to_be_live(service: Service, browser: Browser) -> None:
    """Its connections stay open, so the page went on to show what was, with a green dot."""
    await talked(service, messages=1)
    for place in ("", "#/support-1"):
        context = await browser.new_context()
        page = await context.new_page()
        await page.clock.install()
        await page.goto(f"{service.url}/{place}")
        await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
        await page.route("**/*", lambda _route: None)  # answers never
        await page.clock.run_for(6_000)
        await page.clock.run_for(45_000)
        await expect(page.get_by_text("not live")).to_be_visible()
        await expect(page.get_by_role("alert").first).to_have_text("the service does not answer")
        await context.close()


async def test_a_button_whose_request_is_never_answered_says_so(service: Service, browser: Browser) -> None:
    """It stayed as if it had never been pressed."""
    await talked(service, messages=1)
    context = await browser.new_context()
    page = await context.new_page()
    await page.clock.install()
    await page.goto(f"{service.url}/#/support-1")
    await page.route("**/memory/observe", lambda _route: None)  # answers never
    await page.get_by_role("button", name="Observe").click()
    await expect(page.get_by_text("observe: sent")).to_be_visible()
    await page.clock.run_for(41_000)
    await expect(page.get_by_role("main").get_by_role("alert").first).to_have_text("the service does not answer")
    await context.close()


async def test_a_page_that_was_not_answered_says_so_and_is_asked_for_again(service: Service, browser: Browser) -> None:
    """Nothing happened, however often one pressed the button."""
    for begin in range(1, 121, 60):
        numbered = ({"role": "user", "content": f"Number {begin + index}."} for index in range(60))
        await service.append("support-1", *numbered)
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{service.url}/#/support-1")
    await expect(page.locator("#message-120")).to_be_visible()
    await page.route("**/messages?*", lambda route: route.fulfill(status=503, json={"detail": "the database is away"}))
    await page.get_by_role("button", name="Older").click()
    await expect(page.get_by_role("alert").first).to_have_text("the database is away")
    await page.unroute_all()
    await page.get_by_role("button", name="Older").click()
    await expect(page.locator("#message-60")).to_be_visible()
    await expect(page.get_by_role("alert")).to_have_count(0)

    await page.get_by_role("link", name="Runs").click()
    await expect(page.get_by_text("There is no run yet.")).to_be_visible()
    await page.route("**/runs?*", lambda route: route.fulfill(status=503, json={"detail": "the database is away"}))
    await page.get_by_label("Outcome").select_option("failed")
    await expect(page.get_by_role("alert").first).to_have_text("the database is away")
    await context.close()


async def test_a_view_that_was_refused_with_an_event_is_asked_for_again(service: Service, browser: Browser) -> None:
    """It went without what had come, and said nothing, until the next event."""
    await talked(service, messages=1)
    context = await browser.new_context()
    page = await context.new_page()
    await page.clock.install()
    await page.goto(f"{service.url}/#/support-1")
    await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
    await expect(page.locator("#message-1")).to_be_visible()
    await page.route("**/messages?*", lambda route: route.fulfill(status=429, json={"detail": "too often"}))
    async with page.expect_response(lambda answer: answer.status == httpx.codes.TOO_MANY_REQUESTS):
        await service.append("support-1", {"role": "user", "content": "My new address is Rua Augusta 12."})
    await expect(figure(page, "Messages")).to_have_text("2")
    await page.unroute_all()
    await page.clock.run_for(6_000)
    await expect(page.locator("#message-2")).to_be_visible()
    await context.close()


async def test_a_tab_that_is_not_seen_asks_for_nothing_that_failed_until_it_is(
    service: Service, browser: Browser
) -> None:
    await talked(service, messages=1)
    context = await browser.new_context()
    page = await context.new_page()
    await page.clock.install()
    asked: list[str] = []
    await page.route("**/runs?*", lambda route: route.fulfill(status=503, json={"detail": "the database is away"}))
    page.on("request", lambda request: asked.append(request.url) if "/runs?" in request.url else None)
    await page.goto(f"{service.url}/#/support-1/runs")
    await expect(page.get_by_role("alert").first).to_have_text("the database is away")
    await tab_seen(page, is_seen=False)
    before = len(asked)
    await page.clock.run_for(60_000)
    assert len(asked) == before
    await tab_seen(page, is_seen=True)
    await page.unroute_all()
    await page.clock.run_for(6_000)
    await expect(page.get_by_text("There is no run yet.")).to_be_visible()
    await context.close()


async def test_a_session_that_is_deleted_while_it_is_shown_says_so_until_it_is_made_again(
    service: Service, browser: Browser
) -> None:
    """It stood there as it had been, and what was said in the next one of its name did not come."""
    await talked(service, messages=1)
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{service.url}/#/support-1")
    await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
    await service.client.delete("/sessions/support-1")
    await expect(page.get_by_role("alert").first).to_have_text("there is no session 'support-1'")
    await expect(page.locator(".message, .figures, .chart")).to_have_count(0)

    await talked(service, messages=2)
    await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
    await expect(figure(page, "Messages")).to_have_text("2")
    await service.append("support-1", {"role": "user", "content": "My new address is Rua Augusta 12."})
    await expect(page.get_by_text("My new address is Rua Augusta 12.")).to_be_visible()
    await context.close()


async def test_a_session_that_is_not_there_is_asked_for_more_rarely_and_shown_a_minute_after_it_is(
    service: Service, browser: Browser
) -> None:
    """A tab that was left open asked for it every 5 seconds, for ever; and then found it an hour late."""
    context = await browser.new_context()
    page = await context.new_page()
    await page.clock.install()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/events") else None)
    async with page.expect_response("**/memory/events"):
        await page.goto(f"{service.url}/#/nobody")
    await expect(page.get_by_role("alert").first).to_have_text("there is no session 'nobody'")
    for count, seconds in enumerate((5, 10, 20, 40, 60), start=1):
        await page.evaluate("() => fetch('healthz')")  # what was asked before this is known then
        await page.clock.run_for(seconds * 500)  # to which is added what passes for a machine that is busy
        await page.evaluate("() => fetch('healthz')")
        assert len(asked) == count
        async with page.expect_response("**/memory/events"):
            await page.clock.run_for(seconds * 500 + 1_000)
    await service.append("nobody", {"role": "user", "content": "Hello"})
    await page.clock.run_for(61_000)
    await expect(page.locator("#message-1")).to_be_visible()
    await context.close()


async def test_a_pressed_button_keeps_the_focus_when_there_is_no_more_to_do(service: Service, browser: Browser) -> None:
    """It was disabled then, which gave the focus to the page: the keyboard and a screen reader began anew."""
    for begin in (1, 41):
        numbered = ({"role": "user", "content": f"Number {begin + index}."} for index in range(40))
        await service.append("support-1", *numbered)
    await service.client.put("/sessions/chat-7", json={"resource_id": "ana"})
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{service.url}/#/support-1")
    for name, shown in (("Older", "#message-1"), ("Newest", "#message-80")):
        button = page.get_by_role("button", name=name)
        await button.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator(shown)).to_be_visible()
        await expect(button).to_be_disabled()
        await expect(button).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(button).to_be_focused()

    await page.get_by_role("link", name="Recall").click()
    await page.get_by_label("Query").fill("number")
    await page.keyboard.press("Enter")
    await expect(page.locator(".hit")).to_have_count(20)
    more = page.get_by_role("button", name="More")
    await more.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".hit")).to_have_count(80)
    await expect(more).to_be_disabled()
    await expect(more).to_be_focused()

    posts: list[Route] = []
    await page.route(
        "**/facts", lambda route: posts.append(route) if route.request.method == "POST" else route.continue_()
    )
    await page.goto(f"{service.url}/#/chat-7/facts")
    await page.get_by_role("button", name="Add").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Fact").fill("Likes tea.")
    button = dialog.get_by_role("button", name="Add")
    await button.focus()
    async with page.expect_request("**/facts"):
        await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")  # once more, before there is an answer
    await expect(button).to_be_disabled()
    await posts[0].fulfill(status=503, json={"detail": "the database is away"})
    await expect(dialog.get_by_role("alert").first).to_have_text("the database is away")
    await expect(button).to_be_focused()
    assert len(posts) == 1
    await context.close()


async def test_the_chart_has_its_place_before_it_is_drawn(service: Service, browser: Browser) -> None:
    """It came after the messages, and pushed down what was being read."""
    await talked(service, messages=12)
    async with page_of(browser, f"{service.url}/healthz") as page:
        drawing = asyncio.Event()

        async def hold(route: Route) -> None:
            await drawing.wait()
            await route.continue_()

        await page.route("**/memory/versions?*", hold)
        await page.goto(f"{service.url}/#/support-1")
        first = page.locator("#message-12")
        await expect(first).to_be_visible()
        await expect(page.locator(".chart canvas")).to_have_count(0)
        before = await first.bounding_box()
        drawing.set()
        await expect(page.locator(".chart canvas")).to_be_visible()
        after = await first.bounding_box()
        assert before is not None
        assert after is not None
        assert abs(after["y"] - before["y"]) < A_LINE


async def test_what_waits_in_a_shared_memory_is_not_told_of_one_session(service: Service, browser: Browser) -> None:
    """Under a session with nothing to observe stood the tokens of another, as "208 tokens in 0 messages, 0 s old"."""
    for key in ("monday", "tuesday"):
        await service.client.put(f"/sessions/{key}", json={"resource_id": "ana", "config": {"scope": "resource"}})
    await service.append("monday", {"role": "user", "content": "I moved to Lisbon in May."})
    async with page_of(browser, f"{service.url}/#/tuesday") as page:
        waiting = page.locator(".figures div", has=page.get_by_text("Waiting", exact=True))
        await expect(waiting).to_contain_text("11 / 16K")
        await expect(waiting.locator(".hint")).to_have_text("tokens of all its sessions; here 0 messages")


async def test_a_tab_that_is_not_seen_leaves_its_stream_to_others_and_shows_what_it_missed(
    service: Service, browser: Browser
) -> None:
    await talked(service, messages=1)
    async with page_of(browser, f"{service.url}/#/support-1") as page:
        live = page.get_by_role("status").get_by_text("live", exact=True)
        await expect(live).to_be_visible()
        async with page.expect_event("requestfailed", lambda asked: asked.url.endswith("/memory/events")):
            await tab_seen(page, is_seen=False)
        await expect(page.get_by_text("not live")).to_be_visible()
        await service.append("support-1", {"role": "user", "content": "My new address is Rua Augusta 12."})
        await tab_seen(page, is_seen=True)
        await expect(live).to_be_visible()
        await expect(page.get_by_text("My new address is Rua Augusta 12.")).to_be_visible()


async def test_a_service_that_comes_back_is_shown_as_it_is_then(service: Service, browser: Browser) -> None:
    await talked(service, messages=1)
    context = await browser.new_context()
    page = await context.new_page()
    await page.route("**/events", lambda route: route.abort())
    await page.goto(f"{service.url}/#/support-1")
    await expect(page.get_by_text("not live")).to_be_visible()
    await service.append("support-1", {"role": "user", "content": "My new address is Rua Augusta 12."})
    await page.unroute_all()
    await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
    await expect(page.get_by_text("My new address is Rua Augusta 12.")).to_be_visible()
    await page.route("**/*", lambda route: route.abort())
    await page.get_by_role("link", name="Runs").click()
    await expect(page.get_by_role("alert").get_by_text("the service does not answer").first).to_be_visible()
    await context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 1300), ("dark", 360)])
async def test_the_overview_has_no_serious_fault_of_accessibility_however_bad_it_looks(
    start_service: StartService,
    browser: Browser,
    models: ModelServer,
    database_url: str,
    scheme: str,
    width: int,
) -> None:
    models.always = Fault.SERVER_ERROR
    caps = {"tenant_tokens_per_day": 10**6}
    async with start_service(provider="openai", memory=WAITING, caps=caps, llm={"failures_max": 2}) as service:
        await service.append("one", *plain_talk(8))
        await until_stalled(service, database_url, "one")  # two calls that failed, so no more are made
        await service.append(
            "another-that-has-a-very-long-key-without-any-place-to-break-it-" + "x" * 90, *plain_talk(8)
        )
        screen = {"color_scheme": scheme, "viewport": {"width": width, "height": 850}}
        async with page_of(browser, service.url, **screen) as page:
            await expect(page.locator(".causes li").first).to_be_visible()
            await expect(page.get_by_text("are stopped after")).to_be_visible()
            await fit_and_faultless(page, "overview")


async def test_a_key_that_is_no_admins_is_told_of_its_sessions_alone(
    start_service: StartService, database_url: str, browser: Browser
) -> None:
    async with start_service(bootstrap_key=KEY) as service:
        secret, _ = await reading_key(database_url, tenant="acme")
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(service.url)
        await page.get_by_label("Key").fill(secret)
        await page.get_by_role("button", name="Open").click()
        await expect(page.get_by_text("are shown with an admin key")).to_be_visible()
        await expect(page.locator("table")).to_have_count(0)
        await context.close()


async def test_a_note_is_edited_and_deleted_only_after_a_question(service: Service, browser: Browser) -> None:
    await talked(service)
    before = (await service.memory("support-1"))["log"]["version"]
    async with page_of(browser, f"{service.url}/#/support-1/log") as page:
        notes = page.locator(".log > li")
        await expect(notes.first).to_be_visible()
        count = await notes.count()
        await notes.last.get_by_role("button", name="Edit").click()
        await page.get_by_label("Lines").fill("Date: Aug 1, 2026\n* 🔴 [fact] The parcel went to Faro. #39")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("The parcel went to Faro.")).to_be_visible()
        await notes.last.get_by_role("button", name="Delete").click()
        await page.get_by_role("button", name="Cancel").click()
        await expect(notes.last.get_by_role("button", name="Delete")).to_be_focused()
        await expect(notes).to_have_count(count)
        await notes.last.get_by_role("button", name="Delete").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(notes).to_have_count(count - 1)
    assert (await service.memory("support-1"))["log"]["version"] == before + 2


async def test_a_key_is_asked_for_once_and_kept_in_the_tab_only(
    start_service: StartService, database_url: str, browser: Browser
) -> None:
    async with start_service(bootstrap_key=KEY) as service:
        secret, _ = await reading_key(database_url)
        service.client.headers["Authorization"] = f"Bearer {KEY}"
        await service.append("s", *plain_talk(2))
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(service.url)
        for unknown in ("not-the-key-of-this-service", "schl\u00fcssel\u2026"):
            await page.get_by_label("Key").fill(unknown)
            await page.get_by_role("button", name="Open").click()
            await expect(page.get_by_role("alert").first).to_have_text("The key is not valid.")
        away = {"status": 503, "json": {"detail": "the database is away"}}
        await page.route("**/sessions?*", lambda route: route.fulfill(**away))
        await page.get_by_label("Key").fill(f" {secret} ")
        await page.get_by_role("button", name="Open").click()
        await expect(page.get_by_role("button", name="Try again")).to_be_focused()
        await page.unroute_all()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("main")).to_be_focused()
        await page.get_by_role("link", name="s 2 messages").or_(page.locator(".sessions a")).first.click()
        await expect(page.get_by_role("status").get_by_text("live", exact=True)).to_be_visible()
        await page.reload()
        await expect(page.locator(".figures")).to_be_visible()
        other = await context.new_page()
        await other.goto(service.url)
        await expect(other.get_by_label("Key")).to_be_visible()
        assert await page.evaluate("localStorage.length") == 0
        await page.get_by_role("button", name="Forget key").click()
        await expect(page.get_by_label("Key")).to_be_focused()
        await context.close()


async def test_a_key_that_is_revoked_is_asked_for_again(
    start_service: StartService, database_url: str, browser: Browser
) -> None:
    async with start_service(bootstrap_key=KEY, keys={"cache_seconds": 0}) as service:
        secret, made = await reading_key(database_url)
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(service.url)
        await page.get_by_label("Key").fill(secret)
        await page.get_by_role("button", name="Open").click()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        await asyncio.to_thread(revoke, Settings(database_url=database_url), made.id, None)
        await expect(page.get_by_role("alert").first).to_have_text("The key is not valid.")
        await page.get_by_label("Key").fill(KEY)
        await page.get_by_role("button", name="Open").click()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        await context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 390)])
async def test_no_view_has_a_serious_fault_of_accessibility(
    service: Service, browser: Browser, scheme: str, width: int
) -> None:
    await service.client.put("/sessions/support-1", json={"resource_id": "ana"})
    await talked(service, messages=24)
    await service.append("support-1", {"role": "user", "content": "Ana waits for a parcel.\n" * 200})
    for valid_to in (None, "2100-01-01T00:00:00Z"):
        fact = {"text": "Ana has a parcel. " * 80, "category": "profile", "valid_to": valid_to}
        sources = [{"session": "support-1", "cites": [1, 3, 4]}]
        await service.client.post("/resources/ana/facts", json=fact | {"sources": sources})
    screen = {"color_scheme": scheme, "viewport": {"width": width, "height": 850}}
    async with page_of(browser, f"{service.url}/#/support-1", **screen) as page:
        for view in ("Timeline", "Log", "Context", "Versions", "Runs"):
            await turn_to(page, view)
            await fit_and_faultless(page, view)
        await page.get_by_role("link", name="Facts", exact=True).click()
        await expect(page.locator(".fact")).to_have_count(2)
        await fit_and_faultless(page, "Facts")
        await page.get_by_role("button", name="Add").click()
        await fit_and_faultless(page, "Add")
        await page.get_by_role("button", name="Cancel").click()
        await page.get_by_role("link", name="Recall", exact=True).click()
        await page.get_by_label("Query").fill("parcel")
        await page.get_by_label("Neighbours").select_option("1")
        await page.get_by_label("Query").press("Enter")
        await expect(page.locator(".hit.fact")).to_have_count(2)
        await fit_and_faultless(page, "Recall")


async def test_names_of_the_greatest_length_make_no_view_wider_than_a_phone(service: Service, browser: Browser) -> None:
    rules = {"scope": "resource", "message_tokens": 60, "retain_tokens": 0, "buffer_every": None}
    key, other, resource = (name * 200 for name in "kor")
    for each in (key, other):
        await service.client.put(f"/sessions/{each}", json={"resource_id": resource, "config": rules})
        paid = f"{resource} paid invoice 120 of 320 euros for the shop in Porto, and we keep it open. " * 4
        await service.append(each, {"role": "user", "name": "n" * 200, "content": paid}, wait_ms=50_000)
    fact = {"text": f"Has {resource}.", "category": "profile", "sources": [{"session": other, "cites": [1]}]}
    await service.client.post(f"/resources/{resource}/facts", json=fact)
    async with page_of(browser, f"{service.url}/#/{key}", viewport={"width": 360, "height": 740}) as page:
        for view in ("Timeline", "Log", "Facts", "Recall", "Context", "Versions", "Runs"):
            await turn_to(page, view)
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        await page.get_by_role("link", name="Facts", exact=True).click()
        await expect(page.locator(".fact")).to_be_visible()
        for question in ("Add", "Delete all"):
            await page.get_by_role("button", name=question).click()
            dialog = page.get_by_role("dialog")
            assert await dialog.evaluate("(one) => one.scrollWidth <= one.clientWidth"), question
            await page.get_by_role("button", name="Cancel").click()
        await page.get_by_role("link", name="Recall", exact=True).click()
        await page.get_by_label("Query").fill("invoice 120")
        await page.get_by_label("Query").press("Enter")
        await expect(page.locator(".hit").first).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "hits"


async def test_tables_are_no_taller_than_they_need_be(
    start_service: StartService, browser: Browser, models: ModelServer
) -> None:
    """On a phone each run was a screen of its own, one letter wide; hundreds of segments stood before the payload."""
    models.always = Said(status=400, body={"error": {"message": "no such model here " * 12}})
    async with start_service(provider="openai", memory=WAITING | {"message_tokens": 10_000}) as service:
        await service.append("s", *plain_talk(90))
        await service.client.post("/sessions/s/memory/observe")
        async with page_of(browser, f"{service.url}/#/s/runs", viewport={"width": 360, "height": 740}) as page:
            run = await page.locator("tr.failed").first.bounding_box()
            assert run is not None
            assert run["height"] < 370
            await page.get_by_role("link", name="Context", exact=True).click()
            segments = page.get_by_role("region", name="Segments")
            await expect(segments.locator("tr").nth(80)).to_be_attached()
            box = await segments.bounding_box()
            assert box is not None
            assert box["height"] < 740


async def until(page: Page, holds: str) -> None:
    async with asyncio.timeout(PATIENCE_MS / 1000):
        await page.evaluate(f"async () => {{ while (!({holds})) await new Promise(requestAnimationFrame) }}")


async def turn_to(page: Page, view: str) -> None:
    link = page.get_by_role("link", name=view, exact=True)
    await link.click()
    await expect(link).to_have_attribute("aria-current", "page")  # until then the view before it is there
    await expect(page.locator("main section:not(:has([aria-busy]))")).to_be_visible()


# The page gives what is larger than its box a place in the tab order once that is laid out.
REACHABLE = """async () => {
  const isReachable = (one) =>
    one.tabIndex === 0 || (one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight);
  for (let frames = 0; frames < 300; frames++) {
    if ([...document.querySelectorAll("main .scroll, main pre")].every(isReachable)) return;
    await new Promise(requestAnimationFrame);
  }
}"""


async def fit_and_faultless(page: Page, view: str) -> None:
    await page.evaluate(REACHABLE)
    found = await Axe().run(page)
    faults = [
        f"{fault['id']}: {fault['nodes'][0]['html'][:200]}"
        for fault in found.response["violations"]
        if fault["impact"] in {"serious", "critical"}
    ]
    assert faults == [], view
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


async def test_the_api_is_read_and_tried_on_its_page(service: Service, browser: Browser) -> None:
    await service.append("s", *plain_talk(2))
    async with page_of(browser, f"{service.url}/docs") as page:
        operation = page.locator("#operations-sessions-listSessions")
        await operation.get_by_role("button").first.click()
        await operation.get_by_role("button", name="Try it out").click()
        await operation.get_by_role("button", name="Execute").click()
        await expect(operation.locator(".responses-wrapper .live-responses-table")).to_contain_text('"session": "s"')


async def test_the_page_needs_no_key_and_its_files_are_its_own(start_service: StartService) -> None:
    async with start_service(bootstrap_key=KEY) as service:
        for path in ("/", "/docs", "/console/console.js", "/console/vendor/uplot.css"):
            answer = await service.client.get(path)
            assert answer.status_code == 200
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for path in ("/console/none.js", "/console/../routes.py", "/console/%2e%2e/routes.py"):
            assert (await service.client.get(path)).status_code == httpx.codes.NOT_FOUND
