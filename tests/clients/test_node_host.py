"""OpenClaw's node host and command line, unchanged, against a whole hub; gateway/test_nodes replays their frames."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Context
from hub.hub import Hub
from hub.security.hub_token import hub_token
from hub.storage.homedir import Home
from hub.tools.invoke import ToolCallRequest, invoke_tool
from tests.clients.npm import installed
from tests.gateway.rig import connected
from tests.gateway.test_nodes import House
from tests.lengths import LONG
from tests.until import until

OPENCLAW = "2026.9.6"
NODE = "24.21.0"
WAIT_S = 120.0

pytestmark = pytest.mark.skipif(not LONG, reason="starts programs of Node many times; script/test --long")


class OpenClaw:
    """Its programs, each with a state of its own."""

    def __init__(self, house: House, folder: Path) -> None:
        machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
        self.node = installed(f"node-linux-{machine}", NODE) / "bin" / "node"
        self.program = installed("openclaw", OPENCLAW) / "openclaw.mjs"
        self.house, self.folder = house, folder
        self.running: list[asyncio.subprocess.Process] = []

    async def start(self, name: str, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
        home = self.folder / name
        home.mkdir(exist_ok=True)
        variables = {
            "PATH": f"{self.node.parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "OPENCLAW_STATE_DIR": str(home / "state"),
            "NO_COLOR": "1",
            **environment,
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                str(self.node), str(self.program), *arguments, env=variables, cwd=home, stdout=log, stderr=log
            )
        self.running.append(process)
        return process

    async def host(self, token: str) -> asyncio.subprocess.Process:
        where = ("--host", "127.0.0.1", "--port", str(self.house.port), "--display-name", "RecNode")
        return await self.start("host", "node", "run", *where, OPENCLAW_GATEWAY_TOKEN=token)

    async def cli(self, *arguments: str) -> str:
        """Run a command of the command line with the hub token; return what it printed."""
        log = self.folder / "cli.log"
        before = log.stat().st_size if log.exists() else 0
        url = f"ws://127.0.0.1:{self.house.port}"
        process = await self.start("cli", *arguments, "--url", url, "--token", self.house.token)
        await asyncio.wait_for(process.wait(), WAIT_S)
        return log.read_bytes()[before:].decode()

    async def close(self) -> None:
        for process in self.running:
            if process.returncode is None:
                process.kill()
            await process.wait()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    home = Home(tmp_path / "home")
    home.create()
    home.configuration.write_text(
        "hub: {name: Test}\nmodels: {default: offline/rules}\nmemory: {embeddings: {provider: none}}\n"
    )
    hub = Hub(home, port=0)
    await hub.start()
    try:
        yield House(hub, hub_token(home).reveal())
    finally:
        await hub.stop()


@pytest.fixture
async def openclaw(house: House, tmp_path: Path) -> AsyncIterator[OpenClaw]:
    made = OpenClaw(house, tmp_path)
    yield made
    await made.close()


async def test_the_node_host_pairs_by_approval_is_described_and_runs_what_is_approved(
    house: House, openclaw: OpenClaw
) -> None:
    hub, devices = house.hub, house.gateway.devices
    assert devices is not None
    async with connected(house) as owner:
        made = await owner.call("token.create", {"name": "node", "scopes": ["operator.read"]})
    host = await openclaw.host(made["payload"]["token"])
    await until(lambda: len(devices.pending()) >= 1, WAIT_S)
    (request,) = devices.pending()
    approved = await openclaw.cli("devices", "approve", request.id)
    await until(lambda: len(devices.grants()) >= 1, WAIT_S)
    host.kill()
    await host.wait()
    await openclaw.host(made["payload"]["token"])
    await until(lambda: len(hub.nodes.all()) >= 1, WAIT_S)
    (record,) = hub.nodes.records.all()
    assert record.request is not None
    pending = await openclaw.cli("nodes", "pending")
    surface = await openclaw.cli("nodes", "approve", record.request.id)
    await until(lambda: "system.run" in hub.nodes.commands(record.id), WAIT_S)
    status = await openclaw.cli("nodes", "status", "--json")
    described = await openclaw.cli("nodes", "describe", "--node", "RecNode")
    renamed = await openclaw.cli("nodes", "rename", "--node", "RecNode", "--name", "Laptop")
    which = ("--command", "system.which", "--params", '{"bins":["ls"]}')
    invoked = await openclaw.cli("nodes", "invoke", "--node", "Laptop", *which)
    notified = await openclaw.cli("nodes", "notify", "--node", "Laptop", "--title", "Tea", "--body", "ready")
    ran = await _run(hub, "echo hello from afar")
    listed = await openclaw.cli("devices", "list")
    revoked = await openclaw.cli("devices", "revoke", "--device", record.id, "--role", "node")
    await until(lambda: hub.nodes.all() == [], WAIT_S)

    assert request.id in approved or "pproved" in approved, approved
    assert "RecNode" in pending
    assert "pproved" in surface or record.id in surface, surface
    assert '"connected": true' in status, status
    assert "system.which" in described
    assert "Laptop" in renamed
    assert "/ls" in invoked
    assert "command not allowed" in notified, "its Linux node host declares no system.notify"
    assert "hello from afar" in ran
    assert record.id[:12] in listed
    assert devices.grants() == [], revoked


async def test_a_setup_code_lets_the_node_host_in_with_its_commands(house: House, openclaw: OpenClaw) -> None:
    async with connected(house) as owner:
        url = f"ws://127.0.0.1:{house.port}"
        made = await owner.call("device.pair.setupCode", {"bootstrapProfile": "node", "publicUrl": url})
    await openclaw.start("host", "node", "run", "--pair", f"oc-pair://{made['payload']['setupCode']}")
    await until(lambda: len(house.hub.nodes.all()) >= 1, WAIT_S)
    (connected_node,) = house.hub.nodes.all()
    await until(lambda: "system.which" in house.hub.nodes.commands(connected_node.node.id), WAIT_S)

    answer = await house.hub.nodes.invoke(connected_node.node.id, "system.which", {"bins": ["ls"]})

    assert answer["bins"]["ls"].endswith("/ls")


async def _run(hub: Hub, command: str) -> str:
    """Have an agent of the owner run a command on the node, and approve it."""
    owner = Context(hub.people.owner_authority())
    arguments: dict[str, Any] = {"command": command, "host": "node"}
    request = ToolCallRequest("c1", "exec", arguments, owner, "main", "agent:main:main", "r1")
    task = asyncio.ensure_future(invoke_tool(hub.tools, request))
    await until(lambda: task.done() or len(hub.approvals.pending()) >= 1, WAIT_S)
    assert not task.done(), task.result().output
    (approval,) = hub.approvals.pending()
    assert approval.details["argv"][0].endswith("echo")
    await hub.approvals.resolve(approval.id, True, Context(owner.authority))
    return (await task).output
