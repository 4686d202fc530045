"""What scripts and other people's programs rely on: shapes, exit codes and addresses that are fixed."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub import __version__
from tests.e2e.talk import ask, chat, connected, say
from tests.servers.forked import REPOSITORY, run
from tests.servers.hub_process import HubProcess


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(tmp_path_factory.mktemp("fixed") / "home") as hub:
        yield hub
    assert "Traceback" not in hub.log.read_text()


def homarus(*arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    environment = {name: value for name, value in os.environ.items() if name != "HOMARUS_CONFIG"}
    if home is not None:
        environment["HOMARUS_CONFIG"] = str(home)
    return run("hub", *arguments, environment=environment)


def installed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the console script as it is installed."""
    command = [str(Path(sys.executable).with_name("homarus")), *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)


def get(hub: HubProcess, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=20)
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_the_token_alone_is_printed_whether_or_not_the_hub_runs(hub: HubProcess, tmp_path: Path) -> None:
    running = installed("token", "--config", str(hub.home))
    first = homarus("token", "--config", str(tmp_path / "new"))
    again = homarus("token", home=tmp_path / "new")

    assert running.stdout == hub.token + "\n"
    assert (running.returncode, running.stderr) == (0, "")
    assert len(first.stdout.split()) == 1
    assert again.stdout == first.stdout
    assert (tmp_path / "new" / ".storage" / "hub_token").stat().st_mode & 0o777 == 0o600


