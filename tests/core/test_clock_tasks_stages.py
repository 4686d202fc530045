from __future__ import annotations

import asyncio
import logging

import pytest

from hub.core.clock import ManualClock
from hub.core.context import CHAIN_LIMIT, SYSTEM, Authority, Context, ToolPolicy, expand_scopes, system_context
from hub.core.errors import TimedOut
from hub.core.secret import Secret
from hub.core.stages import Stage, Stages
from hub.core.tasks import TaskOwner


async def test_sleepers_wake_in_order_as_time_passes() -> None:
    clock, log = ManualClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        log.append((seconds, clock.monotonic()))

    tasks = [asyncio.ensure_future(sleeper(seconds)) for seconds in (3, 1, 2)]
    await clock.advance(2)
    assert log == [(1, 1.0), (2, 2.0)]

    await clock.advance(1)
    await asyncio.gather(*tasks)
    assert log[-1] == (3, 3.0)


async def test_sleep_until_follows_a_wall_clock_that_jumps() -> None:
    clock = ManualClock(start=1000.0)
    waiting = asyncio.ensure_future(clock.sleep_until(2000.0))
    await clock.advance(0)

    clock.jump(990.0)
    await clock.advance(31)

    assert waiting.done()
    assert clock.monotonic() < 60


async def test_a_task_that_dies_is_named_and_its_owner_is_told(caplog: pytest.LogCaptureFixture) -> None:
    deaths: list[str] = []
    tasks = TaskOwner("kitchen", on_death=lambda name, error: deaths.append(f"{name}: {error}"))

    async def die() -> None:
        raise ValueError("burnt")

    with caplog.at_level(logging.ERROR):
        tasks.spawn(die(), name="toast")
        await tasks.drain(timeout_s=30)

    assert deaths == ["toast: burnt"]
    assert "kitchen: task toast died" in caplog.text


async def test_stopping_cancels_all_names_the_late_and_starts_no_more() -> None:
    tasks = TaskOwner("kitchen")
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    tasks.spawn(asyncio.sleep(60), name="obedient")
    task = tasks.spawn(stubborn(), name="stubborn")
    await asyncio.sleep(0)

    late = await tasks.cancel_all(timeout_s=0.05)

    assert late == ["stubborn"]
    with pytest.raises(RuntimeError):
        tasks.spawn(asyncio.sleep(0), name="late comer")
    release.set()
    await task


async def test_stages_stop_in_reverse_and_a_failing_one_does_not_keep_the_others() -> None:
    log: list[str] = []

    def step(name: str, fail: bool = False) -> Stage:
        async def start() -> None:
            log.append(f"+{name}")

        async def stop() -> None:
            log.append(f"-{name}")
            if fail:
                raise ValueError(name)

        return Stage(name, start, stop)

    stages = Stages([step("a"), step("b", fail=True), step("c")])
    await stages.start()

    assert await stages.stop() == ["b"]
    assert log == ["+a", "+b", "+c", "-c", "-b", "-a"]


async def test_a_stage_that_hangs_is_named_at_start_and_left_behind_at_stop() -> None:
    async def hang() -> None:
        await asyncio.sleep(60)

    stages = Stages([Stage("cellar", hang, hang, start_limit_s=0.01, stop_limit_s=0.01)])

    with pytest.raises(TimedOut, match="cellar"):
        await stages.start()
    assert await stages.stop() == ["cellar"]


def test_an_authority_can_only_be_narrowed() -> None:
    person = Authority("token:1", "me", expand_scopes(["operator.write"]), owner=False)

    wider = person.narrow(scopes=["operator.admin", "operator.read"], owner=True)

    assert wider.scopes == {"operator.read"}
    assert not wider.owner


def test_policies_meet_and_never_merge() -> None:
    authority = SYSTEM.narrow(policy=ToolPolicy(allow=frozenset({"read", "write"}))).narrow(
        policy=ToolPolicy(allow=frozenset({"read", "group:web"}))
    )

    tools = [("read", "files"), ("write", "files"), ("fetch", "web")]
    permitted = [all(policy.permits(*tool) for policy in authority.tool_policies) for tool in tools]
    assert permitted == [True, False, False]


def test_an_authority_survives_being_stored() -> None:
    authority = SYSTEM.narrow(policy=ToolPolicy(allow=frozenset({"read"}), deny=frozenset({"x"})), tainted=True)

    assert Authority.from_dict(authority.as_dict()) == authority


def test_a_stored_authority_grants_no_scope_it_does_not_know() -> None:
    assert Authority.from_dict({"principal": "x", "scopes": ["operator.god"]}).scopes == frozenset()


def test_a_context_chain_is_bounded_and_knows_its_ancestors() -> None:
    context = first = system_context()
    for _ in range(CHAIN_LIMIT + 10):
        context = context.child()

    assert len(context.chain) == CHAIN_LIMIT
    assert context.chain[-1] == context.parent_id
    assert first.child().chain == (first.id,)
    assert isinstance(context, Context)


def test_a_secret_does_not_print() -> None:
    secret = Secret("hunter2")

    assert "hunter2" not in f"{secret} {secret!r} {[secret]} {secret:>20}"
    assert secret == Secret("hunter2")
    assert secret != Secret("hunter3")
