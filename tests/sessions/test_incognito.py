"""Incognito conversations: whole while they last, and nothing of their words is left when they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.context import Authority
from hub.core.events import EventBus
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.memory.scope import NOBODY
from hub.models.contract import user_message
from hub.sessions.entry import message_entry
from hub.sessions.incognito import EVERY_S, IDLE_S, Incognito, IncognitoNeeds
from hub.sessions.keys import direct_key, group_key, incognito_key, is_incognito, main_key
from hub.sessions.privacy import scope_of
from hub.sessions.search import TranscriptSearch
from hub.sessions.store import SessionStore
from hub.sessions.transcript_store import TranscriptStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.tools.kept_results import KeptResults
from tests.until import LIMIT_S

MAIN = main_key("main")
SECRET = incognito_key("main", "1", "webchat")


TABLES = ("inbox", "outbox", "runs", "approvals", "idempotency", "system_events", "sessions", "transcript")


def all_rows(connection: SqlConnection) -> list[Any]:
    """Return all rows with words in them."""
    return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]


class Rig:
    """A store with an incognito conversation beside an ordinary one."""

    def __init__(self, home: Home, db: Database, clock: ManualClock, transcripts: TranscriptStore) -> None:
        self.home, self.db, self.clock = home, db, clock
        self.tasks = TaskOwner("test")
        bus = EventBus(self.tasks, clock.time)
        self.store = SessionStore(db, home, clock, bus, transcripts=transcripts)
        self.kept = KeptResults(home.storage / "results")
        self.incognito = Incognito(IncognitoNeeds(home, db, self.store, clock, self.tasks, bus))
        self.bus = bus

    async def say(self, key: str, word: str) -> None:
        session = await self.store.ensure(key)
        await (await self.store.open_transcript(session)).append(message_entry(user_message(word), 1))
        self.kept.keep(key, "read", word, trusted=True)
        now_ms = int(self.clock.time() * 1_000)

        def write(connection: SqlConnection) -> None:
            connection.execute(
                "INSERT INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state,"
                " session_key, message) VALUES (?, 'webchat', '', '', '', ?, ?, 'done', ?, ?)",
                (f"i-{key}-{word}", word, now_ms, key, word),
            )
            connection.execute(
                "INSERT INTO runs(id, agent_id, session_key, kind, state, created_ms, reply)"
                " VALUES (?, 'main', ?, 'message', 'done', ?, ?)",
                (f"r-{key}-{word}", key, now_ms, word),
            )

        await self.db.write(write)

    async def left(self) -> set[str]:
        """Return which words are left, in any file of the home or any row of the database."""
        assert await self.tasks.drain(timeout_s=LIMIT_S)
        dump = str(await self.db.read(all_rows))
        files = [path.read_bytes() for path in self.home.path.rglob("*") if path.is_file() and ".db" not in path.name]
        words = {"platypus", "quagga", "boiler"}
        return {each for each in words if each in dump or any(each.encode() in data for data in files)}


@pytest.fixture
async def rig(home: Home, db: Database, clock: ManualClock, transcripts: TranscriptStore) -> AsyncIterator[Rig]:
    rig = Rig(home, db, clock, transcripts)
    await rig.incognito.open()
    await rig.say(MAIN, "boiler")
    await rig.say(SECRET, "platypus")
    rig.clock.jump(1)
    yield rig
    await rig.tasks.cancel_all()
    await rig.store.close()


async def test_while_it_lasts_it_is_a_conversation_like_others(rig: Rig) -> None:
    session = rig.store.get(SECRET)

    assert session is not None
    assert len((await rig.store.open_transcript(session)).messages()) == 1
    assert await rig.left() == {"boiler", "platypus"}


async def test_when_it_is_deleted_none_of_its_words_is_left(rig: Rig) -> None:
    await rig.store.delete(SECRET)

    assert await rig.left() == {"boiler"}


async def test_a_reset_deletes_what_was_said_before_and_keeps_what_comes_after(rig: Rig) -> None:
    flushed: list[str] = []
    rig.store.before_reset(lambda session: flushed.append(session.key))
    await rig.store.reset(SECRET)
    between = await rig.left()
    await rig.say(SECRET, "quagga")
    await rig.store.reset(MAIN)

    assert between == {"boiler"}
    assert await rig.left() == {"boiler", "quagga"}
    assert flushed == [MAIN]


async def test_the_last_words_of_a_run_that_was_stopped_go_too(rig: Rig) -> None:
    session = rig.store.get(SECRET)
    assert session is not None
    transcript = await rig.store.open_transcript(session)
    await rig.store.delete(SECRET)
    await rig.left()
    await transcript.append(message_entry(user_message("quagga"), 2))
    before = await rig.left()
    rig.bus.fire("run_finished", {"session_key": SECRET})

    assert (before, await rig.left()) == ({"boiler", "quagga"}, {"boiler"})


async def test_a_run_of_one_that_goes_on_leaves_everything(rig: Rig) -> None:
    rig.bus.fire("run_finished", {"session_key": SECRET})
    await rig.left()

    assert len(list(rig.home.storage.glob("results/*/*"))) == 2
    assert await rig.left() == {"boiler", "platypus"}


async def test_what_an_earlier_process_left_is_deleted_at_the_start(rig: Rig) -> None:
    await rig.incognito.open()

    assert rig.store.get(SECRET) is None
    assert rig.store.get(MAIN) is not None
    assert await rig.left() == {"boiler"}


async def test_it_ends_by_itself_after_a_day_without_anything_new(rig: Rig) -> None:
    task = asyncio.create_task(rig.incognito.follow())
    await rig.clock.advance(EVERY_S)
    early = rig.store.get(SECRET)
    rig.clock.jump(IDLE_S)
    await rig.clock.advance(EVERY_S)
    while rig.store.get(SECRET) is not None:  # noqa: ASYNC110  the database's thread writes it
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.wait({task})

    assert early is not None
    assert await rig.left() >= {"boiler"}


async def test_no_search_finds_it(rig: Rig) -> None:
    search = TranscriptSearch(rig.home, rig.store, rig.clock)
    await search.catch_up()

    assert await search.search("platypus", lambda _: True, 10) == []
    assert len(await search.search("boiler", lambda _: True, 10)) == 1
    await search.close()


def test_no_memory_sees_it() -> None:
    owner = Authority("owner", person="anna", owner=True)

    assert scope_of(SECRET, owner) == NOBODY
    assert scope_of(direct_key("main", "1", channel="webchat"), owner) != NOBODY


@pytest.mark.parametrize(
    "key", [MAIN, direct_key("main", "not-incognito-1"), group_key("main", "x", "incognito-1"), "no key", ""]
)
def test_other_keys_are_not_incognito(key: str) -> None:
    assert not is_incognito(key)
    assert is_incognito(SECRET)
