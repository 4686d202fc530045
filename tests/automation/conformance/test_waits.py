"""Waits in the whole engine: any events, at any times, end any waits as an independent calculation says."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from tests.automation.conformance.house import ConformanceHouse
from tests.lengths import examples

END_S = 200
TURNS = 20
Heard = tuple[int, bool, int]
"""Which wait, whether what it waited for came, and when it ended."""


@dataclass(frozen=True)
class Wait:
    """One wait: for the bell, or until the lamp is on; behind its timeout, if it has one, the run goes on or ends."""

    kind: str
    timeout_s: int | None
    goes_on: bool


waits = st.lists(
    st.builds(Wait, st.sampled_from(["bell", "lamp"]), st.none() | st.integers(1, 40), st.booleans()),
    min_size=1,
    max_size=4,
)
events = st.lists(
    st.tuples(st.integers(1, 90), st.sampled_from(["bell", "lamp"])), max_size=8, unique_by=lambda each: each[0]
).map(sorted)


def steps_of(program: list[Wait]) -> list[dict[str, Any]]:
    """Return the program as the actions of an automation."""
    steps: list[dict[str, Any]] = []
    for place, wait in enumerate(program):
        what: dict[str, Any] = (
            {"wait_for_trigger": {"trigger": "event", "event_type": "bell"}}
            if wait.kind == "bell"
            else {"wait_template": "{{ is_state('light.lamp', 'on') }}"}
        )
        if wait.timeout_s is not None:
            what |= {"timeout": wait.timeout_s, "continue_on_timeout": wait.goes_on}
        came = "{{ wait.trigger is not none }}" if wait.kind == "bell" else "{{ wait.completed }}"
        data = {"wait": place, "came": came, "at": "{{ as_timestamp(now()) | int }}"}
        steps += [what, {"action": "test.heard", "data": data}]
    return steps


def expected(program: list[Wait], happens: list[tuple[int, str]]) -> tuple[list[Heard], str | None]:
    """Return what is heard, and how the run ends; None when it still waits."""
    now, heard = 0, list[Heard]()
    first = 0  # of what happens, that comes after the wait begins: a timeout is over before what happens at its second
    for place, wait in enumerate(program):
        over = END_S if wait.timeout_s is None else now + wait.timeout_s
        came: int | None = None
        lit = sum(kind == "lamp" for _, kind in happens[:first])
        if wait.kind == "lamp" and lit % 2:
            came = now
        while came is None and first < len(happens) and happens[first][0] < over:
            at, kind = happens[first]
            first += 1
            lit += kind == "lamp"
            if kind == wait.kind and (kind == "bell" or lit % 2):
                came = at
        if came is None and wait.timeout_s is None:
            return heard, None
        if came is None and not wait.goes_on:
            return heard, "stopped"
        now = over if came is None else came
        heard.append((place, came is not None, now))
    return heard, "finished"


async def lived(home: Path, program: list[Wait], happens: list[tuple[int, str]]) -> tuple[list[Heard], str | None]:
    """Return the same of the real engine."""
    go = {"trigger": "event", "event_type": "go"}
    item = {"id": "x", "persist": False, "triggers": go, "actions": steps_of(program)}
    house = ConformanceHouse(home, {"automation": json.dumps([item]), "states": {"light.lamp": "off"}})
    await house.start()
    begun = house.parts.clock.time()
    try:
        house.fire("go")
        await house.settle()
        for at, kind in happens:
            await pass_until(house, begun + at)
            if kind == "bell":
                house.fire("bell")
            else:
                lamp = house.parts.states.get("light.lamp")
                house.set("light.lamp", "off" if lamp is not None and lamp.state == "on" else "on")
            await house.settle()
        await pass_until(house, begun + END_S)
        await house.settle()
        heard = [(data["wait"], data["came"], int(data["at"] - begun)) for _, data in house.calls]
        return heard, house.results[0].outcome.value if house.results else None
    finally:
        await house.stop()


async def pass_until(house: ConformanceHouse, when: float) -> None:
    """Let time pass second by second, so that what ends in one has the next ones for what follows."""
    while house.parts.clock.time() < when:
        await house.advance(1)
        for _ in range(TURNS):
            await asyncio.sleep(0)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=waits, happens=events)
def test_every_wait_ends_as_calculated(program: list[Wait], happens: list[tuple[int, str]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        heard, outcome = asyncio.run(lived(Path(home), program, happens))

    assert (heard, outcome) == expected(program, happens)
