"""A real hub is killed, or was long gone, while automations run, wait or are due: each does what it says, once."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.automating import not_run, run_json, said_in, seeded_home, status, traces, write
from tests.e2e.talk import ask, query, until
from tests.lengths import rounds, some
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServerProcess]:
    with OpenAIServerProcess() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, server: OpenAIServerProcess) -> Path:
    server.reset()
    return seeded_home(tmp_path / "home", server.base_url)


@pytest.fixture
def hub(home: Path) -> Iterator[HubProcess]:
    hub = HubProcess(home)
    try:
        yield hub
        assert "Traceback" not in hub.log.read_text(), hub.log.read_text()[-4000:]
        assert query(hub, "PRAGMA integrity_check") == [("ok",)]
    finally:
        hub.__exit__(None, None, None)


def sent(hub: HubProcess, text: str) -> int:
    """How many messages of this text were ever written to be sent."""
    return int(query(hub, "SELECT count(*) FROM outbox WHERE text = ?", text)[0][0])


def kept_runs(hub: HubProcess, id: str) -> int:
    """How many runs of an automation are kept over a restart."""
    return int(query(hub, "SELECT count(*) FROM automation_runs WHERE owner_id = ?", id)[0][0])


def kept_at(hub: HubProcess, id: str, path: str) -> bool:
    """Whether a run of an automation is kept in the middle of a step."""
    rows = query(hub, "SELECT state FROM automation_runs WHERE owner_id = ?", id)
    return any(path in json.loads(state)["states"] for (state,) in rows)


def age(home: Path, seconds: float) -> None:
    """Let everything that is kept be so much older: the hub was down for so long."""

    def older(value: Any, *, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: older(each, key=name) for name, each in value.items()}
        if isinstance(value, list):
            return [older(each) for each in value]
        return value - seconds if key == "deadline" else value

    with sqlite3.connect(home / ".storage" / "hub.db") as connection:
        for id, text in connection.execute("SELECT id, schedules FROM automation_state").fetchall():
            kept = json.loads(text)
            for name in ("armed", "handled"):
                kept[name] = {key: when - seconds for key, when in kept[name].items()}
            connection.execute("UPDATE automation_state SET schedules = ? WHERE id = ?", (json.dumps(kept), id))
        for id, text in connection.execute("SELECT id, state FROM automation_runs").fetchall():
            state = json.dumps(older(json.loads(text)))
            connection.execute("UPDATE automation_runs SET state = ? WHERE id = ?", (state, id))
        connection.execute(
            "UPDATE meta SET value = CAST(CAST(value AS INTEGER) - ? AS TEXT) WHERE key LIKE '%stopped%'",
            (int(seconds * 1000),),
        )


def caught_up(hub: HubProcess, id: str) -> list[dict[str, Any]]:
    """The runs of an automation that have ended and made up for something."""
    found = hub.rpc("automation.trace", {"id": id})["traces"]
    return [trace for trace in found if trace["finished"] and trace["trigger"]["caught_up"]]


def armed(hub: HubProcess, id: str) -> None:
    """Wait until it is on disk since when the schedules of an automation count."""
    until(lambda: query(hub, "SELECT 1 FROM automation_state WHERE id = ? AND schedules LIKE '%armed%: {_%'", id))


def iso(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds")


# --- down for a while ---


@pytest.mark.parametrize(
    ("stopped", "down_s", "interval_s"),
    some(
        [
            (stopped, *times)
            for stopped in (True, False)
            for times in ((20 * MINUTE, 300.0), (3 * HOUR, 600.0), (3 * DAY, HOUR))
        ],
        one_of=2,
    ),
)
def test_what_was_due_while_the_hub_was_down_is_made_up_as_it_says(
    hub: HubProcess, stopped: bool, down_s: float, interval_s: float
) -> None:
    # The last occurrence before now was a little while ago, and the next is not during this test.
    anchor = time.time() - interval_s / 4 - 2 * down_s
    for mode in ("none", "last", "all"):
        write(
            hub.home,
            f"- id: up_{mode}\n  catch_up: {mode}\n  mode: parallel\n  max: 200\n  trace: {{stored_traces: 100}}\n"
            f"  triggers: [{{trigger: every, every: {interval_s:g}, anchor: '{iso(anchor)}'}}]\n"
            f"  actions: [{{action: message.send, data: {{text: 'up {mode}', channel: webchat, to: owner}}}}]",
        )
    hub.start()
    for mode in ("last", "all"):
        armed(hub, f"up_{mode}")
    end = hub.stop if stopped else hub.kill
    end()
    before = {mode: sent(hub, f"up {mode}") for mode in ("none", "last", "all")}
    age(hub.home, down_s)

    hub.start()

    count = round(min(down_s, DAY) / interval_s)  # what is older than a day is let go
    until(lambda: sent(hub, "up last") > before["last"])
    until(lambda: sent(hub, "up all") >= before["all"] + count - 1)
    until(lambda: len(caught_up(hub, "up_all")) >= count - 1)
    planned = [trace["trigger"]["planned"] for trace in caught_up(hub, "up_all")]
    assert count - 1 <= len(planned) <= count + 1
    assert len(set(planned)) == len(planned)
    assert len(until(lambda: caught_up(hub, "up_last"))) == 1
    assert caught_up(hub, "up_none") == []
    hub.kill()
    after = {mode: sent(hub, f"up {mode}") for mode in ("last", "all")}
    hub.start()
    until(lambda: status(hub, "up_all")["state"] == "on")
    again = [t["trigger"]["planned"] for t in hub.rpc("automation.trace", {"id": "up_all"})["traces"]]
    assert len(set(again)) == len(again)
    assert sent(hub, "up last") - after["last"] <= 1
    assert sent(hub, "up all") - after["all"] <= 2


def test_what_is_let_go_is_told_behind_a_stop(hub: HubProcess) -> None:
    write(
        hub.home,
        f"""
        - id: release
          triggers: [{{trigger: every, every: 1h, anchor: "{iso(time.time() - 900)}"}}]
          actions: [{{event: told}}]
        """,
    )
    hub.start()
    hub.stop()
    age(hub.home, 3 * HOUR)

    hub.start()

    entry = not_run(hub, "release")[0]
    assert entry["reason"] == "missed"
    assert hub.rpc("automation.trace", {"id": "release"})["traces"] == []


@pytest.mark.parametrize(("ago_s", "within", "runs"), [(HOUR, "3h", 1), (HOUR, "10m", 0), (2 * DAY, "", 1)])
def test_an_instant_that_passed_while_the_hub_was_down_comes_once_within_its_grace(
    hub: HubProcess, ago_s: float, within: str, runs: int
) -> None:
    grace = f"\n  catch_up: {{mode: last, within: {within}}}" if within else ""
    write(
        hub.home,
        f"- id: once{grace}\n  triggers: [{{trigger: at, at: '{iso(time.time() - ago_s)}'}}]\n"
        "  actions: [{action: message.send, data: {text: once, channel: webchat, to: owner}}]",
    )
    hub.start()
    armed(hub, "once")
    assert sent(hub, "once") == 0
    hub.kill()
    age(hub.home, ago_s + HOUR)

    for _ in range(2):
        hub.start()
        until(lambda: sent(hub, "once") == runs and (runs or not_run(hub, "once")))
        hub.kill()

    hub.start()
    assert sent(hub, "once") == runs


# --- killed in the middle ---


def test_killed_in_a_delay_it_goes_on_when_the_delay_is_over(hub: HubProcess) -> None:
    write(
        hub.home,
        """
        - id: delayed
          persist: true
          triggers: [{trigger: event, event_type: begin}]
          actions:
            - action: message.send
              data: {text: "before {{ trigger.event.data.n }}", channel: webchat, to: owner}
            - delay: "02:00:00"
            - action: message.send
              data: {text: "after {{ trigger.event.data.n }}", channel: webchat, to: owner}
        """,
    )
    hub.start()
    hub.rpc("event.fire", {"type": "begin", "data": {"n": 7}})
    until(lambda: sent(hub, "before 7") and "deadline" in str(query(hub, "SELECT state FROM automation_runs")))
    hub.kill()
    hub.start()
    until(lambda: status(hub, "delayed")["current"] == 1)
    hub.kill()
    age(hub.home, 3 * HOUR)
    hub.start()

    trace = traces(hub, "delayed")[0]

    assert trace["outcome"] == "finished"
    assert (sent(hub, "before 7"), sent(hub, "after 7")) == (1, 1)
    assert kept_runs(hub, "delayed") == 0


def test_a_delay_that_ended_while_the_hub_was_down_ends_at_once(hub: HubProcess) -> None:
    write(
        hub.home,
        """
        - id: long_delay
          triggers: [{trigger: event, event_type: begin}]
          actions:
            - delay: "02:00:00"
            - {action: message.send, data: {text: late, channel: webchat, to: owner}}
        """,
    )
    hub.start()
    hub.rpc("event.fire", {"type": "begin"})
    until(lambda: "deadline" in str(query(hub, "SELECT state FROM automation_runs")))
    hub.kill()
    age(hub.home, 3 * HOUR)
    hub.start()

    assert traces(hub, "long_delay")[0]["outcome"] == "finished"
    assert sent(hub, "late") == 1


def write_waiter(home: Path, persist: str) -> None:
    """Write an automation that waits for an event and says its number."""
    write(
        home,
        f"""
        - id: waiter
          persist: {persist}
          triggers: [{{trigger: event, event_type: begin}}]
          actions:
            - wait_for_trigger: [{{trigger: event, event_type: go_on}}]
              timeout: 300
            - action: message.send
              data: {{text: "went on {{{{ wait.trigger.event.data.n }}}}", channel: webchat, to: owner}}
        """,
    )


def go_on(hub: HubProcess, number: int) -> dict[str, Any]:
    """Fire what is waited for until the run has ended, since it may not have begun to wait; return its trace."""

    def fired() -> list[dict[str, Any]]:
        hub.rpc("event.fire", {"type": "go_on", "data": {"n": number}})
        found: list[dict[str, Any]] = hub.rpc("automation.trace", {"id": "waiter"})["traces"]
        return [trace for trace in found if trace["finished"]]

    return until(fired)[0]


def test_killed_in_wait_for_trigger_it_waits_on_when_it_is_kept(hub: HubProcess) -> None:
    write_waiter(hub.home, persist="true")
    hub.start()
    hub.rpc("event.fire", {"type": "begin"})
    until(lambda: kept_at(hub, "waiter", "action/0"))

    hub.kill()
    hub.start()
    trace = go_on(hub, 1)
    hub.rpc("event.fire", {"type": "go_on", "data": {"n": 2}})

    assert trace["outcome"] == "finished"
    assert (sent(hub, "went on 1"), sent(hub, "went on 2")) == (1, 0)


def test_killed_in_wait_for_trigger_it_waits_no_more_when_it_is_not_kept(hub: HubProcess) -> None:
    write_waiter(hub.home, persist="false")
    hub.start()
    hub.rpc("event.fire", {"type": "begin"})
    until(lambda: status(hub, "waiter")["current"] == 1)

    hub.kill()
    hub.start()
    hub.rpc("event.fire", {"type": "go_on", "data": {"n": 1}})

    assert status(hub, "waiter")["current"] == 0
    hub.rpc("event.fire", {"type": "begin"})
    go_on(hub, 3)
    assert (sent(hub, "went on 1"), sent(hub, "went on 3")) == (0, 1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_between_actions_again_and_again_each_is_done_once(hub: HubProcess) -> None:
    chance = random.Random(7)
    steps = "".join(
        "    - action: message.send\n      data: {channel: webchat, to: 'agent:main:main', text: 'step "
        f"{number} of {{{{ trigger.event.data.n }}}}'}}\n"
        for number in range(6)
    )
    write(
        hub.home,
        "- id: steps\n  persist: true\n  mode: parallel\n  trace: {stored_traces: 50}\n"
        f"  triggers: [{{trigger: event, event_type: begin}}]\n  actions:\n{steps}",
    )
    hub.start()
    begun = []
    kills = rounds(8, 5)
    for number in range(kills):
        hub.rpc("event.fire", {"type": "begin", "data": {"n": number}})
        if number % 2:  # at once, a slow machine would never have begun
            until(lambda number=number: sent(hub, f"step 0 of {number}"))  # type: ignore[misc]
        time.sleep(chance.uniform(0.0, 0.05))
        hub.kill()
        if sent(hub, f"step 0 of {number}"):
            begun.append(number)
        hub.start()
    until(lambda: kept_runs(hub, "steps") == 0)

    told = [[sent(hub, f"step {step} of {number}") for step in range(6)] for number in range(kills)]

    assert begun
    for number in begun:
        assert told[number] == [1] * 6, told
    assert all(each in ([0] * 6, [1] * 6) for each in told), told
    said = said_in(hub)
    assert [[said.count(f"step {step} of {number}") for step in range(6)] for number in range(kills)] == told


def test_killed_while_an_agent_answers_it_is_asked_again_and_answers_once(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.queue([{"hold": "never"}, {"text": "lost"}])
    server.set_default("The answer")
    write(
        hub.home,
        """
        - id: asks
          persist: true
          triggers: [{trigger: event, event_type: begin}]
          actions:
            - {action: message.send, data: {text: asking, channel: webchat, to: owner}}
            - action: agent.run
              data: {message: go, announce: {channel: webchat, to: owner}}
              response_variable: answer
            - {action: message.send, data: {text: "got {{ answer.reply }}", channel: webchat, to: owner}}
        """,
    )
    hub.start()
    hub.rpc("event.fire", {"type": "begin"})
    until(lambda: len(server.requests()) == 1)
    hub.kill()
    hub.start()

    trace = traces(hub, "asks")[0]

    assert trace["outcome"] == "finished", trace
    assert [sent(hub, text) for text in ("asking", "The answer", "got The answer", "lost")] == [1, 1, 1, 0]
    entries = hub.rpc("sessions.transcript", {"key": "agent:main:cron:asks"})["entries"]
    said = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert said == ["user", "assistant"]
    assert query(hub, "SELECT count(*) FROM runs WHERE state IN ('running', 'queued')") == [(0,)]


def test_killed_while_an_approval_waits_it_waits_on_and_runs_once_given(hub: HubProcess) -> None:
    write(
        hub.home,
        """
        - id: careful
          approval: required
          triggers: [{trigger: event, event_type: begin}]
          actions: [{action: message.send, data: {text: allowed, channel: webchat, to: owner}}]
        """,
    )
    hub.start()
    hub.rpc("event.fire", {"type": "begin"})
    first = until(lambda: run_json(hub, "approvals", "list"))
    hub.kill()
    hub.start()
    waiting = until(lambda: run_json(hub, "approvals", "list"))

    assert len(first) == len(waiting) == 1
    given = hub.cli("approvals", "approve", str(waiting[0]["code"]))

    assert given.returncode == 0, given.stderr
    assert traces(hub, "careful")[0]["outcome"] == "finished"
    assert sent(hub, "allowed") == 1


def test_a_run_whose_automation_was_changed_meanwhile_is_given_up_and_told(hub: HubProcess) -> None:
    write(
        hub.home,
        """
        - id: edited
          triggers: [{trigger: event, event_type: begin}]
          actions: [{delay: "01:00:00"}, {action: message.send, data: {text: old, channel: webchat, to: owner}}]
        """,
    )
    hub.start()
    hub.rpc("event.fire", {"type": "begin"})
    until(lambda: kept_runs(hub, "edited") == 1)
    hub.kill()
    file = hub.home / "automations.yaml"
    file.write_text(file.read_text().replace("text: old", "text: new"))
    hub.start()

    trace = traces(hub, "edited")[0]

    assert trace["outcome"] == "interrupted"
    assert "changed" in trace["error"]
    until(lambda: kept_runs(hub, "edited") == 0)
    assert (sent(hub, "old"), sent(hub, "new")) == (0, 0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_reminder_comes_once_however_often_the_hub_is_killed_around_its_time(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    chance = random.Random(3)
    hub.start()
    ask(hub, "hello")
    reminders = rounds(5, 3)
    for number in range(reminders):
        text = f"reminder {number}"
        server.queue({"tool_call": {"name": "schedule", "arguments": {"action": "add", "at": "1s", "text": text}}})
        ask(hub, "remind me")
        time.sleep(chance.uniform(0.3, 1.2))
        hub.kill()
        hub.start()
        until(lambda text=text: text in said_in(hub) and sent(hub, text))  # type: ignore[misc]
        until(lambda text=text: text not in (hub.home / "automations.yaml").read_text())  # type: ignore[misc]

    hub.kill()
    hub.start()
    for number in range(reminders):
        assert said_in(hub).count(f"reminder {number}") == 1
        assert sent(hub, f"reminder {number}") == 1
