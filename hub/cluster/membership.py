"""A worker among the others: its heartbeat, and its eye on those who have none any more.

It runs in a thread of its own with a connection of its own: neither a busy event loop nor a slow write delays it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable

import psycopg
from msgspec import Struct
from msgspec.structs import replace

from hub.cluster.lease import LEASE_S, WorkerLease
from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.postgresql import workers
from hub.storage.postgresql.errors import explain
from hub.storage.postgresql.session import Session, Target
from hub.storage.postgresql.tables import prepare
from hub.storage.postgresql.workers import Worker
from hub.update.record import EXIT_AGAIN

_log = logging.getLogger(__name__)

BEAT_S = 2.0
LOOK_EVERY_S = 0.5
UNLOCKED_LOOKS = 2
"""A connection that broke is made again at once; one that is not there twice in a row has nobody any more."""
GAP_S = 2.0
"""Whoever has not looked for so long knows nothing of how long the others have been silent."""
ANSWER_LIMIT_S = 5.0


class Load(Struct, frozen=True):
    """What a worker carries, and how many homes it would open at most."""

    weight: float = 0.0
    homes_limit: int = 0


class _Seen(Struct):
    beats: int
    at: float
    unlocked: int = 0


class Watch:
    """Decides who is dead, by what one observer sees; the clocks of others, and that of the database, do not matter."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._looked = float("-inf")

    def dead(self, others: Iterable[Worker], now: float) -> list[Worker]:
        """Return those who are dead: silent for a whole lease under these eyes, or with a connection that has ended.

        Args:
            now: The time since the observer's machine was started.
        """
        if now - self._looked > GAP_S:
            self._seen.clear()
        self._looked = now
        seen: dict[str, _Seen] = {}
        found = []
        for each in others:
            known = self._seen.get(each.id)
            if known is None or known.beats != each.beats:
                known = _Seen(each.beats, now)
            # After a failover locks are missing because nobody has come back yet.
            known.unlocked = known.unlocked + 1 if each.is_here and not each.is_locked else 0
            seen[each.id] = known
            if known.unlocked >= UNLOCKED_LOOKS or now - known.at >= LEASE_S:
                found.append(each)
        self._seen = seen
        return found


