"""A worker's right to act: it ends in time, whatever holds the worker up, and comes back with a heartbeat."""

from __future__ import annotations

import asyncio

from hub.cluster.lease import LEASE_S, MARGIN_S, WorkerLease
from hub.core.clock import ALWAYS, ManualClock


async def test_a_hub_on_its_own_always_may() -> None:
    async with asyncio.timeout(1):
        await ALWAYS.held()


async def test_it_is_held_until_a_second_before_the_lease_ends_from_the_begin_of_a_heartbeat() -> None:
    clock = ManualClock()
    lease = WorkerLease(clock.monotonic, clock.sleep)
    held = [lease.is_held]

    lease.renew(begun=clock.monotonic())
    await clock.advance(LEASE_S - MARGIN_S - 0.001)
    held.append(lease.is_held)
    await clock.advance(0.001)
    held.append(lease.is_held)

    assert held == [False, True, False]


async def test_a_heartbeat_that_took_long_counts_from_its_begin() -> None:
    clock = ManualClock()
    lease = WorkerLease(clock.monotonic, clock.sleep)
    await clock.advance(100)

    lease.renew(begun=94.0)

    assert not lease.is_held


async def test_who_may_not_act_waits_until_it_may_again_and_no_clock_on_the_wall_matters() -> None:
    clock = ManualClock()
    lease = WorkerLease(clock.monotonic, clock.sleep)
    waiting = asyncio.ensure_future(lease.held())
    await clock.advance(60)
    clock.jump(-3_600)
    assert not waiting.done()

    lease.renew(begun=clock.monotonic())
    await clock.advance(1)

    assert waiting.done()
