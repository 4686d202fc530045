"""The bridge: triggers fire, services publish, and nothing is lost when the broker is."""

from __future__ import annotations

import asyncio
import signal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hub.cluster.lease import WorkerLease
from hub.core.clock import ManualClock
from hub.core.context import system_context
from hub.core.errors import InvalidRequest
from hub.core.ids import new_id
from hub.core.schema import SchemaError
from integrations.devices.mqtt.schema import CONFIG_SCHEMA, CROSS_CHECKS
from integrations.devices.mqtt.topics import Subscriptions, covers, literal_prefix
from tests.integrations.devices.mqtt.kit import Device, MqttKit
from tests.servers.mosquitto import Mosquitto
from tests.until import until


def place() -> str:
    """Return a topic that no other test uses."""
    return f"t{new_id()}"


async def connected(kit: MqttKit, port: int, **config: Any) -> None:
    settings = {"broker": "127.0.0.1", "port": port, **config}
    await kit.set_up(settings)
    await kit.until_connected()


async def test_triggers_with_wildcards_payloads_and_templates_fire(kit: MqttKit, mosquitto: Mosquitto) -> None:
    top = place()
    exact = kit.arm({"trigger": "mqtt", "topic": f"{top}/a", "payload": "on"})
    wild = kit.arm({"trigger": "mqtt", "topic": f"{top}/#"})
    picked = kit.arm(
        {
            "trigger": "mqtt",
            "topic": f"{top}/+",
            "value_template": "{{ value_json.level | int > 5 }}",
            "payload": "True",
        }
    )
    await connected(kit, mosquitto.port)

    async with Device(mosquitto.port) as device:
        await device.say(f"{top}/a", "off")
        await device.say(f"{top}/a", "on")
        await device.say(f"{top}/b", '{"level": 7}')
        await device.say(f"{top}/c/d", '{"level": 9}')
        await until(lambda: len(wild.fired) >= 4)

    assert [each.trigger["payload"] for each in exact.fired] == ["on"]
    assert [each.trigger["topic"] for each in picked.fired] == [f"{top}/b"]
    assert len(wild.fired) == 4
    assert all(each.tainted for each in wild.fired)


async def test_filters_that_overlap_bring_a_message_once(kit: MqttKit, mosquitto: Mosquitto) -> None:
    top = place()
    left = kit.arm({"trigger": "mqtt", "topic": f"{top}/+/x"})
    kit.arm({"trigger": "mqtt", "topic": f"{top}/a/+"})
    end = kit.arm({"trigger": "mqtt", "topic": f"{top}/end/x"})
    await connected(kit, mosquitto.port)

    async with Device(mosquitto.port) as device:
        await device.say(f"{top}/a/x", "1")
        await device.say(f"{top}/a/x", "2")
        await device.say(f"{top}/end/x", "3")
        await until(lambda: len(end.fired) >= 1)

    assert [each.trigger["payload"] for each in left.fired] == ["1", "2", "3"]


async def test_publish_is_a_service_and_the_hubs_own_topics_are_not_for_it(kit: MqttKit, mosquitto: Mosquitto) -> None:
    top = place()
    await connected(kit, mosquitto.port)

    async with Device(mosquitto.port) as device:
        await device.read(f"{top}/#")
        data = {"topic": f"{top}/set", "payload": {"state": "ON"}, "qos": "1"}
        await kit.services.call("mqtt", "publish", data, context=system_context())
        await until(lambda: bool(device.heard))

    assert device.heard == [(f"{top}/set", '{"state": "ON"}')]
    for topic in ("homarus/node/a/request", "$SYS/x", "a/+", "a/#", "", "a\x00b", "a\nb"):
        with pytest.raises(InvalidRequest):
            await kit.services.call("mqtt", "publish", {"topic": topic}, context=system_context())
    with pytest.raises(InvalidRequest, match="at most"):
        await kit.services.call("mqtt", "publish", {"topic": top, "payload": "x" * 1_048_577}, context=system_context())


