"""Pruning: deletes old transcripts, and the oldest ones when they exceed the disk budget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.sessions.store import SessionStore
from hub.sessions.transcript_store import StoredFile, StoredKind, kind_of, stored_file
from hub.storage.homedir import Home

_log = logging.getLogger(__name__)

EVERY_S = 3_600.0
DAY_MS = 86_400_000
MEGABYTE = 1_000_000
REPAIR = "disk_budget"


class PruneLimits(Struct, frozen=True):
    """The limits of what is kept; 0 is no limit.

    Attributes:
        after_days: Days after which what is deleted, past or archived goes.
        budget_bytes: The size of all files together.
    """

    after_days: int = 0
    budget_bytes: int = 0

    @classmethod
    def from_config(cls, section: Mapping[str, int]) -> PruneLimits:
        """Read a validated `session:`."""
        return cls(section["prune_after"], section["disk_budget"] * MEGABYTE)


class Pruned(Struct, frozen=True):
    """The deleted files, or those that would be.

    Attributes:
        files: The files, in order.
        kept_bytes: The remaining size.
    """

    files: tuple[StoredFile, ...]
    kept_bytes: int

    @property
    def size_bytes(self) -> int:
        """The size of the deleted files."""
        return sum(each.size_bytes for each in self.files)


def files_to_prune(files: Iterable[StoredFile], limits: PruneLimits, now_ms: int) -> Pruned:
    """Choose the files to delete: those older than allowed, then the oldest of each kind above the budget.

    For the budget nothing goes that is younger than a day, but for results of tools, which can be had again.
    """
    order = list(StoredKind)
    left = sorted(files, key=lambda each: (order.index(each.kind), each.changed_ms, each.path))
    kept_bytes = sum(each.size_bytes for each in left)
    chosen: list[StoredFile] = []
    for each in left:
        age_ms = now_ms - each.changed_ms
        if each.kind is StoredKind.KEPT:
            continue
        is_old = limits.after_days > 0 and each.kind is not StoredKind.RESULT and age_ms > limits.after_days * DAY_MS
        if is_old:
            chosen.append(each)
            kept_bytes -= each.size_bytes
    for each in left:
        if not limits.budget_bytes or kept_bytes <= limits.budget_bytes:
            break
        may_go = each.kind is StoredKind.RESULT or now_ms - each.changed_ms > DAY_MS
        if each.kind is not StoredKind.KEPT and may_go and each not in chosen:
            chosen.append(each)
            kept_bytes -= each.size_bytes
    return Pruned(tuple(chosen), kept_bytes)


class Pruning:
    """Deletes the files that `files_to_prune` chooses; a repair reports when that is not enough.

    Args:
        home: Paths of the home directory.
        sessions: The sessions.
        clock: The clock of the hub.
        repairs: The open problems.
        limits: Returns the configured limits.
    """

    def __init__(
        self, home: Home, sessions: SessionStore, clock: Clock, repairs: Repairs, limits: Callable[[], PruneLimits]
    ) -> None:
        self._home = home
        self._sessions = sessions
        self._clock = clock
        self._repairs = repairs
        self.limits = limits
        self._pruning = asyncio.Lock()

    async def follow(self) -> None:
        """Prune now and once an hour, until cancelled."""
        while True:
            if self.limits() != PruneLimits():
                try:
                    await self.prune()
                except (HubError, OSError) as error:
                    _log.warning("conversations are pruned in an hour: %s", error)
            else:
                self._repairs.clear("sessions", REPAIR)
            await self._clock.sleep(EVERY_S)

    async def prune(self, *, after_days: int | None = None, dry_run: bool = False) -> Pruned:
        """Delete the chosen files.

        Args:
            after_days: In place of the configured days.
            dry_run: Whether to delete nothing, and only return what would go.

        Raises:
            HubError: The database cannot be written.
            OSError: The files cannot be looked through.
        """
        limits = self.limits()
        if after_days is not None:
            limits = PruneLimits(after_days, limits.budget_bytes)
        async with self._pruning:
            sessions = {each.session_id: each for each in self._sessions.list()}
            files = [*await asyncio.to_thread(self._results), *await self._sessions.transcripts.stored(sessions)]
            chosen = files_to_prune(files, limits, int(self._clock.time() * 1_000))
            if dry_run:
                return chosen
            gone = [each for each in chosen.files if await self._delete(each)]
            kept_bytes = sum(each.size_bytes for each in files) - sum(each.size_bytes for each in gone)
            self._report(kept_bytes, self.limits().budget_bytes)
            return Pruned(tuple(gone), kept_bytes)

    async def _delete(self, file: StoredFile) -> bool:
        """Delete a file, unless its session is in use again; return whether it was deleted."""
        path = file.path
        if file.kind is StoredKind.ARCHIVED:
            session = self._sessions.get(file.key)
            if session is None or kind_of(session) is StoredKind.KEPT or session.session_id != path.stem:
                return False
            await self._sessions.delete(file.key)
            path = path.parent / "deleted" / path.name
        try:
            if file.kind is StoredKind.RESULT:
                await asyncio.to_thread(path.unlink, missing_ok=True)
            else:
                await self._sessions.transcripts.discard(path)
        except (HubError, OSError) as error:
            _log.warning("%s is not deleted: %s", path, error)
            return False
        if file.kind is StoredKind.PAST:
            self._sessions.announce_pruned(file.key)
        return True

    def _report(self, kept_bytes: int, budget_bytes: int) -> None:
        if not budget_bytes or kept_bytes <= budget_bytes:
            self._repairs.clear("sessions", REPAIR)
            return
        self._repairs.raise_(
            "sessions",
            REPAIR,
            phrase("Conversations take more room than configured"),
            phrase(
                "Conversations and stored results take {size} MB, and session.disk_budget allows {budget} MB. What is "
                "deleted, archived or from before a reset is gone already. Archive or delete conversations that you do "
                "not need, or allow more.",
                size=round(kept_bytes / MEGABYTE),
                budget=budget_bytes // MEGABYTE,
            ),
            severity=Severity.WARNING,
            command="homarus sessions list",
        )

    def _results(self) -> list[StoredFile]:
        """Collect the long results of tools; blocks."""
        found = (stored_file(path, StoredKind.RESULT) for path in (self._home.storage / "results").glob("*/*"))
        return [each for each in found if each is not None]
