"""The hub beside a real Home Assistant core, by turns in one run, so that a busy machine is busy for both.

    python -m tests.benchmarks beside_home_assistant --core PYTHON

`PYTHON` is that of an environment with `homeassistant`, `paho-mqtt` and `home-assistant-frontend`. Both get the same
automations and helpers and one broker, each below a topic of its own, and all is measured from outside: by MQTT, and by
the memory that their processes have.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import psutil

from tests.benchmarks.homes import BenchHub
from tests.benchmarks.mqtt_triggers import ASKED, Answers
from tests.benchmarks.table import Row, row
from tests.servers.mosquitto import Mosquitto
from tests.servers.ports import free_port

AUTOMATIONS, MANY = 1_000, 5_000
HELPERS = 2_000
STARTS = 5
STARTS_OF_MANY = 3
SINGLES = 300
BURSTS = 9
NAMES = ("hub", "Home Assistant")
SETTLE_S = 4.0
"""What is written behind a start or a burst is written by then."""
STOP_LIMIT_S = 60.0
AUTOMATION = """\
- id: rule_{n}
  alias: Rule {n}
  triggers:
    - {{trigger: mqtt, topic: {name}/in/{n}}}
    - {{trigger: mqtt, topic: {name}/all}}
  actions: [{{action: mqtt.publish, data: {{topic: {name}/out/{n}, payload: done}}}}]
"""
ENTRY: dict[str, Any] = {
    "created_at": "2025-01-01T00:00:00+00:00",
    "modified_at": "2025-01-01T00:00:00+00:00",
    "disabled_by": None,
    "discovery_keys": {},
    "domain": "mqtt",
    "entry_id": "01JA0000000000000000000000",
    "version": 1,
    "minor_version": 2,
    "options": {},
    "pref_disable_new_entities": False,
    "pref_disable_polling": False,
    "source": "user",
    "subentries": [],
    "title": "Broker",
    "unique_id": None,
}


class Program(Protocol):
    """One of the two."""

    name: str

    def start(self) -> None:
        """Start its process, and wait for nothing."""

    def stop(self) -> None:
        """End it in order."""

    def memory_mb(self) -> float:
        """Return what its processes have in memory."""


class OurHub:
    """A hub in its own process."""

    name = "hub"

    def __init__(self, folder: Path, broker_port: int, automations: int) -> None:
        folder.mkdir(mode=0o700)
        (folder / "configuration.yaml").write_text(
            "hub: {name: Bench}\nmodels: {default: offline/rules}\n"
            f"mqtt: {{broker: 127.0.0.1, port: {broker_port}}}\nautomation: !include automations.yaml\n" + _helpers()
        )
        (folder / "automations.yaml").write_text(_automations(self.name, automations))
        self._hub = BenchHub(folder)

    def start(self) -> None:
        self._hub.start(wait=False)

    def stop(self) -> None:
        self._hub.wait_ready()
        self._hub.stop()

    def memory_mb(self) -> float:
        return _memory_mb(self._hub.pid)


class HomeAssistant:
    """A Home Assistant core in its own process."""

    name = "core"

    def __init__(self, python: str, folder: Path, broker_port: int, automations: int) -> None:
        (folder / ".storage").mkdir(parents=True)
        (folder / "configuration.yaml").write_text(
            "homeassistant: {name: Bench, latitude: 52, longitude: 13, elevation: 0, unit_system: metric, "
            "time_zone: UTC, country: DE}\n"
            f"http: {{server_host: 127.0.0.1, server_port: {free_port()}}}\n"
            "api:\nfrontend:\nhistory:\nlogbook:\nrecorder:\nautomation: !include automations.yaml\n" + _helpers()
        )
        (folder / "automations.yaml").write_text(_automations(self.name, automations))
        entry = ENTRY | {"data": {"broker": "127.0.0.1", "port": broker_port, "discovery": True}}
        kept = {"version": 1, "minor_version": 5, "key": "core.config_entries", "data": {"entries": [entry]}}
        (folder / ".storage" / "core.config_entries").write_text(json.dumps(kept))
        self._command = (python, "-m", "homeassistant", "-c", str(folder), "--skip-pip")
        self._log = folder / "output.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self._log.parent)

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(STOP_LIMIT_S)

    def memory_mb(self) -> float:
        assert self._process is not None
        return _memory_mb(self._process.pid)


Pair = tuple[float, ...]
"""Of the hub, and of Home Assistant."""


def measure(core: str) -> list[Row]:
    """Measure both, by turns.

    Args:
        core: The Python of Home Assistant.
    """
    rows: list[Row] = []
    with TemporaryDirectory(prefix="homarus-bench-") as folder, Mosquitto() as broker:

        def both(name: str, automations: int) -> Sequence[Program]:
            hub = OurHub(Path(folder) / f"{name}-hub", broker.port, automations)
            return hub, HomeAssistant(core, Path(folder) / f"{name}-core", broker.port, automations)

        programs = both("home", AUTOMATIONS)
        firsts, lasts, memory = _starts(programs, broker.port, AUTOMATIONS, STARTS)
        rows += _ratios("start, 1,000 automations and 2,000 helpers: the first answers", "s", firsts, "≤ 0.25")
        rows += _ratios("start, 1,000 automations and 2,000 helpers: all answer", "s", lasts, "≤ 0.25")
        rows += _ratios("memory after it", "MB", memory, "≤ 0.60")
        singles, first, last = _running(programs, broker.port)
        rows += _ratios("MQTT in → out", "ms", singles, "≤ 1.0")
        rows += _ratios("one event sets off 1,000 automations: the first", "ms", first, "≤ 1.0")
        rows += _ratios("one event sets off 1,000 automations: the last", "ms", last, "≤ 1.0")
        firsts, lasts, _ = _starts(both("many", MANY), broker.port, MANY, STARTS_OF_MANY)
        rows += _ratios("start, 5,000 automations: the first answers", "s", firsts)
        rows += _ratios("start, 5,000 automations: the last answers", "s", lasts)
        for of, name in enumerate(NAMES):
            spread = [late[of] / early[of] for early, late in zip(firsts, lasts, strict=True)]
            rows.append(row(f"… {name}: the last over the first", "×", spread, "≤ 1.5" if of == 0 else ""))
    return rows


def _starts(
    programs: Sequence[Program], port: int, automations: int, rounds: int
) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Start each in turns; return when the first and the last automation answered, and the memory then."""
    turns = [[_start(each, port, automations) for each in programs] for _ in range(rounds + 1)]
    kept = turns[1:]  # the first writes what later ones find
    firsts, lasts, memory = ([tuple(each[at] for each in turn) for turn in kept] for at in range(3))
    return firsts, lasts, memory


