"""A real browser: Debian's Chromium, driven by Playwright."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from app.commands.issuing import create, wanted
from app.keys.model import ApiKey
from app.settings import Settings

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Our pages call no other host; these keep the browser from calling home.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 60_000  # for a busy machine; Playwright's default for expectations is 5 s
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
async def started_browser() -> AsyncIterator[Browser]:
    """One browser for all tests of a worker, because its start takes longer than most tests."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip("no Chromium here; Debian has it as the package chromium")
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=found, args=QUIET)
        yield started
        await started.close()


@pytest.fixture
async def browser(started_browser: Browser) -> AsyncIterator[Browser]:
    """A browser without contexts, and so without cookies, storage and pages."""
    yield started_browser
    for context in started_browser.contexts:
        await context.close()


async def reading_key(database_url: str, *, tenant: str = "default") -> tuple[str, ApiKey]:
    """A new key of scope read: its secret, and the stored key."""
    asked_for = wanted(tenant=tenant, scopes=["read"], name="", expires=None)
    return await asyncio.to_thread(create, Settings(database_url=database_url), asked_for)


@asynccontextmanager
async def page_of(browser: Browser, url: str, **options: Any) -> AsyncIterator[Page]:
    """A page that fails the test if it logs an error or calls another host."""
    origin = "/".join(url.split("/")[:3])
    context = await browser.new_context(**{"viewport": {"width": 1300, "height": 900}} | options)
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(origin) else None)
    await page.goto(url)
    yield page
    await context.close()
    assert wrong == []


async def tab_seen(page: Page, *, is_seen: bool) -> None:
    """Simulate a switch to another tab, or back, because Playwright cannot hide a page."""
    await page.evaluate(
        """hidden => (Object.defineProperty(document, "hidden", { value: hidden, configurable: true }),
           document.dispatchEvent(new Event("visibilitychange")))""",
        not is_seen,
    )
