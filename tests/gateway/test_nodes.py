"""Nodes over the WebSocket, frame by frame as OpenClaw's node host and apps send them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.core.context import Context
from hub.gateway.access.auth import CallClient
from hub.hub import Hub
from hub.messaging.commands.registry import CommandCall
from hub.messaging.contract import Address, InboundMessage
from hub.security.hub_token import hub_token
from hub.storage.homedir import Home
from tests.gateway.rig import Client, Device, Rig, client_of, connected
from tests.nodes.making import admit
from tests.until import until

NODE_HOST: dict[str, Any] = {
    "client": {
        "id": "node-host",
        "displayName": "RecNode",
        "version": "2026.9.6",
        "platform": "linux",
        "deviceFamily": "Linux",
        "mode": "node",
        "instanceId": "2d86d6a1-a72c-4ab8-805d-2a044f555b21",
    },
    "caps": ["browser", "file", "local-inference", "mcp", "system"],
    "commands": ["dir.list", "mcp.tools.call.v1", "system.run", "system.run.prepare", "system.which"],
    "pathEnv": "/usr/bin:/bin",
    "role": "node",
    "scopes": [],
}
AUTOMATIONS = """automation:
- alias: Door
  triggers: [{trigger: node, on: event, event: door.opened}]
  actions:
    - action: node.notify
      data:
        node: "{{ trigger.node.node_id }}"
        message: the {{ trigger.node.data.door }} door of {{ trigger.node.name }}
    - action: node.invoke
      data: {node: "{{ trigger.node.node_id }}", command: system.which, params: {bins: [ls]}}
