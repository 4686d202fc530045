"""kill -9 while thirty subagents are at work: each is reported once, finished or interrupted."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.agent.subagents.delegating_child import TASKS
from tests.databases import rows_of
from tests.lengths import rounds
from tests.servers.forked import ForkedProcess
from tests.servers.openai_server import OpenAIServer

WORK = r"(?s)\A(?!.*Subagent results).*"
REPORT = re.compile(r"^## (n\d+) .*\nStatus: (\w+)", re.MULTILINE)


class Agents:
    """The child, fed line by line."""

    def __init__(self, home: Path, base_url: str) -> None:
        self._process = ForkedProcess(
            "tests.agent.subagents.delegating_child", str(home), base_url, stdin=PIPE, stdout=PIPE
        )
        self.interrupted = int(self.read().removeprefix("open "))

    def read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")

    def until(self, line: str) -> None:
        while (found := self.read()) != line:
            assert found, "the process ended"

    def kill(self) -> None:
        with self._process as process:
            process.kill()

    def reports(self) -> list[tuple[str, str]]:
        """Wait until all was heard, and return label and status of each report in all conversations; then it ends."""
        self.write("report")
        while not (line := self.read()).startswith("{"):
            assert line, "the process ended"
        with self._process as process:
            assert process.wait(timeout=30) == 0
        return [found for heard in json.loads(line).values() for text in heard for found in REPORT.findall(text)]


def states(home: Path) -> dict[str, str]:
    """Return what the database that was left says of each subagent."""
    return dict(rows_of(home / ".storage" / "hub.db", "SELECT label, state FROM subagents"))


def check(left: dict[str, str], reports: list[tuple[str, str]], interrupted: int) -> None:
    """Each was reported once: those that had ended as they ended, the others as interrupted or as ended meanwhile."""
    assert Counter(label for label, _ in reports) == dict.fromkeys(left, 1)
    told = dict(reports)
    assert {label: told[label] for label, state in left.items() if state != "running"} == {
        label: state for label, state in left.items() if state != "running"
    }
    assert Counter(told.values())["interrupted"] == interrupted
    assert set(told.values()) <= {"completed", "interrupted"}


@pytest.mark.slow
def test_of_thirty_in_a_hub_that_is_killed_half_way_each_is_reported_once(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.rule(f"{WORK}slow", {"hold": "never"})
    openai_server.rule("(?s)Subagent results", {"hold": "never"})
    openai_server.set_default("done")
    first = Agents(tmp_path / "home", openai_server.base_url)
    first.write("spawn")
    first.until("ended 16")
    first.kill()
    left = states(tmp_path / "home")
    openai_server.reset()

    second = Agents(tmp_path / "home", openai_server.base_url)
    reports = second.reports()
    third = Agents(tmp_path / "home", openai_server.base_url)

    assert Counter(left.values()) == {"completed": 16, "running": 14}
    check(left, reports, interrupted=14)
    assert second.interrupted == 14
    assert third.interrupted == 0
    assert sorted(third.reports()) == sorted(reports)


def test_wherever_it_is_killed_each_is_reported_once(tmp_path: Path, openai_server: OpenAIServer) -> None:
    chance = random.Random(20261123)
    for number in range(rounds(20, 1)):
        home = tmp_path / f"home{number}"
        openai_server.reset()
        openai_server.rule(f"{WORK}slow", [{"delay_s": chance.uniform(0, 0.1)}, {"text": "done, at last"}])
        openai_server.rule("(?s)Subagent results", [{"delay_s": chance.uniform(0, 0.05)}, {"text": "I see."}])
        openai_server.set_default("done")
        first = Agents(home, openai_server.base_url)
        first.write("spawn")
        first.until("spawned")
        time.sleep(chance.uniform(0, 0.4))
        first.kill()
        left = states(home)

        second = Agents(home, openai_server.base_url)
        reports = second.reports()

        assert len(left) == TASKS
        check(left, reports, second.interrupted)
