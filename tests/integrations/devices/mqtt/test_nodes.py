"""Nodes over MQTT: who they are, what they are asked, and what they report."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiomqtt
import pytest

from hub.nodes.failures import NodeRefused
from tests.integrations.devices.mqtt.kit import Device, MqttKit
from tests.nodes.making import admit
from tests.until import until

HELLO = {"name": "Shed", "platform": "linux", "commands": ["system.which", "location.get"]}
CONFIG = {"port": 0, "publish_hub": False, "publish_birth": "never", "username": "me", "password": "a long secret"}


class Shed(Device):
    """A node that a test speaks for."""

    def __init__(self, port: int, id: str = "shed", password: str = "the shed's own") -> None:
        will = aiomqtt.Will(f"homarus/node/{id}/status", "offline", qos=1, retain=True)
        super().__init__(port, username=f"node-{id}", password=password, will=will)
        self.id = id

    async def tell(self, **said: Any) -> None:
        await self.say(f"homarus/node/{self.id}/out", json.dumps({"jsonrpc": "2.0", **said}))

    async def hello(self, **params: Any) -> None:
        await self.read(f"homarus/node/{self.id}/in")
        await self.tell(method="hello", params={**HELLO, **params})

    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(payload) for _, payload in self.heard]


async def started(kit: MqttKit) -> int:
    nodes = {"shed": {"password": "the shed's own"}, "other": {"password": "another one"}}
    await kit.set_up({**CONFIG, "nodes": nodes})
    await kit.until_connected()
    return int((await kit.ask("mqtt.status"))["listening"])


async def test_a_node_is_asked_answers_and_reports_once_it_is_approved(kit: MqttKit) -> None:
    port = await started(kit)
    events: list[Any] = []
    kit.bus.listen("node_event", lambda event: events.append(event.data["data"]))
    async with Shed(port) as shed:
        await shed.hello()
        await until(lambda: kit.nodes.get("shed") is not None)
        admit(kit.nodes, "shed")

        asking = asyncio.create_task(kit.nodes.invoke("shed", "system.which", {"bins": ["ls"]}, key="k"))
        await until(lambda: any("id" in each for each in shed.asked()))
        request = shed.asked()[-1]
        await shed.tell(id=request["id"], result={"bins": {"ls": "/bin/ls"}})
        refused = asyncio.create_task(kit.nodes.invoke("shed", "location.get"))
        await until(lambda: shed.asked()[-1].get("method") == "location.get")
        await shed.tell(id=shed.asked()[-1]["id"], error={"code": "NO_FIX", "message": "no fix"})
        await shed.tell(method="event", params={"event": "door", "data": "open"})
        await until(lambda: bool(events))

        assert await asking == {"bins": {"ls": "/bin/ls"}}
        assert (request["method"], request["params"]) == ("system.which", {"bins": ["ls"]})
        assert request["homarus"]["idempotency_key"] == "k"
        with pytest.raises(NodeRefused, match="NO_FIX"):
            await refused
        assert events == ["open"]
        await shed.say("homarus/node/shed/status", "offline", retain=True)
        await until(lambda: kit.nodes.get("shed") is None)

        waiting = await kit.nodes.queue("shed", "system.which", {"bins": ["cat"]})
        await shed.hello()
        await until(lambda: shed.asked()[-1].get("params") == {"bins": ["cat"]})
        request = shed.asked()[-1]
        await shed.tell(id=request["id"], result={"bins": {}})
        await until(lambda: kit.nodes.work.of("shed") == [])
        assert request["homarus"]["idempotency_key"] == waiting.id
        await until(lambda: len(events) >= 2)
        assert events[-1]["payload"] == {"bins": {}}


async def test_a_request_that_is_cancelled_is_cancelled_at_the_node_and_a_lost_node_fails_what_waits(
    kit: MqttKit,
) -> None:
    port = await started(kit)
    async with Shed(port) as shed:
        await shed.hello()
        await until(lambda: kit.nodes.get("shed") is not None)
        admit(kit.nodes, "shed")
        asking = asyncio.create_task(kit.nodes.invoke("shed", "location.get"))
        await until(lambda: any("id" in each for each in shed.asked()))
        asking.cancel()
        await until(lambda: shed.asked()[-1].get("method") == "cancel")

        waiting = asyncio.create_task(kit.nodes.invoke("shed", "location.get"))
        await until(lambda: shed.asked()[-1].get("method") == "location.get")
        shed.client._client.socket().shutdown(2)  # type: ignore[union-attr]
        with pytest.raises(NodeRefused):
            await waiting
        with pytest.raises(aiomqtt.MqttError):
            await shed._reading


async def test_nobody_speaks_for_a_node_or_reads_what_it_says(kit: MqttKit) -> None:
    port = await started(kit)
    forged = json.dumps({"jsonrpc": "2.0", "method": "hello", "params": HELLO})
    async with (
        Shed(port, "other", "another one") as other,
        Device(port, username="me", password="a long secret") as owner,
    ):
        await owner.read("#")
        for speaker in (other, owner):
            await speaker.say("homarus/node/shed/out", forged)
        await other.hello()
        await until(lambda: kit.nodes.get("other") is not None)
        await owner.say("end", "1")
        await until(lambda: ("end", "1") in owner.heard)

        assert kit.nodes.get("shed") is None
        assert [topic for topic, _ in owner.heard if topic.startswith("homarus/node/")] == []
    with pytest.raises(aiomqtt.MqttError):
        await Shed(port, "shed", "wrong").__aenter__()


async def test_a_hello_that_is_wrong_is_answered_with_an_error(kit: MqttKit) -> None:
    port = await started(kit)
    async with Shed(port) as shed:
        await shed.hello(commands="all")
        await shed.say("homarus/node/shed/out", "{")
        await until(lambda: any("error" in each for each in shed.asked()))

    assert kit.nodes.get("shed") is None