"""
STATS = {"cpuCount": 2, "loadAverage": [4.33, 3.06, 2.02], "memoryTotalBytes": 2**34, "memoryFreeBytes": 2**33}


class House(Rig):
    """A whole hub, as the clients of these tests see it."""

    def __init__(self, hub: Hub, token: str) -> None:
        self.hub, self.gateway, self.token = hub, hub.gateway, token

    async def configure(self, text: str) -> None:
        self.hub.home.configuration.write_text(text)
        await self.hub.apply(await self.hub.config.reload())


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    home = Home(tmp_path / "home")
    home.create()
    home.configuration.write_text(
        "hub: {name: Test}\nmodels: {default: offline/rules}\nmemory: {embeddings: {provider: none}}\n"
        "nodes: {commands: {allow: [camera.snap], deny: [fs.*]}}\n"
    )
    hub = Hub(home, port=0)
    await hub.start()
    try:
        yield House(hub, hub_token(home).reveal())
    finally:
        await hub.stop()


@asynccontextmanager
async def node_of(house: House, device: Device, **changes: Any) -> AsyncIterator[Client]:
    async with client_of(house) as node:
        hello = await node.connect(device, **({"token": house.token} | NODE_HOST | changes))
        assert hello["ok"], hello
        await until(lambda: house.hub.nodes.get(device.id) is not None)
        yield node


async def test_a_node_host_is_approved_described_and_asked(house: House) -> None:
    device = Device()
    async with node_of(house, device) as node, connected(house) as owner:
        early = await node.call("node.event", {"event": "node.host.stats", "payloadJSON": orjson.dumps(STATS).decode()})
        offered = [
            await node.call("node.runnerInventory.update", {"protocolFeatures": [], "workerHost": {"enabled": False}}),
            await node.call("node.skills.update", {"skills": []}),
            await node.call("node.pluginTools.update", {"tools": []}),
        ]
        before = (await owner.call("node.list"))["payload"]["nodes"][0]
        (request,) = (await owner.call("node.pair.list"))["payload"]["pending"]
        approved = await owner.call("node.pair.approve", {"requestId": request["requestId"]})
        resolved = await owner.event("node.pair.resolved")
        described = (await owner.call("node.describe", {"nodeId": device.id}))["payload"]
        asked = await owner.send(
            "node.invoke",
            {"nodeId": device.id, "command": "system.which", "params": {"bins": ["ls"]}, "idempotencyKey": "inv1"},
        )
        invoked = (await node.event("node.invoke.request"))["payload"]
        result = {"id": invoked["id"], "nodeId": device.id, "ok": True, "payloadJSON": '{"bins":{"ls":"/usr/bin/ls"}}'}
        taken = await node.call("node.invoke.result", result)
        late = await node.call("node.invoke.result", result)
        answer = (await owner.answer(asked))["payload"]
        await node.call("node.event", {"event": "node.host.stats", "payloadJSON": orjson.dumps(STATS).decode()})
        stats = (await owner.event("node.hostStats"))["payload"]
        seen = house.hub.states.get("sensor.recnode_memory_free")
    await until(lambda: _state(house, "sensor.recnode_memory_free") == "unavailable")
    assert _state(house, "sensor.recnode_load") == "unavailable"

    assert early["error"]["details"] == {"code": "PAIRING_CHANGED"}
    assert [each["payload"]["nodeId"] for each in offered] == [device.id] * 3
    assert (before["approvalState"], before["commands"], before["caps"]) == ("pending-approval", [], [])
    allowed = ["mcp.tools.call.v1", "system.run", "system.run.prepare", "system.which"]
    assert before["pendingDeclaredCommands"] == request["commands"] == allowed
    assert request["requiredApproveScopes"] == ["operator.pairing", "operator.write", "operator.admin"]
    assert approved["payload"]["node"]["commands"] == allowed
    assert resolved["payload"]["decision"] == "approved"
    assert (described["approvalState"], described["commands"], described["version"]) == (
        "approved",
        allowed,
        "2026.9.6",
    )
    assert invoked == {
        "id": invoked["id"],
        "nodeId": device.id,
        "command": "system.which",
        "paramsJSON": '{"bins":["ls"]}',
        "timeoutMs": 30000,
        "idempotencyKey": "inv1",
    }
    assert (taken["payload"], late["payload"]) == ({"ok": True}, {"ok": True, "ignored": True})
    assert (answer["payload"], answer["payloadJSON"]) == ({"bins": {"ls": "/usr/bin/ls"}}, result["payloadJSON"])
    assert stats["hostStats"]["loadAverage"] == STATS["loadAverage"]
    assert seen is not None
    assert (seen.state, seen.attributes["unit_of_measurement"]) == ("8.00", "GiB")
    assert not house.hub.entities.is_exposed("sensor.recnode_memory_free")


@pytest.mark.parametrize(
    ("report", "told"),
    [
        ({"lat": 52.5, "lon": 13.4, "accuracyMeters": 9, "battery": 80}, (52.5, 9, 80)),
        ({"battery": 80}, None),
        ({"lat": "52.5", "lon": 13.4}, "invalid_payload"),
        ({"lat": True, "lon": 13.4}, "invalid_payload"),
        ({"lat": 52.5}, "invalid_payload"),
        ([], "invalid_payload"),
    ],
)
async def test_a_phone_reports_where_it_is_and_its_battery(house: House, report: Any, told: Any) -> None:
    device = Device()
    async with node_of(house, device) as node:
        admit(house.hub.nodes, device.id)
        answer = await node.call("node.event", {"event": "node.report", "payload": report})

    tracker = house.hub.states.get("device_tracker.recnode")
    place = tracker and tuple(tracker.attributes.get(each) for each in ("latitude", "gps_accuracy", "battery_level"))
    reason = answer["payload"]["reason"]
    assert (reason if reason == "invalid_payload" else place) == told


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ({"tagId": "hall"}, "hall"),
        ({"tagId": ""}, None),
        ({"tagId": 7}, None),
        ({"tagId": "x" * 256}, None),
        ([], None),
    ],
)
async def test_a_phone_tells_of_a_tag_as_the_device_that_it_is(house: House, said: Any, heard: str | None) -> None:
    device, events = Device(), list[Any]()
    house.hub.bus.listen("tag_scanned", events.append)
    async with node_of(house, device) as node:
        early = await node.call("node.event", {"event": "tag.scanned", "payload": said})
        admit(house.hub.nodes, device.id)
        answer = await node.call("node.event", {"event": "tag.scanned", "payload": said})

    (entry,) = house.hub.entities.registry.devices.values()
    assert "payload" not in early
    assert answer["payload"]["handled"] is (heard is not None)
    assert [each.data for each in events] == ([{"tag_id": heard, "device_id": entry.id}] if heard else [])
    assert all(each.context.authority.principal == f"device:{device.id}" for each in events)


async def test_a_node_that_is_removed_takes_its_sensors_along(house: House) -> None:
    device = Device()
    async with node_of(house, device) as node, connected(house) as owner:
        admit(house.hub.nodes, device.id)
        await node.call("node.event", {"event": "node.host.stats", "payload": STATS})
        (entry,) = house.hub.entities.registry.devices.values()
        bad = await node.call("node.event", {"event": "node.host.stats", "payload": {"cpuCount": "two"}})
        await owner.call("node.pair.remove", {"nodeId": device.id})

    assert (entry.name, entry.model, entry.sw_version) == ("RecNode", "Linux", "2026.9.6")
    assert bad["payload"]["reason"] == "invalid_payload"
    assert not house.hub.entities.registry.devices
    assert not [each for each in house.hub.entities.registry.entities.values() if each.source == "nodes"]
    assert house.hub.states.get("sensor.recnode_load") is None


async def test_the_rules_of_a_node_are_read_and_set_through_the_hub(house: House) -> None:
    device, rules = Device(), {"version": 1, "defaults": {}, "agents": {}}
    commands = ["system.execApprovals.get", "system.execApprovals.set"]

    async def asked(method: str, **params: Any) -> tuple[Any, Any]:
        waiting = await owner.send(method, {"nodeId": device.id, **params})
        command = method.replace("exec.approvals.node", "system.execApprovals")
        request = (await node.event("node.invoke.request", lambda each: each["command"] == command))["payload"]
        payload = orjson.dumps({"path": "rules", "exists": True, "hash": "h", "file": rules}).decode()
        result = {"id": request["id"], "nodeId": device.id, "ok": True, "payloadJSON": payload}
        await node.call("node.invoke.result", result)
        return request, (await owner.answer(waiting))["payload"]

    async with node_of(house, device, commands=commands) as node, connected(house) as owner:
        admit(house.hub.nodes, device.id)
        got, snapshot = await asked("exec.approvals.node.get")
        put, _ = await asked("exec.approvals.node.set", file=rules, baseHash="h")

    assert (got["command"], put["command"]) == tuple(commands)
    assert snapshot["file"] == rules
    assert orjson.loads(put["paramsJSON"]) == {"file": rules, "baseHash": "h"}


async def test_nodes_are_let_in_without_asking_only_where_the_configuration_says_so(house: House) -> None:
    _, secret = await _token(house, "operator.read")
    written = house.hub.home.configuration.read_text()

    async def connecting(rules: str, credential: str = secret) -> Any:
        await house.configure(written.replace("nodes: {", f"nodes: {{auto_approve: {rules}, "))
        async with client_of(house) as node:
            return await node.connect(Device(), **NODE_HOST, token=credential)

    off = await connecting("{}")
    elsewhere = await connecting("{networks: [192.168.7.0/24]}")
    here = await connecting("{local: true}")
    nobody = await connecting("{local: true}", "wrong")
    async with client_of(house) as operator:
        person = await operator.connect(Device(), token=secret, scopes=["operator.write"])

    assert [each["ok"] for each in (off, elsewhere, here, nobody)] == [False, False, True, False]
    assert off["error"]["code"] == person["error"]["code"] == "NOT_PAIRED"
    (known,) = await until(house.hub.nodes.records.all)
    assert known.approval == "pending-approval"


async def test_a_network_that_is_let_in_has_its_own_addresses_alone(house: House) -> None:
    rules = "auto_approve: {networks: [192.168.7.0/24, '2001:db8::/64']}"
    await house.configure(house.hub.home.configuration.read_text().replace("nodes: {", f"nodes: {{{rules}, "))
    addresses = ("192.168.7.9", "2001:db8::1", "192.168.8.9", "2001:db8:1::1")
    clients = [CallClient(each, False, None, False, False, "http", False) for each in addresses]

    assert [house.gateway.handshake.lets_nodes_in(each) for each in clients] == [True, True, False, False]


async def test_an_automation_runs_when_a_node_reports_something(house: House) -> None:
    device = Device()
    await house.configure(house.hub.home.configuration.read_text() + AUTOMATIONS)
    failed = asyncio.get_running_loop().create_future()
    house.hub.bus.listen("automation_finished", lambda event: failed.set_result(event.data))
    async with node_of(house, device, commands=["system.notify", "system.which"]) as node:
        admit(house.hub.nodes, device.id)
        await node.call("node.event", {"event": "door.closed", "payload": {"door": "back"}})
        await node.call("node.event", {"event": "door.opened", "payload": {"door": "front"}})
        request = (await node.event("node.invoke.request"))["payload"]
        await node.call("node.invoke.result", {"id": request["id"], "nodeId": device.id, "ok": True})

    assert request["command"] == "system.notify"
    assert orjson.loads(request["paramsJSON"])["body"] == "the front door of RecNode"
    assert "only an owner may ask a node for system.which" in str(await failed)


async def test_a_node_may_ask_for_the_health_of_the_hub_and_no_more(house: House) -> None:
    async with client_of(house) as node:
        hello = await node.connect(Device(), **NODE_HOST, token=house.token)
        health = await node.call("health", {})
        status = await node.call("status", {})

    assert "health" in hello["payload"]["features"]["methods"]
    assert health["payload"]["ok"]
    assert "agents" not in health["payload"]
    assert status["error"]["code"] == "FORBIDDEN"


async def test_what_a_node_may_not_be_asked_is_refused_in_the_words_of_the_protocol(house: House) -> None:
    device = Device()

    async def ask(client: Client, command: str, **more: Any) -> Any:
        answer = await client.call("node.invoke", {"nodeId": device.id, "command": command, **more})
        return answer["error"]

    async with node_of(house, device) as node, connected(house) as owner:
        unapproved = await ask(owner, "system.which")
        admit(house.hub.nodes, device.id)
        undeclared = await ask(owner, "camera.snap")
        not_listed = await ask(owner, "dir.list")
        approvals = await ask(owner, "system.execApprovals.get")
        claimed = await ask(owner, "system.run", params={"command": ["ls"], "approved": True, "runId": "x"})
        slow = await ask(owner, "system.which", timeoutMs=30)
        cancelled = (await node.event("node.invoke.cancel"))["payload"]
        asked = await owner.send("node.invoke", {"nodeId": device.id, "command": "system.which"})
        request = (await node.event("node.invoke.request", lambda each: each["id"] != cancelled["invokeId"]))["payload"]
        error = {"code": "SYSTEM_RUN_DENIED", "message": "no"}
        await node.call("node.invoke.result", {"id": request["id"], "nodeId": device.id, "ok": False, "error": error})
        refused = (await owner.answer(asked))["error"]
        unknown = await owner.call("node.invoke", {"nodeId": "x", "command": "system.which"})
        _, secret = await _token(house, "operator.write")
        async with client_of(house) as program:
            await program.connect(token=secret, scopes=["operator.write"])
            stranger = await ask(program, "system.run", params={"command": ["ls"]})

    assert unapproved["details"] == {"reason": "command not approved", "command": "system.which"}
    assert undeclared["details"]["reason"] == "command not declared by node"
    assert not_listed["details"]["reason"] == "command not allowlisted"
    assert approvals["message"].startswith("node.invoke does not allow system.execApprovals.*")
    assert claimed["details"]["code"] == "APPROVAL_REQUEST_MISMATCH"
    assert (slow["code"], slow["message"]) == ("UNAVAILABLE", "TIMEOUT: node invoke timed out")
    assert cancelled["nodeId"] == device.id
    assert refused["details"] == {"nodeError": error, "nodeCommandDispatched": True}
    assert unknown["error"]["details"] == {"code": "PAIRING_CHANGED"}
    assert stranger["code"] == "FORBIDDEN"


async def test_work_for_a_sleeping_node_waits_and_is_collected(house: House) -> None:
    device = Device()
    async with node_of(house, device):
        admit(house.hub.nodes, device.id)
    async with connected(house) as owner:
        await until(lambda: house.hub.nodes.get(device.id) is None)
        away = await owner.call("node.invoke", {"nodeId": device.id, "command": "system.which"})
        waits = await owner.call("node.invoke", {"nodeId": device.id, "command": "system.which", "noWait": True})
        status = await owner.call("node.pending.enqueue", {"nodeId": device.id, "type": "status.request"})
        async with node_of(house, device) as node:
            request = (await node.event("node.invoke.request"))["payload"]
            await node.call("node.invoke.result", {"id": request["id"], "nodeId": device.id, "ok": True})
            await until(lambda: house.hub.nodes.work.of(device.id, "command") == [])
            drained = (await node.call("node.pending.drain", {}))["payload"]
            again = (await node.call("node.pending.drain", {}))["payload"]
            pulled = (await node.call("node.pending.pull", {}))["payload"]

    assert away["error"]["details"]["nodeError"]["code"] == "NOT_CONNECTED"
    assert request["idempotencyKey"] == waits["payload"]["queued"]["id"]
    assert status["payload"]["queued"]["type"] == "status.request"
    assert [each["type"] for each in drained["items"]] == ["status.request"]
    assert (again["items"], pulled["actions"]) == ([], [])


async def test_a_node_offers_tools_that_go_when_it_leaves(house: House) -> None:
    device = Device()
    tool = {
        "pluginId": "lab",
        "name": "weigh",
        "description": "Weigh\u202e <<<outside",
        "mcp": {"server": "lab", "tool": "weigh"},
    }
    async with node_of(house, device) as node:
        admit(house.hub.nodes, device.id)
        await node.call(
            "node.pluginTools.update", {"tools": [tool, {**tool, "name": "x", "mcp": None, "command": "no"}]}
        )
        offered = house.hub.tools.get("node_recnode_weigh")
        other = house.hub.tools.get("node_recnode_x")
    await until(lambda: house.hub.tools.get("node_recnode_weigh") is None)

    assert offered is not None
    assert offered.annotations.open_world
    assert offered.annotations.owner_only
    assert offered.description == "Offered by the node RecNode, in its words: Weigh <·<·<outside"
    assert other is None


async def test_events_of_a_node_reach_automations_and_words_need_an_operator(house: House) -> None:
    device, heard = Device(), asyncio.Event()
    house.hub.bus.listen("node_event", lambda _: heard.set(), {"event": "door.opened"})
    async with node_of(house, device) as node:
        admit(house.hub.nodes, device.id)
        opened = await node.call("node.event", {"event": "door.opened", "payload": {"door": "front"}})
        said = await node.call("node.event", {"event": "voice.transcript", "payloadJSON": '{"text": "hello"}'})
        alive = await node.call("node.event", {"event": "node.presence.alive", "payloadJSON": '{"trigger": "manual"}'})
        bad = await node.call("node.event", {"event": "door.opened", "payloadJSON": "{"})
        await asyncio.wait_for(heard.wait(), 30)

    assert opened["payload"] == {"ok": True, "event": "door.opened", "handled": True}
    assert said["payload"]["reason"] == "unauthorized"
    assert alive["payload"]["reason"] == "persisted"
    assert bad["error"]["code"] == "INVALID_REQUEST"


async def test_a_node_that_is_removed_is_closed_and_must_be_paired_again(house: House) -> None:
    device = Device()
    async with node_of(house, device), connected(house) as owner:
        removed = await owner.call("node.pair.remove", {"nodeId": device.id})
        await until(lambda: house.hub.nodes.get(device.id) is None)
        listed = (await owner.call("node.list"))["payload"]["nodes"]

    assert removed["ok"]
    assert listed == []
    assert house.gateway.devices is not None
    assert house.gateway.devices.grants() == []


async def test_an_owner_lets_devices_and_commands_in_from_the_chat(house: House) -> None:
    device, hub = Device(), house.hub
    _, secret = await _token(house, "operator.read")

    async def devices(arguments: str = "") -> str:
        message = InboundMessage(Address("test", "7"), "1", "test:user:7", "/devices")
        owner = Context(hub.people.owner_authority())
        call = CommandCall("devices", arguments, message, "main", "agent:main:main", owner, by_owner=True)
        return str((await hub.commands.run(call)).text)

    async with client_of(house) as node:
        refused = await node.connect(device, **NODE_HOST, token=secret)
    waiting = await devices()
    await devices(f"approve {refused['error']['details']['requestId']}")
    async with node_of(house, device, token=secret):
        record = hub.nodes.surfaces.require(device.id)
        assert record.request is not None
        approved = await devices(f"approve {record.request.id}")
        listed = await devices()
        unknown = await devices("approve nothing")

    assert refused["error"]["details"]["requestId"] in waiting
    assert "RecNode" in approved
    assert "system.which" in hub.nodes.surfaces.require(device.id).commands
    assert "RecNode: connected" in listed
    assert "no pairing request" in unknown


def _state(house: House, entity_id: str) -> str | None:
    found = house.hub.states.get(entity_id)
    return found.state if found is not None else None


async def _token(house: House, scope: str) -> tuple[str, str]:
    async with connected(house) as owner:
        made = (await owner.call("token.create", {"name": "program", "scopes": [scope]}))["payload"]
    return made["id"], made["token"]
