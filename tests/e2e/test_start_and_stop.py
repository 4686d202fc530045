"""Starting and stopping: one hub for a home, a stop that is clean whatever goes on, and starts that cannot be."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.homes import BY_WORD, MODELS, add_integration, make_home
from tests.e2e.talk import chat, connected, integration, messages_of, query, say, until
from tests.servers.forked import run
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

MULE = """
import asyncio
from pathlib import Path
from hub.core.schema import Schema
from hub.tools.contract import Annotations, Tool
from hub.tools.parameters import from_schema

async def setup(host, config):
    async def stubborn(call):
        (Path(str(host.home)) / "kicked").touch()
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass
    tool = Tool("stubborn", "Stays.", from_schema(Schema({})), stubborn, "home", Annotations(open_world=False))
    host.tools.add(tool)
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("life") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(
        "models:\n  default: test/scripted\n  providers:\n    test:\n      api: openai\n"
        f"      base_url: {server.base_url}\n      api_key: test-key-0123456789\n      models: [{{id: scripted}}]\n"
        f"memory: {{{BY_WORD}}}\n"
    )
    with HubProcess(home) as hub:
        yield hub


@pytest.fixture(autouse=True)
def nothing_scripted(server: OpenAIServerProcess) -> None:
    server.reset()


def start(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Start a hub that is expected to end by itself."""
    return run("hub", "start", "--config", str(home), "--port", "0", *arguments, timeout_s=30)


def test_a_second_hub_refuses_and_names_the_first(hub: HubProcess) -> None:
    ran = start(hub.home)

    assert ran.returncode == 1
    assert str(hub.pid) in ran.stderr
    assert str(hub.port) in ran.stderr
    assert "Traceback" not in ran.stderr
    assert hub.rpc("health")["ok"]


async def test_it_stops_cleanly_with_open_sockets_which_hear_of_it(hub: HubProcess) -> None:
    async with connected(hub) as one, connected(hub, scopes=["operator.read"]) as two:
        code = await asyncio.to_thread(hub.stop)

        for client in (one, two):
            assert (await client.event("shutdown"))["payload"] is not None
    hub.start()

    assert code == 0


async def test_a_stop_in_the_middle_of_a_run_is_clean_and_the_answer_comes_after_the_start(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.queue([{"text": "I was about to "}, {"hold": "never"}])
    server.set_default("say it again")
    async with connected(hub) as client:
        sent = {"sessionKey": "main", "message": "tell me", "idempotencyKey": "cut"}
        assert (await client.call("chat.send", sent))["ok"]
        await asyncio.to_thread(until, lambda: len(server.requests()) == 1)
        code = await asyncio.to_thread(hub.stop)
    hub.start()
    ended = hub.rpc("agent.wait", {"runId": "cut", "timeoutMs": 60_000})

    assert code == 0
    assert (ended["status"], ended["reply"]) == ("ok", "say it again")
    users = [message for message in messages_of(hub) if message["role"] == "user"]
    assert sum("tell me" in json.dumps(message) for message in users) == 1
    assert "Traceback" not in hub.log.read_text()


def test_a_stop_while_many_runs_go_on_and_a_request_streams_is_clean(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.set_default([{"text": "slowly"}, {"hold": "never"}])
    for number in range(5):
        params = {"sessionKey": f"many-{number}", "message": "hello", "idempotencyKey": f"many-{number}"}
        hub.rpc("chat.send", params)
    body = json.dumps({"model": "homarus", "stream": True, "messages": [{"role": "user", "content": "hello"}]})
    with socket.create_connection(("127.0.0.1", hub.port)) as connection:
        connection.sendall(
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n"
            f"Authorization: Bearer {hub.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        until(lambda: len(server.requests()) == 6)
        code = hub.stop()
    server.reset()
    hub.start()
    ended = [hub.rpc("agent.wait", {"runId": f"many-{number}", "timeoutMs": 60_000}) for number in range(5)]

    assert code == 0
    assert [each["status"] for each in ended] == ["ok"] * 5
    assert query(hub, "SELECT DISTINCT state FROM runs WHERE kind = 'request'") == [("aborted",)]


async def test_a_stop_right_after_the_start_is_clean(hub: HubProcess) -> None:
    hub.stop()
    hub.start(wait=False)
    until(lambda: "pid" in read_lock(hub) and read_lock(hub)["pid"] == hub.pid)

    code = hub.stop()
    hub.start()

    assert code in (0, -signal.SIGTERM)
    async with connected(hub) as client:
        assert await say(client, "are you there?", "there") == "ok"


def test_what_ignores_being_told_to_stop_does_not_keep_the_hub_from_it(
    tmp_path: Path, server: OpenAIServerProcess
) -> None:
    home = make_home(tmp_path / "home", "mule:\n" + MODELS.format(base_url=server.base_url))
    add_integration(home, "mule", MULE)
    server.queue({"tool_call": {"name": "stubborn", "arguments": {}}})
    with HubProcess(home) as hub:
        hub.rpc("chat.send", {"sessionKey": "main", "message": "go", "idempotencyKey": "go"})
        until((home / "kicked").exists)
        code = hub.stop()

    assert code == 0
    assert "does not stop" in hub.log.read_text()


def test_ctrl_c_stops_it_as_well(hub: HubProcess) -> None:
    code = hub._end(signal.SIGINT)
    hub.start()

    assert code == 0


def test_a_port_that_is_taken_is_told_and_exits(hub: HubProcess, tmp_path: Path) -> None:
    ran = start(tmp_path / "other", "--port", str(hub.port))

    assert ran.returncode == 1
    assert str(hub.port) in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_wide_bind_without_auth_refuses_to_start_and_says_what_to_set(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text("http:\n  host: 127.0.0.1\n  auth: {mode: none}\n")

    ran = start(home, "--host", "0.0.0.0")

    assert ran.returncode in (1, 3)
    assert "auth" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_home_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("I am a file")

    ran = start(tmp_path / "file")

    assert ran.returncode == 1
    assert str(tmp_path / "file") in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_database_of_a_newer_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    storage = tmp_path / "home" / ".storage"
    storage.mkdir(parents=True, mode=0o700)
    with sqlite3.connect(storage / "hub.db") as connection:
        connection.execute("CREATE TABLE letters(text TEXT)")
        connection.execute("INSERT INTO letters VALUES ('keep me')")
        connection.execute("PRAGMA user_version = 9000")

    ran = start(tmp_path / "home")

    assert ran.returncode == 1
    assert "hub.db" in ran.stderr
    assert "Traceback" not in ran.stderr
    with sqlite3.connect(storage / "hub.db") as connection:
        assert connection.execute("SELECT text FROM letters").fetchall() == [("keep me",)]


def test_a_damaged_database_is_set_aside_and_the_hub_says_so(tmp_path: Path) -> None:
    storage = tmp_path / "home" / ".storage"
    storage.mkdir(parents=True, mode=0o700)
    (storage / "hub.db").write_bytes(b"SQLite format 3\x00" + b"rubbish" * 2000)
    (storage / "history.db").mkdir()  # history can be done without

    with HubProcess(tmp_path / "home") as hub:
        titles = [repair["title"] for repair in hub.rpc("status")["repairs"]]

    assert any("database" in title for title in titles)
    assert "No history is recorded" in titles
    assert [path.name for path in storage.glob("hub.db.damaged-*")] != []


def read_lock(hub: HubProcess) -> dict[str, object]:
    try:
        found: dict[str, object] = json.loads((hub.home / ".storage" / "hub.lock").read_text())
    except (OSError, ValueError):
        return {}
    return found


def test_an_integration_that_never_gets_ready_keeps_neither_the_start_nor_the_stop(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", "stuck: {}\n")
    stuck = "import asyncio\n\n\nasync def setup(host, config):\n    await asyncio.sleep(3600)\n"
    add_integration(home, "stuck", stuck)
    hub = HubProcess(home)

    hub.start()
    answer = chat(hub, "what is 6 * 7?")
    state = integration(hub, "stuck")["state"]
    code = hub.stop()

    assert "42" in answer["reply"]
    assert state == "unloaded"
    assert code == 0
    assert "still being set up: stuck" in hub.log.read_text()