async def test_many_messages_at_qos_0_are_left_at_once_and_arrive_in_their_order(
    kit: MqttKit, mosquitto: Mosquitto
) -> None:
    top = place()
    await connected(kit, mosquitto.port)

    async with Device(mosquitto.port) as device:
        await device.read(f"{top}/#")
        sent = [kit.call("mqtt.publish", topic=f"{top}/x", payload=str(number)) for number in range(1_500)]
        await asyncio.gather(*sent)
        await until(lambda: len(device.heard) == len(sent))

    assert [payload for _, payload in device.heard] == [str(number) for number in range(1_500)]


async def test_nothing_at_qos_1_is_lost_when_the_broker_is_killed_or_silent(kit: MqttKit) -> None:
    with Mosquitto(persistent=True) as broker:
        heard = kit.arm({"trigger": "mqtt", "topic": "in/#"})
        await connected(kit, broker.port, keep_alive=5)
        async with Device(broker.port, "out", clean_session=False) as device:
            await device.read("out/#")

        broker.kill(signal.SIGTERM)  # it keeps its sessions
        await kit.until_connected(False)
        sending = [
            asyncio.create_task(
                kit.services.call("mqtt", "publish", {"topic": f"out/{n}", "qos": 1}, context=system_context())
            )
            for n in range(50)
        ]
        await asyncio.sleep(0)
        broker.start()
        async with Device(broker.port) as sender:  # the session of the hub is kept, and gets what it missed
            for n in range(50):
                await sender.say(f"in/{n}")
        await kit.until_connected_again()
        await asyncio.gather(*sending)
        await until(lambda: len({each.trigger["topic"] for each in heard.fired}) >= 50)
        async with Device(broker.port, "out", clean_session=False) as device:
            await until(lambda: len({topic for topic, _ in device.heard}) >= 50)


async def test_messages_that_are_no_text_or_too_long_are_dropped(kit: MqttKit, mosquitto: Mosquitto) -> None:
    top = place()
    heard = kit.arm({"trigger": "mqtt", "topic": f"{top}/#", "encoding": None})
    await connected(kit, mosquitto.port)

    async with Device(mosquitto.port) as device:
        await device.say(f"{top}/long", b"x" * 70_000)
        await device.say(f"{top}/bytes", b"\xff\xfe")
        await until(lambda: len(heard.fired) >= 1)

    assert [each.trigger["payload"] for each in heard.fired] == [b"\xff\xfe"]


async def test_people_see_what_comes(kit: MqttKit, mosquitto: Mosquitto) -> None:
    top = place()
    await connected(kit, mosquitto.port)
    async with Device(mosquitto.port) as device:
        await device.say(f"{top}/kept", "old", retain=True)
        looking = asyncio.create_task(kit.ask("mqtt.messages", topic=f"{top}/#", wait=30))
        first = await looking
        await device.say(f"{top}/now", b"\xff")
        then = await kit.ask("mqtt.messages", topic=f"{top}/#", after=first["last"], wait=30)

    assert [(each["topic"], each["payload"], each["retain"]) for each in first["messages"]] == [
        (f"{top}/kept", "old", True)
    ]
    assert [(each["payload"], each["encoding"]) for each in then["messages"]] == [("/w==", "base64")]


async def test_the_page_and_what_its_script_calls_are_for_administrators(kit: MqttKit, mosquitto: Mosquitto) -> None:
    await connected(kit, mosquitto.port)

    routes = {each.scope for each in kit.gateway.routes if each.path.startswith("/mqtt")}
    methods = {each.scope for each in kit.gateway.methods if each.name.startswith("mqtt.")}

    assert routes | methods == {"operator.admin"}


