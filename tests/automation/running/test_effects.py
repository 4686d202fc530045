"""Runs that survive keep what their steps did: steps of integrations too, in whatever block they stand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.kinds import Kinds
from hub.automation.running.waiting import WaitingRuns
from hub.core.schema import Required, string
from tests.automation.actions.bench import Bench
from tests.automation.dying import Mortal
from tests.automation.ground import make_parts
from tests.databases import make_database


@pytest.mark.parametrize("enabled", [True, False, "{{ false }}"])
async def test_only_a_step_that_ran_has_an_effect(enabled: bool | str) -> None:
    async def blow(step: Mapping[str, Any], run: StepRun, path: str) -> None:
        """Blow."""

    kind = ActionKind("blow", {Required("blow"): string}, blow, lambda _: "", "Blow.")
    kinds = Kinds(lambda sort: {"blow": lambda: kind} if sort == "action" else {})
    bench = Bench(replace(make_parts(), kinds=kinds))
    with kinds.in_use():
        run = bench.run([{"blow": "first", "enabled": enabled}])

    await bench.start(run)

    assert run.effect is (enabled is True)


@pytest.mark.parametrize("block", ["plain", "repeat", "parallel", "if"])
async def test_what_an_action_of_an_integration_did_is_not_done_again(tmp_path: Path, block: str) -> None:
    done: list[str] = []
    reached = asyncio.Event()

    async def blow(step: Mapping[str, Any], run: StepRun, path: str) -> None:
        done.append(step["blow"])
        if step["blow"] == "last":
            reached.set()
            await asyncio.Event().wait()

    kind = ActionKind("blow", {Required("blow"): string}, blow, lambda _: "", "Blow.")
    kinds = Kinds(lambda sort: {"blow": lambda: kind} if sort == "action" else {})
    bench = Bench(replace(make_parts(), kinds=kinds))
    inner = [{"blow": "first"}, {"blow": "last"}]
    blocks: dict[str, Any] = {
        "plain": inner,
        "repeat": [{"repeat": {"count": 1, "sequence": inner}}],
        "parallel": [{"parallel": [inner]}],
        "if": [{"if": "{{ true }}", "then": inner}],
    }
    db = make_database(tmp_path / "hub.db")
    await db.open()
    keeper = Mortal(WaitingRuns(db, bench.parts.clock.time), None)
    with kinds.in_use():
        run = bench.run(blocks[block], keeper=keeper)
    task = bench.start(run)
    await reached.wait()
    keeper.dead = True
    task.cancel()

    reached.clear()
    (waiting,) = await keeper.runs.load()
    again = bench.start(waiting.restore(run.plan, bench.parts))
    await reached.wait()
    again.cancel()
    await db.close()

    assert done == ["first", "last", "last"]
