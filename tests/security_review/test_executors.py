"""Kinds of work that have threads of their own, in a hub whose other threads are all taken."""

from __future__ import annotations

import asyncio
import threading

import pytest

from hub.core.executors import EGRESS, FILES, PASSWORDS, Executor
from hub.security.egress_dial import look_up
from hub.security.passwords import verify_password
from tests.security_review.besieged import Besieged

PASSWORD = "correct horse battery"
HELD_S = 120.0


@pytest.mark.parametrize("full", [EGRESS, FILES], ids=["egress", "files"])
async def test_passwords_and_methods_answer_while_a_pool_is_full(house: Besieged, full: Executor) -> None:
    free = threading.Event()
    taken = [asyncio.create_task(full.run(free.wait, HELD_S)) for _ in range(40)]
    try:
        await asyncio.sleep(0)
        async with asyncio.timeout(HELD_S / 2):
            right = await PASSWORDS.run(verify_password, PASSWORD, PASSWORD)
            answer = await house.rpc("config.get")
    finally:
        free.set()

    assert right
    assert "parsed" in answer
    assert all(await asyncio.gather(*taken))


async def test_names_are_looked_up_while_the_common_threads_are_taken() -> None:
    free = threading.Event()
    taken = [asyncio.create_task(asyncio.to_thread(free.wait, HELD_S)) for _ in range(40)]
    try:
        await asyncio.sleep(0)
        async with asyncio.timeout(HELD_S / 2):
            found = await look_up("localhost", 80)
    finally:
        free.set()

    assert found
    assert all(await asyncio.gather(*taken))


async def test_a_kind_of_work_has_no_more_threads_than_it_may() -> None:
    pool, names = Executor("few", 2), set[str]()
    both = threading.Barrier(2)

    def work() -> None:
        names.add(threading.current_thread().name)
        both.wait(HELD_S)

    await asyncio.gather(*(pool.run(work) for _ in range(8)))

    assert names == {"few_0", "few_1"}
