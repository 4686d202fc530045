"""Runs that survive: cut off anywhere, they go on where they stood, and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hub.automation.contract import RunOutcome
from hub.automation.running.execute import RunEnd
from hub.automation.running.plan import RunPlan, waits_long
from hub.automation.running.saved_values import pack, unpack
from hub.automation.running.waiting import STATE_LIMIT_BYTES, WaitingRuns
from hub.automation.tracing.trace_store import TraceStore
from hub.core.context import SYSTEM, Context
from hub.core.events import Event
from hub.core.services import ResponseMode, ServiceCall
from hub.core.states import EntityState
from hub.security.redaction import Redactor
from hub.storage.database import Database
from tests.automation.actions.bench import ANYTHING, Bench
from tests.automation.dying import Mortal, memory_database
from tests.automation.ground import make_parts
from tests.databases import make_database
from tests.lengths import examples

ON = {"action": "light.turn_on"}
OFF = {"action": "light.turn_off"}


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    database = make_database(tmp_path / "hub.db")
    await database.open()
    yield database
    await database.close()


class Home:
    """A home whose hub dies and starts again; what its services did outlives it."""

    def __init__(self, db: Database, steps: Any, *, idempotent: bool = True, **config: Any) -> None:
        self.db = db
        self.steps = steps
        self.config = config
        self.idempotent = idempotent
        self.bench = Bench()
        self.done: list[Any] = []
        self._keys: dict[str, Any] = {}
        self.keeper = Mortal(WaitingRuns(db, self.bench.parts.clock.time), None)

    def live(self, saves: int | None = None) -> asyncio.Task[RunEnd]:
        """Start, and begin a run; the hub dies after so many saves."""
        self._begin(saves)
        return self.bench.start(self.bench.run(self.steps, keeper=self.keeper, **self.config))

    async def again(self, saves: int | None = None, later_s: float = 0.0) -> list[asyncio.Task[RunEnd]]:
        """Start again, some time later, and resume what was cut off."""
        now = self.bench.parts.clock.time() + later_s
        self.bench = Bench(make_parts(start=now))
        self._begin(saves)
        tasks = []
        for waiting in await self.keeper.runs.load():
            run = waiting.restore(self.plan, self.bench.parts)
            run.keeper = self.keeper
            tasks.append(self.bench.start(run))
        return tasks

    @property
    def plan(self) -> RunPlan:
        return self.bench.run(self.steps, **self.config).plan

    def _begin(self, saves: int | None) -> None:
        self.keeper = keeper = Mortal(WaitingRuns(self.db, self.bench.parts.clock.time), saves)

        async def note(call: ServiceCall) -> Mapping[str, Any] | None:
            if keeper.dead:
                await asyncio.Event().wait()
            key = call.idempotency_key
            if key is None or key not in self._keys:
                self.done.append(call.data.get("n"))
                if key is not None:
                    self._keys[key] = call.data.get("n")
            return {"n": call.data.get("n")}

        self.bench.parts.services.register(
            "test", "note", note, ANYTHING, ResponseMode.OPTIONAL, idempotent=self.idempotent
        )


def note(n: Any) -> dict[str, Any]:
    return {"action": "test.note", "data": {"n": n}}


async def ending(task: asyncio.Task[RunEnd]) -> RunEnd | None:
    """How a run ended; None when it was cut off."""
    try:
        return await task
    except asyncio.CancelledError:
        return None


@pytest.mark.parametrize("block", ["plain", "repeat", "choose", "if", "parallel", "sequence"])
async def test_a_delay_goes_on_for_what_is_left_of_it(db: Database, block: str) -> None:
    inner = [note(1), {"delay": "01:00:00"}, note(2)]
    steps = {
        "plain": inner,
        "repeat": [{"repeat": {"count": 1, "sequence": inner}}],
        "choose": [{"choose": [{"conditions": "{{ true }}", "sequence": inner}]}],
        "if": [{"if": "{{ true }}", "then": inner}],
        "parallel": [{"parallel": [inner]}],
        "sequence": [{"sequence": inner}],
    }[block]
    home = Home(db, [*steps, note(3)])
    task = home.live()
    while home.keeper.saved < 4:
        await home.bench.advance()
        await asyncio.sleep(0.001)
    home.keeper.dead = True
    task.cancel()

    (task,) = await home.again(later_s=600)
    await asyncio.sleep(0)
    await home.bench.advance(2_990)
    assert home.done == [1]
    await home.bench.advance(20)

    ended = await ending(task)
    assert ended is not None
    assert ended.outcome is RunOutcome.FINISHED
    assert home.done == [1, 2, 3]
    assert await home.keeper.runs.load() == []


async def test_a_delay_that_ended_while_the_hub_was_down_is_over(db: Database) -> None:
    home = Home(db, [{"delay": "01:00:00"}, note(1)])
    await ending(home.live(saves=2))

    (task,) = await home.again(later_s=3 * 86_400)

    assert (await task).outcome is RunOutcome.FINISHED
    assert home.done == [1]


async def test_a_wait_for_a_trigger_goes_on(db: Database) -> None:
    steps = [
        {"wait_for_trigger": {"trigger": "event", "event_type": "x"}, "timeout": 3_600},
        note("{{ wait.remaining | int }}"),
    ]
    home = Home(db, steps)
    await ending(home.live(saves=2))

    (task,) = await home.again(later_s=600)
    await home.bench.advance(100)
    home.bench.parts.bus.fire("x")

    assert (await task).outcome is RunOutcome.FINISHED
    assert home.done == [2_900]


async def test_a_time_that_was_waited_for_and_went_by_counts(db: Database) -> None:
    home = Home(db, [{"wait_for_trigger": {"trigger": "at", "at": "20m"}}, note(1)])
    await ending(home.live(saves=2))

    (task,) = await home.again(later_s=86_400)
    await home.bench.advance(1)

    assert (await task).outcome is RunOutcome.FINISHED
    assert home.done == [1]


async def test_a_wait_for_a_template_goes_on(db: Database) -> None:
    home = Home(db, [{"wait_template": "{{ is_state('light.a', 'on') }}"}, note(1)])
    await ending(home.live(saves=2))

    (task,) = await home.again(later_s=5)
    await home.bench.advance()
    home.bench.parts.states.set("light.a", "on")

    assert (await task).outcome is RunOutcome.FINISHED
    assert home.done == [1]


async def test_what_was_being_done_is_not_done_again(db: Database) -> None:
    home = Home(db, [note(1), note(2), note(3)], idempotent=False)
    await ending(home.live(saves=4))  # begun, calling 1, behind 1, calling 2

    (task,) = await home.again()

    ended = await task
    assert ended.outcome is RunOutcome.INTERRUPTED
    assert "action/1: the hub stopped while the service test.note was called" in (ended.error or "")
    assert home.done == [1]


async def test_behind_what_was_being_done_it_goes_on_only_when_told(db: Database) -> None:
    home = Home(db, [note(1), {**note(2), "continue_on_error": True}, note(3)], idempotent=False, on_error="continue")
    await ending(home.live(saves=4))

    (task,) = await home.again()

    assert (await task).outcome is RunOutcome.FINISHED
    assert home.done == [1, 3]


async def test_what_can_be_repeated_is_called_again_with_the_same_key(db: Database) -> None:
    home = Home(db, [note(1), note(2)])
    await ending(home.live(saves=4))

    (task,) = await home.again()

    assert (await task).outcome is RunOutcome.FINISHED
    assert home.done == [1, 2]


async def test_a_run_whose_owner_is_gone_ends_and_says_so(db: Database) -> None:
    home = Home(db, [{"delay": 100}, note(1)])
    await ending(home.live(saves=2))
    (waiting,) = await home.keeper.runs.load()
    traces = TraceStore(None, Redactor(), home.bench.parts.clock.time, home.bench.parts.zone)

    await waiting.go_on(None, home.bench.parts, traces)

    (trace,) = await traces.recent()
    steps = (await traces.get(waiting.id))["steps"]
    assert (trace["outcome"], trace["error"]) == (
        "interrupted",
        "the hub was restarted in the middle of it, and meanwhile it is not there any more",
    )
    assert steps["action/0"][0]["result"]["interrupted"] is True
    assert await home.keeper.runs.load() == []


async def test_another_action_makes_another_definition(db: Database) -> None:
    assert Home(db, [note(1)]).plan.definition_hash != Home(db, [note(2)]).plan.definition_hash


async def test_the_name_does_not_change_the_definition() -> None:
    bench = Bench()

    assert bench.run([ON], alias="a").plan.definition_hash == bench.run([ON], alias="b").plan.definition_hash


async def test_authority_variables_and_chain_come_back(db: Database) -> None:
    bench = Bench()
    runs = WaitingRuns(db, bench.parts.clock.time)
    run = bench.run([ON], keeper=runs, variables={"x": {1, 2}}, authority=SYSTEM.narrow(tainted=True))
    await runs.save(run)

    (waiting,) = await runs.load()
    restored = waiting.restore(run.plan, bench.parts)

    assert restored.id == run.id
    assert restored.context == run.context
    assert restored.variables == run.variables


async def test_a_retry_that_waits_survives(db: Database) -> None:
    home = Home(
        db,
        [note("{{ n }}"), {"variables": {"n": 5}}, {"action": "test.fail"}],
        variables={"n": 1},
        retry={"attempts": 2, "delay": 600},
        on_error=[note("{{ error.message }}")],
    )
    task = home.live(saves=5)
    await ending(task)
    assert home.done == [1]

    (task,) = await home.again(later_s=60)
    await home.bench.advance(539)
    assert home.done == [1]
    await home.bench.advance(2)

    ended = await task
    assert ended.outcome is RunOutcome.FAILED
    assert home.done == [1, 1, "action/2: it is out of order"]


async def test_a_run_that_carries_too_much_fails(db: Database) -> None:
    bench = Bench()
    runs = WaitingRuns(db, bench.parts.clock.time)

    ended, _ = await bench.ended([ON], keeper=runs, variables={"x": "a" * STATE_LIMIT_BYTES})

    assert ended.outcome is RunOutcome.FAILED
    assert "too much to be kept over a restart" in (ended.error or "")
    assert bench.calls == []


async def test_a_cancelled_run_is_forgotten(db: Database) -> None:
    bench = Bench()
    runs = WaitingRuns(db, bench.parts.clock.time)
    keeper = Mortal(runs, None)
    run = bench.run([{"delay": 100}], keeper=keeper)
    task = bench.start(run)
    await keeper.begun.wait()

    run.cancel("it was turned off")

    ended = await task
    assert (ended.outcome, ended.reason) == (RunOutcome.CANCELLED, "it was turned off")
    assert await runs.load() == []


async def test_a_run_that_the_stopping_hub_cuts_off_stays(db: Database) -> None:
    bench = Bench()
    runs = WaitingRuns(db, bench.parts.clock.time)
    keeper = Mortal(runs, None)
    task = bench.start(bench.run([{"delay": 100}], keeper=keeper))
    await keeper.begun.wait()

    task.cancel()

    assert await ending(task) is None
    assert len(await runs.load()) == 1


async def test_a_row_that_cannot_be_read_is_left(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    await db.write(
        lambda connection: connection.execute(
            "INSERT INTO automation_runs VALUES (1, 'r', 'automation', 'a', '{\"format\": 99}', '{}', 'c', '', 0, 0)"
        )
    )

    assert await WaitingRuns(db, lambda: 0.0).load() == []
    assert "the run r of automation a cannot be read" in caplog.text


@pytest.mark.parametrize(
    ("config", "long"),
    [
        ({"triggers": [{"trigger": "at"}], "actions": []}, True),
        ({"triggers": [{"trigger": "event"}], "actions": [{"delay": 60.0}]}, False),
        ({"actions": [{"delay": 61.0}]}, True),
        ({"actions": [{"delay": "{{ x }}"}]}, False),
        ({"actions": [{"if": [], "then": [], "else": [{"repeat": {"sequence": [{"delay": 90.0}]}}]}]}, True),
        ({"actions": [{"choose": [{"sequence": [{"delay": 90.0}]}]}]}, True),
        ({"actions": [{"parallel": [{"sequence": [{"delay": 90.0}]}]}]}, True),
        ({"actions": [{"wait_template": "x"}]}, True),
        ({"actions": [{"wait_template": "x", "timeout": 5.0}]}, False),
        ({"sequence": [{"wait_for_trigger": [], "timeout": 500.0}]}, True),
    ],
)
def test_what_waits_long_is_kept_by_default(config: dict[str, Any], long: bool) -> None:
    assert waits_long(config) is long


CONTEXT = Context(SYSTEM)
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**62), 2**62),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"])),
        st.datetimes(timezones=st.just(UTC)),
        st.dates(),
        st.binary(max_size=5),
        st.times(),
        st.sets(st.integers(0, 9)),
        st.builds(lambda n: timedelta(seconds=n), st.integers(-(10**6), 10**6)),
        st.builds(lambda text: EntityState("light.a", text, {"x": 1}, 1.0, 2.0, CONTEXT), st.text("ab")),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text("abc"), inner, max_size=3)),
    max_leaves=10,
)


@settings(max_examples=examples(100), deadline=None)
@given(values)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert unpack(pack(value)) == value


def test_an_event_comes_back_without_its_rights() -> None:
    event = unpack(pack(Event("x", {"when": datetime(2026, 1, 1, tzinfo=UTC)}, CONTEXT, 5.0)))

    assert (event.type, event.time_fired, event.context.id) == ("x", 5.0, CONTEXT.id)
    assert event.data == {"when": datetime(2026, 1, 1, tzinfo=UTC)}
    assert not event.context.authority.owner


bodies = st.recursive(
    st.sampled_from([note("{{ n }}"), {"variables": {"n": "{{ n + 1 }}"}}, {"delay": 100}]),
    lambda inner: st.one_of(
        st.builds(
            lambda count, body: {"repeat": {"count": count, "sequence": body}},
            st.integers(0, 2),
            st.lists(inner, max_size=3),
        ),
        st.builds(
            lambda body: {"repeat": {"until": "{{ repeat.index >= 2 }}", "sequence": body}}, st.lists(inner, max_size=2)
        ),
        st.builds(
            lambda body: {"repeat": {"for_each": ["a", "b"], "sequence": [*body, note("{{ repeat.item }}")]}},
            st.lists(inner, max_size=2),
        ),
        st.builds(
            lambda yes: {"if": "{{ n % 2 == 0 }}", "then": yes, "else": [note("odd")]}, st.lists(inner, max_size=3)
        ),
        st.builds(
            lambda body: {"choose": [{"conditions": "{{ n > 1 }}", "sequence": body}], "default": [note("small")]},
            st.lists(inner, max_size=2),
        ),
        st.builds(lambda body: {"sequence": [*body, "{{ n < 3 }}", note("few")]}, st.lists(inner, max_size=2)),
    ),
    max_leaves=8,
)


async def lifetime(steps: Any, deaths: list[int], *, idempotent: bool) -> tuple[list[Any], RunOutcome, int]:
    """Run steps through deaths after so many saves each; return what was done, how it ended, and saves of one life."""
    home = Home(memory_database(), steps, idempotent=idempotent, variables={"n": 0})
    tasks = [home.live(deaths[0] if deaths else None)]
    left = deaths[1:]
    while True:
        ended = await _through(home, tasks[0])
        if ended is not None:
            return home.done, ended.outcome, home.keeper.saved
        tasks = await home.again(left[0] if left else None)
        left = left[1:]


async def _through(home: Home, task: asyncio.Task[RunEnd]) -> RunEnd | None:
    while not task.done():
        await home.bench.advance(50)
    return await ending(task)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(bodies, min_size=1, max_size=4), st.integers(1, 60), st.integers(1, 20))
def test_cut_off_anywhere_twice_it_does_the_same_once(program: list[Any], first: int, second: int) -> None:
    undisturbed = asyncio.run(lifetime(program, [], idempotent=True))

    disturbed = asyncio.run(lifetime(program, [first % (undisturbed[2] + 1) + 1, second], idempotent=True))

    assert disturbed[:2] == undisturbed[:2]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(bodies, min_size=1, max_size=4), st.integers(1, 60))
def test_what_cannot_be_repeated_is_never_done_twice(program: list[Any], death: int) -> None:
    undisturbed = asyncio.run(lifetime(program, [], idempotent=False))

    done, outcome, _ = asyncio.run(lifetime(program, [death % (undisturbed[2] + 1) + 1], idempotent=False))

    assert done == undisturbed[0][: len(done)]
    assert outcome is RunOutcome.INTERRUPTED or done == undisturbed[0]


branches = st.lists(st.sampled_from([note("a"), note("b"), {"delay": 100}, {"delay": 30}]), max_size=3)
forked = st.lists(
    st.one_of(
        branches.map(lambda body: {"sequence": body}),
        st.lists(branches, min_size=1, max_size=3).map(lambda bodies: {"parallel": bodies}),
        st.lists(branches, min_size=1, max_size=2).map(
            lambda bodies: {"repeat": {"count": 2, "sequence": [{"parallel": bodies}, note("c")]}}
        ),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=examples(25), deadline=None)
@given(forked, st.integers(1, 60), st.integers(1, 20))
def test_cut_off_in_parallel_branches_each_is_done_once(program: list[Any], first: int, second: int) -> None:
    undisturbed = asyncio.run(lifetime(program, [], idempotent=True))

    disturbed = asyncio.run(lifetime(program, [first % (undisturbed[2] + 1) + 1, second], idempotent=True))

    assert sorted(disturbed[0]) == sorted(undisturbed[0])
    assert disturbed[1] is undisturbed[1] is RunOutcome.FINISHED


async def test_a_branch_that_failed_before_is_not_begun_again() -> None:
    steps = [{"parallel": [[note(1), {"action": "test.fail"}], [{"delay": 30}, {"delay": 100}, note(2)]]}]
    home = Home(memory_database(), steps)
    task = home.live()
    await home.bench.advance(40)
    home.keeper.dead = True
    task.cancel()

    (task,) = await home.again()
    await home.bench.advance(100)

    ended = await task
    assert (ended.outcome, ended.error) == (RunOutcome.FAILED, "action/0: it is out of order")
    assert home.done == [1, 2]
