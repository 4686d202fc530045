"""Where sessions are in lists: unread, snoozed, and copies below their originals."""

from __future__ import annotations

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import InvalidRequest
from hub.models.contract import Usage
from hub.sessions.fork import copies_as_tree, fork_session
from hub.sessions.keys import direct_key, main_key
from hub.sessions.session import Session, SessionOrigin
from hub.sessions.store import SessionStore

MAIN = main_key("main")
ANNA = direct_key("main", "8", channel="test")


@pytest.fixture
async def store(store: SessionStore) -> SessionStore:
    await store.ensure(MAIN)
    await store.ensure(ANNA)
    return store


def of(store: SessionStore, key: str) -> Session:
    session = store.get(key)
    assert session is not None
    return session


async def test_whoever_writes_in_a_session_has_read_it(store: SessionStore) -> None:
    await store.patch(ANNA, unread=True)
    store.add_usage(ANNA, Usage(1, 1))
    before = of(store, ANNA)

    await store.hear(ANNA, SessionOrigin("webchat"))

    assert before.unread
    assert (of(store, ANNA).unread, of(store, ANNA).origin) == (False, SessionOrigin("webchat"))


async def test_a_snoozed_session_comes_back_in_time_as_if_it_were_new(store: SessionStore, clock: ManualClock) -> None:
    await store.snooze(ANNA, 3_600)
    clock.jump(1_800)
    store.touch(MAIN)
    early = store.is_snoozed(of(store, ANNA))
    clock.jump(1_801)

    assert (early, store.is_snoozed(of(store, ANNA))) == (True, False)
    assert [each.key for each in store.list()] == [ANNA, MAIN]


async def test_a_snoozed_session_comes_back_when_something_happens_or_it_is_taken_back(store: SessionStore) -> None:
    await store.snooze(ANNA, 3_600)
    await store.snooze(MAIN, 3_600)

    store.touch(ANNA)
    await store.snooze(MAIN, 0)

    assert not any(store.is_snoozed(each) for each in store.list())


@pytest.mark.parametrize("changes", [{"snoozed_ms": -1}, {"snoozed_ms": True}, {"snoozed_ms": "1"}, {"unread": None}])
async def test_what_is_no_place_is_refused(store: SessionStore, changes: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        await store.patch(ANNA, **changes)


async def test_copies_are_below_what_they_were_copied_from(store: SessionStore) -> None:
    first = await fork_session(store, of(store, MAIN), "test", "first")
    second = await fork_session(store, first, "test", "second")
    before = copies_as_tree(store.list())
    await store.open()
    kept = copies_as_tree(store.list())
    await store.delete(MAIN)
    orphaned = copies_as_tree(store.list())
    await store.reset(first.key)
    await store.reset(second.key)

    assert [(each.key, depth) for each, depth in before] == [(MAIN, 0), (first.key, 1), (second.key, 2)]
    assert [(each.key, depth) for each, depth in kept] == [(MAIN, 0), (first.key, 1), (second.key, 2)]
    assert [(each.key, depth) for each, depth in orphaned] == [(first.key, 0), (second.key, 1)]
    assert copies_as_tree(store.list()) == []
