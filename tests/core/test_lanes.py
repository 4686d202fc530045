from __future__ import annotations

import asyncio

import pytest

from hub.core.context import system_context
from hub.core.errors import Conflict
from hub.core.lanes import MAIN, Lanes, Priority


async def hold(lanes: Lanes, name: str, label: str, log: list[str], gate: asyncio.Event, priority: Priority) -> None:
    async with lanes.hold(name, system_context(), priority):
        log.append(label)
        await gate.wait()


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_session_lane_admits_one_at_a_time_in_order() -> None:
    lanes = Lanes()
    log: list[str] = []
    gates = [asyncio.Event() for _ in range(3)]
    tasks = [
        asyncio.ensure_future(hold(lanes, "session:a", str(number), log, gate, Priority.INTERACTIVE))
        for number, gate in enumerate(gates)
    ]
    await turn()
    assert log == ["0"]

    gates[0].set()
    await turn()
    assert log == ["0", "1"]

    for gate in gates:
        gate.set()
    await asyncio.gather(*tasks)
    assert log == ["0", "1", "2"]
    assert lanes.snapshot() == {}


async def test_interactive_goes_before_background() -> None:
    lanes = Lanes({MAIN: 1})
    log: list[str] = []
    first, rest = asyncio.Event(), asyncio.Event()
    tasks = [asyncio.ensure_future(hold(lanes, MAIN, "holder", log, first, Priority.BACKGROUND))]
    await turn()
    tasks.append(asyncio.ensure_future(hold(lanes, MAIN, "background", log, rest, Priority.BACKGROUND)))
    await turn()
    tasks.append(asyncio.ensure_future(hold(lanes, MAIN, "interactive", log, rest, Priority.INTERACTIVE)))
    await turn()

    rest.set()
    first.set()
    await asyncio.gather(*tasks)

    assert log == ["holder", "interactive", "background"]


async def test_a_waiter_that_is_cancelled_gives_up_its_place_and_never_holds() -> None:
    lanes = Lanes()
    log: list[str] = []
    gate = asyncio.Event()
    holder = asyncio.ensure_future(hold(lanes, "session:a", "holder", log, gate, Priority.INTERACTIVE))
    await turn()
    waiter = asyncio.ensure_future(hold(lanes, "session:a", "waiter", log, gate, Priority.INTERACTIVE))
    await turn()

    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    gate.set()
    await holder

    assert log == ["holder"]
    assert lanes.snapshot() == {}


async def test_a_waiter_cancelled_in_the_moment_it_was_admitted_lets_the_next_in() -> None:
    lanes = Lanes()
    log: list[str] = []
    first, second = asyncio.Event(), asyncio.Event()
    second.set()
    holder = asyncio.ensure_future(hold(lanes, "session:a", "holder", log, first, Priority.INTERACTIVE))
    await turn()
    admitted = asyncio.ensure_future(hold(lanes, "session:a", "admitted", log, second, Priority.INTERACTIVE))
    next_one = asyncio.ensure_future(hold(lanes, "session:a", "next", log, second, Priority.INTERACTIVE))
    await turn()

    first.set()
    await asyncio.sleep(0)
    admitted.cancel()
    await asyncio.gather(admitted, return_exceptions=True)
    await asyncio.wait_for(next_one, 30)
    await holder

    assert "next" in log
    assert lanes.snapshot() == {}


async def test_a_chain_that_holds_the_main_lane_takes_the_nested_one() -> None:
    lanes = Lanes({MAIN: 1})
    outer = system_context()

    async with lanes.hold(MAIN, outer), lanes.hold(MAIN, outer.child()):
        snapshot = lanes.snapshot()

    assert snapshot[MAIN]["running"] == 1
    assert snapshot["nested"]["running"] == 1


async def test_a_chain_that_holds_its_session_does_not_wait_for_itself() -> None:
    lanes = Lanes()
    outer = system_context()

    async with lanes.hold("session:a", outer):
        with pytest.raises(Conflict, match="wait for itself"):
            async with lanes.hold("session:a", outer.child().child()):
                pass


async def test_a_raised_limit_lets_waiters_in_at_once() -> None:
    lanes = Lanes({MAIN: 1})
    log: list[str] = []
    gate = asyncio.Event()
    tasks = [
        asyncio.ensure_future(hold(lanes, MAIN, str(number), log, gate, Priority.INTERACTIVE)) for number in range(3)
    ]
    await turn()
    assert log == ["0"]

    lanes.set_limits({MAIN: 3})
    await turn()

    assert log == ["0", "1", "2"]
    gate.set()
    await asyncio.gather(*tasks)


async def test_homes_of_a_worker_share_its_places_and_each_keeps_its_own_limit() -> None:
    worker = Lanes({MAIN: 2})
    elm, oak = Lanes({MAIN: 1}, worker), Lanes({MAIN: 5}, worker)
    log: list[str] = []
    gates = {name: asyncio.Event() for name in ("elm 1", "elm 2", "oak 1", "oak 2")}
    tasks = [
        asyncio.ensure_future(hold(elm if name.startswith("elm") else oak, MAIN, name, log, gate, Priority.INTERACTIVE))
        for name, gate in gates.items()
    ]
    await turn()
    assert log == ["elm 1", "oak 1"]  # elm has one place of its own, and the worker two

    gates["oak 1"].set()
    await turn()
    assert log == ["elm 1", "oak 1", "oak 2"]

    for gate in gates.values():
        gate.set()
    await asyncio.gather(*tasks)
    assert log == ["elm 1", "oak 1", "oak 2", "elm 2"]
    assert worker.snapshot()[MAIN]["running"] == 0


async def test_who_gives_up_waiting_for_the_worker_gives_its_place_at_home_back() -> None:
    worker = Lanes({MAIN: 1})
    elm, oak = Lanes({MAIN: 1}, worker), Lanes({MAIN: 1}, worker)
    release = await elm.take(MAIN, system_context())
    waiting = asyncio.ensure_future(oak.take(MAIN, system_context()))
    await turn()
    assert oak.snapshot()[MAIN]["running"] == 1

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert oak.snapshot()[MAIN]["running"] == 0
    release()
    assert worker.snapshot()[MAIN] == {"running": 0, "waiting": 0, "limit": 1}
