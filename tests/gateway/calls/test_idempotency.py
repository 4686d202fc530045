"""Acting once per key: together, later, and after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError, Unavailable
from hub.core.schema import Optional, Required, Schema
from hub.core.surfaces import WRITE, Method, MethodCall
from tests.gateway.rig import Rig, connected, running
from tests.until import until


class Acts:
    """A method that counts how often it acted."""

    def __init__(self) -> None:
        self.count = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: HubError | None = None

    async def act(self, call: MethodCall) -> Mapping[str, Any]:
        self.count += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return {"count": self.count, "text": call.params.get("text")}

    async def twice(self, call: MethodCall) -> Mapping[str, Any]:
        self.count += 1
        assert call.respond_later is not None
        later = call.respond_later

        async def second() -> None:
            await self.gate.wait()
            await later({"answer": "second"})

        asyncio.get_running_loop().create_task(second())
        return {"answer": "first"}

    def add_to(self, rig: Rig) -> None:
        schema = Schema({Required("idempotencyKey"): str, Optional("text"): str})
        rig.gateway.methods.add(Method("act", self.act, "test", schema, WRITE, acts=True))
        rig.gateway.methods.add(Method("again", self.act, "test", schema, WRITE, acts=True, repeatable=True))
        rig.gateway.methods.add(
            Method("twice", self.twice, "test", schema, WRITE, acts=True, repeatable=True, answers=2)
        )


async def test_the_same_key_acts_once_and_gets_the_first_answer(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)

    async with connected(rig) as client:
        first = await client.call("act", {"idempotencyKey": "k", "text": "a"})
        second = await client.call("act", {"idempotencyKey": "k", "text": "a"})

    assert first["payload"] == second["payload"] == {"count": 1, "text": "a"}


async def test_a_duplicate_in_flight_waits_with_the_first(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)
    acts.gate.clear()

    async with connected(rig) as one, connected(rig) as two:
        first = await one.send("act", {"idempotencyKey": "k"})
        await until(lambda: acts.count == 1)
        second = await two.send("act", {"idempotencyKey": "k"})
        await two.call("act", {})
        acts.gate.set()
        answers = [await one.answer(first), await two.answer(second)]

    assert acts.count == 1
    assert answers[0]["payload"] == answers[1]["payload"]


async def test_other_params_under_the_same_key_are_invalid(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)

    async with connected(rig) as client:
        await client.call("act", {"idempotencyKey": "k", "text": "a"})
        answer = await client.call("act", {"idempotencyKey": "k", "text": "b"})

    assert answer["error"]["code"] == "INVALID_REQUEST"
    assert acts.count == 1


async def test_keys_count_per_method_and_principal(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)
    _, secret = await rig.tokens.create("program", ["operator.write"])

    async with connected(rig) as owner, connected(rig, token=secret.reveal(), scopes=["operator.write"]) as program:
        await owner.call("act", {"idempotencyKey": "k"})
        await owner.call("again", {"idempotencyKey": "k"})
        await program.call("act", {"idempotencyKey": "k"})

    assert acts.count == 3


async def test_a_failure_leaves_the_key_free(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)
    acts.error = Unavailable("not now", retry_after_s=1)

    async with connected(rig) as client:
        failed = await client.call("act", {"idempotencyKey": "k"})
        acts.error = None
        done = await client.call("act", {"idempotencyKey": "k"})

    assert failed["error"]["code"] == "UNAVAILABLE"
    assert done["payload"]["count"] == 2


async def test_a_client_that_leaves_does_not_stop_what_acts(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)
    acts.gate.clear()

    async with connected(rig) as client:
        await client.send("act", {"idempotencyKey": "k"})
        await until(lambda: acts.count == 1)
    acts.gate.set()
    async with connected(rig) as client:
        answer = await client.call("act", {"idempotencyKey": "k"})

    assert answer["payload"]["count"] == 1


async def test_both_answers_are_given_again(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)

    async with connected(rig) as client:
        for _ in range(2):
            id = await client.send("twice", {"idempotencyKey": "k"})
            answers = [(await client.answer(id))["payload"]["answer"] for _ in range(2)]

            assert answers == ["first", "second"]

    assert acts.count == 1


async def test_a_duplicate_between_the_two_answers_gets_both(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)
    acts.gate.clear()

    async with connected(rig) as one, connected(rig) as two:
        first = await one.send("twice", {"idempotencyKey": "k"})
        await one.answer(first)
        second = await two.send("twice", {"idempotencyKey": "k"})
        await two.answer(second)
        acts.gate.set()
        ends = [await one.answer(first), await two.answer(second)]

    assert [end["payload"]["answer"] for end in ends] == ["second", "second"]
    assert acts.count == 1


async def test_answers_survive_a_restart(tmp_path: Path) -> None:
    acts = Acts()
    async with running(tmp_path) as rig:
        acts.add_to(rig)
        async with connected(rig) as client:
            first = await client.call("act", {"idempotencyKey": "k"})
    async with running(tmp_path) as rig:
        acts.add_to(rig)
        async with connected(rig) as client:
            again = await client.call("act", {"idempotencyKey": "k"})
            other = await client.call("act", {"idempotencyKey": "k", "text": "other"})

    assert again["payload"] == first["payload"]
    assert other["error"]["code"] == "INVALID_REQUEST"
    assert acts.count == 1


async def test_what_a_crash_cut_off_is_told_or_done_again_as_the_method_says(tmp_path: Path) -> None:
    acts = Acts()
    async with running(tmp_path) as rig:
        acts.add_to(rig)
        async with connected(rig) as client:
            for method in ("act", "again"):
                await client.call(method, {"idempotencyKey": "k"})
        # As a crash leaves it: the row is there, the answer is not.
        await rig.db.write(
            lambda conn: conn.execute("UPDATE idempotency SET state = 'started', responses = NULL").rowcount
        )
    async with running(tmp_path) as rig:
        acts.add_to(rig)
        async with connected(rig) as client:
            told = await client.call("act", {"idempotencyKey": "k"})
            repeated = await client.call("again", {"idempotencyKey": "k"})

    assert told["error"]["code"] == "CONFLICT"
    assert repeated["payload"]["count"] == 3


@pytest.mark.parametrize(("repeatable", "rows"), [(False, [1, 1]), (True, [0, 1])])
async def test_the_row_of_a_repeatable_method_is_committed_with_the_first_thing_that_it_writes(
    tmp_path: Path, repeatable: bool, rows: list[int]
) -> None:
    async def committed() -> int:
        count: int = await rig.db.read(lambda conn: conn.execute("SELECT count(*) FROM idempotency").fetchone()[0])
        return count

    async def act(call: MethodCall) -> list[int]:
        before = await committed()
        await rig.db.write(lambda conn: conn.execute("DELETE FROM idempotency WHERE key = 'nothing'").rowcount)
        return [before, await committed()]

    schema = Schema({Required("idempotencyKey"): str})
    async with running(tmp_path, post_delay_s=30) as rig, connected(rig) as client:
        rig.gateway.methods.add(Method("look", act, "test", schema, WRITE, acts=True, repeatable=repeatable))
        answer = await client.call("look", {"idempotencyKey": "k"})

    assert answer["payload"] == rows


async def test_old_keys_are_forgotten(rig: Rig) -> None:
    acts = Acts()
    acts.add_to(rig)
    async with connected(rig) as client:
        await client.call("act", {"idempotencyKey": "k"})
        await rig.db.write(lambda conn: conn.execute("UPDATE idempotency SET created_ms = 1").rowcount)

        await rig.idempotency.prune()
        await client.call("act", {"idempotencyKey": "k"})

    assert acts.count == 2
