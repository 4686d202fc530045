"""A tab: its page, the refs of its last snapshots, and the events of the page since."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hub.core.errors import Forbidden, InvalidRequest
from hub.tools.contract import ToolCall
from integrations.tools.browser.snapshot import Element, SnapshotForm, read_snapshot

if TYPE_CHECKING:
    from playwright.async_api import (
        CDPSession,
        ConsoleMessage,
        Dialog,
        Download,
        Frame,
        Locator,
        Page,
        Request,
        Response,
    )

LOG_LENGTH = 200
LOG_LINE_LIMIT = 500
NOTES_LIMIT = 20
SNAPSHOT_LIMIT_MS = 20_000.0
_OF_THE_WEB = ("http", "https", "data", "blob", "chrome-error")
_HIDDEN = "[hidden]"
_REF = re.compile(r"e?([1-9]\d{0,8})\Z")

OnDownload = Callable[["Tab", "Download"], Any]


class Tab:
    """One page of a profile.

    Args:
        id: `t1`, …; never given twice.
        page: The page of Playwright.
        next_number: Returns a number that no element had before.
        on_download: Takes the page's downloads; a coroutine function.
    """

    def __init__(self, id: str, page: Page, next_number: Callable[[], int], on_download: OnDownload) -> None:
        self.id, self.page = id, page
        self.console: deque[str] = deque(maxlen=LOG_LENGTH)
        self.requests: deque[str] = deque(maxlen=LOG_LENGTH)
        self.notes: deque[str] = deque(maxlen=NOTES_LIMIT)
        """What happened since they were last shown."""
        self.elements: dict[int, Element] = {}
        self.accept_dialog: tuple[bool, str | None] = (False, None)
        """How the next dialog is answered, and with what text."""
        self.downloads = 0
        """How many there were since the last call."""
        self.lock = asyncio.Lock()
        self.call: ToolCall | None = None
        """The last call that worked in it; what it downloads is kept for that conversation."""
        self._next_number = next_number
        self._cdp: CDPSession | None = None
        self._numbers: dict[str, int] = {}
        page.on("framenavigated", self._navigated)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.console.append(f"error: {str(error)[:LOG_LINE_LIMIT]}"))
        page.on("response", self._answered)
        page.on("requestfailed", self._failed)
        page.on("dialog", self._dialog)
        page.on("download", lambda download: on_download(self, download))

    @property
    def url(self) -> str:
        """The address of the page."""
        return self.page.url

    async def cdp(self) -> CDPSession:
        """Return the tab's own session of the DevTools protocol; its settings last as long as the tab."""
        if self._cdp is None:
            self._cdp = await self.page.context.new_cdp_session(self.page)
        return self._cdp

    def refuse_foreign(self) -> None:
        """Refuse a page that is not of the web.

        Raises:
            Forbidden: It shows a file, or a part of the browser itself.
        """
        scheme = urlsplit(self.page.url).scheme
        if scheme not in _OF_THE_WEB and self.page.url != "about:blank":
            raise Forbidden(f"tab {self.id} shows {scheme}:, and only web pages are used")

    async def snapshot(self, form: SnapshotForm, *, depth: int | None = None, boxes: bool = False) -> str:
        """Return the full page snapshot; its refs are valid until the tab leaves the page."""
        text = await self.page.aria_snapshot(mode="ai", depth=depth, boxes=boxes, timeout=SNAPSHOT_LIMIT_MS)
        shown, found = read_snapshot(text, self._number, form)
        self.elements.update(found)
        for number in await self._passwords(found):
            shown = re.sub(rf"(\[ref=e?{number}\][^\n:]*): .*", rf"\1: {_HIDDEN}", shown)
        return shown

    async def _passwords(self, found: Mapping[int, Element]) -> list[int]:
        """Return which elements are password fields: a person's input there is not for a model."""
        counts = [await frame.locator("input[type=password]").count() for frame in self.page.frames]
        fields = (
            {number: element for number, element in found.items() if element.role == "textbox"} if any(counts) else {}
        )
        test = "e => e.type === 'password'"
        return [
            number
            for number, element in fields.items()
            if await self.page.locator(f"aria-ref={element.ref}").evaluate(test, timeout=SNAPSHOT_LIMIT_MS)
        ]

    def element(self, ref: str) -> Element:
        """Return the element of a ref.

        Raises:
            InvalidRequest: The ref is none, or of an earlier page.
        """
        matched = _REF.match(ref)
        if matched is None:
            raise InvalidRequest(f"ref {ref[:40]!r}: expected one from a snapshot, such as 12 or e12")
        found = self.elements.get(int(matched[1]))
        if found is None:
            raise InvalidRequest(
                f"ref {ref} is not of the page that tab {self.id} shows; refs end with their page: take a new snapshot"
            )
        return found

    async def locator(self, ref: str) -> Locator:
        """Return the locator of a ref's element.

        Raises:
            InvalidRequest: The ref is unknown, of an earlier page, or its element no longer exists.
        """
        found = self.page.locator(f"aria-ref={self.element(ref).ref}")
        if await found.count() != 1:
            raise InvalidRequest(f"ref {ref} is no longer on the page: take a new snapshot")
        return found

    def take_notes(self) -> list[str]:
        """Return the events since the last call."""
        notes = list(self.notes)
        self.notes.clear()
        return notes

    def _number(self, ref: str) -> int:
        if ref not in self._numbers:
            self._numbers[ref] = self._next_number()
        return self._numbers[ref]

    def _navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None:
            self.elements.clear()
            self._numbers.clear()
            self.notes.append(f"the tab went to {frame.url[:LOG_LINE_LIMIT]}")

    def _said(self, message: ConsoleMessage) -> None:
        self.console.append(f"{message.type}: {message.text[:LOG_LINE_LIMIT]}")

    def _answered(self, response: Response) -> None:
        request = response.request
        self.requests.append(
            f"{request.method} {response.status} {request.resource_type} {request.url[:LOG_LINE_LIMIT]}"
        )

    def _failed(self, request: Request) -> None:
        self.requests.append(
            f"{request.method} failed ({request.failure}) {request.resource_type} {request.url[:LOG_LINE_LIMIT]}"
        )

    async def _dialog(self, dialog: Dialog) -> None:
        accept, text = self.accept_dialog
        self.accept_dialog = (False, None)
        accept = accept or dialog.type == "beforeunload"
        self.notes.append(
            f"a dialog ({dialog.type}) said {dialog.message[:LOG_LINE_LIMIT]!r} and was "
            f"{'accepted' if accept else 'dismissed'}"
        )
        await (dialog.accept(text or "") if accept else dialog.dismiss())
