"""The session store: rows in the hub database, sessions in memory, transcripts at hand."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import InvalidRequest, NotFound
from hub.core.events import Event, EventBus
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.models.contract import Usage, user_message
from hub.sessions.entry import message_entry
from hub.sessions.keys import direct_key, main_key
from hub.sessions.store import SessionStore
from hub.sessions.transcript_store import IN_THREAD_BYTES, StoredKind
from hub.sessions.transcript_table import TranscriptTable
from hub.storage.homedir import Home
from tests.databases import make_database
from tests.transcripts import FILES, transcript_file
from tests.until import LIMIT_S

MAIN = main_key("main")


class World:
    """A home directory with its database, and a store that can be opened again over it."""

    def __init__(self, path: Path, form: str) -> None:
        self.home = Home(path)
        self.form = form
        self.home.create()
        self.clock = ManualClock()
        self.db = make_database(self.home.hub_db, synchronous="NORMAL")
        self.bus = EventBus(TaskOwner("test"))
        self.told: list[tuple[str, str]] = []
        self.bus.listen("session_changed", self._hear)

    async def store(self, open_transcripts: int = 64) -> SessionStore:
        transcripts = TranscriptTable(self.db) if self.form == "table" else None
        store = SessionStore(
            self.db, self.home, self.clock, self.bus, transcripts=transcripts, open_transcripts=open_transcripts
        )
        await store.open()
        return store

    def _hear(self, event: Event) -> None:
        self.told.append((event.data["key"], event.data["what"]))


@pytest.fixture
async def world(tmp_path: Path, form: str) -> AsyncIterator[World]:
    world = World(tmp_path / "home", form)
    await world.db.open()
    yield world
    await world.db.close()


async def test_a_session_is_made_once_and_found_after_a_restart(world: World) -> None:
    store = await world.store()

    session = await store.ensure(MAIN, person="me")
    again = await store.ensure(MAIN)
    await store.close()

    assert again is session
    assert store.get(MAIN) is session
    assert (await world.store()).get(MAIN) == session
    assert world.told == [(MAIN, "created")]


@pytest.mark.parametrize("key", ["main", "no key", "agent:main:direct:a/b", ""])
async def test_what_is_no_full_key_makes_no_session(world: World, key: str) -> None:
    store = await world.store()

    with pytest.raises(InvalidRequest):
        await store.ensure(key)

    assert store.list() == []


async def test_a_patch_is_kept(world: World) -> None:
    store = await world.store()
    await store.ensure(MAIN)
    world.clock.jump(5)

    session = await store.patch(MAIN, model="p/m", title="锅炉", tainted=True)
    same = await store.patch(MAIN, model="p/m")

    assert same is session
    assert (await world.store()).get(MAIN) == session
    assert session.updated_ms - session.created_ms == 5_000
    assert world.told[1:] == [(MAIN, "patched")]


@pytest.mark.parametrize(
    "changes",
    [{"session_id": "../../x"}, {"key": "k"}, {"tainted": "no"}, {"title": 3}, {"model": "x" * 501}, {"usage": None}],
)
async def test_what_a_patch_may_not_change_is_refused(world: World, changes: dict[str, object]) -> None:
    store = await world.store()
    session = await store.ensure(MAIN)

    with pytest.raises(InvalidRequest):
        await store.patch(MAIN, **changes)

    assert store.get(MAIN) is session


async def test_a_session_that_is_not_there_cannot_be_patched_or_reset(world: World) -> None:
    store = await world.store()

    with pytest.raises(NotFound):
        await store.patch(MAIN, title="x")
    with pytest.raises(NotFound):
        await store.reset(MAIN)
    assert not await store.delete(MAIN)


async def test_usage_adds_up_and_is_written_behind(world: World) -> None:
    store = await world.store()
    await store.ensure(MAIN)

    store.add_usage(MAIN, Usage(10, 5, cost_usd=0.5), context_tokens=15)
    store.add_usage(MAIN, Usage(1, 1, cost_usd=0.25), turns=2)
    store.touch(MAIN)
    store.touch("agent:main:direct:nobody")
    await store.close()

    session = (await world.store()).get(MAIN)
    assert session is not None
    assert (session.usage, session.turns, session.context_tokens) == (Usage(11, 6, cost_usd=0.75), 3, 15)


@pytest.mark.sqlite_only
async def test_what_is_noted_of_a_session_within_a_moment_is_written_once(world: World) -> None:
    store = await world.store()
    await store.ensure(MAIN)

    def count(connection: SqlConnection) -> None:
        connection.execute("CREATE TABLE written(data TEXT)")
        connection.execute(
            "CREATE TRIGGER counted AFTER UPDATE ON sessions BEGIN INSERT INTO written VALUES (new.data); END"
        )

    await world.db.write(count)
    await store.hear(MAIN)
    store.add_usage(MAIN, Usage(10, 5))
    rows: list[tuple[str]] = []
    async with asyncio.timeout(LIMIT_S):
        while not rows:
            rows = await world.db.read(lambda connection: connection.execute("SELECT data FROM written").fetchall())

    assert [json.loads(data)["turns"] for (data,) in rows] == [1]


async def test_sessions_are_listed_by_agent_and_the_newest_first(world: World) -> None:
    store = await world.store()
    keys = [MAIN, main_key("cook"), direct_key("main", "anna")]
    for key in keys:
        await store.ensure(key)
        world.clock.jump(1)
    store.touch(MAIN)

    assert [session.key for session in store.list()] == [MAIN, keys[2], keys[1]]
    assert [session.key for session in store.list("main")] == [MAIN, keys[2]]


async def test_a_reset_begins_anew_and_keeps_the_old_transcript(world: World) -> None:
    store = await world.store()
    old = await store.ensure(MAIN)
    await store.patch(MAIN, model="p/m", title="old", tainted=True)
    store.add_usage(MAIN, Usage(10, 5))
    await (await store.open_transcript(old)).append(message_entry(user_message("hi"), 1))

    fresh = await store.reset(MAIN)

    assert fresh.session_id != old.session_id
    assert (fresh.model, fresh.title, fresh.tainted, fresh.usage, fresh.turns) == ("p/m", None, False, Usage(), 0)
    assert (await store.open_transcript(fresh)).messages() == []
    assert [entry.message for entry in await store.past_entries(fresh, old.session_id)] == [user_message("hi")]
    assert (await world.store()).get(MAIN) == fresh


async def test_a_deleted_session_leaves_its_transcript_on_the_shelf(world: World) -> None:
    store = await world.store()
    session = await store.ensure(MAIN)
    await (await store.open_transcript(session)).append(message_entry(user_message("hi"), 1))

    deleted = await store.delete(MAIN)

    assert deleted
    assert store.get(MAIN) is None
    assert [each.kind for each in await store.transcripts.stored({})] == [StoredKind.DELETED]
    assert await store.transcripts.agents_by_id() == {}
    assert (await world.store()).list() == []


@FILES
async def test_files_are_named_by_our_ids_alone(world: World) -> None:
    store = await world.store()
    session = await store.ensure(direct_key("main", "../../../etc/passwd", channel="evil"))

    path = transcript_file(store, session)

    assert path == world.home.sessions("main") / f"{session.session_id}.jsonl"
    assert session.session_id.isalnum()


async def test_a_held_transcript_stays_the_only_one_of_its_file(world: World) -> None:
    store = await world.store(open_transcripts=4)
    sessions = [await store.ensure(direct_key("main", f"peer{number}")) for number in range(10)]
    held = await store.open_transcript(sessions[0])
    for session in sessions:
        await (await store.open_transcript(session)).append(message_entry(user_message(session.key), 1))

    assert (await store.open_transcript(sessions[0])) is held
    await held.append(message_entry(user_message("more"), 2))
    assert len((await store.open_transcript(sessions[0])).messages()) == 2


async def test_open_files_are_bounded(world: World) -> None:
    store = await world.store(open_transcripts=4)
    before = len(os.listdir("/proc/self/fd"))

    for number in range(30):
        session = await store.ensure(direct_key("main", f"peer{number}"))
        await (await store.open_transcript(session)).append(message_entry(user_message("x"), 1))
    gc.collect()

    assert len(os.listdir("/proc/self/fd")) - before <= 4


async def test_a_large_transcript_is_read_aside_and_is_the_same_one(world: World) -> None:
    store = await world.store()
    session = await store.ensure(MAIN)
    await (await store.open_transcript(session)).append(
        [message_entry(user_message("x" * 10_000), number) for number in range(IN_THREAD_BYTES // 10_000 + 2)]
    )
    again = await world.store()

    transcript, other = await asyncio.gather(again.open_transcript(session), again.open_transcript(session))

    assert transcript is other is await again.open_transcript(session)
    assert len(transcript.messages()) == IN_THREAD_BYTES // 10_000 + 2


async def test_a_row_that_cannot_be_read_does_not_keep_the_others_away(world: World) -> None:
    store = await world.store()
    await store.ensure(MAIN)
    await store.close()
    bad = [("agent:main:direct:a", "../x", "{}"), ("no key", "a1", "{}"), ("agent:main:direct:b", "b1", "{")]

    def spoil(connection: object) -> None:
        for key, session_id, data in bad:
            connection.execute(  # type: ignore[attr-defined]
                "INSERT INTO sessions VALUES (?, ?, 'main', 1, 1, ?)", (key, session_id, data)
            )

    await world.db.write(spoil)

    assert [session.key for session in (await world.store()).list()] == [MAIN]
