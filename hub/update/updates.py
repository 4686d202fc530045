"""Updates of a home: found, prepared, tried, backed up, and switched to at the next start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from msgspec import Struct, to_builtins

from hub import __version__
from hub.core.clock import Clock
from hub.core.errors import Conflict, HubError, TimedOut
from hub.core.phrases import Phrase, phrase
from hub.storage.homedir import Home
from hub.update.place import Place
from hub.update.prepare import check_configuration, prepare
from hub.update.record import UpdateRecord, UpdateState, python_in, read_record, version_folder, write_record
from hub.update.sources import Release, make_source, refuse_unusable

_log = logging.getLogger(__name__)

IDLE_LIMIT_S = 1_800.0
LOOK_S = 1.0
"""How often it is looked whether the assistant is at work."""


class Facts(Struct, frozen=True):
    """What is known of the running hub before it is replaced.

    Attributes:
        recovery: Whether it is in recovery mode.
        problems: The repairs that are open, each by source and id.
    """

    recovery: bool = False
    problems: tuple[str, ...] = ()


class UpdateWork(Struct):
    """The work in progress.

    Attributes:
        what: look | prepare | test | backup | wait | restart.
        line: What the installer printed last.
    """

    what: str
    version: str = ""
    line: str = ""


class Updates:
    """Looks for versions, and switches to one.

    Args:
        place: The installation.
        backup: Makes a backup and returns its name.
        busy: Returns how many runs are at work.
        facts: Returns what is known of the running hub.
        switch: Restarts the hub into the version of the record; does nothing where none runs.
        changed: Told when there is something new to show.
    """

    def __init__(
        self,
        home: Home,
        place: Place,
        *,
        backup: Callable[[], Awaitable[str]],
        busy: Callable[[], int] = lambda: 0,
        facts: Callable[[], Facts] = Facts,
        switch: Callable[[], None] = lambda: None,
        clock: Clock | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.place = place
        self.work: UpdateWork | None = None
        self.newest: Release | None = None
        self.looked_ms = 0
        self.error: str = ""
        self._home = home
        self._backup = backup
        self._busy = busy
        self._facts = facts
        self._switch = switch
        self._clock = clock or Clock()
        self._changed = changed

    def status(self) -> dict[str, Any]:
        """Return what is known, as plain data."""
        record = read_record(self._home.path)
        return {
            "version": __version__,
            "kind": str(self.place.kind),
            "whyNot": self.place.why_not,
            "whyNotPhrase": _data(self.place.why_not),
            "newest": None if self.newest is None else to_builtins(self.newest),
            "lookedMs": self.looked_ms or None,
            "working": None if self.work is None else to_builtins(self.work),
            "error": self.error,
            "errorPhrase": _data(self.error),
            "last": None if record is None else asdict(record),
        }

    async def look(self, version: str = "") -> Release | None:
        """Ask for the newest version, or one; return it, None when this is it.

        Raises:
            HubError: It cannot be asked, there is no such version, or this installation cannot be replaced.
        """
        self._begin("look", version)
        try:
            return await self._find(version)
        finally:
            self._end()

    async def run(self, version: str = "") -> str:
        """Switch to a version, the newest by default; return it.

        Raises:
            Conflict: There is no newer one, another update is going on, or this installation cannot be replaced.
            HubError: It could not be prepared, does not fit this home, or the backup failed; nothing was changed.
        """
        work = self._begin("look", version)
        self.error = ""
        try:
            found = await self._find(version)
            if found is None:
                raise Conflict(phrase("Homarus {version} runs already.", version=__version__))
            work.version = found.version
            await self._prepare(work, found.version)
            self._goes_on(work, "backup")
            backup = await self._backup()
            self._goes_on(work, "wait")
            await self._wait_until_idle()
            facts = self._facts()
            record = UpdateRecord(
                found.version,
                __version__,
                UpdateState.READY,
                begun_ms=int(self._clock.time() * 1000),
                backup=backup,
                recovery=facts.recovery,
                problems=facts.problems,
            )
            write_record(self._home.path, record)
            self._goes_on(work, "restart")
            self._switch()
        except HubError as error:
            self.error = error.message
            _log.warning("the update was not made: %s", error.message)
            raise
        finally:
            self._end()
        return found.version

    async def _find(self, version: str) -> Release | None:
        if version:
            refuse_unusable(version := version.removeprefix("v"))
        found = await make_source(self.place).find(version)
        if not version:
            self.newest, self.looked_ms = found, int(self._clock.time() * 1000)
        return found

    async def _prepare(self, work: UpdateWork, version: str) -> None:
        def progress(line: str) -> None:
            work.line = line
            self._changed()

        self._goes_on(work, "prepare")
        await prepare(make_source(self.place), version, self.place.base, self._home.path, progress)
        self._goes_on(work, "test")
        await check_configuration(python_in(version_folder(self.place.base, version)), self._home.path)

    async def _wait_until_idle(self) -> None:
        """Wait until no run is at work, so that none is cut off in a tool."""
        deadline = self._clock.monotonic() + IDLE_LIMIT_S
        while self._busy():
            if self._clock.monotonic() > deadline:
                raise TimedOut(
                    phrase(
                        "The assistant has been at work for {minutes} min, and an update would cut it off. Stop it, or "
                        "try again later: what was prepared stays.",
                        minutes=f"{IDLE_LIMIT_S / 60:g}",
                    )
                )
            await self._clock.sleep(LOOK_S)

    def _begin(self, what: str, version: str) -> UpdateWork:
        if self.work is not None:
            raise Conflict(phrase("An update is going on already."))
        self.work = UpdateWork(what, version)
        self._changed()
        return self.work

    def _goes_on(self, work: UpdateWork, what: str) -> None:
        work.what, work.line = what, ""
        self._changed()

    def _end(self) -> None:
        self.work = None
        self._changed()


def judge(record: UpdateRecord, facts: Facts) -> str:
    """Return why a new version is worse than the one before; empty when it is not."""
    if facts.recovery and not record.recovery:
        return phrase("the configuration is so broken for it that only its editor runs")
    new = [each for each in facts.problems if each not in record.problems]
    return phrase("it has problems that were not there: {problems}", problems=", ".join(new[:5])) if new else ""


def _data(text: str) -> Mapping[str, Any] | None:
    return text.as_data() if isinstance(text, Phrase) and text.template else None


def run_error(task: asyncio.Task[Any]) -> None:
    """Take note of the end of an update that nobody waits for; its error is in the status."""
    if not task.cancelled():
        task.exception()
