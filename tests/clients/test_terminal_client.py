"""OpenClaw's terminal client and command line, unchanged and installed by name, before a real hub, in long runs."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from tests.clients.npm import installed
from tests.clients.terminal import Terminal
from tests.e2e.homes import MODELS, make_home
from tests.gateway.rig import Client, Device, connect_params
from tests.lengths import LONG
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

pytestmark = pytest.mark.skipif(not LONG, reason="needs Node 24 and OpenClaw from npm; script/test --long tries it")
VERSION = "2026.9.6"
NODE_VERSION = "24.21.0"
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
COMMAND_LIMIT_S = 120
DOWN, ESCAPE = "\x1b[B", "\x1b"
JOB = {
    "name": "Tea",
    "schedule": {"kind": "every", "everyMs": 3_600_000},
    "sessionTarget": "isolated",
    "payload": {"kind": "agentTurn", "message": "say hi"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServerProcess]:
    with OpenAIServerProcess() as server:
        yield server


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    home = make_home(tmp_path_factory.mktemp("openclaw") / "home", MODELS.format(base_url=server.base_url))
    with HubProcess(home) as hub:
        yield hub
    assert "Traceback" not in hub.log.read_text()


@pytest.fixture(scope="module")
def openclaw(tmp_path_factory: pytest.TempPathFactory, hub: HubProcess) -> tuple[list[str], dict[str, str]]:
    """The program, and an environment in which the hub is its gateway."""
    node = installed(f"node-linux-{MACHINES[platform.machine()]}", NODE_VERSION) / "bin" / "node"
    state = tmp_path_factory.mktemp("state")
    auth = {"mode": "token", "token": hub.token}
    config = state / "openclaw.json"
    config.write_text(json.dumps({"gateway": {"mode": "local", "port": hub.port, "auth": auth}}))
    config.chmod(0o600)
    state.chmod(0o700)
    environment = {"HOME": str(state), "OPENCLAW_STATE_DIR": str(state), "NO_COLOR": "1"}
    environment["OPENCLAW_GATEWAY_PORT"] = str(hub.port)
    environment["PATH"] = f"{node.parent}:{os.environ['PATH']}"
    return [str(node), str(installed("openclaw", VERSION) / "openclaw.mjs")], environment


def test_the_terminal_client_chats_streams_stops_and_shows_sessions_and_models(
    openclaw: tuple[list[str], dict[str, str]], hub: HubProcess, server: OpenAIServerProcess
) -> None:
    program, environment = openclaw
    server.rule("slowly", [{"text": "One "}, {"hold": "one"}, {"text": "two."}])
    server.rule("stream", [{"text": "alpha "}, {"hold": "two"}, {"text": "beta."}])
    url = f"ws://127.0.0.1:{hub.port}"
    with Terminal([*program, "tui", "--url", url, "--token", hub.token, "--session", "trip"], environment) as tui:
        tui.expect("connected | idle")
        tui.line("tell me slowly")
        tui.expect("One")
        tui.type(ESCAPE)
        tui.expect("aborted")
        server.release("one")
        tui.line("now stream please")
        tui.expect("alpha")
        server.release("two")
        tui.expect("beta.")
        tui.line("/status")
        tui.expect("Running: 0")
        tui.line("/models")
        tui.expect("test/other")
        tui.type(DOWN)
        tui.expect("→")
        tui.type("\r")
        tui.expect("model set to test/other")
        tui.line("/sessions")
        tui.expect("tell me slowly")
        tui.type(ESCAPE)
        tui.quiet()
        tui.line("/new")
        tui.expect("new session: agent:main:tui-")
        tui.line("hello again")
        tui.expect("ok")

    rows = {each["key"]: each for each in hub.rpc("sessions.list")["sessions"]}
    assert rows["agent:main:trip"]["modelOverride"] == "test/other"
    assert any(key.startswith("agent:main:tui-") for key in rows)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("health", "Agents: main (default)"),
        ("status", "reachable"),
        ("logs --limit 5", "Log file"),
        ("cron add --name Kettle --every 1h --message hi --session isolated", '"name": "Kettle"'),
        ("cron list", "Tea"),
        ("cron runs {job}", '"entries"'),
        ("cron run {job}", '"ran": true'),
        ("models list", "test/scripted"),
        ("agent --agent main --message hello", "ok"),
        ("agent --session-id nightly --message hello", "ok"),
        ("devices list", "laptop"),
        ("devices approve {device}", "Approved"),
        ("approvals get --gateway", "security"),
        ("sessions", "Session"),
    ],
)
def test_the_command_line_answers_without_an_error(
    openclaw: tuple[list[str], dict[str, str]], hub: HubProcess, arguments: str, says: str
) -> None:
    program, environment = openclaw
    if "{device}" in arguments or arguments == "devices list":
        pending = hub.rpc("device.pair.list")["pending"]
        device = pending[0]["requestId"] if pending else asyncio.run(ask_for_admission(hub))
        arguments = arguments.replace("{device}", device)
    if "cron" in arguments:
        jobs = [each for each in hub.rpc("cron.list")["jobs"] if each["name"] == "Tea"]
        arguments = arguments.replace("{job}", (jobs[0] if jobs else hub.rpc("cron.add", JOB))["id"])

    command = [*program, *arguments.split()]
    done = subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, timeout=COMMAND_LIMIT_S
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert says in done.stdout + done.stderr


async def ask_for_admission(hub: HubProcess) -> str:
    """Let a device ask to be admitted, with a token that may do less than it wants; return the request."""
    token = hub.rpc("token.create", {"name": "laptop", "scopes": ["operator.read"]})["token"]
    device = Device()
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{hub.url}/") as ws,
    ):
        client = Client(ws)
        client.nonce = (await client.frame())["payload"]["nonce"]
        said: dict[str, Any] = {"id": "openclaw-macos", "version": "1", "platform": "macos", "mode": "ui"}
        params = connect_params(token=token, client=said | {"displayName": "laptop"}, scopes=["operator.write"])
        params["device"] = device.proof(params, client.nonce, int(time.time() * 1000))
        answer = await client.call("connect", params)
    return str(answer["error"]["details"]["requestId"])
