"""Watches files below the home directory for all listeners: one watcher in one thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hub.core.clock import Clock
from hub.core.errors import LimitExceeded
from hub.core.events import Unsubscribe
from hub.core.file_changes import WatchOptions, file_changes
from hub.core.tasks import TaskOwner
from hub.security.jail_path import PathRefused, components

FLAT = WatchOptions(debounce_ms=200, step_ms=100, recursive=False, ignore_permission_denied=True)
DEEP = WatchOptions(debounce_ms=200, step_ms=100, ignore_permission_denied=True)
RETRY_S = 30.0
"""A folder that is not there is looked for again so often."""
HIDDEN = ".storage"
WATCHED_LIMIT = 500

_log = logging.getLogger(__name__)

OnChange = Callable[[str, str], None]
"""Told what happened (created, modified, deleted) and the path, relative to the home directory."""


@dataclass(slots=True, eq=False)
class _Watch:
    names: tuple[str, ...]
    is_recursive: bool
    on_change: OnChange


class _Plan(Struct):
    """The folders watched recursively, those watched alone, and whether all requested ones exist."""

    deep: list[Path] = field(default_factory=list)
    flat: list[Path] = field(default_factory=list)
    is_complete: bool = True


class FileWatch:
    """Watches folders below the home directory, except `.storage`.

    Args:
        home: The home directory.
        tasks: Owner of the task that watches, while anything is watched.
    """

    def __init__(self, home: Path, clock: Clock, tasks: TaskOwner) -> None:
        self._home = home.resolve()
        self._clock = clock
        self._tasks = tasks
        self._watches: dict[_Watch, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self.ready = asyncio.Event()
        """Set while everything that is there is watched."""

    def watch(self, path: str, on_change: OnChange, *, is_recursive: bool = True) -> Unsubscribe:
        """Call `on_change` for each change of a file, or of files in a folder; they need not exist yet.

        Args:
            path: Relative to the home directory.
            is_recursive: Whether folders below it count.

        Returns:
            A function that ends it.

        Raises:
            LimitExceeded: There are 500 already.
            PathRefused: It leads out of the home directory, or into `.storage`.
        """
        names = components(path)
        if len(self._watches) >= WATCHED_LIMIT:
            raise LimitExceeded(f"more than {WATCHED_LIMIT} files and folders are watched already; {path} is not")
        if names[:1] == (HIDDEN,):
            raise PathRefused(path, "the hub's own files are not watched")
        watch = _Watch(names, is_recursive, on_change)
        self._watches[watch] = None
        self._restart()

        def end() -> None:
            if watch in self._watches:
                del self._watches[watch]
                self._restart()

        return end

    def _restart(self) -> None:
        self.ready.clear()
        self._changed.set()
        if self._watches and (self._task is None or self._task.done()):
            self._task = self._tasks.spawn(self._run(), name="file watch")

    async def _run(self) -> None:
        """Watch the requested folders; start over when they change or a missing one may have appeared."""
        while self._watches:
            self._changed.clear()
            plan = await asyncio.to_thread(self._plan, list(self._watches))
            stop = asyncio.Event()
            alarm = self._tasks.spawn(self._stop_later(stop, plan.is_complete), name="file watch: look again")
            try:
                await self._follow(plan, stop)
            except (OSError, RuntimeError) as error:
                _log.warning("files cannot be watched: %s; trying again in %d s", error, RETRY_S)
                await self._clock.sleep(RETRY_S)
            finally:
                alarm.cancel()

    async def _stop_later(self, stop: asyncio.Event, is_complete: bool) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if is_complete else RETRY_S):
                await self._changed.wait()
        stop.set()

    async def _follow(self, plan: _Plan, stop: asyncio.Event) -> None:
        """Watch until `stop`; folders below which everything counts and others are two groups."""
        groups = [
            await file_changes(folders, self._is_told, stop, options)
            for folders, options in ((plan.deep, DEEP), (plan.flat, FLAT))
            if folders
        ]
        following = [self._tasks.spawn(self._group(changes), name="file watch: group") for changes in groups]
        try:
            if not self._changed.is_set():
                self.ready.set()
            await (asyncio.gather(*following) if following else stop.wait())
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)

    async def _group(self, changes: AsyncGenerator[set[tuple[Any, str]], None]) -> None:
        async with contextlib.aclosing(changes):
            async for news in changes:
                for change, path in sorted(news):
                    self._tell(_WORDS[change.name], path)

    def _plan(self, watches: list[_Watch]) -> _Plan:
        """Collect the folders to watch; blocking."""
        plan = _Plan()
        for watch in watches:
            target = self._home.joinpath(*watch.names)
            folder = target if target.is_dir() else target.parent
            if not folder.is_dir() or not folder.resolve().is_relative_to(self._home):
                plan.is_complete = False
            elif folder != target or not watch.is_recursive:
                plan.is_complete = plan.is_complete and target.exists()
                _add(plan.flat, folder)
            elif folder != self._home:
                _add(plan.deep, folder)
            else:  # what the hub keeps for itself changes all the time: the folders beside it are watched instead
                _add(plan.flat, folder)
                for each in sorted(folder.iterdir()):
                    if each.is_dir() and not each.is_symlink() and each.name != HIDDEN:
                        _add(plan.deep, each)
        return plan

    def _is_told(self, change: object, path: str) -> bool:
        names = self._names(path)
        return names is not None and HIDDEN not in names[:1]

    def _names(self, path: str) -> tuple[str, ...] | None:
        try:
            return Path(path).relative_to(self._home).parts
        except ValueError:
            return None

    def _tell(self, what: str, path: str) -> None:
        names = self._names(path)
        if names is None:
            return
        if what == "created" and len(names) == 1:
            self._restart()  # it may be a folder, of which all below it is to be watched as well
        for watch in list(self._watches):
            depth = len(watch.names)
            if names[:depth] != watch.names:
                continue
            if len(names) == depth or watch.is_recursive or len(names) == depth + 1:
                watch.on_change(what, "/".join(names))


def _add(folders: list[Path], folder: Path) -> None:
    if folder not in folders:
        folders.append(folder)


_WORDS = {"added": "created", "modified": "modified", "deleted": "deleted"}
