from __future__ import annotations

import json
import random
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import rounds
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

ROUNDS = rounds(20, 5)
SETTLE_LIMIT_S = 20.0

SLOW_TEXT: list[dict[str, Any]] = [{"text": "I am thinking "}, {"delay_s": 0.15}, {"text": "about it."}]
READS = {"tool_call": {"name": "ls", "arguments": {}}}
WRITES = {"tool_call": {"name": "write", "arguments": {"path": "note.txt", "content": "once"}}}


@pytest.fixture
def server() -> Iterator[OpenAIServerProcess]:
    with OpenAIServerProcess() as server:
        yield server


@pytest.fixture
def hub(tmp_path: Path, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(
        "models:\n  default: test/slow\n  providers:\n    test:\n      api: openai\n"
        f"      base_url: {server.base_url}\n      api_key: test-key-0123456789\n      models: [{{id: slow}}]\n"
    )
    with HubProcess(home) as hub:
        yield hub


def transcript(hub: HubProcess, key: str = "main") -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = hub.rpc("sessions.transcript", {"key": key})["entries"]
    return entries


def messages(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry["message"] for entry in entries if entry.get("type") == "message"]


def text_of(message: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in message["content"])


def assert_every_call_has_its_result(entries: list[dict[str, Any]]) -> None:
    said = messages(entries)
    called = [block["id"] for message in said for block in message["content"] if block["type"] == "toolCall"]
    answered = [message["toolCallId"] for message in said if message["role"] == "toolResult"]
    assert sorted(called) == sorted(answered)


def assert_sound(hub: HubProcess) -> None:
    with sqlite3.connect(f"file:{hub.home / '.storage' / 'hub.db'}?mode=ro", uri=True) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def runs(hub: HubProcess) -> list[tuple[str, str]]:
    with sqlite3.connect(f"file:{hub.home / '.storage' / 'hub.db'}?mode=ro", uri=True) as connection:
        return connection.execute("SELECT kind, state FROM runs").fetchall()


def wait_until_settled(hub: HubProcess, run_id: str) -> dict[str, Any]:
    ended: dict[str, Any] = hub.rpc("agent.wait", {"runId": run_id, "timeoutMs": int(SETTLE_LIMIT_S * 1000)})
    assert ended["status"] != "timeout", hub.log.read_text()[-3000:]
    return ended


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_kills_in_the_middle_of_a_turn_lose_nothing(hub: HubProcess, server: OpenAIServerProcess) -> None:
    chance = random.Random(20)
    server.set_default({"text": "done"})
    sent: dict[str, str] = {}
    for number in range(ROUNDS):
        kind = ("text", "reads", "writes")[number % 3]
        server.reset()
        server.set_default({"text": "done"})
        if kind == "text":
            server.queue(SLOW_TEXT)
        else:
            server.queue(READS if kind == "reads" else WRITES, SLOW_TEXT)
        run_id, text = f"kill-{number}", f"message <{number}>"
        hub.rpc("chat.send", {"sessionKey": "main", "message": text, "idempotencyKey": run_id})
        sent[run_id] = text
        time.sleep(chance.uniform(0.0, 0.2))

        hub.kill()
        hub.start()

        wait_until_settled(hub, run_id)
        entries = transcript(hub)
        assert_every_call_has_its_result(entries)
        assert_sound(hub)

    said = [text_of(message) for message in messages(transcript(hub)) if message["role"] == "user"]
    for text in sent.values():
        assert sum(text in each for each in said) == 1, (text, said)


def test_a_killed_turn_that_changed_something_is_not_run_again_and_the_person_is_told(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.queue(WRITES, [{"hold": "never"}, {"text": "written"}])
    hub.rpc("chat.send", {"sessionKey": "main", "message": "write it down", "idempotencyKey": "writes"})
    until(lambda: len(server.requests()) == 2)

    hub.kill()
    server.reset()
    server.set_default({"text": "again"})
    hub.start()
    ended = wait_until_settled(hub, "writes")

    assert ended["status"] == "error"
    assert server.requests() == []
    assert_every_call_has_its_result(transcript(hub))
    with sqlite3.connect(f"file:{hub.home / '.storage' / 'hub.db'}?mode=ro", uri=True) as connection:
        told = connection.execute("SELECT text FROM outbox WHERE run_id = 'writes'").fetchall()
    assert len(told) == 1
    assert "restarted" in told[0][0]


def test_a_killed_turn_that_changed_nothing_is_run_again_and_answered_once(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.queue(READS, [{"hold": "never"}, {"text": "first"}])
    hub.rpc("chat.send", {"sessionKey": "main", "message": "look around", "idempotencyKey": "reads"})
    until(lambda: len(server.requests()) == 2)

    hub.kill()
    server.reset()
    server.set_default({"text": "second"})
    hub.start()
    ended = wait_until_settled(hub, "reads")

    assert ended["status"] == "ok"
    assert ended["reply"] == "second"
    said = messages(transcript(hub))
    assert [
        text_of(message) for message in said if message["role"] == "user" and "look around" in text_of(message)
    ] != []
    assert sum(message["role"] == "user" for message in said) == 1


def test_a_request_that_was_cut_off_is_interrupted_and_never_run_again(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.queue([{"hold": "never"}, {"text": "never"}])
    with begin_request(hub):
        until(lambda: len(server.requests()) == 1 and len(runs(hub)) == 1)
        hub.kill()
    server.reset()
    hub.start()

    assert runs(hub) == [("request", "interrupted")]
    assert_every_call_has_its_result(transcript(hub))
    assert server.requests() == []


def test_the_same_idempotency_key_acts_once_across_a_kill(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.set_default({"text": "once"})
    params = {"sessionKey": "main", "message": "do it", "idempotencyKey": "same"}
    first = hub.rpc("chat.send", params)
    wait_until_settled(hub, "same")

    hub.kill()
    hub.start()
    second = hub.rpc("chat.send", params)

    assert second["runId"] == first["runId"] == "same"
    assert len(server.requests()) == 1


def begin_request(hub: HubProcess) -> socket.socket:
    """Send a request to `/v1` and return the open connection without waiting for the answer."""
    body = json.dumps({"model": "homarus", "messages": [{"role": "user", "content": "hello"}]})
    connection = socket.create_connection(("127.0.0.1", hub.port))
    head = [
        "POST /v1/chat/completions HTTP/1.1",
        f"Host: 127.0.0.1:{hub.port}",
        f"Authorization: Bearer {hub.token}",
        "x-homarus-session: main",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    connection.sendall("\r\n".join([*head, "", body]).encode())
    return connection


def until(holds: Callable[[], bool], limit_s: float = SETTLE_LIMIT_S) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold in time"
        time.sleep(0.01)
