"""A real headless Chromium for tests: strict about what a page may do behind their back."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error as PlaywrightError,
    Page,
    Playwright,
    StorageState,
    async_playwright,
    expect,
)

from tests.web.looks import DESKTOP

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Browsers that will do; the first draws nothing on a screen and takes half the time of the others."""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-gpu-compositing",
    "--in-process-gpu",
    "--renderer-process-limit=1",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-features=NetworkServiceInProcess2",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]
WAIT_LIMIT_MS = 30_000
BLANK = "about:blank"


@asynccontextmanager
async def launched(names: Iterable[str] = NAMES, *more: str) -> AsyncIterator[Browser]:
    """Start the first of these browsers that is there, with more arguments; profiles opened in it share nothing."""
    path = next((found for name in names if (found := shutil.which(name))), None)
    assert path is not None, "these tests need Chromium: apt-get install chromium, or script/test installs it"
    expect.set_options(timeout=WAIT_LIMIT_MS)
    async with async_playwright() as playwright:
        browser = await _launch(playwright, path, [*ARGUMENTS, *more])
        yield browser
        await browser.close()


async def _launch(playwright: Playwright, path: str, arguments: list[str]) -> Browser:
    """Start Chromium, which now and then crashes in its own code before it is up (seen in its thread pool)."""
    for _ in range(2):
        with contextlib.suppress(PlaywrightError):
            return await playwright.chromium.launch(executable_path=path, args=arguments)
    return await playwright.chromium.launch(executable_path=path, args=arguments)


RESTART = "ERR_CONNECTION_(REFUSED|RESET|CLOSED)|ERR_EMPTY_RESPONSE|WebSocket|status of 503"
"""What a browser says of a hub that goes away and comes back."""


class Chromium:
    """The profiles of one test, and what went wrong in their pages.

    Args:
        browser: Where they are opened.
        base_url: The hub; a request to anywhere else is a failure.
    """

    def __init__(self, browser: Browser, base_url: str) -> None:
        self.base_url = base_url
        self.faults: list[str] = []
        self.allowed: list[str] = []
        """Patterns of faults that a test causes on purpose."""
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._listening: list[tuple[Any, str, Callable[..., None]]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for context in self._contexts:
            await context.close()

    async def context(self, **options: Any) -> BrowserContext:
        """Open a browser profile of its own; options are Playwright's."""
        defaults: dict[str, Any] = {
            "viewport": DESKTOP,
            "locale": "en-US",
            "base_url": self.base_url,
            "reduced_motion": "reduce",  # each move of a page would be drawn 60 times a second
        }
        context = await self._browser.new_context(**{**defaults, **options})
        context.set_default_timeout(WAIT_LIMIT_MS)
        self.watch(context)
        self._contexts.append(context)
        return context

    def watch(self, context: BrowserContext) -> None:
        """Take notice of what goes wrong in the pages of a profile."""
        self._on(context, "page", self._watch)
        for page in context.pages:
            self._watch(page)

    def look_away(self) -> None:
        """Take notice of nothing any more."""
        for emitter, event, listener in self._listening:
            emitter.remove_listener(event, listener)
        self._listening.clear()

    def unexpected(self) -> list[str]:
        """Return the faults that no test asked for."""
        return [fault for fault in self.faults if not any(re.search(pattern, fault) for pattern in self.allowed)]

    def _watch(self, page: Page) -> None:
        self._on(page, "pageerror", lambda error: self.faults.append(f"page error: {error}"))
        self._on(page, "console", self._listen)
        self._on(page, "request", lambda request: self._judge(request.url))

    def _on(self, emitter: Any, event: str, listener: Callable[..., None]) -> None:
        emitter.on(event, listener)
        self._listening.append((emitter, event, listener))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def _judge(self, url: str) -> None:
        if url.startswith(("data:", "blob:", "about:")) or urlsplit(url).netloc == urlsplit(self.base_url).netloc:
            return
        self.faults.append(f"request to the outside: {url}")


async def opened(context: BrowserContext, path: str) -> Page:
    """Open a page in a tab that shows nothing yet, or in a new one."""
    page = next((each for each in context.pages if each.url == BLANK), None) or await context.new_page()
    await page.goto(path)
    await is_ready(page)
    return page


async def cleared(context: BrowserContext, origin: str, cookies: StorageState) -> None:
    """Make a profile as it was before a test; one tab stays, and with it what is cached and compiled."""
    tab, *others = context.pages or [await context.new_page()]
    for page in others:
        await page.close()
    await tab.unroute_all(behavior="ignoreErrors")
    try:
        await tab.goto(BLANK)
    except PlaywrightError:  # it was just going elsewhere by itself
        left, tab = tab, await context.new_page()
        await left.close()
    if tab.viewport_size != DESKTOP:
        await tab.set_viewport_size(DESKTOP)
    await tab.emulate_media(color_scheme="null", reduced_motion="reduce")
    devtools = await context.new_cdp_session(tab)
    await devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"})
    await devtools.detach()
    await context.clear_cookies()
    await context.add_cookies(cookies["cookies"])  # type: ignore[arg-type]  # the same fields by another name


async def is_ready(page: Page) -> None:
    """Wait until the page's scripts run and its live socket is connected."""
    await page.wait_for_selector("html[data-ready][data-live=on]")
    await page.wait_for_load_state()  # the scripts of this page alone may come last


@asynccontextmanager
async def another_page(page: Page) -> AsyncIterator[None]:
    """Wait, at the end of the block, until what it did has loaded another page: the one before is ready already."""
    await page.evaluate("() => { document.documentElement.dataset.before = ''; }")
    yield
    await page.wait_for_selector("html[data-ready][data-live=on]:not([data-before])")
    await page.wait_for_load_state()
