"""Search in what was said: indexed behind, built again when it is lost, and nothing of what was deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.context import Authority, system_context
from hub.core.errors import InvalidRequest, Unavailable
from hub.core.events import Event
from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, tool_result, user_message
from hub.sessions.entry import message_entry
from hub.sessions.keys import direct_key, main_key
from hub.sessions.privacy import may_search
from hub.sessions.search import DELAY_S, FILE, FoundMessage, TranscriptSearch
from hub.sessions.session import Session
from hub.sessions.store import EVENT_SESSION_CHANGED, SessionStore
from hub.sessions.transcript_store import StoredKind
from hub.storage.homedir import Home
from tests.transcripts import FILES, transcript_file
from tests.until import until

MAIN = main_key("main")
ANNA = direct_key("main", "8", channel="test")


def changed(key: str) -> Event:
    return Event(EVENT_SESSION_CHANGED, {"key": key}, system_context(), 0.0)


class Rig:
    """A store, its index, and what is said in it."""

    def __init__(self, home: Home, store: SessionStore, search: TranscriptSearch, clock: ManualClock) -> None:
        self.home, self.store, self.search, self.clock = home, store, search, clock
        self._count = 0

    async def say(self, text: str, key: str = MAIN, **fields: Any) -> None:
        session = await self.store.ensure(key)
        self._count += 1
        entry = message_entry(user_message(text), self._count, **fields)
        await (await self.store.open_transcript(session)).append(entry)
        self.search.session_changed(changed(key))

    async def find(self, query: str, *, limit: int = 20, **authority: Any) -> list[FoundMessage]:
        await self.search.catch_up()
        who = Authority("test", **{"owner": True, **authority})
        return await self.search.search(query, lambda session: may_search(session, who), limit)

    async def texts(self, query: str, **authority: Any) -> list[str]:
        return [each.text for each in await self.find(query, **authority)]

    def path(self, session: Session) -> Path:
        return transcript_file(self.store, session)


@pytest.fixture
async def rig(home: Home, store: SessionStore, clock: ManualClock) -> AsyncIterator[Rig]:
    search = TranscriptSearch(home, store, clock)
    yield Rig(home, store, search, clock)
    await search.close()


async def test_messages_with_all_words_are_found_the_latest_first(rig: Rig) -> None:
    await rig.say("The boiler was serviced on 12 May")
    await rig.say("Who services our boilers?", ANNA)
    await rig.say("The garden needs water")

    assert await rig.texts("boiler service") == ["Who services our boilers?", "The boiler was serviced on 12 May"]
    assert await rig.texts("boi") == await rig.texts("boiler")
    assert await rig.texts("boiler garden") == []
    assert len(await rig.find("boiler", limit=1)) == 1


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("锅炉昨天坏了，请打电话给维修工", "维修工"),
        ("鍋爐昨天壞了", "锅炉"),
        ("ボイラーが壊れました", "ボイラー"),
        ("東京へ行きます", "東京"),
        ("Müller kommt um acht", "muller"),
    ],
)
async def test_other_languages_are_found_too(rig: Rig, said: str, query: str) -> None:
    await rig.say("Something else")
    await rig.say(said)

    assert await rig.texts(query) == [said]


async def test_what_was_said_before_a_reset_is_found_as_past(rig: Rig) -> None:
    await rig.say("The boiler is broken")
    await rig.store.reset(MAIN)
    await rig.say("The boiler works again")

    found = await rig.find("boiler")

    assert [(each.text, each.is_past) for each in found] == [
        ("The boiler works again", False),
        ("The boiler is broken", True),
    ]


async def test_what_was_said_just_before_a_reset_is_found_too(rig: Rig) -> None:
    await rig.find("boiler")
    await rig.say("The boiler is broken")
    await rig.store.reset(MAIN)
    rig.search.session_changed(changed(MAIN))

    assert await rig.texts("boiler") == ["The boiler is broken"]


async def test_a_search_right_after_the_start_opens_the_index(rig: Rig) -> None:
    await rig.say("The boiler is broken")

    assert [each.text for each in await rig.search.search("boiler", lambda _: True, 20)] == ["The boiler is broken"]


async def test_of_a_deleted_session_nothing_is_found_or_kept(rig: Rig) -> None:
    await rig.say("The zebrafish is broken")
    await rig.store.reset(MAIN)
    await rig.say("The zebrafish works again")
    await rig.find("zebrafish")

    await rig.store.delete(MAIN)
    gone = await rig.texts("zebrafish")
    rig.search.session_changed(changed(MAIN))
    await rig.search.catch_up()
    await rig.store.ensure(MAIN)
    again = await rig.texts("zebrafish")
    await rig.search.close()

    assert gone == again == []
    assert b"zebrafish" not in (rig.home.storage / FILE).read_bytes()
    assert [each.kind for each in await rig.store.transcripts.stored({})] == [StoredKind.DELETED] * 2


async def test_an_owner_finds_everything_and_others_what_is_theirs(rig: Rig) -> None:
    await rig.store.ensure(MAIN, person="anna")
    await rig.store.ensure(ANNA, person="ben")
    await rig.say("The boiler of Anna")
    await rig.say("The boiler of Ben", ANNA)

    assert len(await rig.texts("boiler")) == 2
    assert await rig.texts("boiler", owner=False, person="ben") == ["The boiler of Ben"]
    assert await rig.texts("boiler", owner=False, person="carl") == []
    assert await rig.texts("boiler", owner=False, person=None) == []


async def test_results_of_tools_and_notes_of_the_hub_are_not_found(rig: Rig) -> None:
    session = await rig.store.ensure(MAIN)
    call = ToolCallBlock("1", "read", {})
    answer = Message(Role.ASSISTANT, (TextBlock("The boiler is fine"), call))
    entries = [message_entry(each, 1) for each in (answer, tool_result(call, "The boiler was bought in 1999"))]
    await (await rig.store.open_transcript(session)).append(entries)
    await rig.say("Remembered: the boiler", data={"channel": "memory"})

    assert await rig.texts("boiler") == ["The boiler is fine"]


@FILES
async def test_a_torn_line_is_found_once_it_is_whole(rig: Rig) -> None:
    await rig.say("The boiler is broken")
    session = rig.store.get(MAIN)
    assert session is not None
    whole = rig.path(session).read_bytes()
    rig.path(session).write_bytes(whole[:-20])
    early = await rig.texts("boiler")
    rig.path(session).write_bytes(whole)
    rig.search.session_changed(changed(MAIN))

    assert early == []
    assert await rig.texts("boiler") == ["The boiler is broken"]


@FILES
async def test_a_transcript_that_was_written_again_is_read_again(rig: Rig) -> None:
    await rig.say("The boiler is broken")
    session = rig.store.get(MAIN)
    assert session is not None
    path = rig.path(session)
    await rig.find("boiler")
    fresh = path.with_suffix(".tmp")
    fresh.write_bytes(path.read_bytes().replace(b"boiler", b"heater"))
    fresh.replace(path)
    stale = await rig.texts("boiler")
    rig.search.session_changed(changed(MAIN))

    assert stale == ["The heater is broken"]
    assert await rig.texts("boiler") == []
    assert await rig.texts("heater") == ["The heater is broken"]


@pytest.mark.parametrize("damage", [b"", b"no database at all", b"SQLite format 3\x00" + b"\xff" * 40_000])
async def test_a_damaged_index_is_deleted_and_built_again(rig: Rig, damage: bytes) -> None:
    await rig.say("The boiler is broken")
    await rig.find("boiler")
    await rig.search.close()
    (rig.home.storage / FILE).write_bytes(damage)
    rig.search = TranscriptSearch(rig.home, rig.store, rig.clock)

    assert await rig.texts("boiler") == ["The boiler is broken"]
    assert [path.name for path in rig.home.storage.glob(f"{FILE}*") if "damaged" in path.name] == []


async def test_damage_while_it_is_open_is_repaired_behind(rig: Rig) -> None:
    await rig.say("The boiler is broken")
    await rig.find("boiler")
    path = rig.home.storage / FILE
    await rig.search.close()
    rig.search = TranscriptSearch(rig.home, rig.store, rig.clock)
    await rig.search.catch_up()
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (size - 4096))

    with pytest.raises(Unavailable, match="built again"):
        await rig.search.search("boiler", lambda _: True, 20)
    assert await rig.texts("boiler") == ["The boiler is broken"]


async def test_the_index_follows_by_itself(rig: Rig) -> None:
    task = asyncio.create_task(rig.search.follow())
    await rig.say("The zebrafish is broken")
    await rig.clock.advance(DELAY_S)
    index = rig.home.storage / FILE

    def has_it() -> bool:
        with suppress(FileNotFoundError):  # a rebuilt one is renamed between look and read
            return any(b"zebrafish" in path.read_bytes() for path in index.parent.glob(f"{FILE}*"))
        return False

    await until(has_it)

    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_was_said_a_moment_ago_is_found(rig: Rig) -> None:
    await rig.search.catch_up()
    await rig.say("the boiler hums")

    found = await rig.search.search("boiler", lambda _: True, 10)

    assert [each.text for each in found] == ["the boiler hums"]


@pytest.mark.parametrize("query", ["the", "?!", '"', "  "])
async def test_a_query_without_words_is_refused(rig: Rig, query: str) -> None:
    with pytest.raises(InvalidRequest, match="a word less common"):
        await rig.find(query)


@pytest.mark.parametrize("query", ['boiler" OR "', "boiler AND NOT x*", "words:boiler", "boiler^2 NEAR(a b)", "💡"])
async def test_signs_of_the_index_are_signs(rig: Rig, query: str) -> None:
    await rig.say("The garden needs water")

    assert await rig.texts(query) == []


async def test_a_long_message_shows_what_is_around_the_word(rig: Rig) -> None:
    await rig.say(f"{'before ' * 100}the boiler{' behind' * 100}")

    (found,) = await rig.find("boiler")

    assert "the boiler behind" in found.text
    assert (found.text[0], found.text[-1]) == ("…", "…")
    assert len(found.text) < 200
