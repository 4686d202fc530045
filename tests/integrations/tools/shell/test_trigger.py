"""The trigger `command`: real processes, their lines and their ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.clock import ManualClock
from hub.core.schema import Invalid
from integrations.tools.shell.command_process import LINE_CHARS, LINES_PER_SECOND
from tests.automation.triggers.bench import Bench, explained, valid
from tests.processes import runs
from tests.until import as_time_passes, until


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


def python(program: str, **config: Any) -> dict[str, Any]:
    """Return a trigger on a Python program."""
    return {"trigger": "command", "command": [sys.executable, "-c", program], **config}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "command"),
        ({"command": "tail -f x"}, "no shell"),
        ({"command": []}, "program and its arguments"),
        ({"command": [""]}, "nothing"),
        ({"command": ["a\x00b"]}, "characters"),
        ({"command": ["a", {"b": 1}]}, "expected text"),
        ({"command": ["a"], "on": "start"}, "on"),
        ({"command": ["a"], "on": "exit", "regex": "x"}, "does not apply"),
        ({"command": ["a"], "on": "line", "code": 1}, "does not apply"),
        ({"command": ["a"], "on": "line", "regex": "(a|a)*$"}, "too long"),
        ({"command": ["a"], "folder": "/tmp"}, "absolute"),
        ({"command": ["a"], "environment": {"A B": "x"}}, "name of a variable"),
        ({"command": ["a"], "code": []}, "length"),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid({"trigger": "command", **config})


async def test_each_line_fires_and_some_can_be_chosen(bench: Bench) -> None:
    code = "print('temp 20'); print('noise'); print('temp 21', end='')"
    every = bench.arm(python(code, on="line", restart=False))
    some = bench.arm(python(code, on="line", restart=False, regex=r"temp (?P<n>\d+)"))

    await until(lambda: len(every.fired) == 3 and len(some.fired) == 2)

    assert [fired.trigger["line"] for fired in every.fired] == ["temp 20", "noise", "temp 21"]
    assert [fired.trigger["match"]["named"] for fired in some.fired] == [{"n": "20"}, {"n": "21"}]
    assert all(fired.tainted for fired in every.fired)


async def test_the_end_fires_with_its_code(bench: Bench) -> None:
    every = bench.arm(python("raise SystemExit(3)", restart=False))
    chosen = bench.arm(python("raise SystemExit(3)", restart=False, code=[0, 4]))
    signalled = bench.arm(python("import os; os.kill(os.getpid(), 9)", restart=False, code=-9))

    await until(lambda: bool(every.fired and signalled.fired))
    await until(lambda: not [name for name in bench.tasks.names() if name.startswith("command")])

    assert every.fired[0].trigger["code"] == 3
    assert not every.fired[0].tainted
    assert chosen.fired == []


class QuickClock(ManualClock):
    """A clock on which every wait is over at once, after it was written down."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)


async def test_it_is_started_again_ever_later(bench: Bench) -> None:
    clock = QuickClock()
    bench.parts = replace(bench.parts, clock=clock)
    site = bench.arm(python("raise SystemExit(1)"))

    await until(lambda: len(site.fired) >= 5)

    assert clock.waits[:4] == [1.0, 2.0, 4.0, 8.0]


async def test_disarming_ends_it_with_all_it_started(bench: Bench, tmp_path: Path) -> None:
    code = (
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    site = bench.arm(python(code, on="line"))
    await until(lambda: bool(site.fired))
    pids = [int(each) for each in site.fired[0].trigger["line"].split()]

    bench.disarm()

    await until(lambda: not any(runs(pid) for pid in pids))
    await until(lambda: not [name for name in bench.tasks.names() if name.startswith("command")])


async def test_what_it_leaves_behind_ends_with_it(bench: Bench) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL).pid)"
    site = bench.arm(python(code, on="line", restart=False))

    await until(lambda: bool(site.fired))

    pid = int(site.fired[0].trigger["line"])
    await until(lambda: not runs(pid))


async def test_lines_are_bounded_in_length_and_number(bench: Bench) -> None:
    code = f"print('x' * 1_000_000); print('\\n'.join(map(str, range({LINES_PER_SECOND * 5}))))"
    site = bench.arm(python(code, on="line", restart=False))

    await until(lambda: not [name for name in bench.tasks.names() if name.startswith("command")])

    assert len(site.fired) == LINES_PER_SECOND  # the clock of the bench stands still
    assert len(site.fired[0].trigger["line"]) == LINE_CHARS


async def test_how_many_lines_were_let_go_is_told(bench: Bench) -> None:
    code = (
        "import itertools, time\n"
        f"print('\\n'.join('x' * {LINES_PER_SECOND * 3}), flush=True)\n"
        "for number in itertools.count(1):\n"
        "    print('more', number, flush=True)\n"
        "    time.sleep(0.01)\n"
    )
    site = bench.arm(python(code, on="line", restart=False))
    await until(lambda: len(site.fired) == LINES_PER_SECOND)

    await as_time_passes(bench.clock, 1.5, lambda: site.fired[-1].trigger["line"].startswith("more"))

    written = LINES_PER_SECOND * 3 + int(site.fired[-1].trigger["line"].removeprefix("more "))
    assert sum(fired.trigger["release"] for fired in site.fired) + len(site.fired) == written


async def test_its_environment_is_a_list_of_what_is_allowed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMARUS_SECRET", "x")
    folder = bench.parts.home / "sub"
    folder.mkdir()
    code = "import os; print(sorted(os.environ), os.environ['MINE'], os.getcwd())"
    site = bench.arm(python(code, on="line", restart=False, folder="sub", environment={"MINE": "yes"}))

    await until(lambda: bool(site.fired))

    line = site.fired[0].trigger["line"]
    assert "HOMARUS_SECRET" not in line
    assert "'PATH'" in line
    assert "yes" in line
    assert line.endswith(str(folder.resolve()))


async def test_standard_error_counts_when_it_is_asked_for(bench: Bench) -> None:
    code = "import sys; print('oops', file=sys.stderr)"
    with_errors = bench.arm(python(code, on="line", restart=False, errors=True))
    without = bench.arm(python(code, on="line", restart=False))

    await until(lambda: not [name for name in bench.tasks.names() if name.startswith("command")])

    assert [fired.trigger["line"] for fired in with_errors.fired] == ["oops"]
    assert without.fired == []


async def test_a_program_that_is_not_there_is_told_once(bench: Bench) -> None:
    site = bench.arm({"trigger": "command", "command": ["no-such-program-here"]})

    await until(lambda: bool(site.failures))
    await bench.clock.advance(60)

    assert len(site.failures) == 1
    assert "no-such-program-here" in site.failures[0]
    assert site.fired == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"command": ["backup", "-v"], "code": [1, 2]}, "when the command “backup -v” ends with 1 or 2"),
        ({"command": ["tail"], "on": "line", "regex": "a"}, "when the command “tail” writes a line that matches /a/"),
    ],
)
def test_it_is_explained_in_plain_words(config: dict[str, Any], words: str) -> None:
    assert explained({"trigger": "command", **config}) == words
