"""Search in transcripts: a full-text index, updated in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.events import Event
from hub.memory.words import places_of, query_words, words_of
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.storage import said_index
from hub.storage.database import Database
from hub.storage.errors import DatabaseDamaged
from hub.storage.homedir import Home
from hub.storage.said_index import SAID_MIGRATIONS, IndexedLine, IndexedTranscript

_log = logging.getLogger(__name__)

FILE = "conversations.db"
DELAY_S = 2.0
"""After a change, before the index follows: what comes in this time is read together."""
QUERY_LIMIT = 200
QUERY_WORDS_LIMIT = 32
FOUND_LIMIT = 100
EXCERPT_CHARS = 160
BEFORE_CHARS = 50
"""Characters of an excerpt before the first word that was found."""


class FoundMessage(Struct, frozen=True):
    """A message in which all words were found.

    Attributes:
        session_key: The session.
        session_id: Its transcript.
        is_past: Whether the session was reset since.
        entry_id, run_id: Properties of the entry.
        role: user or assistant.
        ts_ms: Milliseconds since the epoch.
        text: The text around the first match.
    """

    session_key: str
    session_id: str
    is_past: bool
    entry_id: str
    run_id: str | None
    role: str
    ts_ms: int
    text: str


class TranscriptSearch:
    """The search index. It can always be deleted, and is rebuilt from the transcripts.

    Args:
        home: Paths of the home directory.
        sessions: The sessions; transcripts of others are not found.
        clock: The clock of the hub.
    """

    def __init__(self, home: Home, sessions: SessionStore, clock: Clock) -> None:
        self._sessions = sessions
        self._clock = clock
        self._path = home.storage / FILE
        self._db: Database | None = None
        self._off = "it is still being opened"
        self._known: dict[str, IndexedTranscript] = {}
        self._changed: set[str] = set()
        self._latest: dict[str, str] = {}
        """Sessions that changed, by their id at that time, with their agent."""
        self._all_changed = True
        self._is_damaged = False
        self._closed = asyncio.Event()
        self._wake = asyncio.Event()
        self._wake.set()
        self._indexing = asyncio.Lock()

    def session_changed(self, event: Event) -> None:
        """Note that a session changed; the index follows."""
        key = str(event.data["key"])
        self._changed.add(key)
        if (session := self._sessions.get(key)) is not None:
            self._latest[session.session_id] = session.agent_id
        self._wake.set()

    async def follow(self) -> None:
        """Open the index, and keep it up to date until cancelled."""
        while True:
            await self._wake.wait()
            await self._clock.sleep(DELAY_S)
            self._wake.clear()
            try:
                await self.catch_up()
            except (HubError, OSError) as error:
                _log.warning("conversations are not searched: %s", error)

    async def close(self) -> None:
        """Close the index, which is not opened again."""
        self._off = "the hub is stopping"
        self._closed.set()
        async with self._indexing:
            db, self._db = self._db, None
        if db is not None:
            await db.close()

    async def catch_up(self) -> None:
        """Index everything new, after the start; a damaged index is deleted and rebuilt.

        Raises:
            HubError, OSError: The disk cannot be written.
        """
        async with self._indexing:
            if self._is_damaged:
                await self._delete()
            try:
                await self._catch_up()
            except DatabaseDamaged as error:
                _log.warning("the index of conversations is damaged and is built again: %s", error.message)
                await self._delete()
                await self._catch_up()

    async def search(self, query: str, may_see: Callable[[Session], bool], limit: int) -> list[FoundMessage]:
        """Return the latest messages with all words of a query, the last of which may be a prefix.

        Args:
            query: The searched words.
            may_see: Whether the requester may see a session.
            limit: Maximum number of messages.

        Raises:
            InvalidRequest: The query has no word that is looked for.
            Unavailable: The index is not open, or is being built again.
        """
        words = search_terms(query)
        if self._db is None or (self._changed and not self._all_changed):
            with suppress(HubError, OSError):  # `follow` says so; what was indexed before is found
                await self.catch_up()
        if self._db is None:
            raise Unavailable(f"conversations cannot be searched: {self._off}", retry_after_s=DELAY_S)
        visible = frozenset(
            each.session_id
            for each in self._known.values()
            if (session := self._sessions.get(each.key)) is not None and may_see(session)
        )
        try:
            lines = await self._db.read(
                partial(said_index.find, words=words, session_ids=visible, limit=min(limit, FOUND_LIMIT))
            )
        except DatabaseDamaged as error:
            self._is_damaged = True
            self._wake.set()
            raise Unavailable("the index of conversations is being built again", retry_after_s=DELAY_S) from error
        return await self._found(lines, frozenset(words))

    # -- the index, behind ---------------------------------------------------------------------------------------------

    async def _catch_up(self) -> None:
        if self._closed.is_set():
            return
        db = self._db or await self._open()
        changed, self._changed = self._changed, set()
        latest, self._latest = self._latest, {}
        if self._all_changed:
            transcripts = await self._sessions.transcripts.agents_by_id()
            transcripts |= {each.session_id: each.agent_id for each in self._known.values()}
        else:
            transcripts = {each.session_id: each.agent_id for each in self._known.values() if each.key in changed}
            transcripts |= latest
        self._all_changed = True  # until all of them are done
        dropped = False
        for session_id, agent_id in transcripts.items():
            if self._closed.is_set():
                return
            dropped |= await self._index(db, session_id, agent_id)
        if dropped:
            await db.write(said_index.scrub)
        self._all_changed = False

    async def _index(self, db: Database, session_id: str, agent_id: str) -> bool:
        """Index the rest of a transcript; return whether it no longer exists."""
        while not self._closed.is_set():
            known = self._known.get(session_id)
            try:
                read = await self._sessions.transcripts.said_since(agent_id, session_id, known)
            except NotFound:
                if known is not None:
                    await db.write(partial(said_index.drop, session_id=session_id))
                    del self._known[session_id]
                return known is not None
            except Unavailable as error:
                _log.warning("a conversation is not searched: %s", error.message)
                return False
            if read is None:
                return False
            write = partial(said_index.put, transcript=read.transcript, said=read.said, from_start=read.from_start)
            await db.write(write)
            self._known[session_id] = read.transcript
        return False

    async def _open(self) -> Database:
        db = Database(self._path, SAID_MIGRATIONS, synchronous="NORMAL", disposable=True)
        try:
            await db.open()
            self._known = {each.session_id: each for each in await db.read(said_index.indexed_transcripts)}
        except BaseException as error:
            self._off = str(error)
            await db.close()
            raise
        for copy in db.damaged_copies():
            copy.unlink(missing_ok=True)
        self._db = db
        return db

    async def _delete(self) -> None:
        db, self._db, self._off = self._db, None, "it is being built again"
        self._known, self._all_changed, self._is_damaged = {}, True, False
        if db is not None:
            await db.close()
        for path in self._path.parent.glob(f"{FILE}*"):
            path.unlink(missing_ok=True)

    # -- what was found ------------------------------------------------------------------------------------------------

    async def _found(self, lines: list[IndexedLine], words: frozenset[str]) -> list[FoundMessage]:
        """Return the present contents of found lines; nothing for a transcript that changed since."""
        known = [(each.agent_id, line) for line in lines if (each := self._known.get(line.session_id)) is not None]
        pieces = await self._sessions.transcripts.lines(known)
        found = (self._message(line, piece, words) for (_, line), piece in zip(known, pieces, strict=True))
        return [each for each in found if each is not None]

    def _message(self, line: IndexedLine, piece: bytes | None, words: frozenset[str]) -> FoundMessage | None:
        from hub.sessions.said import message_in

        known = self._known.get(line.session_id)
        session = self._sessions.get(known.key) if known is not None else None
        entry = message_in(piece) if piece is not None else None
        if session is None or entry is None or entry.message is None:
            return None
        return FoundMessage(
            session.key,
            line.session_id,
            session.session_id != line.session_id,
            entry.id,
            entry.run_id,
            entry.message.role.value,
            entry.ts_ms,
            _excerpt(entry.message.text, words),
        )


def search_terms(query: str) -> tuple[str, ...]:
    """Return the distinct words of a query.

    Raises:
        InvalidRequest: There is none.
    """
    words = query_words(query[:QUERY_LIMIT]) or words_of(query[:QUERY_LIMIT])
    if not words:
        raise InvalidRequest("query: expected a word less common than `the` or `what`")
    return tuple(words[:QUERY_WORDS_LIMIT])


def _excerpt(text: str, words: frozenset[str]) -> str:
    """Return the text around the first match, on one line."""
    at, _ = next(places_of(text, words), (None, ""))
    if at is None:  # the beginning of a word
        folded = text.casefold()
        at = max(0, min((place for word in words if (place := folded.find(word)) >= 0), default=0))
    begin = max(0, at - BEFORE_CHARS)
    cut = " ".join(text[begin : begin + EXCERPT_CHARS].split())
    return f"{'…' if begin else ''}{cut}{'…' if begin + EXCERPT_CHARS < len(text) else ''}"
