"""The node program and a whole hub: paired by a setup code, approved, described, and asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError
from hub.hub import Hub
from hub.security.hub_token import hub_token
from hub.storage.homedir import Home
from node.cli import RunOptions, settled
from node.home import NodeHome
from tests.gateway.rig import Client, connected
from tests.gateway.test_nodes import House
from tests.node_program.conftest import running_node
from tests.node_program.gateway_double import GatewayDouble
from tests.until import until


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    home = Home(tmp_path / "home")
    home.create()
    home.configuration.write_text("hub: {name: Test}\nmodels: {default: offline/rules}\n")
    hub = Hub(home, port=0)
    await hub.start()
    try:
        yield House(hub, hub_token(home).reveal())
    finally:
        await hub.stop()


async def asked(owner: Client, method: str, **params: Any) -> Any:
    answer = await owner.call(method, params)
    assert answer["ok"], answer
    return answer["payload"]


async def test_it_is_paired_by_a_setup_code_and_runs_what_was_approved(house: House, tmp_path: Path) -> None:
    script = tmp_path / "hello.sh"
    script.write_text("echo hello from $1\n")
    address = house.url.replace("http", "ws")
    async with connected(house) as owner:
        code = await asked(owner, "device.pair.setupCode", bootstrapProfile="node", publicUrl=address)
        home = NodeHome(tmp_path / "node")
        settings, credential = settled(home, RunOptions(pair=f"oc-pair://{code['setupCode']}", name="Laptop"))
        home.keep(settings)
        async with running_node(home, GatewayDouble(), credential=credential) as node:
            await until(lambda: any("connected to" in line for line in node.said))
            (listed,) = (await asked(owner, "node.list"))["nodes"]
            id = listed["nodeId"]

            async def invoke(name: str, **params: Any) -> Any:
                key = f"{name} {params}"[:60]
                invoked = {"nodeId": id, "command": name, "params": params, "idempotencyKey": key}
                return await owner.call("node.invoke", invoked)

            which = await invoke("system.which", bins=["sh"])
            command = ["sh", str(script), "there"]
            refused = await invoke("system.run", command=command)
            plan = (await invoke("system.run.prepare", command=command))["payload"]["payload"]["plan"]
            bound = {"command": plan["argv"], "cwd": plan["cwd"], "approved": True, "systemRunPlan": plan}
            done = await house.hub.nodes.invoke(id, "system.run", bound, timeout_s=60)
            script.write_text("echo evil\n")
            with pytest.raises(HubError, match="systemRunPlan differs"):
                await house.hub.nodes.invoke(id, "system.run", bound, timeout_s=60)

    assert (listed["displayName"], listed["approvalState"]) == ("Laptop", "approved")
    assert "system.run" in listed["commands"]
    assert which["payload"]["payload"] == {"bins": {"sh": "/usr/bin/sh"}}
    assert refused["error"]["code"] == "UNAVAILABLE"
    assert "approval required" in str(refused["error"])
    assert done["stdout"] == "hello from there\n"
