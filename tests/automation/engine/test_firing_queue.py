"""Many firings at once: handled in their order, in slices between which the first runs begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hub.automation.contract import Firing
from hub.automation.engine.firing_queue import SLICE, FiringQueue

MANY = 5 * SLICE


async def test_the_first_runs_begin_before_the_last_are_decided() -> None:
    told: list[tuple[str, int]] = []
    tasks: list[asyncio.Task[None]] = []

    async def run(number: int) -> None:
        told.append(("ran", number))

    def deciding(number: int) -> Callable[[Firing], None]:
        def decide(firing: Firing) -> None:
            told.append(("decided", number))
            tasks.append(asyncio.get_running_loop().create_task(run(number)))

        return decide

    queue = FiringQueue()
    for number in range(MANY):
        queue.add(deciding(number), Firing({}))
    at_once = list(told)
    for _ in range(MANY):
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

    assert at_once == [("decided", number) for number in range(SLICE)]
    assert [number for what, number in told if what == "decided"] == list(range(MANY))
    assert told.index(("ran", 0)) < told.index(("decided", 2 * SLICE))


async def test_one_that_cannot_be_handled_does_not_stop_the_others() -> None:
    handled: list[int] = []

    def fail(firing: Firing) -> None:
        raise ValueError("broken")

    queue = FiringQueue()
    for number in range(SLICE):
        queue.add(lambda _, number=number: handled.append(number), Firing({}))  # type: ignore[misc]
    queue.add(fail, Firing({}))
    queue.add(lambda _: handled.append(SLICE), Firing({}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert handled == [*range(SLICE), SLICE]


async def test_what_many_events_would_set_off_is_decided_in_its_turn_and_handled_with_it() -> None:
    told: list[tuple[str, int]] = []
    queue = FiringQueue()

    def decide(number: int) -> None:
        told.append(("decided", number))
        if number % 2:
            queue.add(lambda each: told.append(("handled", each)), number)

    queue.decide(decide, range(MANY))
    queue.add(lambda _: told.append(("handled", MANY)), Firing({}))
    at_once = [number for what, number in told if what == "decided"]
    for _ in range(MANY):
        await asyncio.sleep(0)

    whole = [(what, n) for n in range(MANY) for what in ("decided", "handled") if what == "decided" or n % 2]
    assert at_once == list(range(SLICE))
    assert told == [*whole, ("handled", MANY)]
