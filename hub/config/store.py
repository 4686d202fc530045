"""The configuration of a running hub: loads it, reloads changed files, and keeps the last good one."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hub.config.check import CheckCache, Checked, Config, check
from hub.config.checked import empty_config
from hub.config.errors import ConfigError
from hub.config.files import HomeFiles, content_hash
from hub.config.files_editor import FilesEditor, Saved
from hub.config.history import FILE as BY_HAND
from hub.config.last_good import LastGood
from hub.config.marks import value_at
from hub.config.sections import Sections
from hub.config.suggest import nearest, suggested_word
from hub.core.events import EventBus
from hub.core.phrases import phrase
from hub.core.repairs import RepairFix, Repairs, Severity
from hub.core.tasks import TaskOwner
from hub.security.root import Root
from hub.storage.errors import StorageError

_log = logging.getLogger(__name__)

_WORD = re.compile(r"[\w./-]{1,100}")

SAVING_S = 1.0
"""How long a file that was emptied may be on its way to being written, before it is taken as it is."""
EMPTY = content_hash(b"")

EVENT_CONFIG_CHANGED = "config_changed"
EVENT_CONFIG_REFUSED = "config_refused"
SOURCE = "config"
REPAIRS_SHOWN = 30
IN_FORCE = "in_force"
RESTART = "restart"

OnReload = Callable[["ReloadResult"], Awaitable[None]]


class ReloadResult(Struct, frozen=True):
    """The result of a reload.

    Attributes:
        changed: Sections that are different now: changed, added or removed; to be applied.
        needs_restart: Those of them that take effect only after a restart.
        errors: The errors in the files.
        applied: Whether the new configuration was applied; otherwise the last good one stays in use.
        removed: Those of `changed` that are no longer in the files.
        warnings: What deserves attention.
        restarting: Whether a restart puts it into force, as `hub: reload` says or because it left recovery mode.
    """

    changed: set[str] = field(default_factory=set)
    needs_restart: set[str] = field(default_factory=set)
    errors: list[ConfigError] = field(default_factory=list)
    applied: bool = True
    removed: set[str] = field(default_factory=set)
    warnings: list[ConfigError] = field(default_factory=list)
    restarting: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The result as the gateway and the CLI show it."""
        return {
            "applied": self.applied,
            "changed": sorted(self.changed),
            "removed": sorted(self.removed),
            "needs_restart": sorted(self.needs_restart),
            "restarting": self.restarting,
            "errors": [error.as_dict() for error in self.errors],
            "warnings": [warning.as_dict() for warning in self.warnings],
        }


