"""The profiles of the browser, the library they share, and the files that come out of them."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.agent.workspace.workspace import Workspaces, media_folder
from hub.core.clock import Clock
from hub.core.errors import Forbidden, InvalidRequest, LimitExceeded, NotFound
from hub.core.executors import FILES
from hub.core.ids import new_id
from hub.core.tasks import TaskOwner
from hub.sandbox.sandboxes import Sandboxes
from hub.security.egress import Egress
from hub.security.root import Root
from hub.storage.homedir import Home
from hub.tools.contract import ToolCall
from integrations.tools.browser.profile import IDLE_S, BrowserProfile
from integrations.tools.browser.schema import ATTACH, DEFAULT_PROFILE, MANAGED, PUBLIC, TAB, TAB_PROFILE
from integrations.tools.browser.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import Download, FilePayload, Playwright

    from integrations.tools.browser.handed_tab import HandedTab

DOWNLOAD_LIMIT_BYTES = 50_000_000
DOWNLOADS_LIMIT = 20
"""Of one tab, between two calls; further ones are cancelled."""
UPLOAD_LIMIT_BYTES = 20_000_000
"""Of one file."""
ALWAYS = {DEFAULT_PROFILE: MANAGED, TAB_PROFILE: TAB}
"""The profiles that are there without being configured, each with its mode."""
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}\Z")


class BrowserService:
    """The profiles.

    Args:
        config: The checked section.
        home: The parent directory of managed profiles.
        egress: Judges where they may go.
        clock: Measures how long they were idle.
        workspaces: Store downloads and provide uploads.
        sandboxes: Make the sandboxes of profiles.
        default_agent: Their owner if the configuration names none.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        home: Home,
        *,
        egress: Egress,
        clock: Clock,
        workspaces: Workspaces,
        sandboxes: Sandboxes,
        default_agent: str,
    ) -> None:
        self._clock, self._workspaces, self._sandboxes = clock, workspaces, sandboxes
        program = {"executable": config.get("executable"), "headless": config.get("headless", True)}
        always = {name: {"mode": mode, "network": PUBLIC} for name, mode in ALWAYS.items()}
        configured = {**always, **config.get("profiles", {})}
        folder = home.storage / "integrations" / "browser"
        self.profiles = {
            name: BrowserProfile(
                name,
                {"agent": default_agent, **settings},
                folder / name,
                program=program,
                egress=egress,
                clock=clock,
                keep=self._downloaded,
                sandboxes=sandboxes,
            )
            for name, settings in configured.items()
        }
        self._library: Playwright | None = None
        self._tasks = TaskOwner("browser")
        self._changing = asyncio.Lock()
        """Held while a profile starts or stops, so that the library is not unloaded under one that starts."""

    def profile(self, name: str | None) -> BrowserProfile:
        """Return a profile; the default one without a name.

        Raises:
            NotFound: There is none with that name.
        """
        found = self.profiles.get(name or DEFAULT_PROFILE)
        if found is None:
            raise NotFound(f"there is no browser profile {name!r}; there are: {', '.join(self.profiles)}")
        return found

    def refuse_outside(self, call: ToolCall, profile: BrowserProfile) -> None:
        """Refuse a browser outside of the sandbox that a whole conversation is confined to.

        Raises:
            Forbidden: It is not one of the agent's own sandbox.
        """
        boxed = [each for each in self.profiles.values() if each.is_boxed]
        mine = [each.name for each in boxed if each.settings["agent"] == call.agent_id]
        confined = self._sandboxes.confines(call.agent_id, call.session_key, call.context.authority)
        if confined and profile.name not in mine:
            raise Forbidden(
                "profile: this conversation is in a sandbox, and uses a browser there alone: "
                f"{', '.join(mine) or 'none is configured (browser: profiles: with mode: sandbox)'}"
            )

    async def start(self, name: str | None) -> BrowserProfile:
        """Return a profile that runs.

        Raises:
            NotFound: There is none with that name.
            Forbidden: It runs on the machine itself, where other homes are.
            Unavailable: It does not start.
        """
        profile = self.profile(name)
        if self._sandboxes.mandatory and profile.settings["mode"] in (MANAGED, ATTACH):
            raise Forbidden(
                f"the browser profile {profile.name} runs on the machine itself, and a worker carries other homes too: "
                f"give it `browser: profiles: {profile.name}: mode: sandbox`"
            )
        async with self._changing:
            await profile.start(self._playwright)
        return profile

    async def stop(self, name: str | None) -> BrowserProfile:
        """Stop a profile and return it.

        Raises:
            NotFound: There is none with that name.
        """
        profile = self.profile(name)
        async with self._changing:
            await profile.stop()
        return profile

    def release(self, profile: BrowserProfile, tab: HandedTab) -> None:
        """Stop a profile that uses a tab which was taken back, in a task: its request may be cancelled."""
        self._tasks.spawn(self._release(profile, tab), name="release a tab")

    async def _release(self, profile: BrowserProfile, tab: HandedTab) -> None:
        async with self._changing:
            if profile.uses(tab):
                await profile.stop()
        if profile.handed is tab:
            profile.handed = None
        tab.released.set()

    async def stop_idle(self) -> None:
        """Stop idle profiles, repeatedly."""
        while True:
            await self._clock.sleep(IDLE_S / 4)
            async with self._changing:
                for profile in self.profiles.values():
                    if profile.idle:
                        await profile.stop()
                if not any(profile.running for profile in self.profiles.values()):
                    await self._unload()

    async def close(self) -> None:
        """Stop everything, and disconnect what somebody has attached, so that it comes to the next service."""
        async with self._changing:
            for profile in self.profiles.values():
                await profile.stop()
                for far in {profile.attached, profile.handed}:
                    if far is not None:
                        await far.close()
            await self._unload()
        await self._tasks.cancel_all()

    async def keep(self, call: ToolCall, data: bytes, suffix: str) -> str:
        """Keep a file of a page with the attachments of a conversation; return its path in the workspace."""
        path = f"{media_folder(call.session_key)}/browser-{new_id()}{suffix}"
        await FILES.run(self._write, call.agent_id, path, data)
        return path

    async def payloads(self, call: ToolCall, paths: list[str]) -> list[FilePayload]:
        """Return files of the workspace, as the conversation sees it, for a page to upload.

        Raises:
            InvalidRequest: One is not there.
        """
        root = self._workspaces.view(call.agent_id, call.session_key, call.context.authority)
        found: list[FilePayload] = []
        for path in paths:
            try:
                data = await FILES.run(root.read_bytes, path, UPLOAD_LIMIT_BYTES)
            except OSError as error:
                raise InvalidRequest(f"{path}: {error.strerror or error}; name a file of your workspace") from error
            kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
            found.append({"name": path.rpartition("/")[2], "mimeType": kind, "buffer": data})
        return found

    async def _downloaded(self, tab: Tab, download: Download) -> None:
        from playwright.async_api import Error

        call = tab.call
        name = download.suggested_filename[:100]
        tab.downloads += 1
        if call is None or tab.downloads > DOWNLOADS_LIMIT:
            return await download.cancel()
        try:
            file = Path(await download.path())  # what is in a sandbox could have put a link in its place
            data = await FILES.run(Root(file.parent).read_bytes, file.name, DOWNLOAD_LIMIT_BYTES)
            suffix = _SUFFIX.search(name.lower())
            path = await self.keep(call, data, suffix[0] if suffix else "")
            tab.notes.append(f"downloaded {name!r} ({len(data)} bytes) to {path}")
        except (Error, OSError, LimitExceeded) as error:
            tab.notes.append(f"the download of {name!r} failed: {str(error)[:200]}")
        finally:
            await download.delete()

    def _write(self, agent_id: str, path: str, data: bytes) -> None:
        if not self._workspaces.is_ready(agent_id):
            self._workspaces.ensure(agent_id)
        self._workspaces.outside.mark(agent_id, path, data)
        self._workspaces.root(agent_id).write_bytes(path, data, parents=True, executable=False)

    async def _playwright(self) -> Playwright:
        if self._library is None:
            from playwright.async_api import async_playwright

            self._library = await async_playwright().start()
        return self._library

    async def _unload(self) -> None:
        library, self._library = self._library, None
        if library is not None:
            await library.stop()
