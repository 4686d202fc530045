"""Three days of a household: what was promised was kept, and nothing grew."""

from __future__ import annotations

import json
import shutil
import sqlite3
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.talk import until
from tests.faults.household import AUTOMATIONS, BRIEFING, CONFIGURATION, HEARTBEATS
from tests.faults.numbers_platform import NumbersPlatform
from tests.faults.test_kill import ACCOUNTS, CUSTOM, READS, WRITES, assert_every_call_has_its_result
from tests.lengths import LONG, rounds
from tests.servers.forked import ForkedProcess
from tests.servers.hub_process import HubProcess
from tests.servers.mosquitto import Mosquitto
from tests.servers.openai_server import OpenAIServerProcess

HOURS = rounds(72, 2)
WARM_UP_HOURS = 12
GROWTH_LIMIT_MB_PER_HOUR = 1.0
STEPS_PER_HOUR = 6


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_after_days_of_use_each_promise_was_kept_and_nothing_grew(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(CUSTOM / "numbers", home / "custom_integrations" / "numbers")
    with OpenAIServerProcess() as model, NumbersPlatform() as platform, Mosquitto() as broker:
        said = Speakers(platform, model)
        (home / "automations.yaml").write_text(AUTOMATIONS)
        (home / "workspace").mkdir()
        (home / "workspace/HEARTBEAT.md").write_text("- Is a window open?\n")
        written = CONFIGURATION.format(model=model.base_url, mqtt=broker.port, numbers=platform.port)
        (home / "configuration.yaml").write_text(written)
        holds, fired = live({"home": str(home), "hours": HOURS}, said)
        print(*holds, sep="\n")

        assert fired["fired"]["quarter_passed"] == HOURS * 4
        assert fired["fired"].get("room_became_warm", 0) == HOURS // 24
        assert fired["backups"] == HOURS // 24
        until(lambda: platform.acknowledged == set(said.ids))  # a thread of its own reads what the hub wrote last
        assert set(platform.sent.values()) == {1}
        texts = list(platform.texts.values())
        assert {hour for hour in range(HOURS) if texts.count(f"reminder {hour}") == 1} == set(range(HOURS))
        assert sum(BRIEFING in text for text in texts) == HOURS // 24
        keys = assert_each_message_was_answered_once(home, said)
        with HubProcess(home) as hub:
            assert hub.rpc("health")["ok"]
            # Rooms are new; and to a hub of today, the backups of those days may be old.
            assert {each["source"] for each in hub.rpc("repairs.list")["repairs"]} <= {"entities", "backup"}
            assert len(keys) == HOURS + len(ACCOUNTS)
            for key in keys:
                assert_every_call_has_its_result(hub.rpc("sessions.transcript", {"key": key})["entries"])
    if LONG:
        assert_flat(holds)


class Speakers:
    """People who say something in each ten minutes, by turns in four accounts."""

    def __init__(self, platform: NumbersPlatform, model: OpenAIServerProcess) -> None:
        self.ids: list[str] = []
        self._platform = platform
        self._model = model
        self._script()

    def speak(self, step: int) -> int:
        """Say what is said at a minute; return how many messages there were until then."""
        hour, minute = divmod(step, 60)
        if minute == 0 and hour % 12 == 0:
            self._script()  # what was recorded until then is forgotten
        if minute == 0:
            remind = {"action": "add", "at": "20m", "text": f"reminder {hour}"}
            self._model.rule(rf"remind me {hour}\b", {"tool_call": {"name": "schedule", "arguments": remind}})
            self._say("a", f"remind me {hour}")
        for each, account in enumerate(ACCOUNTS):
            kind = ("", "reads", "writes")[(step // 10 + each) % 3]
            self._say(account, f"{kind} see https://example.org/{step}/{account}")
        return len(self.ids)

    def _say(self, account: str, text: str) -> None:
        self.ids.append(f"<{account}{len(self.ids)}>")
        self._platform.say(account, self.ids[-1], f"{self.ids[-1]} {text}")

    def _script(self) -> None:
        self._model.reset()
        self._model.rule("HEARTBEAT.md", "HEARTBEAT_OK")
        self._model.rule("reads", READS)
        self._model.rule("writes", WRITES)
        self._model.rule(".", {"echo": True}, tool_result=".")
        self._model.set_default({"echo": True})


def live(told: dict[str, Any], said: Speakers) -> tuple[list[dict[str, int]], dict[str, Any]]:
    """Let a household live; return what it held after each hour, and its last line."""
    holds: list[dict[str, int]] = []
    log = Path(told["home"]).with_suffix(".log")
    with (
        log.open("wb") as errors,
        ForkedProcess(
            "tests.faults.household", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(told), file=process.stdin, flush=True)
        last: dict[str, Any] = {}
        for line in process.stdout:
            last = json.loads(line)
            if "step" in last:
                print(said.speak(last["step"]), file=process.stdin, flush=True)
            elif "holds" in last:
                holds.append(last["holds"])
        assert "fired" in last, (last, log.read_text()[-8_000:])
    return holds, last


def assert_each_message_was_answered_once(home: Path, said: Speakers) -> list[str]:
    """Return the conversations."""
    with sqlite3.connect(f"file:{home / '.storage' / 'hub.db'}?mode=ro", uri=True) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        answered = connection.execute(
            "SELECT message_id, runs.state FROM inbox JOIN runs ON runs.id = run_id WHERE channel = 'numbers'"
        ).fetchall()
        assert sorted(answered) == sorted((id, "answered") for id in said.ids)
        assert {state for (state,) in connection.execute("SELECT DISTINCT state FROM outbox")} == {"sent"}
        assert connection.execute(HEARTBEATS).fetchall() == [(HOURS * 2,)]
        return [key for (key,) in connection.execute("SELECT DISTINCT session_key FROM inbox")]


def assert_flat(holds: list[dict[str, int]]) -> None:
    """After the first half day nothing that can be counted grows, and memory by less than 1 MB an hour."""
    warm = holds[WARM_UP_HOURS:]
    memory = [each["memory"] / 1e6 for each in warm]
    growth = statistics.linear_regression(range(len(memory)), memory).slope
    assert growth < GROWTH_LIMIT_MB_PER_HOUR, [round(each["memory"] / 1e6, 1) for each in holds]
    for what in warm[0].keys() - {"memory"}:
        # Connections and threads are opened when two first need one at a time, which may be on the second day.
        begun, ended = (max(each[what] for each in part) for part in (warm[:36], warm[-12:]))
        assert ended <= begun, (what, [each[what] for each in holds])
