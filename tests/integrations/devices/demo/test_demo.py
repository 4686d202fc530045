"""`homarus demo` as a curious person starts it: signed in, asked, used; and nothing of it goes out to a network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub.cli.client import HubClient

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


class Demo:
    """A demo that runs: its home, its link, and what went out."""

    def __init__(self, home: Path, told: dict[str, Any], went_out: Path) -> None:
        self.home = home
        self.told = told
        self.went_out = went_out

    def call(self, method: str, **params: Any) -> Any:
        """Call a gateway method as the owner."""
        return HubClient(self.home).call(method, params)

    def state(self, entity_id: str) -> str:
        """Return the state of an entity."""
        return str(self.call("state.get", entity_id=entity_id)["state"])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    place = tmp_path_factory.mktemp("demo")
    (place / "sitecustomize.py").write_text(WATCH)
    went_out = place / "went_out"
    environment = {**os.environ, "PYTHONPATH": f"{place}:{Path.cwd()}", "WENT_OUT": str(went_out)}
    command = [sys.executable, "-m", "hub", "demo", "--json", "--keep", str(place / "home")]
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, (place / "log").read_text()[-4_000:]
            yield Demo(place / "home", json.loads(line), went_out)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            process.stdout.close()


def test_its_link_signs_in(demo: Demo) -> None:
    body = json.dumps({"code": demo.told["code"]}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Origin": demo.told["address"]}
    request = urllib.request.Request(f"{demo.told['address']}/login", body, headers)

    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
        assert answer.headers["Set-Cookie"]


def test_it_answers_with_what_it_remembers(demo: Demo) -> None:
    key = demo.call("sessions.create", label="Boiler")["key"]

    run = demo.call("chat.send", sessionKey=key, message="When is the boiler due?", idempotencyKey="boiler")
    demo.call("agent.wait", runId=run["runId"], timeoutMs=60_000)

    said = demo.call("chat.history", sessionKey=key)["messages"]
    assert "12 May" in json.dumps(said[-1])
    assert any(each["role"] == "toolResult" and "serviced" in json.dumps(each) for each in said)


def test_what_it_does_not_know_it_says_plainly(demo: Demo) -> None:
    key = demo.call("sessions.create", label="Anything")["key"]

    run = demo.call("chat.send", sessionKey=key, message="Write a sonnet about trout.", idempotencyKey="trout")
    demo.call("agent.wait", runId=run["runId"], timeoutMs=60_000)

    assert "I am the demo model" in json.dumps(demo.call("chat.history", sessionKey=key)["messages"][-1])


def test_a_lamp_does_as_it_is_told(demo: Demo) -> None:
    before = demo.state("light.hall_lamp")

    demo.call("service.call", service="light.toggle", data={"entity_id": "light.hall_lamp"})

    assert {before, demo.state("light.hall_lamp")} == {"on", "off"}


def test_one_command_waits_and_one_was_denied(demo: Demo) -> None:
    waits = demo.call("approval.list")["approvals"]
    decided = demo.call("approval.history")["items"]

    assert [each["title"] for each in waits] == ["ls -la /etc"]
    assert {"denied", "approved"} <= {each["state"] for each in decided}


def test_automations_ran_and_failed_and_did_not_run(demo: Demo) -> None:
    def outcomes(id: str) -> set[str]:
        return {each["outcome"] for each in demo.call("automation.trace", id=id)["traces"]}

    assert "finished" in outcomes("washing_done")
    assert "finished" in outcomes("morning_briefing")
    assert outcomes("garden_evening") == {"failed"}
    assert any(each["automation_id"] == "hall_light" for each in demo.call("automation.not_run")["entries"])


def test_a_model_fell_back_and_a_fortnight_has_its_costs(demo: Demo) -> None:
    models = {each["model"] for each in demo.call("runs.list", limit=200)["runs"] if each["agentId"] == "main"}
    days = demo.call("usage.cost", days=15)["daily"]

    assert models >= {"demo/sonnet", "demo/haiku"}
    assert sum(each["totalCost"] > 0 for each in days) >= 13


def test_somebody_asks_to_write_and_something_is_to_be_mended(demo: Demo) -> None:
    assert [each["name"] for each in demo.call("pairing.list")["requests"]] == ["Noor's mum"]
    assert demo.call("health")["repairs"] >= 1


def test_a_sensor_has_a_past(demo: Demo) -> None:
    history = demo.call("entities.history", entity_id="sensor.kitchen_temperature")

    assert len(history["points"]) > 50


def test_nothing_went_out(demo: Demo) -> None:
    assert not demo.went_out.exists(), demo.went_out.read_text()