@pytest.mark.parametrize(
    ("wide", "narrow", "is_within"),
    [
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/+", "a/b", True),
        ("a/+", "a/#", False),
        ("a/+", "a/b/c", False),
        ("+/b", "a/+", False),
        ("#", "$SYS/x", False),
        ("a/b", "a/b", True),
    ],
)
def test_a_filter_within_another_is_not_subscribed(wide: str, narrow: str, is_within: bool) -> None:
    assert covers(wide, narrow) is is_within


def test_the_fewest_filters_are_subscribed_whatever_comes_and_goes() -> None:
    subscriptions = Subscriptions()
    subscriptions.add("a/b")
    subscriptions.add("x")

    assert subscriptions.changes(100) == (["a/b", "x"], [], [])
    subscriptions.add("a/#")
    assert subscriptions.changes(100) == (["a/#"], ["a/b"], [])
    subscriptions.add("a/c")
    assert subscriptions.changes(100) == ([], [], ["a/c"])
    subscriptions.discard("a/#")
    subscriptions.changes(100)
    subscriptions.changes(100)
    assert subscriptions.active == {"a/b", "a/c", "x"}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"broker": "mqtt://x"}, "without mqtt://"),
        ({"listen": "0.0.0.0"}, "needs credentials"),
        ({"username": "me"}, "belong together"),
        ({"broker": "x", "clients": {"a": {"password": "long enough"}}}, "for broker: embedded"),
        ({"tls": True}, "certificate"),
        ({"clients": {"a": {"password": "long enough", "publish": ["a/#/b"]}}}, "may only be"),
        ({"clients": {"a": {"password": "b"}}}, "cannot be guessed.*it has fewer than 10"),
        ({"nodes": {"a": {"password": "b"}}}, "cannot be guessed"),
        ({"username": "a", "password": "changeme123"}, "cannot be guessed.*it is a placeholder"),
    ],
)
def test_mistakes_in_the_configuration_are_named(config: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        CONFIG_SCHEMA(config)


@pytest.mark.parametrize(
    ("topic_filter", "begins"), [("a/#", "a"), ("#", ""), ("a/+/c", "a"), ("+/b", ""), ("a/b", "a/b")]
)
def test_all_topics_of_a_filter_begin_alike(topic_filter: str, begins: str) -> None:
    assert literal_prefix(topic_filter) == begins


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({}, ["publish", "subscribe"]),
        ({"publish": ["a/#"]}, ["subscribe"]),
        ({"subscribe": [], "publish": ["a/#"]}, []),
    ],
)
def test_check_says_what_a_client_without_rules_may_do(stated: dict[str, Any], told: list[str]) -> None:
    config = {"mqtt": CONFIG_SCHEMA({"clients": {"a": {"password": "long enough", **stated}}})}
    warnings: list[str] = []
    report = SimpleNamespace(warning=lambda keys, message, hint: warnings.append(message))

    CROSS_CHECKS["clients"](cast(Any, config), cast(Any, report))

    assert sorted(each.partition(" has no ")[2].partition(":")[0] for each in warnings) == told


@pytest.mark.parametrize("qos", [0, 1])
async def test_nothing_is_published_while_the_lease_is_not_held(kit: MqttKit, mosquitto: Mosquitto, qos: int) -> None:
    clock, top = ManualClock(), place()
    heard = kit.arm({"trigger": "mqtt", "topic": f"{top}/#"})
    kit.lease = lease = WorkerLease(clock.monotonic, clock.sleep)
    await connected(kit, mosquitto.port)
    before = clock.sleepers

    publishing = asyncio.ensure_future(kit.call("mqtt.publish", topic=f"{top}/a", payload="on", qos=qos))
    await until(lambda: clock.sleepers > before)
    async with Device(mosquitto.port) as device:
        await device.say(f"{top}/other", "on")
        await until(lambda: heard.fired)
    assert [each.trigger["topic"] for each in heard.fired] == [f"{top}/other"]
    lease.renew(begun=0.0)
    await clock.advance(1)
    await publishing

    await until(lambda: len(heard.fired) == 2)
