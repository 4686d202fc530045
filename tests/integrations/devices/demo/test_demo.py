"""`homarus demo` as a curious person starts it: signed in, asked, used; and nothing of it goes out to a network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.servers.demo_process import DemoProcess
from tests.servers.hub_process import HubProcess

WATCH = """
import os, sys
def watch(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = str(arguments[1][0])
        if not host.startswith("127.") and host not in ("::1", "localhost"):
            with open(os.environ["WENT_OUT"], "a") as file:
                file.write(repr(arguments[1]) + "\\n")
sys.addaudithook(watch)
"""
"""Notes every connection that leaves the machine, in the hub and in each Python that it starts."""


class WatchedDemo(DemoProcess):
    """Runs in a Python that begins with the watch, which a forked one would not."""

    def _run(self, *arguments: str, output: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "hub", *arguments]
        return subprocess.Popen(command, stdout=output, stderr=output, env=self._environment)


@pytest.fixture(scope="module")
def went_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("watch") / "went_out"


@pytest.fixture(scope="module")
def demo(went_out: Path) -> Iterator[HubProcess]:
    (went_out.parent / "sitecustomize.py").write_text(WATCH)
    environment = {"PYTHONPATH": f"{went_out.parent}:{Path.cwd()}", "WENT_OUT": str(went_out)}
    with WatchedDemo(went_out.parent / "home", environment=environment) as process:
        yield process


def test_its_link_signs_in(demo: HubProcess) -> None:
    told = json.loads(next(line for line in demo.log.read_text().splitlines() if line.startswith("{")))
    headers = {"Accept": "application/json", "Origin": told["address"], "Authorization": ""}

    status, _ = demo.post("/login", {"code": told["code"]}, headers=headers)

    assert told["url"] == f"{demo.url}/login#{told['code']}"
    assert status == 200


def test_it_answers_with_what_it_remembers(demo: HubProcess) -> None:
    key = demo.rpc("sessions.create", {"label": "Boiler"})["key"]

    run = demo.rpc("chat.send", {"sessionKey": key, "message": "When is the boiler due?", "idempotencyKey": "boiler"})
    demo.rpc("agent.wait", {"runId": run["runId"], "timeoutMs": 60_000})

    said = demo.rpc("chat.history", {"sessionKey": key})["messages"]
    assert "12 May" in json.dumps(said[-1])
    assert any(each["role"] == "toolResult" and "serviced" in json.dumps(each) for each in said)


def test_what_it_does_not_know_it_says_plainly(demo: HubProcess) -> None:
    key = demo.rpc("sessions.create", {"label": "Anything"})["key"]

    run = demo.rpc(
        "chat.send", {"sessionKey": key, "message": "Write a sonnet about trout.", "idempotencyKey": "trout"}
    )
    demo.rpc("agent.wait", {"runId": run["runId"], "timeoutMs": 60_000})

    assert "I am the demo model" in json.dumps(demo.rpc("chat.history", {"sessionKey": key})["messages"][-1])


def test_a_lamp_does_as_it_is_told(demo: HubProcess) -> None:
    def lamp() -> str:
        return str(demo.rpc("state.get", {"entity_id": "light.hall_lamp"})["state"])

    before = lamp()

    demo.rpc("service.call", {"service": "light.toggle", "data": {"entity_id": "light.hall_lamp"}})

    assert {before, lamp()} == {"on", "off"}


def test_one_command_waits_and_one_was_denied(demo: HubProcess) -> None:
    waits = demo.rpc("approval.list")["approvals"]
    decided = demo.rpc("approval.history")["items"]

    assert [each["title"] for each in waits] == ["ls -la /etc"]
    assert {"denied", "approved"} <= {each["state"] for each in decided}


def test_automations_ran_and_failed_and_did_not_run(demo: HubProcess) -> None:
    def outcomes(id: str) -> set[str]:
        return {each["outcome"] for each in demo.rpc("automation.trace", {"id": id})["traces"]}

    assert "finished" in outcomes("washing_done")
    assert "finished" in outcomes("morning_briefing")
    assert outcomes("garden_evening") == {"failed"}
    assert any(each["automation_id"] == "hall_light" for each in demo.rpc("automation.not_run")["entries"])


def test_a_model_fell_back_and_a_fortnight_has_its_costs(demo: HubProcess) -> None:
    models = {each["model"] for each in demo.rpc("runs.list", {"limit": 200})["runs"] if each["agentId"] == "main"}
    days = demo.rpc("usage.cost", {"days": 15})["daily"]

    assert models >= {"demo/sonnet", "demo/haiku"}
    assert sum(each["totalCost"] > 0 for each in days) >= 13


def test_somebody_asks_to_write_and_something_is_to_be_mended(demo: HubProcess) -> None:
    assert [each["name"] for each in demo.rpc("pairing.list")["requests"]] == ["Noor's mum"]
    assert demo.rpc("health")["repairs"] >= 1


def test_the_accounts_of_people_are_known_by_who_they_are(demo: HubProcess) -> None:
    people = demo.rpc("pairing.list", {"all": True})["people"]

    assert {each["name"]: each["identities"] for each in people}["Ada"] == ["telegram:user:412000101"]


def test_a_sensor_has_a_past(demo: HubProcess) -> None:
    history = demo.rpc("entities.history", {"entity_id": "sensor.kitchen_temperature"})

    assert len(history["points"]) > 50


def test_the_check_warns_of_nothing_in_its_configuration(demo: HubProcess) -> None:
    answer = demo.cli("check")

    assert answer.returncode == 0, answer.stdout
    assert "there is no" not in answer.stdout + answer.stderr


def test_it_is_not_made_in_a_home_that_is_there(demo: HubProcess) -> None:
    answer = demo.cli("demo", "--keep", str(demo.home))

    assert answer.returncode == 2
    assert "is a home already" in answer.stderr


def test_stopped_while_its_past_is_lived_it_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hub", "demo"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        assert process.stderr is not None
        while b"battery" not in (line := process.stderr.readline()):
            assert line
        assert list(tmp_path.iterdir())
        process.send_signal(signal.SIGINT)
        process.stderr.read()

    assert process.returncode == 0
    assert not list(tmp_path.glob("homarus-demo-*"))


def test_nothing_went_out(demo: HubProcess, went_out: Path) -> None:
    assert demo.rpc("status")
    assert not went_out.exists(), went_out.read_text()