def test_a_check_tells_in_json_what_is_wrong_and_where(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text("hub:\n  name: Home\nbindings: !include more/bindings.yaml\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "bindings.yaml").write_text("- agent: main\n  match: {chanel: webchat}\n")

    ran = homarus("check", "--config", str(tmp_path), "--json")
    told = json.loads(ran.stdout)

    assert ran.returncode == 3
    assert set(told) == {"valid", "errors", "warnings"}
    assert told["valid"] is False
    assert [set(error) for error in told["errors"]] == [{"file", "line", "column", "path", "message", "hint"}]
    error = told["errors"][0]
    assert (error["file"], error["line"], error["column"]) == ("more/bindings.yaml", 2, 11)
    assert error["path"] == "bindings[0].match.chanel"
    assert "channel" in error["hint"]


def test_a_check_of_what_is_valid_exits_0(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text("hub:\n  name: Home\n")

    ran = homarus("check", "--config", str(tmp_path), "--json")

    assert ran.returncode == 0
    assert json.loads(ran.stdout) == {"valid": True, "errors": [], "warnings": []}


def test_a_chat_answers_in_json(hub: HubProcess) -> None:
    ran = homarus("chat", "what", "is", "6 * 7?", "--config", str(hub.home), "--session", "shape", "--json")
    answer = json.loads(ran.stdout)

    assert ran.returncode == 0
    assert set(answer) == {"reply", "run_id", "session_key", "usage"}
    assert "42" in answer["reply"]
    assert answer["session_key"].startswith("agent:main:")
    assert {"input_tokens", "output_tokens", "total_tokens"} <= set(answer["usage"])
    assert ask(hub, "what is 6 * 7?", session=answer["session_key"])["sessionKey"] == answer["session_key"]


def test_a_chat_of_a_named_agent_and_of_none_that_is_there(hub: HubProcess) -> None:
    assert chat(hub, "help", "--agent", "main")["session_key"] == "agent:main:main"

    ran = homarus("chat", "hello", "--agent", "nobody", "--config", str(hub.home), "--json")

    assert ran.returncode == 1
    assert "nobody" in json.loads(ran.stdout)["error"]["message"]


def test_without_a_hub_a_chat_says_how_to_start_one_and_exits_4(tmp_path: Path) -> None:
    ran = homarus("chat", "hello", "--config", str(tmp_path))

    assert ran.returncode == 4
    assert "homarus start" in ran.stderr


def test_a_home_whose_hub_was_killed_is_one_without_a_hub(tmp_path: Path, hub: HubProcess) -> None:
    storage = tmp_path / "home" / ".storage"
    storage.mkdir(parents=True, mode=0o700)
    shutil.copy(hub.home / ".storage" / "hub.lock", storage / "hub.lock")

    ran = homarus("status", "--config", str(tmp_path / "home"))

    assert ran.returncode == 4


def test_a_call_prints_the_payload(hub: HubProcess) -> None:
    ran = homarus("call", "chat.history", "--params", '{"sessionKey": "main", "limit": 1}', home=hub.home)

    assert ran.returncode == 0
    assert set(json.loads(ran.stdout)) >= {"sessionKey", "sessionId", "messages"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["call", "no.such.method"], 2),
        (["call", "chat.history", "--params", '{"limit": "many"}'], 2),
        (["sessions", "show", "nothing-here"], 1),
        (["config", "set", "http.port", "many"], 3),
        (["levitate"], 2),
        (["status", "--json"], 0),
    ],
)
def test_exit_codes_say_what_kind_of_failure_it_was(hub: HubProcess, arguments: list[str], code: int) -> None:
    ran = homarus(*arguments, home=hub.home)

    assert ran.returncode == code, ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_token_that_is_not_the_hubs_exits_5(hub: HubProcess) -> None:
    token = hub.home / ".storage" / "hub_token"
    socket = hub.home / ".storage" / "run" / "hub.sock"
    socket.rename(socket.with_name("away"))
    right = token.read_text()
    token.write_text("A" * len(right.strip()[:-4]) + "BCde" + "\n")
    try:
        ran = homarus("status", home=hub.home)
    finally:
        token.write_text(right)
        socket.with_name("away").rename(socket)

    assert ran.returncode in (1, 5), ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_status_has_what_scripts_look_for(hub: HubProcess) -> None:
    status = json.loads(homarus("status", "--json", home=hub.home).stdout)

    assert {"version", "uptime_s", "state", "integrations", "agents", "models"} <= set(status)
    assert (status["version"], status["state"]) == (__version__, "running")
    assert status["uptime_s"] > 0
    assert {"webchat", "files", "notes", "offline"} <= {each["domain"] for each in status["integrations"]}
    assert [agent["id"] for agent in status["agents"]] == ["main"]
    assert status["models"]["default"] == "offline/homarus"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_told_to_anybody_and_nothing_else(hub: HubProcess, path: str) -> None:
    status, body = get(hub, path)

    assert status == 200
    assert set(json.loads(body)) == {"status"}


def test_the_transcript_is_printed_as_it_is_stored(hub: HubProcess) -> None:
    chat(hub, "what is 1 + 1?", "--session", "stored")
    ran = homarus("sessions", "show", "stored", "--json", home=hub.home)
    entries = json.loads(ran.stdout)
    named = hub.rpc("sessions.transcript", {"key": "stored"})["file"]

    lines = [json.loads(line) for line in Path(named).read_text().splitlines()]
    assert [line for line in lines if line["type"] != "header"] == entries
    assert [entry["message"]["role"] for entry in entries] == ["user", "assistant"]
    assert {"id", "parent_id", "type", "ts_ms", "run_id", "message"} <= set(entries[0])
    assert named in ran.stderr


def test_the_sessions_are_listed(hub: HubProcess) -> None:
    chat(hub, "what is 1 + 1?", "--session", "listed")

    listed = json.loads(homarus("sessions", "list", "--json", home=hub.home).stdout)

    assert any("listed" in each["key"] for each in listed)


def test_the_version_is_told(hub: HubProcess) -> None:
    assert installed("--version").stdout.strip() == f"homarus {__version__}"


async def test_a_websocket_offers_the_methods_of_the_protocol_and_answers_once(hub: HubProcess) -> None:
    promised = {
        "health", "status", "agent", "agent.wait", "chat.send", "chat.history", "chat.abort", "chat.inject",
        "sessions.list", "sessions.get", "sessions.reset", "sessions.delete", "sessions.patch", "sessions.abort",
        "models.list", "agents.list", "tools.catalog", "config.get", "config.schema", "config.set", "logs.tail",
        "system-presence",
    }  # fmt: skip
    async with connected(hub) as client:
        for method in sorted(promised - {"agent", "agent.wait"} - {name for name in promised if "." in name}):
            assert (await client.call(method, {}))["ok"], method
        asked = {"message": "what is 2 + 2?", "idempotencyKey": "a1", "sessionKey": "agent:main:once"}
        id = await client.send("agent", asked)
        accepted, ended = await client.answer(id), await client.answer(id)
        again = await client.call("agent", asked)
        other = await client.call("agent", asked | {"message": "what is 3 + 3?"})
        unknown = await client.call("levitate", {})
        spoken = await say(client, "what is 5 + 5?", "c1", "ws")
    table: Any = hub.rpc("status")

    assert accepted["payload"]["status"] == "accepted"
    assert accepted["payload"]["runId"] == "a1"
    assert ended["payload"]["status"] == "ok"
    assert "4" in ended["payload"]["result"]["payloads"][0]["text"]
    assert again["payload"]["runId"] == "a1"
    assert other["error"]["code"] == "INVALID_REQUEST"
    assert unknown["error"]["message"] == "unknown method: levitate"
    assert "10" in spoken
    assert table["connections"] >= 0


@pytest.mark.parametrize("text", ["", "   \n"])
def test_a_message_that_says_nothing_is_refused(hub: HubProcess, text: str) -> None:
    params = {"sessionKey": "main", "message": text, "idempotencyKey": f"empty-{len(text)}"}

    status, answer = hub.post("/api/rpc", {"method": "chat.send", "params": params})

    assert status == 400
    assert answer["error"]["code"] == "INVALID_REQUEST"


def test_two_clients_with_the_same_key_hear_of_it(hub: HubProcess) -> None:
    made = json.loads(
        homarus("token", "create", "--name", "phone", "--scopes", "operator.write", "--json", home=hub.home).stdout
    )
    params = {"sessionKey": "main", "message": "what is 1 + 2?", "idempotencyKey": "1"}

    first = hub.rpc("chat.send", params)
    status, answer = hub.post(
        "/api/rpc", {"method": "chat.send", "params": params}, headers={"Authorization": f"Bearer {made['token']}"}
    )

    assert first["runId"] == "1"
    assert (status, answer["error"]["code"]) == (409, "CONFLICT")
    assert "another key" in answer["error"]["message"]


def test_a_token_sees_what_its_scopes_allow_and_nothing_when_it_is_revoked(hub: HubProcess) -> None:
    made = json.loads(
        homarus("token", "create", "--name", "reader", "--scopes", "operator.read", "--json", home=hub.home).stdout
    )
    headers = {"Authorization": f"Bearer {made['token']}"}
    send = {"method": "chat.send", "params": {"sessionKey": "main", "message": "hi", "idempotencyKey": "r"}}

    may = hub.post("/api/rpc", {"method": "status"}, headers=headers)[0]
    may_not = hub.post("/api/rpc", send, headers=headers)
    homarus("token", "revoke", made["id"], home=hub.home)
    revoked = hub.post("/api/rpc", {"method": "status"}, headers=headers)[0]

    assert (may, may_not[0], revoked) == (200, 403, 401)
    assert "operator.write" in may_not[1]["error"]["message"]
