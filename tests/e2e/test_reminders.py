"""Reminders on a fresh machine, without key or network: set in words, said when due, also behind a power cut."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.hub_process import HubProcess

LIMIT_S = 60.0


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    with HubProcess(tmp_path / "home", {"no_proxy": "*", "HTTPS_PROXY": "http://127.0.0.1:9"}) as process:
        yield process


def chat(hub: HubProcess, text: str) -> str:
    ran = hub.cli("chat", text)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def said(hub: HubProcess) -> list[str]:
    """What the assistant said in the main conversation, in order."""
    messages: list[dict[str, Any]] = hub.rpc("chat.history", {"sessionKey": "main"})["messages"]
    texts = (
        "".join(block.get("text", "") for block in message["content"])
        for message in messages
        if message["role"] == "assistant"
    )
    return [text for text in texts if text]


def wait_until_said(hub: HubProcess, text: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while text not in said(hub):
        assert time.monotonic() < deadline, f"{text!r} was never said"
        time.sleep(0.05)


def wait_until_taken_out(hub: HubProcess) -> None:
    deadline = time.monotonic() + LIMIT_S
    while scheduled(hub):
        assert time.monotonic() < deadline, "the reminder did not take itself out of the file"
        time.sleep(0.05)


def scheduled(hub: HubProcess) -> list[str]:
    """Return what is scheduled by the file, and beside it by the hub."""
    text = (hub.home / "automations.yaml").read_text(encoding="utf-8")
    known = hub.rpc("automation.list")["automations"]
    written = [line for line in text.splitlines() if line.strip() == 'made_by: "agent:main"']
    return written or [each["id"] for each in known if each["made_by"]]


def test_a_reminder_is_said_when_it_is_due_and_leaves_the_file_as_it_was(hub: HubProcess) -> None:
    before = (hub.home / "automations.yaml").read_text(encoding="utf-8")

    answer = chat(hub, "remind me in 1 second to take the cake out")
    wait_until_said(hub, "take the cake out")

    assert answer.startswith("I'll remind you today at ")
    wait_until_taken_out(hub)
    assert (hub.home / "automations.yaml").read_text(encoding="utf-8") == before
    assert chat(hub, "what reminders do I have?") == "No reminders or timers are set."


def test_a_reminder_that_was_due_while_the_power_was_out_is_said_once(hub: HubProcess) -> None:
    chat(hub, "remind me in 2 seconds to take the cake out")
    hub.kill()
    due = time.time() + 2.5
    while time.time() < due:
        time.sleep(0.1)

    hub.start()
    wait_until_said(hub, "take the cake out")
    wait_until_taken_out(hub)
    hub.stop()
    hub.start()

    assert said(hub).count("take the cake out") == 1


def test_a_timer_is_listed_and_cancelled(hub: HubProcess) -> None:
    chat(hub, "set a timer for 10 minutes")
    assert len(scheduled(hub)) == 1

    assert chat(hub, "list my timers").startswith("Reminders and timers:\n- The timer has ended.: ")
    assert chat(hub, "cancel the timer") == "Cancelled: The timer has ended."
    assert scheduled(hub) == []
