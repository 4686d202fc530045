from __future__ import annotations

import json
import random
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.databases import rows_of, storage_section
from tests.e2e.talk import until
from tests.faults.numbers_platform import NumbersPlatform
from tests.lengths import rounds
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

KILLS = rounds(2_000, 16)
CUSTOM = Path(__file__).parent / "custom_integrations"
ACCOUNTS = ("a", "b", "c", "d")
IDEMPOTENT = ("a", "b")
MODES = ("collect", "steer", "followup")
QUICK = "debounce_ms: 20, cap: 200}, inbound: {debounce_ms: 50"
SETTLE_LIMIT_S = 60.0

NOTICES_SENT = "SELECT id FROM outbox WHERE source = 'notice' AND state = 'sent'"

READS = {"tool_call": {"name": "ls", "arguments": {}}}
WRITES = {"tool_call": {"name": "write", "arguments": {"path": "note.txt", "content": "once"}}}


@pytest.fixture
def server() -> Iterator[OpenAIServerProcess]:
    with OpenAIServerProcess() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


@pytest.fixture
def hub(home: Path, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    configure(home, server)
    with HubProcess(home) as hub:
        yield hub


def configure(home: Path, server: OpenAIServerProcess, more: str = "") -> None:
    (home / "configuration.yaml").write_text(
        "models:\n  default: test/slow\n  providers:\n    test:\n      api: openai\n"
        f"      base_url: {server.base_url}\n      api_key: test-key-0123456789\n      models: [{{id: slow}}]\n{more}"
        f"storage: {json.dumps(storage_section(database(home)))}\n"  # JSON is YAML
    )


def database(home: Path) -> Path:
    return home / ".storage" / "hub.db"


def rows(hub: HubProcess, sql: str) -> list[Any]:
    return rows_of(database(hub.home), sql)


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
    assert storage_section(database(hub.home)) or rows(hub, "PRAGMA integrity_check") == [("ok",)]


def runs(hub: HubProcess) -> list[tuple[str, str]]:
    return rows(hub, "SELECT kind, state FROM runs")


def wait_until_settled(hub: HubProcess, run_id: str) -> dict[str, Any]:
    ended: dict[str, Any] = hub.rpc("agent.wait", {"runId": run_id, "timeoutMs": int(SETTLE_LIMIT_S * 1000)})
    assert ended["status"] != "timeout", hub.log.read_text()[-3000:]
    return ended


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_kills_while_four_channels_deliver_lose_nothing_and_do_nothing_twice(
    home: Path, server: OpenAIServerProcess
) -> None:
    chance = random.Random(20)
    script(server)
    said: list[str] = []
    with NumbersPlatform() as platform:
        numbers = f"numbers: {{port: {platform.port}}}\n"
        configure(home, server, numbers)
        shutil.copytree(CUSTOM / "numbers", home / "custom_integrations" / "numbers")
        hub = HubProcess(home)
        hub.start()
        for number in range(KILLS):
            for part in range(chance.randint(1, 3)):
                for account in ACCOUNTS:
                    said.append(f"<{account}{number}.{part}>")
                    kind = chance.choice(("", "", "reads", "writes"))
                    platform.say(account, said[-1], f"{said[-1]} {kind}")
                time.sleep(chance.uniform(0.0, 0.15))
            hub.kill()
            script(server)  # what was recorded of 2 000 rounds would fill 25 GB
            configure(home, server, numbers + f"messages: {{queue: {{mode: {MODES[number % 3]}, {QUICK}}}}}\n")
            hub.start()
        until(lambda: platform.waiting() == 0 and not unsettled(hub), 120)

        assert_sound(hub)
        assert platform.acknowledged == set(said)
        assert_one_turn_each(hub, said)
        assert_each_reply_was_sent(hub, platform)
        until(lambda: not untold(hub), 120)
        assert hub.stop() == 0


def script(server: OpenAIServerProcess) -> None:
    """Script the model from the beginning: answers with a tool or without."""
    server.reset()
    server.rule("reads", READS)
    server.rule("writes", WRITES)
    server.rule(".", [{"delay_s": 0.02}, {"echo": True}], tool_result=".")
    server.set_default([{"delay_s": 0.05}, {"echo": True}])


def unsettled(hub: HubProcess) -> list[Any]:
    """Messages without an answer, and answers that are not sent."""
    return [
        *rows(hub, "SELECT message_id FROM inbox WHERE state IN ('queued', 'received')"),
        *rows(hub, "SELECT id FROM outbox WHERE state IN ('queued', 'sending')"),
    ]


def assert_one_turn_each(hub: HubProcess, said: list[str]) -> None:
    """Each message was answered by one run that has ended, and no other run heard it."""
    found = rows(hub, "SELECT inbox.message_id, runs.id, runs.state FROM inbox JOIN runs ON runs.id = inbox.run_id")
    answered_by = {id: run_id for id, run_id, _ in found}
    assert sorted(id for id, *_ in found) == sorted(said)
    assert {state for *_, state in found} <= {"answered", "interrupted"}
    for account in ACCOUNTS:
        entries = transcript(hub, f"agent:main:numbers:direct:peer-{account}")
        heard = [
            (text_of(entry["message"]), entry["run_id"])
            for entry in entries
            if entry.get("type") == "message" and entry["message"]["role"] == "user"
        ]
        assert_every_call_has_its_result(entries)
        for each, run_id in answered_by.items():
            if each.startswith(f"<{account}"):
                # What steered a turn is heard again in its next attempt, beside the branch of the first.
                assert {turn for text, turn in heard if each in text} == {run_id}, each


def assert_each_reply_was_sent(hub: HubProcess, platform: NumbersPlatform) -> None:
    """Each run has a reply; one that was sent is there once, and only what is marked unknown may be missing."""
    replies = rows(
        hub, "SELECT id, account, state, run_id FROM outbox WHERE channel = 'numbers' AND source != 'notice'"
    )
    assert all(platform.sent[id] == 1 for (id,) in rows(hub, NOTICES_SENT))
    assert {run_id for *_, run_id in replies} == {
        run_id for (run_id,) in rows(hub, "SELECT DISTINCT run_id FROM inbox")
    }
    for id, account, state, _ in replies:
        times = platform.sent[id]
        if account in IDEMPOTENT:
            assert (state, times >= 1) == ("sent", True)
        else:
            assert times == 1 if state == "sent" else (state == "unknown" and times <= 1), (state, times)


def untold(hub: HubProcess) -> list[Any]:
    """Accounts where a reply is marked unknown, and no notice behind it was sent."""
    return rows(
        hub,
        "SELECT account FROM outbox AS lost WHERE channel = 'numbers' AND state = 'unknown' AND source != 'notice'"
        " AND NOT EXISTS (SELECT 1 FROM outbox WHERE source = 'notice' AND state = 'sent'"
        " AND account = lost.account AND created_ms >= lost.updated_ms)",
    )


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
    told = until(lambda: rows(hub, "SELECT text FROM outbox WHERE run_id = 'writes'"))
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
