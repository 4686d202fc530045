"""What goes from the disk: never a session that is in use, the least missed first, and no more than is needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.schema import SchemaError
from hub.core.tasks import TaskOwner
from hub.models.contract import user_message
from hub.sessions.entry import Header, message_entry
from hub.sessions.keys import direct_key, main_key
from hub.sessions.pruning import DAY_MS, Pruned, PruneLimits, Pruning, files_to_prune
from hub.sessions.schema import SESSION_SCHEMA
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.sessions.transcript_store import StoredFile, StoredKind
from hub.storage.homedir import Home
from hub.tools.kept_results import KeptResults

MAIN = main_key("main")
OLD = direct_key("main", "1", channel="test")
PINNED = direct_key("main", "2", channel="test")
NOW_MS = 1_000 * DAY_MS
DELETED, RESULT, PAST, ARCHIVED, KEPT = StoredKind


def stored(kind: StoredKind, days_ago: float, size_bytes: int = 10) -> StoredFile:
    return StoredFile(Path(f"{kind}-{days_ago}"), kind, size_bytes, int(NOW_MS - days_ago * DAY_MS))


def chosen(files: list[StoredFile], **limits: int) -> list[str]:
    return [str(each.path) for each in files_to_prune(files, PruneLimits(**limits), NOW_MS).files]


def test_without_limits_nothing_goes() -> None:
    assert chosen([stored(kind, 900) for kind in StoredKind]) == []


def test_what_is_old_goes_but_results_and_what_is_in_use() -> None:
    files = [stored(kind, days) for kind in StoredKind for days in (29, 31)]

    assert chosen(files, after_days=30) == ["deleted-31", "past-31", "archived-31"]


def test_over_the_budget_the_least_missed_goes_first_and_no_more_than_needed() -> None:
    files = [stored(kind, days) for kind in StoredKind for days in (2, 3)]

    assert chosen(files, budget_bytes=100) == []
    assert chosen(files, budget_bytes=99) == ["deleted-3"]
    assert chosen(files, budget_bytes=45) == ["deleted-3", "deleted-2", "result-3", "result-2", "past-3", "past-2"]


def test_what_is_in_use_or_of_today_never_goes() -> None:
    files = [stored(KEPT, 900), *(stored(kind, 0.5) for kind in StoredKind)]

    assert chosen(files, budget_bytes=1) == ["result-0.5"]


@pytest.mark.parametrize("value", [{"prune_after": -1}, {"disk_budget": "2 GB"}, {"prune_after": 9_999}])
def test_limits_are_whole_numbers(value: dict[str, object]) -> None:
    with pytest.raises(SchemaError):
        SESSION_SCHEMA(value)


class Rig:
    """A store with an old transcript of each kind."""

    def __init__(self, home: Home, store: SessionStore, clock: ManualClock) -> None:
        self.home, self.store, self.clock = home, store, clock
        self.limits = PruneLimits()
        self.repairs = Repairs(EventBus(TaskOwner("test")), clock.time)
        self.kept = KeptResults(home.storage / "results")
        self.pruning = Pruning(home, store, clock, self.repairs, lambda: self.limits)

    async def say(self, key: str) -> Session:
        session = await self.store.ensure(key)
        entry = message_entry(user_message("x" * 1_000), int(self.clock.time() * 1_000))
        await (await self.store.open_transcript(session)).append(entry)
        return session

    async def fill(self) -> None:
        """Write a file of each kind and let ten days pass."""
        await self.say(MAIN)
        await self.store.reset(MAIN)
        await self.say(direct_key("main", "3"))
        await self.store.delete(direct_key("main", "3"))
        self.kept.keep(MAIN, "read", "y" * 1_000, trusted=True)
        await self.say(PINNED)
        await self.store.patch(PINNED, archived=True, pinned=True)
        await self.say(OLD)
        await self.say(MAIN)
        await self.store.patch(OLD, archived=True)
        self.let_ten_days_pass()

    def let_ten_days_pass(self) -> None:
        for folder in ("agents", "results"):
            for path in (self.home.storage / folder).rglob("*"):
                os.utime(path, (self.clock.time(), self.clock.time()))
        self.clock.jump(10 * DAY_MS / 1_000)

    async def kinds(self) -> list[StoredKind]:
        """Return the kinds of what is stored."""
        sessions = {each.session_id: each for each in self.store.list()}
        results = [RESULT for _ in self.home.storage.glob("results/*/*")]
        return sorted([*results, *(each.kind for each in await self.store.transcripts.stored(sessions))])

    async def prune(self, **limits: int) -> Pruned:
        self.limits = PruneLimits(**limits)
        return await self.pruning.prune()


@pytest.fixture
def rig(home: Home, store: SessionStore, clock: ManualClock) -> Rig:
    return Rig(home, store, clock)


async def test_a_dry_run_says_what_would_go_and_leaves_it(rig: Rig) -> None:
    await rig.fill()
    before = await rig.kinds()
    rig.limits = PruneLimits(after_days=5)

    told = await rig.pruning.prune(dry_run=True)

    assert [each.kind for each in told.files] == [DELETED, PAST, ARCHIVED]
    assert await rig.kinds() == before == sorted([*StoredKind, KEPT])
    assert rig.store.get(OLD) is not None


async def test_what_is_old_is_deleted_and_sessions_in_use_stay(rig: Rig) -> None:
    await rig.fill()

    await rig.prune(after_days=5)

    assert await rig.kinds() == sorted([RESULT, KEPT, KEPT])
    assert {each.key for each in rig.store.list()} == {MAIN, PINNED}


async def test_younger_days_can_be_named(rig: Rig) -> None:
    await rig.fill()

    assert (await rig.pruning.prune(after_days=11)).files == ()
    assert len((await rig.pruning.prune(after_days=9)).files) == 3


async def test_a_repair_says_when_that_is_not_enough_and_goes_by_itself(rig: Rig) -> None:
    await rig.fill()

    await rig.prune(budget_bytes=1_000)
    opened = [(each.id, each.title) for each in rig.repairs.all()]
    await rig.prune(budget_bytes=1_000_000)

    assert opened == [("disk_budget", "Conversations take more room than configured")]
    assert rig.repairs.all() == []
    assert {each.key for each in rig.store.list()} == {MAIN, PINNED}


async def test_of_a_session_whose_row_cannot_be_read_nothing_goes(rig: Rig) -> None:
    await rig.say(OLD)
    lost = await rig.store.transcripts.open("main", Header("0123456789abcdef", "agent:main:direct:lost"), None)
    await lost.append(message_entry(user_message("hello"), 1))
    rig.let_ten_days_pass()

    assert (await rig.prune(after_days=1, budget_bytes=1)).files == ()


async def test_a_copy_reads_the_long_results_of_its_original(rig: Rig) -> None:
    id = rig.kept.keep(MAIN, "read", "y" * 1_000, trusted=False)

    rig.kept.share(MAIN, OLD)
    rig.kept.share(MAIN, OLD)
    rig.kept.share("agent:main:direct:nobody", OLD)

    assert rig.kept.read(OLD, id) == rig.kept.read(MAIN, id)