def _start(program: Program, port: int, automations: int) -> tuple[float, float, float]:
    with Answers(port, f"{program.name}/") as answers, _running_program(program) as begun:
        at = answers.ask_until_answered(range(automations - 1, -1, -automations // ASKED))
        time.sleep(SETTLE_S)
        return at[0] - begun, at[-1] - begun, program.memory_mb()


def _running(programs: Sequence[Program], port: int) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Ask both while both run: one automation each, then all of each by one message."""
    with ExitStack() as stack:
        asked = []
        for program in programs:
            answers = stack.enter_context(Answers(port, f"{program.name}/"))
            stack.enter_context(_running_program(program))
            answers.ask_until_answered(range(AUTOMATIONS))
            asked.append(answers)
        time.sleep(SETTLE_S)

        numbers = [n * 37 % AUTOMATIONS for n in range(SINGLES)]
        singles = [tuple(1000 * each.ask([number])[0] for each in asked) for number in numbers]
        bursts = []
        for _ in range(BURSTS):
            taken = []
            for each in asked:
                time.sleep(SETTLE_S)
                taken.append([1000 * at for at in each.ask(range(AUTOMATIONS), by="all")])
            bursts.append(taken)
        firsts, lasts = ([tuple(each[at] for each in taken) for taken in bursts] for at in (0, -1))
        return singles, firsts, lasts


@contextmanager
def _running_program(program: Program) -> Iterator[float]:
    begun = time.monotonic()
    program.start()
    try:
        yield begun
    finally:
        program.stop()


def _ratios(what: str, unit: str, pairs: Sequence[Pair], goal: str = "") -> list[Row]:
    """Return the rows of a figure: each program's own, and how they stand to each other."""
    ours, theirs = (row(f"{what}: {name}", unit, [each[of] for each in pairs]) for of, name in enumerate(NAMES))
    ratio = Row(f"{what}: ratio", "×", ours.median / theirs.median, ours.p95 / theirs.p95, len(pairs), goal)
    return [ours, theirs, ratio]


def _memory_mb(pid: int) -> float:
    """Return what a process and its children have in memory; what they share counts once."""
    process = psutil.Process(pid)
    return sum(each.memory_full_info().pss for each in (process, *process.children(recursive=True))) / 1e6


def _automations(name: str, count: int) -> str:
    return "".join(AUTOMATION.format(name=name, n=number) for number in range(count))


def _helpers() -> str:
    half = range(HELPERS // 2)
    switches = "".join(f"  switch_{n}: {{name: Switch {n}}}\n" for n in half)
    numbers = "".join(f"  number_{n}: {{name: Number {n}, min: 0, max: 100}}\n" for n in half)
    return f"input_boolean:\n{switches}input_number:\n{numbers}"
