"""The hooks of the home: folders with a HOOK.md and a handler.py, off until the owner enables them as they are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from msgspec import Struct

from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.hooks.contract import HOOKS, HookHandler
from hub.hooks.hook_file import HANDLER_FILE, HOOK_FILE, HookFile, function_of, read_hook
from hub.hooks.registry import Hook, Hooks
from hub.skills.folder import digest_of, read_folder
from hub.skills.pins import SkillPin, SkillPins

_log = logging.getLogger(__name__)

FOLDER = "hooks"
PINS_FILE = "hooks.json"
FOLDERS_LIMIT = 100
"""Folders that are looked at."""


class HookState(StrEnum):
    """Whether a hook of the home is called."""

    READY = "ready"
    OFF = "off"
    CHANGED = "changed"
    """Its files are not those that were enabled; it is off."""
    BROKEN = "broken"


class HomeHook(Struct, frozen=True):
    """A folder with a hook.

    Attributes:
        name: The name of the folder.
        file: What its HOOK.md says; None when it cannot be read.
        error: Why it is broken.
        digest: Of all its files; empty when they cannot be read.
        files: Its files.
    """

    name: str
    state: HookState
    file: HookFile | None = None
    error: str = ""
    digest: str = ""
    files: Mapping[str, bytes] = {}


class HomeHooks:
    """Knows the hooks of the home, and adds the handlers of those that are enabled.

    Args:
        folder: The directory they lie in.
        pins: What the owner enabled.
        hooks: Where their handlers are added.
        changed: Called after they were looked at.
    """

    def __init__(self, folder: Path, pins: SkillPins, hooks: Hooks, changed: Callable[[], None]) -> None:
        self.folder = folder
        self._pins = pins
        self._hooks = hooks
        self._changed = changed
        self._found: dict[str, HomeHook] = {}
        self._loaded: dict[str, tuple[str, str, list[Callable[[], None]]]] = {}
        self._looking = asyncio.Lock()

    def all(self) -> list[HomeHook]:
        """Return those that were found, by name."""
        return list(self._found.values())

    async def refresh(self) -> None:
        """Look at the files; add the handlers of what is enabled, and remove those of what is not any more.

        What runs is what was hashed: a handler.py is never read a second time.

        Raises:
            HubError: The pins are damaged; no hook of the home is called then.
        """
        async with self._looking:
            try:
                found = await asyncio.to_thread(self._find)
            except HubError:
                self._found = {}
                for name in list(self._loaded):
                    self._unload(name)
                raise
            for name, (digest, _, _) in list(self._loaded.items()):
                hook = found.get(name)
                if hook is None or hook.state is not HookState.READY or hook.digest != digest:
                    self._unload(name)
            for name, hook in found.items():
                if hook.state is HookState.READY and name not in self._loaded:
                    await self._load(hook)
            self._found = {name: self._judged(hook) for name, hook in found.items()}
        self._changed()

    async def get(self, name: str) -> HomeHook:
        """Return a hook as it is now.

        Raises:
            NotFound: There is none of that name.
        """
        await self.refresh()
        if name not in self._found:
            raise NotFound(f"there is no hook {name[:100]!r} in {self.folder}; `homarus hooks list` shows all")
        return self._found[name]

    async def enable(self, name: str, digest: str, now_ms: int) -> HomeHook:
        """Call a hook from now on, until its files change.

        Args:
            digest: Of what was looked at.

        Raises:
            NotFound: There is none of that name.
            InvalidRequest: It is broken.
            Conflict: It is not what was looked at.
        """
        hook = await self.get(name)
        if hook.file is None:
            raise InvalidRequest(f"the hook {name} cannot be enabled: {hook.error}")
        if hook.digest != digest:
            raise Conflict(f"the files of the hook {name} are not those you looked at; look at it again")
        await asyncio.to_thread(self._pins.put, name, SkillPin(True, digest, now_ms))
        return await self.get(name)

    async def disable(self, name: str) -> HomeHook:
        """Call a hook no more.

        Raises:
            NotFound: There is none of that name.
        """
        await self.get(name)
        await asyncio.to_thread(self._pins.put, name, SkillPin(False))
        return await self.get(name)

    def _find(self) -> dict[str, HomeHook]:
        pins = self._pins.all()
        try:
            folders = sorted(each for each in self.folder.iterdir() if each.is_dir() and each.name[0] not in "._")
        except OSError:
            return {}
        return {each.name: _look(each, pins.get(each.name, SkillPin())) for each in folders[:FOLDERS_LIMIT]}

    def _judged(self, hook: HomeHook) -> HomeHook:
        """Return it as broken when it could not be loaded."""
        _, error, _ = self._loaded.get(hook.name, ("", "", []))
        return HomeHook(hook.name, HookState.BROKEN, hook.file, error, hook.digest, hook.files) if error else hook

    async def _load(self, hook: HomeHook) -> None:
        """Add the handlers of an enabled hook; where it cannot be loaded, its guards refuse."""
        if hook.file is None:
            raise AssertionError("a hook that is ready has a file")
        file, error, handlers = hook.file, "", dict[str, HookHandler]()
        try:
            handlers = await asyncio.to_thread(_handlers, hook, file)
        except Exception as failed:  # whatever the code of the home raises
            error = failed.message if isinstance(failed, HubError) else f"{type(failed).__name__}: {failed}"
            _log.exception("the hook %s cannot be loaded", hook.name)
            handlers = {event: partial(_refuse, error) for event in file.events if HOOKS[event].guard}
        source = f"hook {hook.name}"
        added = [
            self._hooks.add(Hook(event, handler, source, file.priority, file.timeout_s))
            for event, handler in handlers.items()
        ]
        self._loaded[hook.name] = (hook.digest, error, added)

    def _unload(self, name: str) -> None:
        for remove in self._loaded.pop(name)[2]:
            remove()


def _look(folder: Path, pin: SkillPin) -> HomeHook:
    try:
        files = read_folder(folder)
        digest = digest_of(files)
        for needed in (HOOK_FILE, HANDLER_FILE):
            if needed not in files:
                raise InvalidRequest(f"{needed} is missing")
        file = read_hook(files[HOOK_FILE].decode("utf-8"), folder.name)
    except UnicodeDecodeError:
        return HomeHook(folder.name, HookState.BROKEN, error=f"{HOOK_FILE} is not UTF-8")
    except HubError as error:
        return HomeHook(folder.name, HookState.BROKEN, error=error.message)
    state = HookState.OFF
    if pin.enabled:
        state = HookState.READY if pin.digest == digest else HookState.CHANGED
    return HomeHook(folder.name, state, file, "", digest, files)


def _handlers(hook: HomeHook, file: HookFile) -> dict[str, HookHandler]:
    """Execute the handler.py that was hashed, and return its functions."""
    module = ModuleType(f"homarus_hook_{hook.name}")
    code = compile(hook.files[HANDLER_FILE], f"{FOLDER}/{hook.name}/{HANDLER_FILE}", "exec")
    exec(code, module.__dict__)  # noqa: S102  the owner has enabled exactly this
    handlers: dict[str, HookHandler] = {}
    for event in file.events:
        handler = getattr(module, function_of(event), None)
        if not callable(handler):
            raise InvalidRequest(f"{HANDLER_FILE} has no function {function_of(event)}, which {HOOK_FILE} lists")
        handlers[event] = handler
    return handlers


def _refuse(error: str, payload: Any) -> NoReturn:
    raise InvalidRequest(f"it cannot be loaded: {error}")
