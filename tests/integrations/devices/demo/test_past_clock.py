"""A clock that begins in the past, goes where it is sent, and becomes the real one."""

from __future__ import annotations

import asyncio
import time

from integrations.devices.demo.past_clock import PastClock

START = 1_700_000_000.0


async def test_who_sleeps_is_woken_by_a_journey_past_their_time_and_not_before() -> None:
    clock = PastClock(START)
    sleeper = asyncio.create_task(clock.sleep(60))
    await asyncio.sleep(0)

    await clock.travel(START + 50)
    assert not sleeper.done()
    await clock.travel(START + 70)

    assert sleeper.done()


async def test_it_never_goes_back() -> None:
    clock = PastClock(START)
    await clock.travel(START + 100)

    await clock.travel(START)

    assert clock.time() >= START + 100


async def test_spending_time_takes_none() -> None:
    clock = PastClock(START)

    await clock.spend(3_600)

    assert clock.time() >= START + 3_600


async def test_waiting_for_something_moves_the_clock_to_whoever_holds_it_up() -> None:
    clock = PastClock(START)
    sleeper = asyncio.create_task(clock.sleep(60))

    await clock.until(sleeper.done)

    assert START + 60 <= clock.time() < START + 61


async def test_let_go_it_is_the_real_clock_and_its_other_one_does_not_jump_back() -> None:
    clock = PastClock(START)
    before = clock.monotonic()

    clock.release()

    assert time.time() <= clock.time() <= time.time()
    assert clock.monotonic() >= before


async def test_what_is_left_of_a_sleep_is_slept_for_real() -> None:
    clock = PastClock(START)
    sleeper = asyncio.create_task(clock.sleep(10_000))
    await asyncio.sleep(0)
    await clock.travel(START + 9_999.99)
    assert not sleeper.done()

    clock.release()

    await asyncio.wait_for(sleeper, 30)
