"""The triggers that listen to one event each: heartbeat, agent, node, mqtt, hub; and webhook."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.sources.mqtt_topics import EVENT_BRIDGE_READY, EVENT_WANTED, fits, message_data, where_of
from hub.automation.sources.webhooks import WebhookRequest, Webhooks
from hub.core.events import Event
from hub.core.schema import Invalid
from hub.security.webhook_signature import SignatureForm, sign
from tests.automation.triggers.bench import OWNER, START, Bench, calls_during, explained, valid

SECRET = "0123456789abcdef"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"trigger": "hub", "event": "restart"}, "event"),
        ({"trigger": "node"}, "on"),
        ({"trigger": "node", "on": "connected", "event": "x"}, "on: event"),
        ({"trigger": "agent", "on": "woke"}, "on"),
        ({"trigger": "agent", "on": "run_started", "status": "ok"}, "says nothing"),
        ({"trigger": "agent", "on": "budget_reached", "session": "x"}, "says nothing"),
        ({"trigger": "heartbeat", "every": 5}, "one minute"),
        ({"trigger": "heartbeat", "active_hours": {"start": "08:00"}}, "end"),
        ({"trigger": "heartbeat", "active_hours": {"start": "08:00", "end": "8"}}, "time of day"),
        ({"trigger": "heartbeat", "agent": "Main Agent"}, "identifier"),
        ({"trigger": "mqtt"}, "topic"),
        ({"trigger": "mqtt", "topic": "a/#/b"}, "may only be"),
        ({"trigger": "mqtt", "topic": "a/b+"}, "may only be"),
        ({"trigger": "mqtt", "topic": ""}, "not empty"),
        ({"trigger": "mqtt", "topic": "a", "qos": 3}, "qos"),
        ({"trigger": "mqtt", "topic": "a", "encoding": "utf-9"}, "encoding"),
        ({"trigger": "webhook"}, "webhook_id"),
        ({"trigger": "webhook", "webhook_id": "a/b"}, "letters"),
        ({"trigger": "webhook", "webhook_id": "a", "local_only": False}, "needs a secret"),
        ({"trigger": "webhook", "webhook_id": "a", "signature": "github"}, "secret it is made with"),
        ({"trigger": "webhook", "webhook_id": "a", "secret": "short"}, "cannot be guessed"),
        ({"trigger": "webhook", "webhook_id": "a", "allowed_methods": "DELETE"}, "allowed_methods"),
        ({"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "signature": "gitlab"}, "generic, github"),
        ({"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "signature": {"prefix": "x"}}, "form, or header"),
        (
            {"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "signature": {"form": "stripe", "header": "x"}},
            "own headers",
        ),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid(config)


# --- hub ---


@pytest.mark.parametrize("kind", ["hub", "homeassistant"])
async def test_the_hub_starts_and_stops(bench: Bench, kind: str) -> None:
    start = bench.arm({"trigger": kind, "event": "start"})
    stop = bench.arm({"trigger": kind, "event": "shutdown"})

    bench.fire("hub_started", {"version": "1"})
    assert (len(start.fired), len(stop.fired)) == (1, 0)
    bench.fire("hub_stopping", {"restarting": False})

    assert [stop.fired[0].trigger["event"], start.fired[0].trigger["event"]] == ["shutdown", "start"]


# --- node ---


async def test_nodes_come_and_go_and_tell(bench: Bench) -> None:
    came = bench.arm({"trigger": "node", "on": "connected", "node_id": ["phone", "mac"]})
    left = bench.arm({"trigger": "node", "on": "disconnected"})
    told = bench.arm({"trigger": "node", "on": "event", "node_id": "phone", "event": "shake"})

    bench.fire("node_connected", {"node_id": "phone", "name": "My phone", "platform": "ios"})
    bench.fire("node_connected", {"node_id": "tablet", "name": "Tablet", "platform": "ios"})
    bench.fire("node_disconnected", {"node_id": "phone", "name": "My phone", "platform": "ios", "reason": "asleep"})
    bench.fire("node_event", {"node_id": "phone", "name": "My phone", "event": "shake", "data": {"n": 2}})
    bench.fire("node_event", {"node_id": "phone", "name": "My phone", "event": "locate", "data": {}})

    assert [len(site.fired) for site in (came, left, told)] == [1, 1, 1]
    assert left.fired[0].trigger["node"]["reason"] == "asleep"
    assert told.fired[0].trigger["node"]["data"] == {"n": 2}
    assert [site.fired[0].tainted for site in (came, left, told)] == [False, False, True]
    assert came.fired[0].trigger["description"] == "node My phone: connected"


# --- agent ---

RUN = {"run_id": "r1", "agent_id": "main", "session_key": "agent:main:main"}


@pytest.mark.parametrize(
    ("config", "event", "fires"),
    [
        ({"on": "run_started"}, ("run_started", RUN), True),
        ({"on": "run_started", "agent": "other"}, ("run_started", RUN), False),
        ({"on": "run_ended", "status": ["error", "timeout"]}, ("run_finished", {**RUN, "status": "error"}), True),
        ({"on": "run_ended", "status": "error"}, ("run_finished", {**RUN, "status": "ok"}), False),
        ({"on": "run_ended", "session": "agent:main:main"}, ("run_finished", {**RUN, "status": "ok"}), True),
        ({"on": "tool_called", "tool": "exec"}, ("tool_finished", {**RUN, "name": "exec", "status": "ok"}), True),
        ({"on": "tool_called", "tool": "exec"}, ("tool_finished", {**RUN, "name": "read", "status": "ok"}), False),
        ({"on": "budget_reached", "agent": "main"}, ("budget_reached", {"agent_id": "main", "spent": 5}), True),
        ({"on": "approval_asked"}, ("approval_requested", {"id": "a", "session_key": None}), True),
        ({"on": "approval_asked", "agent": "main"}, ("approval_requested", {"session_key": "agent:main:main"}), True),
        ({"on": "approval_asked", "agent": "main"}, ("approval_requested", {"session_key": "agent:b:main"}), False),
        ({"on": "approval_asked", "agent": "main"}, ("approval_requested", {"session_key": None}), False),
    ],
)
async def test_agents_are_watched(
    bench: Bench, config: dict[str, Any], event: tuple[str, dict[str, Any]], fires: bool
) -> None:
    site = bench.arm({"trigger": "agent", **config})

    bench.fire(*event)

    assert bool(site.fired) is fires


async def test_a_run_that_read_words_from_outside_taints(bench: Bench) -> None:
    site = bench.arm({"trigger": "agent", "on": "run_ended"})

    bench.fire("run_finished", {**RUN, "status": "ok", "reply": "done"}, OWNER.narrow(tainted=True))

    assert site.fired[0].tainted
    assert site.fired[0].trigger["agent"]["reply"] == "done"


# --- heartbeat ---


async def test_heartbeats_come_at_the_interval_from_a_place_of_the_agents_own(bench: Bench) -> None:
    main = bench.arm({"trigger": "heartbeat", "agent": "main"})
    other = bench.arm({"trigger": "heartbeat", "agent": "other"})

    await bench.clock.advance(4 * 1_800)

    assert [len(main.fired), len(other.fired)] == [4, 4]
    first, second = (main.fired[n].planned or 0 for n in (0, 1))
    assert second - first == 1_800
    assert first != other.fired[0].planned
    assert main.fired[0].trigger["agent"] == "main"
    assert main.fired[0].trigger["reason"] == "interval"
    assert main.fired[0].trigger["planned"].timestamp() == first


async def test_heartbeats_keep_to_the_active_hours(bench: Bench) -> None:
    hours = {"start": "08:00", "end": "10:00", "time_zone": "Europe/Berlin", "weekday": ["thu"]}
    config = {"trigger": "heartbeat", "every": "30m", "active_hours": hours}
    site = bench.arm(config)
    due = bench.next_due(config)

    await bench.clock.advance(86_400)

    assert len(site.fired) == 4
    assert site.fired[0].planned == due
    assert all(START + 7 * 3_600 <= (fired.planned or 0) < START + 9 * 3_600 for fired in site.fired)


async def test_a_wake_fires_at_once_for_its_agent(bench: Bench) -> None:
    mine = bench.arm({"trigger": "heartbeat", "agent": "main"})
    anyones = bench.arm({"trigger": "heartbeat"})

    bench.fire("heartbeat_wake", {"agent_id": "main", "reason": "reminder"}, OWNER)
    bench.fire("heartbeat_wake", {"agent_id": "other", "reason": "x"}, OWNER.narrow(tainted=True))

    assert [(fired.trigger["agent"], fired.trigger["reason"]) for fired in mine.fired] == [("main", "wake")]
    assert [(fired.trigger["agent"], fired.tainted) for fired in anyones.fired] == [("main", False), ("other", True)]
    assert mine.fired[0].trigger["wake_reason"] == "reminder"


# --- mqtt ---


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
    assert where_of("#") is None


# --- webhook ---


async def test_a_webhook_fires_with_what_was_sent(bench: Bench) -> None:
    table = Webhooks(bench.clock)
    bench.with_source(Webhooks, table)
    site = bench.arm({"trigger": "webhook", "webhook_id": "{{ 'my' }}-hook"})
    request = WebhookRequest(
        "my-hook", "POST", "127.0.0.1", True, {"content-type": "application/json"}, [("q", "1")], b'{"a": 1}'
    )

    reply = table.receive(request)

    assert reply.status == 200
    trigger = site.fired[0].trigger
    assert (trigger["webhook_id"], trigger["json"], trigger["query"], trigger["method"]) == (
        *("my-hook", {"a": 1}, {"q": "1"}, "POST"),
    )
    assert site.fired[0].tainted
    bench.disarm()
    assert table.receive(request).status == 404


async def test_a_webhook_that_is_taken_or_cannot_come_in_is_told(bench: Bench) -> None:
    nowhere = bench.arm({"trigger": "webhook", "webhook_id": "a"})
    bench.with_source(Webhooks, Webhooks(bench.clock))
    bench.arm({"trigger": "webhook", "webhook_id": "a"})
    taken = bench.arm({"trigger": "webhook", "webhook_id": "a"})

    assert "no webhooks" in nowhere.failures[0]
    assert "belongs to" in taken.failures[0]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"trigger": "hub", "event": "start"}, "when the hub has started"),
        ({"trigger": "hub", "event": "shutdown"}, "when the hub stops"),
        ({"trigger": "node", "on": "connected", "node_id": "phone"}, "when the node phone connects"),
        ({"trigger": "node", "on": "event", "event": ["a", "b"]}, "when a node reports a or b"),
        (
            {"trigger": "agent", "on": "run_ended", "status": "error"},
            "when a run of an agent ends with the status error",
        ),
        (
            {"trigger": "agent", "on": "tool_called", "tool": "exec", "agent": "main"},
            "when the agent main has called exec",
        ),
        ({"trigger": "heartbeat"}, "every 30 min, and when an agent is woken"),
        (
            {"trigger": "heartbeat", "agent": "main", "active_hours": {"start": "08:00", "end": "22:00"}},
            "every 30 min between 08:00 and 22:00, and when the agent main is woken",
        ),
        ({"trigger": "mqtt", "topic": "a/+"}, "when a message comes on the MQTT topic a/+"),
        ({"trigger": "mqtt", "topic": "a", "payload": "on"}, "when a message comes on the MQTT topic a that says on"),
        ({"trigger": "webhook", "webhook_id": "a"}, "when the webhook a is called from this machine"),
        (
            {"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "local_only": False, "signature": "github"},
            "when the webhook a is called from anywhere with a signed body",
        ),
    ],
)
def test_each_is_explained_in_plain_words(config: dict[str, Any], words: str) -> None:
    assert explained(config) == words


async def test_a_signature_of_ones_own_form_is_judged(bench: Bench) -> None:
    bench.with_source(Webhooks, table := Webhooks(bench.clock))
    own = {"header": "X-Sign", "prefix": "v1=", "encoding": "base64", "timestamp_header": "X-Time", "tolerance": "1m"}
    site = bench.arm({"trigger": "webhook", "webhook_id": "a", "secret": SECRET, "signature": own})
    form = SignatureForm("x-sign", "v1=", "base64", "x-time", tolerance_s=60)
    now = str(int(bench.clock.time()))

    def call(timestamp: str) -> int:
        headers = {"x-time": timestamp, "x-sign": sign(SECRET, b"hi", form, timestamp)}
        return table.receive(WebhookRequest("a", "POST", "127.0.0.1", True, headers, [], b"hi")).status

    assert [call(now), call(str(int(now) - 61))] == [200, 401]
    assert site.fired[0].trigger["text"] == "hi"
