"""Homes with automations: made as `homarus init` makes them, and changed while the hub runs."""

from __future__ import annotations

import http.client
import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.homes import MODELS
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess

_DEFAULT = (
    "models:\n  default: auto          # a configured key, else a local Ollama, else offline; "
    "an agent may name another with `model:`\n"
)


def seeded_home(path: Path, base_url: str | None = None) -> Path:
    """Make a home with `homarus init`, and a model server when there is one."""
    made = HubProcess(path).cli("init", "--yes", "--time-zone", "Europe/Berlin")
    assert made.returncode == 0, made.stderr
    file = path / "configuration.yaml"
    text = file.read_text()
    assert _DEFAULT in text
    if base_url is not None:
        text = text.replace(_DEFAULT, MODELS.format(base_url=base_url))
    file.write_text(text)
    return path


def write(home: Path, *items: str) -> None:
    """Add automations to `automations.yaml`, as a person does with an editor."""
    file = home / "automations.yaml"
    file.write_text(file.read_text() + "".join(f"\n{textwrap.dedent(item).strip()}\n" for item in items))


def add(hub: HubProcess, item: str) -> str:
    """Add an automation while the hub runs and return its id once it is in force."""
    write(hub.home, item)
    id = next(line for line in textwrap.dedent(item).splitlines() if line.startswith("- id:"))[5:].strip()
    until(lambda: any(each["id"] == id for each in listed(hub)))
    return id


def listed(hub: HubProcess) -> list[dict[str, Any]]:
    """All automations."""
    found: list[dict[str, Any]] = hub.rpc("automation.list")["automations"]
    return found


def status(hub: HubProcess, id: str) -> dict[str, Any]:
    """One automation; empty when there is none of that id."""
    return next((each for each in listed(hub) if each["id"] == id), {})


def traces(hub: HubProcess, id: str, count: int = 1) -> list[dict[str, Any]]:
    """The runs of an automation, newest first, once so many have ended."""

    def ended() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = hub.rpc("automation.trace", {"id": id})["traces"]
        done = [trace for trace in found if trace["finished"]]
        return done if len(done) >= count else []

    return until(ended)


def not_run(hub: HubProcess, id: str) -> list[dict[str, Any]]:
    """The firings that set nothing off, newest first, once there is one."""

    def told() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = hub.rpc("automation.not_run", {"id": id})["entries"]
        return found

    return until(told)


def run_json(hub: HubProcess, *arguments: str, code: int = 0) -> Any:
    """Run a `homarus` command with `--json` and return what it printed."""
    ran = hub.cli(*arguments, "--json")
    assert ran.returncode == code, (ran.returncode, ran.stdout, ran.stderr)
    return json.loads(ran.stdout)


def call_webhook(
    hub: HubProcess,
    id: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    host: str = "127.0.0.1",
    query: str = "",
) -> int:
    """Call a webhook as another program does, without a token; return the status."""
    connection = http.client.HTTPConnection(host, hub.port, timeout=20)
    try:
        connection.request(method, f"/api/webhook/{id}{query}", body, dict(headers or {}))
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def said_in(hub: HubProcess, key: str = "main") -> list[str]:
    """What the assistant said in a conversation."""
    known = {session["key"] for session in hub.rpc("sessions.list")["sessions"]}
    full = key if key.startswith("agent:") else f"agent:main:{key}"
    if full not in known:
        return []
    entries = hub.rpc("sessions.transcript", {"key": key})["entries"]
    spoken = [entry["message"] for entry in entries if entry["type"] == "message"]
    return [
        "".join(block.get("text", "") for block in message["content"])
        for message in spoken
        if message["role"] == "assistant"
    ]
