"""Run modes in the whole engine: any firings and any durations end as an independent calculation says."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.automation.conformance.house import ConformanceHouse
from tests.lengths import examples

AUTOMATION = """
- id: x
  mode: {mode}
  max: {max}
  max_exceeded: silent
  triggers: {{trigger: event, event_type: go}}
  actions:
    - {{action: test.one, data: {{n: "{{{{ trigger.event.data.n }}}}"}}}}
    - delay: "{{{{ trigger.event.data.s }}}}"
    - {{action: test.two, data: {{n: "{{{{ trigger.event.data.n }}}}"}}}}
"""


@dataclass(frozen=True)
class Firing:
    """The automation is set off so many seconds behind the firing before; its run then takes so long."""

    after_s: int
    takes_s: int


# Where a run ends at the instant of a firing, it has ended before: time passes, then something happens.
firings = st.lists(
    st.builds(Firing, st.integers(0, 6).map(lambda n: 4 * n + 1), st.integers(1, 12).map(lambda n: 4 * n)),
    min_size=1,
    max_size=10,
)


@dataclass
class _Going:
    n: int
    ends_s: int


def expected(mode: str, most: int, story: list[Firing]) -> tuple[list[int], dict[int, int], Counter[str]]:
    """Return which runs begin, in order, in which second which end, and how many ended how; second by second."""
    begun: list[int] = []
    done: dict[int, int] = {}
    outcomes: Counter[str] = Counter()
    going: list[_Going] = []
    queue: list[int] = []
    due: dict[int, int] = {}
    at = 0
    for n, each in enumerate(story):
        at += each.after_s
        due[at] = n

    for second in range(at + sum(each.takes_s for each in story) + 1):
        for run in [run for run in going if run.ends_s == second]:
            going.remove(run)
            done[run.n] = second
            outcomes["finished"] += 1
            if queue:
                begun.append(queue[0])
                going.append(_Going(queue[0], second + story[queue.pop(0)].takes_s))
        if second not in due:
            continue
        n = due[second]
        if going and mode == "restart":
            outcomes["cancelled"] += len(going)
            going.clear()
        elif going and mode == "queued":
            if len(going) + len(queue) < most:
                queue.append(n)
            else:
                outcomes["refused"] += 1
            continue
        elif (going and mode == "single") or len(going) >= most:
            outcomes["refused"] += 1
            continue
        begun.append(n)
        going.append(_Going(n, second + story[n].takes_s))
    return begun, done, outcomes


async def lived(home: Path, mode: str, most: int, story: list[Firing]) -> tuple[list[int], list[int], Counter[str]]:
    """Return which runs of the real engine begin and which end, both in order, and how many ended how."""
    house = ConformanceHouse(home, {"automation": AUTOMATION.format(mode=mode, max=most)})
    await house.start()
    refused: list[str] = []
    house.parts.bus.listen("automation_not_run", lambda event: refused.append(event.data["reason"]))
    try:
        for n, each in enumerate(story):
            await pass_s(house, each.after_s)
            house.fire("go", {"n": n, "s": each.takes_s})
            await house.settle()
        await pass_s(house, sum(each.takes_s for each in story) + 1)
        begun = [data["n"] for name, data in house.calls if name == "test.one"]
        done = [data["n"] for name, data in house.calls if name == "test.two"]
        outcomes = Counter(each.outcome.value for each in house.results)
        assert set(refused) <= {"mode"}
        return begun, done, outcomes + Counter({"refused": len(refused)})
    finally:
        await house.stop()


async def pass_s(house: ConformanceHouse, seconds: int) -> None:
    """Let time pass; runs that follow each other have each their time."""
    for _ in range(-(-seconds // 4)):
        await house.advance(min(4, seconds))
        await house.settle()
        seconds -= 4


@pytest.mark.parametrize("mode", ["single", "restart", "queued", "parallel"])
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(most=st.integers(1, 4), story=firings)
def test_every_firing_ends_as_calculated(mode: str, most: int, story: list[Firing]) -> None:
    with tempfile.TemporaryDirectory() as home:
        begun, done, outcomes = asyncio.run(lived(Path(home), mode, most, story))

    wanted_begun, wanted_done, wanted_outcomes = expected(mode, most, story)
    assert begun == wanted_begun
    # Of runs that end at the same instant either may say so first.
    assert sorted(done) == sorted(wanted_done)
    assert [wanted_done[n] for n in done] == sorted(wanted_done.values())
    assert outcomes == wanted_outcomes
