"""A window for pages of the canvas: a browser in app mode, with a profile of its own, that knows nobody's passwords."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..errors import NodeError
from ..parameters import text
from .contract import Answer, Offer

URL_CHARS = 2_000
_APPLICATIONS = "/Applications/{0}.app/Contents/MacOS/{0}"
BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "brave-browser", "microsoft-edge"),
    *map(_APPLICATIONS.format, ("Google Chrome", "Chromium", "Brave Browser", "Microsoft Edge")),
)
"""Those that open a window without an address bar; others would open a tab among their user's own."""
_INSTALL = "install chromium; other browsers have no windows for a page alone"
_OPTIONS = ("--no-first-run", "--no-default-browser-check", "--disable-sync", "--disable-extensions", "--incognito")


class BrowserWindow:
    """The one window; a page that is presented takes the place of the one before."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._profile = ""
        atexit.register(self._close)

    def offers(self) -> list[Offer]:
        """Return the commands; scripts and pictures of the page are for the phones' page, which has it in a frame."""
        return [
            Offer("canvas.present", self._show, BROWSERS, _INSTALL),
            Offer("canvas.navigate", self._show, BROWSERS, _INSTALL),
            Offer("canvas.hide", self._hide, BROWSERS, _INSTALL),
        ]

    async def _show(self, params: Mapping[str, Any], program: str) -> Answer:
        url = text(params, "url", limit=URL_CHARS)
        if urlsplit(url).scheme not in ("http", "https") or not url.isprintable():
            raise NodeError("INVALID_PARAMS", "url: expected an http(s) address")
        await self._hide({}, program)
        self._profile = await asyncio.to_thread(tempfile.mkdtemp, prefix="homarus-canvas-")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(program, f"--app={url}", f"--user-data-dir={self._profile}", *_OPTIONS),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise NodeError("UNAVAILABLE", f"{program} cannot be started: {error}") from error
        return {}

    async def _hide(self, params: Mapping[str, Any], program: str) -> Answer:
        process = self._process
        await asyncio.to_thread(self._close)
        if process is not None:
            await process.wait()
        return {}

    def _close(self) -> None:
        """End the browser and all of its processes, and forget what it kept."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        profile, self._profile = self._profile, ""
        if profile:
            shutil.rmtree(profile, ignore_errors=True)
