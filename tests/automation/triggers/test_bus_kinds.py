"""The triggers that listen to one event each: heartbeat, agent, node, hub."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.schema import Invalid
from tests.automation.triggers.bench import OWNER, START, Bench, explained, valid


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"trigger": "hub", "event": "restart"}, "event"),
        ({"trigger": "node"}, "on"),
        ({"trigger": "node", "on": "connected", "event": "x"}, "on: event"),
        ({"trigger": "agent", "on": "woke"}, "on"),
        ({"trigger": "agent", "on": "run_started", "status": "ok"}, "does not apply"),
        ({"trigger": "agent", "on": "budget_reached", "session": "x"}, "does not apply"),
        ({"trigger": "heartbeat", "every": 5}, "one minute"),
        ({"trigger": "heartbeat", "active_hours": {"start": "08:00"}}, "end"),
        ({"trigger": "heartbeat", "active_hours": {"start": "08:00", "end": "8"}}, "time of day"),
        ({"trigger": "heartbeat", "agent": "Main Agent"}, "identifier"),
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
    ],
)
def test_each_is_explained_in_plain_words(config: dict[str, Any], words: str) -> None:
    assert explained(config) == words
