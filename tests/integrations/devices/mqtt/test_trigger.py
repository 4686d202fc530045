"""The trigger `mqtt`: messages on the topics of a filter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.events import Event
from hub.core.schema import Invalid
from hub.integration.mqtt_topics import EVENT_BRIDGE_READY, EVENT_WANTED, filter_of, fits, message_data
from tests.automation.triggers.bench import Bench, calls_during, explained, valid


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"trigger": "mqtt"}, "topic"),
        ({"trigger": "mqtt", "topic": "a/#/b"}, "may only be"),
        ({"trigger": "mqtt", "topic": "a/b+"}, "may only be"),
        ({"trigger": "mqtt", "topic": ""}, "not empty"),
        ({"trigger": "mqtt", "topic": "a", "qos": 3}, "qos"),
        ({"trigger": "mqtt", "topic": "a", "encoding": "utf-9"}, "encoding"),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid(config)


@pytest.mark.parametrize(
    ("topic_filter", "topic", "fit"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/b/c", False),
        ("a/+", "a/b", True),
        ("a/+", "a", False),
        ("a/+", "a/b/c", False),
        ("+/b", "a/b", True),
        ("+", "/", False),
        ("/+", "/a", True),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/#", "ab", False),
        ("#", "a/b", True),
        ("#", "$SYS/x", False),
        ("+/x", "$SYS/x", False),
        ("$SYS/#", "$SYS/x", True),
        ("1/2/3/4/5/6/7/8/9/+", "1/2/3/4/5/6/7/8/9/x", True),
        ("1/2/3/4/5/6/7/8/9/+", "1/2/3/4/5/6/7/8/0/x", False),
    ],
)
async def test_topics_fit_their_filters(bench: Bench, topic_filter: str, topic: str, fit: bool) -> None:
    site = bench.arm({"trigger": "mqtt", "topic": topic_filter})

    bench.fire("mqtt_message", message_data(topic, b"x"))

    assert fits(topic_filter, topic) is fit
    assert bool(site.fired) is fit


@pytest.mark.parametrize(
    ("config", "payload", "fires"),
    [
        ({}, b"anything", True),
        ({"payload": "on"}, b"on", True),
        ({"payload": "on"}, "on", True),
        ({"payload": "on"}, b"off", False),
        ({"payload": True}, b"true", True),
        ({"payload": 1}, b"1", True),
        ({"payload": "on", "value_template": "{{ value_json.state }}"}, b'{"state": "on"}', True),
        ({"payload": "on", "value_template": "{{ value_json.state }}"}, b'{"state": "off"}', False),
        ({"payload": "3", "value_template": "{{ value | int + 1 }}"}, b"2", True),
        ({"payload": "{{ 'o' ~ 'n' }}"}, b"on", True),
        ({"payload": "é", "encoding": "latin-1"}, b"\xe9", True),
        ({"payload": "on", "encoding": ""}, b"on", True),
        ({}, b"\xff", False),
    ],
)
async def test_payloads_are_compared(bench: Bench, config: dict[str, Any], payload: bytes | str, fires: bool) -> None:
    site = bench.arm({"trigger": "mqtt", "topic": "{{ 'a' }}/b", **config})

    bench.fire("mqtt_message", message_data("a/b", payload))

    assert bool(site.fired) is fires


async def test_it_fires_with_what_home_assistant_shows(bench: Bench) -> None:
    text = bench.arm({"trigger": "mqtt", "topic": "a/b"})
    raw = bench.arm({"trigger": "mqtt", "topic": "a/b", "encoding": None, "ignore_retained": True})

    bench.fire("mqtt_message", message_data("a/b", b'{"n": 1}', qos=1))
    bench.fire("mqtt_message", message_data("a/b", b"[" * 10_000, retain=True))

    trigger = text.fired[0].trigger
    assert (trigger["topic"], trigger["payload"], trigger["payload_json"], trigger["qos"]) == (
        *("a/b", '{"n": 1}', {"n": 1}, 1),
    )
    assert text.fired[0].tainted
    assert text.fired[1].trigger["payload_json"] is None
    assert [fired.trigger["payload"] for fired in raw.fired] == [b'{"n": 1}']


async def test_the_bridge_is_told_which_topics_are_wanted(bench: Bench) -> None:
    wanted: list[Event] = []
    bench.bus.listen(EVENT_WANTED, wanted.append)
    bench.arm({"trigger": "mqtt", "topic": "a/#", "qos": 1})

    bench.bus.fire(EVENT_BRIDGE_READY)
    bench.disarm()

    assert [event.data for event in wanted] == [
        {"topic": "a/#", "qos": 1, "wanted": True},
        {"topic": "a/#", "qos": 1, "wanted": True},
        {"topic": "a/#", "qos": 1, "wanted": False},
    ]


async def test_with_five_thousand_filters_a_message_costs_as_many_calls_as_with_few(bench: Bench) -> None:
    for shape in ("house/{}/temperature", "room/{}/+/state", "site/{}/#"):
        bench.arm({"trigger": "mqtt", "topic": shape.format("r0")})
    data = message_data("room/r0/lamp/state", b"on")
    with_few = calls_during(lambda: bench.fire("mqtt_message", data))
    others = [
        bench.arm({"trigger": "mqtt", "topic": shape.format(f"r{n}")})
        for n in range(1, 1_700)
        for shape in ("house/{}/temperature", "room/{}/+/state", "site/{}/#")
    ]

    with_all = calls_during(lambda: bench.fire("mqtt_message", data))

    assert with_all == with_few
    assert not any(site.fired for site in others)
    assert filter_of("#") is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"trigger": "mqtt", "topic": "a/+"}, "when a message comes on the MQTT topic “a/+”"),
        (
            {"trigger": "mqtt", "topic": "a", "payload": "on"},
            "when a message comes on the MQTT topic “a” that says “on”",
        ),
    ],
)
def test_it_is_explained_in_plain_words(config: dict[str, Any], words: str) -> None:
    assert explained(config) == words
