"""The session store: every session in memory, its row in the hub database, and its transcript."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.models.contract import Usage
from hub.sessions.entry import Header, TranscriptEntry
from hub.sessions.keys import SessionKey, is_incognito
from hub.sessions.reset import ResetRules
from hub.sessions.schema import OPEN_TRANSCRIPTS
from hub.sessions.session import PLACES, Session, SessionOrigin, check_patch, delete_row, select_rows, upsert_rows
from hub.sessions.transcript import Redact, Transcript
from hub.sessions.transcript_store import TranscriptFiles, TranscriptStore, check_session_id
from hub.storage.database import Database
from hub.storage.homedir import Home

_log = logging.getLogger(__name__)

EVENT_SESSION_CHANGED = "session_changed"
FLUSH_DELAY_S = 0.5
"""How long what is noted of a session may wait for more: totals and times, which a crash may lose."""


class SessionStore:
    """Knows every session; reading is a dictionary look-up.

    Fires `session_changed` with `key` and `what`: created, patched, reset, deleted, pruned, touched or usage.

    Args:
        db: The hub database.
        home: Paths of the home directory.
        clock: Gives the time of rows.
        bus: Changes are published here.
        transcripts: Keeps the transcripts; files of the home without one.
        redact: Takes secrets out of what is written to transcripts.
        open_transcripts: How many transcripts are kept in memory with their files open.
    """

    def __init__(
        self,
        db: Database,
        home: Home,
        clock: Clock,
        bus: EventBus,
        *,
        transcripts: TranscriptStore | None = None,
        redact: Redact | None = None,
        open_transcripts: int = OPEN_TRANSCRIPTS,
    ) -> None:
        self._db = db
        self.transcripts: TranscriptStore = transcripts or TranscriptFiles(home)
        self._clock = clock
        self._bus = bus
        self._redact = redact
        self._open_limit = open_transcripts
        self._sessions: dict[str, Session] = {}
        self.get: Callable[[str], Session | None] = self._sessions.get
        """Returns a session by its full key, or None when there is none; asked a dozen times for each message."""
        self._recent: OrderedDict[str, Transcript] = OrderedDict()
        # A run may hold a transcript longer than it is among the recent; there is still only one object per file.
        self._alive: weakref.WeakValueDictionary[str, Transcript] = weakref.WeakValueDictionary()
        self._opening: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._dirty: set[str] = set()
        self._flush_timer: asyncio.TimerHandle | None = None
        self._reset_rules = ResetRules()
        self._before_reset: Callable[[Session], None] | None = None

    def before_reset(self, listener: Callable[[Session], None]) -> None:
        """Call `listener` with each session that is about to be reset; its database writes go first."""
        self._before_reset = listener

    async def open(self) -> None:
        """Load every session's row; one that cannot be read is logged and left in the database.

        Raises:
            HubError: The database cannot be read.
        """
        for *row, data in await self._db.read(select_rows):
            try:
                session = Session.from_row(tuple(row), orjson.loads(data))
                SessionKey.parse(session.key)
                check_session_id(session.session_id)
            except (ValueError, KeyError, TypeError, InvalidRequest) as error:
                _log.warning("the row of session %r cannot be read and is left alone: %s", row[0], error)
                continue
            self._sessions[session.key] = session

    async def close(self) -> None:
        """Flush pending writes to disk, and close all files."""
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        waiting = [self._sessions[key] for key in self._dirty if key in self._sessions]
        self._dirty.clear()
        # Writes keep their order: when this one is on disk, so is everything that was posted before.
        await self._db.write(upsert_rows(waiting))
        for transcript in list(self._alive.values()):
            transcript.close()
        self._recent.clear()

    def configure(self, *, open_transcripts: int, reset: ResetRules) -> None:
        """Change how many transcripts are kept in memory, and when conversations are stale."""
        self._open_limit = open_transcripts
        self._reset_rules = reset
        self._evict()

    def list(self, agent_id: str | None = None) -> list[Session]:
        """Return the sessions, of one agent or all, the one that was active last first."""
        chosen = [each for each in self._sessions.values() if agent_id is None or each.agent_id == agent_id]
        # What was snoozed comes back where it is seen.
        return sorted(chosen, key=lambda session: (-max(session.updated_ms, session.snoozed_ms), session.key))

    async def ensure(self, key: str, *, person: str | None = None, copy_of: str | None = None) -> Session:
        """Return the session of a full key, made now if it is new.

        The row of a new one is queued for the database before anything that is written there later.

        Args:
            key: A full key, as `SessionKey` writes it.
            person: The owner of a new session, when known.
            copy_of: The key of the session that a new one is a copy of.

        Raises:
            InvalidRequest: It is not a session key.
        """
        if session := self._sessions.get(key):
            return session
        parsed = SessionKey.parse(key)
        if str(parsed) != key:
            raise InvalidRequest(f"{key!r} is short for {str(parsed)!r}; the store takes full keys")
        now = self._now_ms()
        session = Session(key, new_id(), parsed.agent, now, now, person=person, copy_of=copy_of)
        self._sessions[key] = session
        if not self._db.post(upsert_rows([session])):
            self._dirty.add(key)
        self._tell(key, "created")
        return session

    async def add(self, session: Session) -> None:
        """Add a conversation from elsewhere, with times of its own; it is on disk when this returns.

        Raises:
            Conflict: There is one of its key.
            InvalidRequest: Its key is not a full session key.
        """
        if str(SessionKey.parse(session.key)) != session.key:
            raise InvalidRequest(f"{session.key!r} is not a full session key")
        if session.key in self._sessions:
            raise Conflict(f"there is a session {session.key} already")
        self._sessions[session.key] = session
        await self._db.write(upsert_rows([session]))
        self._tell(session.key, "created")

    async def patch(self, key: str, /, **changes: Any) -> Session:
        """Change the title, a setting, tainted, person or a place in lists; it is on disk when this returns.

        Raises:
            NotFound: There is no such session.
            InvalidRequest: A field cannot be patched, or its value does not fit.
        """
        session = self._known(key)
        check_patch(changes)
        fresh = replace(session, **changes)
        if fresh == session:
            return session
        fresh = fresh if PLACES.issuperset(changes) else replace(fresh, updated_ms=self._now_ms())
        self._sessions[key] = fresh
        await self._db.write(upsert_rows([fresh]))
        self._tell(key, "patched")
        return fresh

    async def snooze(self, key: str, seconds: float) -> Session:
        """Leave a session out of lists for some time, or until it is active again; 0 ends that."""
        return await self.patch(key, snoozed_ms=self._now_ms() + int(seconds * 1_000) if seconds else 0)

    def is_snoozed(self, session: Session) -> bool:
        """Whether a session is left out of lists now."""
        return session.snoozed_ms > self._now_ms()

    def touch(self, key: str) -> None:
        """Note activity in a session; written with a delay."""
        if session := self._sessions.get(key):
            self._write_behind(replace(session, updated_ms=self._now_ms()), "touched")

    async def hear(self, key: str, origin: SessionOrigin | None = None) -> Session:
        """Note a message in a session; a stale session is reset first.

        Args:
            key: The session.
            origin: Where the message came from.

        Raises:
            NotFound: There is no such session.
        """
        session, now = self._known(key), self._now_ms()
        # Rows of older versions do not know when a message came.
        last = max(session.heard_ms or session.updated_ms, session.created_ms)
        if self._reset_rules.of(key, origin.channel if origin else None).is_stale(last, now, self._reset_rules.zone):
            session = await self.reset(key)
        self._write_behind(replace(session, heard_ms=now, origin=origin, unread=False), "touched")
        return self._sessions[key]

    def add_usage(
        self,
        key: str,
        usage: Usage,
        *,
        turns: int = 1,
        context_tokens: int | None = None,
        aborted: bool | None = None,
    ) -> None:
        """Add the cost of model calls to a session's totals; written with a delay.

        Args:
            key: The session.
            usage: The usage.
            turns: How many model calls that was.
            context_tokens: Tokens of the last request, when known.
            aborted: Whether the run that ended with it was stopped.
        """
        session = self._sessions.get(key)
        if session is None:
            return
        fresh = replace(
            session,
            usage=session.usage + usage,
            turns=session.turns + turns,
            context_tokens=session.context_tokens if context_tokens is None else context_tokens,
            aborted=session.aborted if aborted is None else aborted,
            updated_ms=self._now_ms(),
        )
        self._write_behind(fresh, "usage")

    async def reset(self, key: str) -> Session:
        """Reset a session: a new transcript and totals of zero; the old transcript stays on disk.

        Raises:
            NotFound: There is no such session.
        """
        session = self._known(key)
        now = self._now_ms()
        fresh = replace(
            session,
            session_id=new_id(),
            created_ms=now,
            updated_ms=now,
            title=None,
            archived=False,
            unread=False,
            snoozed_ms=0,
            copy_of=None,
            tainted=False,
            usage=Usage(),
            context_tokens=0,
            turns=0,
            aborted=False,
        )
        if self._before_reset is not None and not is_incognito(key):
            self._before_reset(session)
        self._sessions[key] = fresh
        await self._db.write(upsert_rows([fresh]))
        self._release(session.session_id)
        self._tell(key, "reset")
        return fresh

    async def delete(self, key: str) -> bool:
        """Forget a session; its transcripts, also those from before resets, are moved to `deleted/` beside the others.

        Returns:
            Whether it existed.

        Raises:
            Unavailable: A transcript cannot be moved; the session is then still there.
        """
        if (session := self._sessions.get(key)) is None:
            return False

        def present() -> str | None:
            session = self._sessions.get(key)
            return session.session_id if session is not None else None

        await self.transcripts.put_away(session.agent_id, key, present)
        if (session := self._sessions.get(key)) is None:
            return False
        self._release(session.session_id)
        del self._sessions[key]
        self._dirty.discard(key)
        await self._db.write(delete_row(key))
        self._tell(key, "deleted")
        return True

    def announce_pruned(self, key: str) -> None:
        """Announce that a transcript from before a reset was deleted."""
        self._tell(key, "pruned")

    async def open_transcript(self, session: Session) -> Transcript:
        """Return a session's transcript, read now if it is not among those in memory.

        Raises:
            NewerTranscript: A newer program wrote it.
            Unavailable: The disk cannot be read.
        """
        if known := self._in_memory(session):
            return known
        header = Header(session.session_id, session.key)
        # Opening mends what a crash left; who appends meanwhile must be the same transcript.
        async with self._opening.setdefault(session.session_id, asyncio.Lock()):
            if known := self._in_memory(session):
                return known
            return self._adopt(session, await self.transcripts.open(session.agent_id, header, self._redact))

    async def last_messages(self, session: Session, count: int) -> Sequence[TranscriptEntry]:
        """Return the last messages of a conversation, oldest first; at most `count`.

        Raises:
            NewerTranscript: A newer program wrote the transcript.
            Unavailable: The disk cannot be read.
        """
        if session.session_id not in self._alive:
            found = await self.transcripts.tail(session.agent_id, session.session_id, count)
            if found is not None:
                return found
        transcript = await self.open_transcript(session)
        return [entry for entry in transcript.branch() if entry.message is not None][-count:]

    async def past_entries(self, session: Session, session_id: str) -> tuple[TranscriptEntry, ...]:
        """Return the entries of a transcript that a session had before it was reset.

        Raises:
            NotFound: It has had no such transcript.
            Unavailable: The disk cannot be read.
        """
        found = await self.transcripts.read(session.agent_id, session_id)
        if found is None or found.header is None or found.header.key != session.key:
            raise NotFound(f"{session.key} has had no transcript {session_id}", details={"session_key": session.key})
        return tuple(found.entries)

    def _in_memory(self, session: Session) -> Transcript | None:
        transcript = self._alive.get(session.session_id)
        if transcript is not None:
            self._remember(session.session_id, transcript)
        return transcript

    def _adopt(self, session: Session, transcript: Transcript) -> Transcript:
        self._alive[session.session_id] = transcript
        self._remember(session.session_id, transcript)
        return transcript

    def _remember(self, session_id: str, transcript: Transcript) -> None:
        self._recent[session_id] = transcript
        self._recent.move_to_end(session_id)
        if len(self._recent) > self._open_limit:
            self._evict()

    def _evict(self) -> None:
        while len(self._recent) > self._open_limit:
            _, oldest = self._recent.popitem(last=False)
            oldest.close()

    def _release(self, session_id: str) -> None:
        self._recent.pop(session_id, None)
        if transcript := self._alive.pop(session_id, None):
            transcript.close()

    def _known(self, key: str) -> Session:
        session = self._sessions.get(key)
        if session is None:
            raise NotFound(f"there is no session {key}", details={"session_key": key})
        return session

    def _write_behind(self, session: Session, what: str) -> None:
        if session.archived or session.snoozed_ms:
            session = replace(session, archived=False, snoozed_ms=0)
        self._sessions[session.key] = session
        self._dirty.add(session.key)
        if self._flush_timer is None:
            self._flush_timer = asyncio.get_running_loop().call_later(FLUSH_DELAY_S, self._flush)
        self._tell(session.key, what)

    def _flush(self) -> None:
        self._flush_timer = None
        waiting = [self._sessions[key] for key in self._dirty if key in self._sessions]
        # What the database is too busy to take stays dirty and goes with the next change, or at the close.
        if not waiting or self._db.post(upsert_rows(waiting)):
            self._dirty.clear()

    def _tell(self, key: str, what: str) -> None:
        self._bus.fire(EVENT_SESSION_CHANGED, {"key": key, "what": what})

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1_000)