class Membership:
    """The row of this worker, kept alive.

    Args:
        target: The database.
        name: The worker's name, the same after each start.
        url: Where other workers reach it.
        lease: Renewed by each heartbeat.
        end: Ends the process at once; called in the thread when the row is gone, or the thread cannot go on.

    Attributes:
        load: What the worker carries now; the thread only reads it.
        wanted: Called in the thread when a home is wanted, or a worker was buried.
    """

    def __init__(
        self,
        target: Target,
        *,
        name: str,
        url: str,
        lease: WorkerLease,
        end: Callable[[int], object],
    ) -> None:
        self.id = new_id()
        self.name = name
        self.url = url
        self.number = 0
        self.buried = 0
        self._target = replace(target, parameters=target.parameters | {"connect_timeout": 3, "tcp_user_timeout": 4_000})
        self._lease = lease
        self.load = Load()
        self.wanted: Callable[[], object] = _nothing
        self._end = end
        self._watch = Watch()
        self._session: Session | None = None
        self._last_beat = float("-inf")
        self._is_away = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker heartbeat", daemon=True)
        self.workers: tuple[Worker, ...] = ()
        """All workers, as they were seen last; this one too."""

    @property
    def late_s(self) -> float:
        """How long ago the last heartbeat that arrived was begun."""
        return self._lease.now() - self._last_beat

    def join(self) -> None:
        """Make the tables, add this worker, and keep it alive from then on. Blocks.

        Raises:
            StorageError: The database cannot be used.
        """
        session = Session(self._target, ANSWER_LIMIT_S)
        try:
            prepare(session.connection, HUB_MIGRATIONS, self._target.place)
            begun = self._lease.now()
            self.number = workers.join(session, self.id, self.name, self.url, self.load.homes_limit, LEASE_S)
            self._listen(session)
            self._beaten(begun)
        except psycopg.Error as error:
            session.close()
            raise explain(error, self._target.place) from None
        except BaseException:
            session.close()
            raise
        self._session = session
        self._thread.start()

    async def watch(self) -> None:
        """Break off, until cancelled, a connection whose server answers no more."""
        while True:
            if (session := self._session) is not None:
                session.check()
            await asyncio.sleep(LOOK_EVERY_S)

    def leave(self) -> None:
        """Delete this worker, whose homes are closed. Blocks."""
        self._stopping.set()
        self._thread.join()
        if self._session is None:
            return
        try:
            with self._session.awaiting():
                workers.leave(self._session, self.id)
        except psycopg.Error as error:
            _log.warning("this worker was not taken off the list; the others will notice: %s", str(error).strip())
        self._session.close()

    # --- below: in the thread ---

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._tick()
            except (psycopg.Error, HubError) as error:
                if not self._is_away:
                    self._is_away = True
                    why = error.message if isinstance(error, HubError) else str(error).strip().partition("\n")[0]
                    _log.error("the heartbeat stops, and soon all that is done outside, until it goes on: %s", why)
                self._drop()
                self._stopping.wait(LOOK_EVERY_S)
            except Exception:  # a worker without a heartbeat is dead to the others: it must not live on
                _log.critical(
                    "the heartbeat has failed; this worker ends (exit %d), to be started again",
                    EXIT_AGAIN,
                    exc_info=True,
                )
                self._end_now()

    def _tick(self) -> None:
        session = self._connected()
        with session.awaiting():
            self._beat_and_look(session)
        if any(True for _ in session.connection.notifies(timeout=LOOK_EVERY_S, stop_after=1)):
            self.wanted()

    def _beat_and_look(self, session: Session) -> None:
        if self.late_s >= BEAT_S:
            begun, load = self._lease.now(), self.load
            if not workers.beat(session, self.id, load.weight, load.homes_limit, LEASE_S):
                self._lose()
                return
            self._beaten(begun)
        found = workers.look(session, LEASE_S)
        self.workers = tuple(found)
        for dead in self._watch.dead([each for each in found if each.id != self.id], self._lease.now()):
            self._bury(session, dead)

    def _bury(self, session: Session, dead: Worker) -> None:
        try:
            if not workers.bury(session, dead):
                return
        except psycopg.errors.LockNotAvailable:
            return  # what it has open is ended; the next look tries again
        self.buried += 1
        why = "silent for too long" if dead.is_locked else "gone"
        _log.warning("the worker %s (%s) is %s; its homes are free", dead.name, dead.url, why)
        self.wanted()

    def _connected(self) -> Session:
        if self._session is not None and not self._session.is_lost:
            return self._session
        session = Session(self._target, ANSWER_LIMIT_S)
        try:
            if not workers.lock(session, self.number):
                workers.end_former(session, self.id)
                raise psycopg.OperationalError("the server still has our former connection")
            self._listen(session)
        except BaseException:
            session.close()
            raise
        self._session = session
        self._last_beat = min(self._last_beat, self._lease.now() - BEAT_S)
        return session

    def _listen(self, session: Session) -> None:
        session.connection.execute(f"LISTEN {workers.WANTED}".encode())

    def _beaten(self, begun: float) -> None:
        self._last_beat = begun
        self._lease.renew(begun)
        if self._is_away:
            self._is_away = False
            _log.warning("the heartbeat goes on")

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()

    def _lose(self) -> None:
        _log.critical(
            "another worker has taken this one for dead, and its homes over; it ends (exit %d), to be started again",
            EXIT_AGAIN,
        )
        self._end_now()

    def _end_now(self) -> None:
        self._stopping.set()
        self._end(EXIT_AGAIN)


def _nothing() -> None:
    """Default: nobody wants to know."""
