"""The embedded broker: who may connect and what they may read and write, and what it keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from hub.core.clock import Clock, ManualClock
from hub.security.rate_limit import AttemptLimiter
from integrations.devices.mqtt.broker import (
    PACKET_LIMIT_BYTES,
    RETAINED_LIMIT_BYTES,
    SESSIONS_LIMIT,
    WAITING_LIMIT_BYTES,
    BrokerClient,
    EmbeddedBroker,
    anonymous,
)
from tests.integrations.devices.mqtt.kit import Device, MqttKit
from tests.until import until

CLIENTS = {
    "all": BrokerClient("secret", ("#",), ("#",)),
    "plug": BrokerClient("plug", subscribe=("plug/#",), publish=("plug/#",)),
}


class Serving:
    def __init__(self, clients: Mapping[str, BrokerClient] = CLIENTS, clock: Clock | None = None) -> None:
        self.broker = EmbeddedBroker(clients, AttemptLimiter(clock or Clock()))

    async def __aenter__(self) -> EmbeddedBroker:
        await self.broker.start("127.0.0.1", 0)
        return self.broker

    async def __aexit__(self, *error: Any) -> None:
        await self.broker.stop()


def everything(port: int, name: str | None = None) -> Device:
    return Device(port, name, username="all", password="secret")


def plug(port: int, name: str | None = None, **options: Any) -> Device:
    return Device(port, name, username="plug", password="plug", **options)


@pytest.mark.parametrize("credentials", [{}, {"username": "all", "password": "x"}, {"username": "x", "password": "x"}])
async def test_nobody_connects_without_a_credential(credentials: dict[str, str]) -> None:
    async with Serving() as broker:
        with pytest.raises(aiomqtt.MqttError):
            await Device(broker.port, **credentials).__aenter__()


@pytest.mark.parametrize("name", ["plug", "nobody", "homarus-hub"])
async def test_guesses_end_and_are_said_and_lock_out_nobody_else(name: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    async with Serving(clock=clock) as broker, everything(broker.port) as owner:
        for number in range(30):
            with pytest.raises(aiomqtt.MqttError):
                await Device(broker.port, username=name, password=f"guess {number}").__aenter__()
        tried = [each for each in caplog.messages if "no valid user name and password" in each]
        if name == "plug":
            with pytest.raises(aiomqtt.MqttError):
                await plug(broker.port).__aenter__()
            await clock.advance(301)
        async with plug(broker.port), everything(broker.port):
            await owner.say("all", "well")

    assert len(tried) == (30 if name == "homarus-hub" else 10)  # its password has 256 bits
    assert sum("is locked out" in each for each in caplog.messages) == (name != "homarus-hub")


async def test_a_client_reads_and_writes_only_what_it_may() -> None:
    async with Serving() as broker, everything(broker.port) as owner, plug(broker.port) as device:
        await owner.say("private", "secret", retain=True)
        await owner.read("#")
        for topic_filter in ("#", "private", "+", "plug/#"):
            await device.read(topic_filter)
        await device.say("private", "forged")
        await device.say("plug/state", "on")
        await owner.say("private", "more")
        await owner.say("plug/set", "off")
        await until(lambda: ("plug/set", "off") in device.heard)

        assert {topic for topic, _ in device.heard} == {"plug/state", "plug/set"}
        assert ("private", "forged") not in owner.heard


async def test_a_wrong_password_takes_no_session_and_no_rights_from_anybody() -> None:
    async with Serving() as broker, everything(broker.port, "one") as owner, plug(broker.port, "two") as device:
        for name in ("one", "two"):
            with pytest.raises(aiomqtt.MqttError):
                await Device(broker.port, name, username="all", password="wrong", clean_session=False).__aenter__()
        async with plug(broker.port, "one", clean_session=False):  # the same name, and not the same client
            await owner.read("plug/#")
            await device.read("#")
            await device.say("plug/a", "1")
            await until(lambda: bool(owner.heard))

        assert not device.heard


async def test_what_is_retained_comes_once_to_who_reads_it_and_a_will_when_somebody_is_gone() -> None:
    async with Serving() as broker, everything(broker.port) as owner:
        await owner.say("plug/kept", "1", retain=True)
        await owner.read("plug/#")
        will = aiomqtt.Will("plug/gone", "yes", qos=1)
        device = plug(broker.port, will=will)
        async with device:
            await device.say("plug/here", "1")
            await until(lambda: ("plug/here", "1") in owner.heard)
            assert device.heard == []  # the broker has no reason to send it anything
            device.client._client.socket().shutdown(2)  # type: ignore[union-attr]
            await until(lambda: ("plug/gone", "yes") in owner.heard)


async def test_a_packet_that_is_too_large_ends_only_its_own_connection() -> None:
    async with Serving() as broker, everything(broker.port) as owner:
        await owner.read("plug/#")
        _, writer = await asyncio.open_connection("127.0.0.1", broker.port)
        writer.write(b"\x10\xff\xff\xff\x7f" + b"x" * 100)
        device = await plug(broker.port).__aenter__()
        device.client._client.publish("plug/x", b"x" * (PACKET_LIMIT_BYTES + 10))
        await until(device._reading.done)
        assert isinstance(device._reading.exception(), aiomqtt.MqttError)
        await owner.say("plug/still", "here")
        await until(lambda: ("plug/still", "here") in owner.heard)
        writer.close()

    assert [topic for topic, _ in owner.heard] == ["plug/still"]


async def test_what_is_kept_for_those_who_are_away_is_bounded() -> None:
    async with Serving() as broker:
        names = [f"c{at}" for at in range(SESSIONS_LIMIT)]
        for some in (names[:50], names[50:]):
            away = [plug(broker.port, each, clean_session=False) for each in some]
            await asyncio.gather(*(each.__aenter__() for each in away))
            await asyncio.gather(*(each.__aexit__(None, None, None) for each in away))
        with pytest.raises(aiomqtt.MqttError):
            await plug(broker.port, "one more", clean_session=False).__aenter__()
        async with plug(broker.port, "c1", clean_session=False), plug(broker.port, "new"), everything(broker.port):
            pass


async def test_the_bytes_that_are_retained_are_bounded() -> None:
    async with Serving() as broker:
        keeper, data = broker._broker, bytes(PACKET_LIMIT_BYTES)
        for at in range(2 * RETAINED_LIMIT_BYTES // PACKET_LIMIT_BYTES):
            await keeper.retain_message(None, f"flood/{at}", data, 0)
        most = keeper.retained_bytes
        for at in range(100):
            await keeper.retain_message(None, f"flood/{at}", b"", 0)
        await keeper.retain_message(None, "light", b"on", 0)

        assert RETAINED_LIMIT_BYTES // 2 < most <= RETAINED_LIMIT_BYTES
        assert (list(keeper.retained_messages), keeper.retained_bytes) == (["light"], len("lighton"))


async def test_without_credentials_the_programs_of_this_machine_may_all_but_the_hubs_own() -> None:
    async with Serving({"": anonymous()}) as broker, Device(broker.port) as one, Device(broker.port) as two:
        await two.read("#")
        await one.say("homarus/node/a/request", "forged")
        await one.say("anything", "1")
        await until(lambda: bool(two.heard))

        assert two.heard == [("anything", "1")]


async def test_what_is_retained_survives_a_restart_of_the_hub(tmp_path: Path) -> None:
    config = {"username": "all", "password": "a long secret", "port": 0}
    first, second = MqttKit(tmp_path), MqttKit(tmp_path)
    await first.set_up(config)
    await first.until_connected()
    await first.ask("mqtt.publish", topic="lamp/state", payload="on", retain=True, qos=1)
    await first.tear_down()

    await second.set_up(config)
    await second.until_connected()
    seen = await second.ask("mqtt.messages", topic="lamp/#", wait=30)
    await second.tear_down()

    assert [(each["payload"], each["retain"]) for each in seen["messages"]] == [("on", True)]


async def test_a_client_that_does_not_read_is_disconnected_and_nobody_else() -> None:
    words = [len(each).to_bytes(2, "big") + each for each in (b"MQTT", b"slow", b"all", b"secret", b"flood/#")]
    connect = words[0] + b"\x04\xc2\x00\x00" + b"".join(words[1:4])
    subscribe = b"\x00\x01" + words[4] + b"\x00"
    async with Serving() as broker, everything(broker.port) as owner, everything(broker.port) as other:
        await other.read("flood/#")
        reader, writer = await asyncio.open_connection("127.0.0.1", broker.port, limit=1_024)
        writer.write(bytes([0x10, len(connect)]) + connect + bytes([0x82, len(subscribe)]) + subscribe)
        assert len(await reader.readexactly(9)) == 9
        count = WAITING_LIMIT_BYTES // 200_000 * 2
        for number in range(count):
            await owner.say(f"flood/{number}", b"x" * 200_000)
        await until(lambda: len(other.heard) == count)
        got = 0
        with suppress(ConnectionError):
            while data := await reader.read(1_000_000):
                got += len(data)
        writer.close()

    assert got < count * 200_000


async def test_a_client_without_rules_has_topics_of_its_own_name_and_may_announce(tmp_path: Path) -> None:
    kit = MqttKit(tmp_path)
    everywhere = {"password": "a long secret", "subscribe": ["#"], "publish": ["#"]}
    clients = {"eve": {"password": "a long secret"}, "all": everywhere}
    await kit.set_up({"clients": clients, "port": 0, "publish_hub": False, "publish_birth": "never"})
    await kit.until_connected()
    port = int((await kit.ask("mqtt.status"))["listening"])
    announced = "homeassistant/sensor/eve/config"
    options = {"username": "eve", "password": "a long secret"}
    async with Device(port, **options) as eve, Device(port, username="all", password="a long secret") as others:
        await others.read("#")
        for topic_filter in ("#", "lock/#", "homeassistant/#", "eve/#"):
            await eve.read(topic_filter)
        for topic in ("lock/set", "homeassistant/status", "all/a", announced, "eve/a"):
            await eve.say(topic, "x")
        await others.say("all/a", "mine")
        await until(lambda: ("eve/a", "x") in eve.heard and ("all/a", "mine") in others.heard)
    await kit.tear_down()

    assert {topic for topic, payload in others.heard if payload == "x"} == {announced, "eve/a"}
    assert {topic for topic, _ in eve.heard} == {"eve/a"}