class ConfigStore:
    """Holds the current configuration.

    Args:
        home: The home directory.
        sections: Its sections.
        bus: Receives `config_changed` (changed, added, removed, needs_restart, files) and `config_refused` (errors).
        repairs: Lists what is broken, with file and line.
        environment: For `!env_var`; the process's own without it.
        wall_time: Seconds since the epoch, for the history.
        pause: Waits in a thread, seconds.
    """

    def __init__(
        self,
        home: str | os.PathLike[str],
        sections: Sections,
        bus: EventBus,
        repairs: Repairs,
        *,
        environment: Mapping[str, str] | None = None,
        wall_time: Callable[[], float] = time.time,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self.home = Path(home)
        self.sections = sections
        self.current: Config = empty_config()
        self.errors: list[ConfigError] = []
        self.warnings: list[ConfigError] = []
        self._bus = bus
        self._repairs = repairs
        self._environment = environment
        self._pause = pause
        self._cache = CheckCache()
        self._draft_cache = CheckCache()
        self._drafting = threading.Lock()
        self._reloading = asyncio.Lock()
        self._told: set[str] = set()
        self._files_read: frozenset[str] = frozenset()
        self._folders_read: frozenset[str] = frozenset()
        self._started: Config = self.current
        self._restarting = False
        root = Root(self.home)
        self._files = HomeFiles(root)
        self._last_good = LastGood(root)
        self.editor = FilesEditor(root, self._check, lambda: self.current, wall_time)

    def load(self) -> Checked:
        """Read and check the files for the first time; errors become repairs and are never raised.

        A broken critical section is recovery mode (`current.recovery`), whatever was good before.
        """
        checked = self._check()
        self._take(checked)
        self._started = checked.config
        self._tell(checked, in_force=True)
        self._keep(checked)
        return checked

    async def reload(self, *, again: bool = False) -> ReloadResult:
        """Read the files again and apply them, unless something that worked broke.

        Files with unchanged content change nothing, unless `again` says that schemas changed. Reading happens
        in a thread; cancelling the wait for it changes nothing.
        """
        async with self._reloading:
            if again:
                self._cache = CheckCache()
            elif not self.errors and await asyncio.to_thread(self._is_unchanged):
                return ReloadResult(warnings=self.warnings, restarting=self._restarting)
            return self._reloaded(await asyncio.to_thread(self._check_and_keep))

    def _reloaded(self, checked: Checked) -> ReloadResult:
        old, new = self.current, checked.config
        if not old.recovery and _is_worse(old, new, self._shown_broken()):
            return self._refused(checked)
        self._take(checked)
        if new.recovery:
            self._tell(checked, in_force=True)
            return ReloadResult(errors=checked.errors, applied=False, warnings=checked.warnings)
        if old.recovery:
            self._started = new
        changed = _changed(old, new)
        removed = set(old.present - new.present)
        for name in sorted(removed):
            _log.warning("the section %s is no longer in the configuration", name)
        needs_restart = self._needs_restart() & changed
        decisive = {"restart": changed, "hybrid": needs_restart}.get(self._mode(), set())
        self._restarting = self._restarting or old.recovery or bool(decisive)
        self._tell(checked, in_force=True)
        result = ReloadResult(
            *(changed, needs_restart, checked.errors, True, removed, checked.warnings, self._restarting)
        )
        if changed or old.recovery:
            added = sorted(new.present - old.present)
            edited = sorted(self._edited_by_hand(old, new))
            told = {**result.as_dict(), "added": added, "files": sorted(new.files), "edited": edited}
            self._bus.fire(EVENT_CONFIG_CHANGED, told)
        return result

    def _refused(self, checked: Checked) -> ReloadResult:
        self.errors, self.warnings = checked.errors, checked.warnings
        self._tell(checked, in_force=False)
        first, count = checked.errors[0], len(checked.errors)
        _log.error("the last good configuration stays in force; errors in the changed one: %d, first: %s", count, first)
        self._bus.fire(EVENT_CONFIG_REFUSED, {"errors": [error.as_dict() for error in checked.errors]})
        return ReloadResult(errors=checked.errors, applied=False, warnings=checked.warnings)

    # --- for the editor ---

    def check_text(self, files: Mapping[str, str]) -> list[ConfigError]:
        """Return the errors of a configuration with these texts in place of the files; nothing is written."""
        return self.editor.check_text(files)

    def read_file(self, name: str, *, admin: bool = False) -> tuple[str, str]:
        """Return the text of a configuration file and its hash; see `FilesEditor.read_file`."""
        return self.editor.read_file(name, admin=admin)

    def write_file(self, name: str, text: str, base_hash: str | None, *, must_be_valid: bool = False) -> Saved:
        """Save a configuration file, keeping what it was; see `FilesEditor.write_file`."""
        return self.editor.write_file(name, text, base_hash, must_be_valid=must_be_valid)

    @property
    def files_read(self) -> frozenset[str]:
        """The files read by the last check, applied or not."""
        return self._files_read

    @property
    def folders_read(self) -> frozenset[str]:
        """The folders read by the last check."""
        return self._folders_read

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the whole configuration."""
        from hub.config.document import whole_schema

        return whole_schema(self.sections)

    def completions(self, name: str, text: str, line: int, column: int) -> list[dict[str, Any]]:
        """Return completions at a place of a file (line and column from 1); see `hub.config.completion`."""
        from hub.config.completion import completions, keys_of_file

        return completions(
            self.schema(), keys_of_file(self.current.raw, name), text, line, column, self.editor.secret_names()
        )

    def last_good(self) -> dict[str, bytes]:
        """Return the files of the last configuration without any error, by name."""
        return self._last_good.files()

    async def watch(
        self, tasks: TaskOwner, on_reload: OnReload, before: Callable[[], Awaitable[None]]
    ) -> asyncio.Task[None] | None:
        """Reload whenever a file changes, in a task of `tasks`; None when `hub: reload` is off.

        Args:
            on_reload: Awaited with each result that changed, or refused, something.
            before: Awaited before the files are read.
        """
        if self._mode() == "off":
            return None
        from hub.config.watch import watch_files

        async def reload() -> None:
            await before()
            result = await self.reload()
            if result.changed or result.errors or result.restarting:
                await on_reload(result)

        return tasks.spawn(watch_files(self._folders, reload), name="watch the configuration")

    # --- what happens inside ---

    def _mode(self) -> str:
        hub = self.current.get("hub")
        return str(hub.get("reload", "hot")) if isinstance(hub, Mapping) else "hot"

    def _folders(self) -> list[Path]:
        """Return every folder that holds or includes files of the configuration."""
        names = {str(Path(name).parent) for name in self.files_read} | set(self.folders_read) | {"."}
        return sorted(folder for name in names if (folder := self.home / name).is_dir())

    def _check(self, overrides: Mapping[str, str] | None = None) -> Checked:
        if overrides is not None:
            return self._check_draft(overrides)
        checked = check(self.home, self.sections, environment=self._environment, cache=self._cache)
        self._files_read, self._folders_read = frozenset(checked.config.files), checked.config.folders
        return checked

    def _check_draft(self, overrides: Mapping[str, str]) -> Checked:
        """Check texts in place of files, without reusing items of the current configuration."""
        with self._drafting:
            return check(
                self.home,
                self.sections,
                overrides=overrides,
                environment=self._environment,
                cache=self._draft_cache,
            )

    def _check_and_keep(self) -> Checked:
        """Check the files; save a configuration without errors as the last good one."""
        checked, before = self._check(), self.current.files
        emptied = (name for name, digest in checked.config.files.items() if digest == EMPTY)
        if any(before.get(name, EMPTY) != EMPTY for name in emptied):  # programs that save in place empty a file first
            self._pause(SAVING_S)
            checked = self._check()
        self._note_hand_edits(checked.config)
        self._keep(checked)
        return checked

    def _note_hand_edits(self, new: Config) -> None:
        """Keep in the history what somebody replaced in an editor of theirs, where the text before is known."""
        before = self.current.files
        edited = self._edited_by_hand(self.current, new)
        if not edited:
            return
        try:
            for name, data in self._last_good.files().items():
                if name in edited and content_hash(data) == before[name]:
                    self.editor.history.keep(name, data, BY_HAND)
        except (OSError, StorageError) as error:
            _log.warning("an earlier version of %s could not be kept: %s", ", ".join(sorted(edited)), error)

    def _edited_by_hand(self, old: Config, new: Config) -> set[str]:
        before, written = old.files, self.editor.written
        return {
            name
            for name, digest in new.files.items()
            if name in before and before[name] != digest and written.get(name) != digest
        }

    def _take(self, checked: Checked) -> None:
        self.current, self.errors, self.warnings = checked.config, checked.errors, checked.warnings

    def _is_unchanged(self) -> bool:
        """Whether all files are as they were read last time, and no folder holds other files."""
        return self.editor.same_files(self.current.files, self.current.folders)

    def _shown_broken(self) -> frozenset[str]:
        return frozenset(section.name for section in self.sections.core() if section.shows_broken)

    def _needs_restart(self) -> set[str]:
        """Return the sections whose new values take effect only after a restart."""
        started, now = self._started.raw, self.current.raw
        found = set()
        for section in self.sections.core():
            name = section.name
            if started.get(name) == now.get(name):
                continue
            if section.restart or any(_key(started, name, key) != _key(now, name, key) for key in section.restart_keys):
                found.add(name)
        return found

    def _tell(self, checked: Checked, *, in_force: bool) -> None:
        """Open a repair for each error, and close those that are resolved."""
        wanted: dict[str, dict[str, Any]] = {}
        if not in_force:
            number = len(checked.errors)
            wanted[IN_FORCE] = {
                "title": phrase("The configuration has errors; the last good one stays in force"),
                "text": phrase("1 error. Once it is fixed, the configuration is applied automatically.")
                if number == 1
                else phrase(
                    "{count} errors. Once they are fixed, the configuration is applied automatically.", count=number
                ),
            }
        restart = self._needs_restart()
        if restart and not self._restarting:
            wanted[RESTART] = {
                "title": phrase("A restart is needed for {sections}", sections=sorted(restart)),
                "text": phrase("The changes take effect after the next start of the hub."),
                "severity": Severity.WARNING,
                "fix": RepairFix("service.call", {"service": "hub.restart"}, phrase("Restart now")),
            }
        critical = {section.name for section in self.sections.core() if section.critical} & checked.config.broken.keys()
        for error in checked.errors[:REPAIRS_SHOWN]:
            name = error.section or error.file
            grave = in_force and checked.config.recovery and (name in critical or not error.keys)
            wanted[f"{error.file}:{error.line}:{error.column}:{error.path}"] = {
                "title": phrase("{section} has an error", section=name),
                "text": str(error),
                "severity": Severity.CRITICAL if grave else Severity.ERROR,
                "fix": _correction(error, checked.config.raw),
                "location": {"file": error.file, "line": error.line, "column": error.column, "path": error.path},
            }
        for id in self._told - wanted.keys():
            self._repairs.clear(SOURCE, id)
        for id, repair in wanted.items():
            self._repairs.raise_(SOURCE, id, **repair)
        self._told = set(wanted)

    def _keep(self, checked: Checked) -> None:
        if checked.errors:
            return
        try:
            self._last_good.keep(self._files, checked.config.files)
        except OSError as error:
            _log.warning("the last good configuration could not be kept: %s", error)


def _is_worse(old: Config, new: Config, shown: frozenset[str]) -> bool:
    """Return whether something that works in the current configuration is broken in the new one.

    Args:
        shown: Sections whose broken items their part shows by itself; those do not count.
    """
    known = {(error.section, error.message) for error in old.errors}
    told = {error for name in shown for errors in new.broken_items.get(name, {}).values() for error in errors}
    return new.recovery or any((error.section, error.message) not in known for error in new.errors if error not in told)


def _correction(error: ConfigError, raw: Mapping[str, Any]) -> RepairFix | None:
    """Return the change that mends a misspelt key or value, where one of that kind was meant."""
    word = suggested_word(error.hint)
    if word is None or not error.keys:
        return None
    key = str(error.keys[-1])
    old = key if nearest(key, [word]) else value_at(raw, error.keys)
    if not isinstance(old, str) or not all(_WORD.fullmatch(each) for each in (old, word)):
        return None
    params = {"file": error.file, "line": error.line, "old": old, "new": word}
    return RepairFix("config.correct", params, phrase("Write {word} instead", word=word))


def _key(raw: Mapping[str, Any], section: str, key: str) -> Any:
    value = raw.get(section)
    return value.get(key) if isinstance(value, dict) else None


def _changed(old: Config, new: Config) -> set[str]:
    """Return the sections that differ in value, or in being broken."""
    names = set(old.raw) | set(new.raw)
    changed = {name for name in names if name not in old.raw or name not in new.raw or old.raw[name] != new.raw[name]}
    differ = {
        name
        for name in {*old.broken_items, *new.broken_items}
        if old.broken_items.get(name) != new.broken_items.get(name)
    }
    return changed | (set(old.broken) ^ set(new.broken)) | differ
