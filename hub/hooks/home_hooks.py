"""The hooks of the home, and the bundled ones: off until the owner enables them as they are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.executors import DOCUMENTS
from hub.hooks.contract import HOOKS, HookHandler
from hub.hooks.hook_file import HANDLER_FILE, HOOK_FILE, HookFile, function_of, read_hook
from hub.hooks.registry import Hook, Hooks
from hub.skills.folder import digest_of, read_folder
from hub.skills.pins import SkillPin, SkillPins

_log = logging.getLogger(__name__)

FOLDER = "hooks"
PINS_FILE = "hooks.json"
NOT_AS_ENABLED = "its files are not those that were enabled"
FOLDERS_LIMIT = 100
"""Folders that are looked at."""


class HookState(StrEnum):
    """The state of a hook of the home."""

    READY = "ready"
    OFF = "off"
    CHANGED = "changed"
    """Its files are not those that were enabled, or are gone; it is off, and its guards refuse."""
    BROKEN = "broken"


class HomeHook(Struct, frozen=True):
    """A folder with a hook.

    Attributes:
        name: The name of the folder.
        file: Its HOOK.md; None when it cannot be read.
        error: Why it is broken.
        digest: The digest of all its files; empty when they cannot be read.
        files: Its files.
        bundled: Whether it came with the hub.
        guards: The guards that refuse their subjects, since it was enabled with them and cannot be called.
    """

    name: str
    state: HookState
    file: HookFile | None = None
    error: str = ""
    digest: str = ""
    files: Mapping[str, bytes] = {}
    bundled: bool = False
    guards: tuple[str, ...] = ()


class _Loaded(Struct):
    """The handlers of one hook: their source, the error if loading failed, and the function that removes them."""

    mark: tuple[HookState, str, tuple[str, ...]]
    error: str = ""
    removers: Sequence[Callable[[], None]] = ()


class HomeHooks:
    """Knows the hooks of the home, and adds the handlers of those that are enabled.

    Args:
        folder: Their directory.
        pins: The hooks that the owner enabled.
        hooks: Registers the handlers.
        changed: Called after they were looked at.
        bundled: The directory of the bundled ones; one of the same name in the home takes precedence.
    """

    def __init__(
        self,
        folder: Path,
        pins: SkillPins,
        hooks: Hooks,
        changed: Callable[[], None],
        *,
        bundled: Path | None = None,
    ) -> None:
        self.folder = folder
        self._pins = pins
        self._hooks = hooks
        self._changed = changed
        self._bundled = bundled
        self._found: dict[str, HomeHook] = {}
        self._loaded: dict[str, _Loaded] = {}
        self._looking = asyncio.Lock()

    def all(self) -> list[HomeHook]:
        """Return those that were found, by name."""
        return list(self._found.values())

    async def refresh(self) -> None:
        """Reload the files: add the handlers of enabled hooks, and remove all others.

        What runs is what was hashed: a handler.py is never read a second time. The guards of what was enabled, and is
        not as it was then, refuse.

        Raises:
            HubError: The pins are damaged; no hook of the home is called then, and every guard among them refuses.
        """
        async with self._looking:
            damaged: HubError | None = None
            try:
                pins = await asyncio.to_thread(self._pins.all)
            except HubError as error:
                damaged, pins = error, {}
            found = await asyncio.to_thread(self._find, pins, doubtful=damaged is not None)
            for name in [*self._loaded, *found]:
                await self._settle(name, found.get(name))
            self._found = {} if damaged else {name: self._judged(hook) for name, hook in found.items()}
        if damaged is not None:
            raise damaged
        self._changed()

    async def get(self, name: str) -> HomeHook:
        """Return the present hook.

        Raises:
            NotFound: There is none with that name.
        """
        await self.refresh()
        if name not in self._found:
            raise NotFound(f"there is no hook {name[:100]!r} in {self.folder}; `homarus hooks list` shows all")
        return self._found[name]

    async def enable(self, name: str, digest: str, now_ms: int) -> HomeHook:
        """Enable a hook until its files change.

        Args:
            digest: The digest of the reviewed files.

        Raises:
            NotFound: There is none with that name.
            InvalidRequest: It is broken.
            Conflict: It is not the version that was shown.
        """
        hook = await self.get(name)
        if hook.file is None:
            raise InvalidRequest(f"the hook {name} cannot be enabled: {hook.error}")
        if hook.digest != digest:
            raise Conflict(f"the files of the hook {name} have changed since you saw them; inspect it again")
        pin = SkillPin(True, digest, now_ms, {"guards": _guards(hook.file)})
        await DOCUMENTS.run(self._pins.put, name, pin)
        return await self.get(name)

    async def disable(self, name: str) -> HomeHook:
        """Disable a hook; one without a folder is forgotten.

        Raises:
            NotFound: There is none with that name.
        """
        hook = await self.get(name)
        await DOCUMENTS.run(self._pins.put, name, SkillPin(False) if hook.digest else None)
        await self.refresh()
        return self._found.get(name, HomeHook(name, HookState.OFF))

    def _find(self, pins: Mapping[str, SkillPin], *, doubtful: bool) -> dict[str, HomeHook]:
        """Return the hooks found, and the enabled ones that are missing; `doubtful` if any may be unknown."""
        unknown = SkillPin(True) if doubtful else SkillPin()
        found = {each.name: _look(each, pins.get(each.name, unknown)) for each in _folders(self.folder)}
        for each in _folders(self._bundled) if self._bundled is not None else ():
            if each.name not in found:
                found[each.name] = _look(each, pins.get(each.name, SkillPin()), bundled=True)
        gone = {name: pin for name, pin in pins.items() if pin.enabled and name not in found}
        for name, pin in gone.items():
            guards = _pinned_guards(pin, None)
            found[name] = HomeHook(name, HookState.CHANGED, error=_told("its folder is gone", guards), guards=guards)
        return found

    def _judged(self, hook: HomeHook) -> HomeHook:
        """Return a hook as broken if it could not be loaded."""
        known = self._loaded.get(hook.name)
        return replace(hook, state=HookState.BROKEN, error=known.error) if known is not None and known.error else hook

    async def _settle(self, name: str, hook: HomeHook | None) -> None:
        """Add a hook's present handlers, then remove its former ones, so that a guard never lapses."""
        known, fresh = self._loaded.pop(name, None), None
        if hook is not None and (hook.state is HookState.READY or hook.guards):
            fresh = _Loaded((hook.state, hook.digest, hook.guards))
            if known is not None and known.mark == fresh.mark:
                self._loaded[name] = known
                return
            await self._load(hook, fresh)
            self._loaded[name] = fresh
        for remove in known.removers if known is not None else ():
            remove()

    async def _load(self, hook: HomeHook, fresh: _Loaded) -> None:
        """Add the handlers of an enabled hook; if it cannot be loaded, or has changed, its guards refuse."""
        file, handlers = hook.file, dict[str, HookHandler]()
        if hook.state is HookState.READY and file is not None:
            try:
                handlers = await asyncio.to_thread(_handlers, hook, file, self.folder.parent)
            except Exception as failed:  # whatever the code of the home raises
                fresh.error = failed.message if isinstance(failed, HubError) else f"{type(failed).__name__}: {failed}"
                _log.exception("the hook %s cannot be loaded", hook.name)
                handlers = {event: partial(_refuse, f"it cannot be loaded: {fresh.error}") for event in _guards(file)}
        else:
            handlers = {event: partial(_refuse, hook.error) for event in hook.guards}
        priority, timeout_s = (file.priority, file.timeout_s) if file is not None else (0, None)
        fresh.removers = [
            self._hooks.add(Hook(event, handler, f"hook {hook.name}", priority, timeout_s))
            for event, handler in handlers.items()
        ]


