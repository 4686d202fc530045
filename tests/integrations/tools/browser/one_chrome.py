"""A whole Chromium with the extension that hands over a tab, and the button in its toolbar."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, CDPSession, Page, Worker, async_playwright

from integrations.tools.browser.cli import EXTENSION
from tests.web.browser import ARGUMENTS, WAIT_LIMIT_MS

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Those that take extensions; `chromium-headless-shell` takes none."""
LIMIT_S = 60.0


class OneChrome:
    """The browser of a person.

    Args:
        context: Its tabs.
        devtools: Speaks with the browser as a whole.
        id: The extension.
        worker: Its service worker.
    """

    def __init__(self, context: BrowserContext, devtools: CDPSession, id: str, worker: Worker) -> None:
        self.context, self.id, self._devtools, self._worker = context, id, devtools, worker

    async def clear(self) -> None:
        """Close all tabs but an empty one, and forget what was wrong."""
        await self._worker.evaluate("() => chrome.storage.session.remove('trouble')")
        kept = await self.context.new_page()
        for each in self.context.pages:
            if each is not kept:
                await each.close()

    async def open(self, url: str) -> Page:
        """Open a tab, which is the one in front then."""
        page = await self.context.new_page()
        await page.goto(url)
        await page.bring_to_front()
        return page

    async def press(self, page: Page) -> None:
        """Press the button of the extension in a tab, which is brought to the front."""
        await page.bring_to_front()
        async with asyncio.timeout(LIMIT_S):
            while (id := await self._tab(page.url)) is None:  # noqa: ASYNC110  no event tells of it
                await asyncio.sleep(0.02)
        await self._devtools.send("Extensions.triggerAction", {"id": self.id, "targetId": id})

    async def _tab(self, url: str) -> str | None:
        found = await self._devtools.send("Target.getTargets", {"filter": [{"type": "tab"}]})
        ids: list[str] = [each["targetId"] for each in found["targetInfos"] if each["url"] == url]
        return ids[0] if len(ids) == 1 else None

    async def target(self, page: Page) -> str:
        """Return the id that the browser has for a page."""
        session = await self.context.new_cdp_session(page)
        found: str = (await session.send("Target.getTargetInfo"))["targetInfo"]["targetId"]
        await session.detach()
        return found

    async def shows(self, *texts: str) -> None:
        """Wait until the button shows these texts in some tab; none for no tab that is handed over.

        The mark of a trouble goes when the popup is read, which opens by itself where it can.
        """
        await self._wait(lambda found: [each for each in found["badges"] if each not in ("", "!")] == list(texts))

    async def shows_in_front(self, text: str) -> None:
        """Wait until the button shows a text in the tab that is in front."""
        await self._wait(lambda found: found["front"] == text)

    async def tells(self, name: str) -> None:
        """Wait until the popup tells of a trouble."""
        await self._wait(lambda found: found["trouble"] == name)

    async def _wait(self, fits: Callable[[dict[str, Any]], bool]) -> None:
        ask = """async () => {
            const tabs = (await chrome.tabs.query({})).sort((one, other) => one.index - other.index);
            const badge = tab => chrome.action.getBadgeText({tabId: tab.id}).catch(() => "");
            const badges = await Promise.all(tabs.map(badge));
            const {trouble} = await chrome.storage.session.get("trouble");
            return {badges, front: badges[tabs.findIndex(tab => tab.active)], trouble: trouble?.name};
        }"""
        found: dict[str, Any] = {}
        try:
            async with asyncio.timeout(LIMIT_S):
                while not fits(found := await self._worker.evaluate(ask)):  # noqa: ASYNC110  no event tells of it
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"the button shows {found}") from None

    async def keep(self, **values: str) -> None:
        """Write what the options page would."""
        await self._worker.evaluate("values => chrome.storage.local.set(values)", values)


@asynccontextmanager
async def one_chrome(folder: Path, language: str = "en-US") -> AsyncIterator[OneChrome]:
    """Start it with the extension."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    assert path is not None, "this test needs a whole Chromium: apt-get install chromium, or script/test installs it"
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            folder,
            executable_path=path,
            args=[*ARGUMENTS, "--enable-unsafe-extension-debugging"],
            ignore_default_args=["--disable-extensions"],
            locale=language,
        )
        context.set_default_timeout(WAIT_LIMIT_MS)
        assert context.browser is not None
        devtools = await context.browser.new_browser_cdp_session()
        async with context.expect_event("serviceworker") as started:
            id = (await devtools.send("Extensions.loadUnpacked", {"path": str(EXTENSION)}))["id"]
        yield OneChrome(context, devtools, id, await started.value)
        await context.close()
