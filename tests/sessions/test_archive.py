"""Archived and pinned sessions: out of the lists or first in them, and nothing of them is lost."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import InvalidRequest
from hub.models.contract import user_message
from hub.sessions.archive import DAY_S, archive_daily
from hub.sessions.entry import message_entry
from hub.sessions.keys import direct_key, main_key
from hub.sessions.store import SessionStore

MAIN = main_key("main")
ANNA = direct_key("main", "8", channel="test")
BEN = direct_key("main", "9", channel="test")


@pytest.fixture
async def store(store: SessionStore) -> SessionStore:
    await store.open()
    for key in (MAIN, ANNA, BEN):
        await store.ensure(key)
    return store


def archived(store: SessionStore) -> set[str]:
    return {each.key for each in store.list() if each.archived}


async def test_idle_sessions_are_archived_by_the_day_and_none_is_lost(store: SessionStore, clock: ManualClock) -> None:
    anna = store.get(ANNA)
    assert anna is not None
    await (await store.open_transcript(anna)).append(message_entry(user_message("hello"), 1), sync=True)
    task = asyncio.create_task(archive_daily(store, clock, lambda: 2))
    await clock.advance(1.5 * DAY_S)
    store.touch(BEN)
    early = archived(store)
    await clock.advance(1.5 * DAY_S)
    while not archived(store):  # noqa: ASYNC110  the database's thread writes it
        await asyncio.sleep(0.001)

    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    anna = store.get(ANNA)
    assert anna is not None
    assert early == set()
    assert archived(store) == {ANNA}
    assert (await store.open_transcript(anna)).messages()


async def test_a_message_takes_a_session_out_of_the_archive(store: SessionStore) -> None:
    await store.patch(ANNA, archived=True)
    await store.patch(BEN, archived=True)

    heard = await store.hear(ANNA)
    store.touch(BEN)

    assert not heard.archived
    assert archived(store) == set()


async def test_a_place_in_lists_is_kept_and_is_nothing_new(store: SessionStore, clock: ManualClock) -> None:
    before = store.get(ANNA)
    clock.jump(60)

    pinned = await store.patch(ANNA, pinned=True, archived=True)
    await store.open()

    assert before is not None
    assert pinned.updated_ms == before.updated_ms
    assert store.get(ANNA) == pinned


@pytest.mark.parametrize("changes", [{"archived": "yes"}, {"pinned": 1}, {"archived": None}])
async def test_a_place_in_lists_is_true_or_false(store: SessionStore, changes: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest, match="expected true or false"):
        await store.patch(ANNA, **changes)