def _folders(folder: Path) -> list[Path]:
    try:
        found = sorted(each for each in folder.iterdir() if each.is_dir() and each.name[0] not in "._")
    except OSError:
        return []
    return found[:FOLDERS_LIMIT]


def _look(folder: Path, pin: SkillPin, *, bundled: bool = False) -> HomeHook:
    files: Mapping[str, bytes] = {}
    file, digest, error = None, "", ""
    try:
        files = read_folder(folder)
        digest = digest_of(files)
        for needed in (HOOK_FILE, HANDLER_FILE):
            if needed not in files:
                raise InvalidRequest(f"{needed} is missing")
        file = read_hook(files[HOOK_FILE].decode("utf-8"), folder.name)
    except UnicodeDecodeError:
        error = f"{HOOK_FILE} is not UTF-8"
    except HubError as failed:
        error = failed.message
    if pin.enabled and (bundled or pin.digest == digest) and file is not None:
        return HomeHook(folder.name, HookState.READY, file, "", digest, files, bundled)
    if not pin.enabled:
        state = HookState.OFF if file is not None else HookState.BROKEN
        return HomeHook(folder.name, state, file, error, digest, files, bundled)
    state = HookState.CHANGED if file is not None else HookState.BROKEN
    guards = _pinned_guards(pin, file)
    return HomeHook(folder.name, state, file, _told(error or NOT_AS_ENABLED, guards), digest, files, bundled, guards)


def _told(error: str, guards: Sequence[str]) -> str:
    return f"{error}; until it is enabled again, or disabled, it refuses at {', '.join(guards)}" if guards else error


def _guards(file: HookFile) -> tuple[str, ...]:
    return tuple(event for event in file.events if HOOKS[event].guard)


def _pinned_guards(pin: SkillPin, file: HookFile | None) -> tuple[str, ...]:
    """Return the guards that a hook was enabled with; its present ones if that is unknown."""
    known = pin.origin.get("guards", _guards(file) if file is not None else ())
    return tuple(each for each in known if each in HOOKS and HOOKS[each].guard)


def _handlers(hook: HomeHook, file: HookFile, home: Path) -> dict[str, HookHandler]:
    """Execute the handler.py that was hashed, with `HOME` as the home directory, and return its functions."""
    module = ModuleType(f"homarus_hook_{hook.name}")
    module.__dict__["HOME"] = home
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
    raise InvalidRequest(error)
