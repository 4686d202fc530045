"""Presence: one entry per device or instance, whatever it connects as."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hub.core.clock import ManualClock
from hub.core.context import Authority
from hub.gateway.connection.connection import ClientInfo
from hub.gateway.connection.presence import BEACON_LIFE_S, ENTRIES_LIMIT, STALE_S, Presence


def connection(id: str, address: str = "192.0.2.5", **client: Any) -> Any:
    info = ClientInfo(**({"id": "app", "version": "1", "platform": "ios", "mode": "ui"} | client))
    return SimpleNamespace(
        id=id, client=info, caller=SimpleNamespace(address=address), authority=Authority("a", scopes=frozenset())
    )


def entries(presence: Presence) -> list[dict[str, Any]]:
    return presence.list()[1:]


def test_a_phone_that_is_node_and_operator_is_one_entry_until_both_have_left() -> None:
    presence = Presence(ManualClock(0.0), "1")
    node = connection("a", device_id="phone", role="node", mode="node")
    operator = connection("b", device_id="PHONE".lower())
    presence.join(node)
    presence.join(operator)

    assert [(each["deviceId"], each["roles"]) for each in entries(presence)] == [("phone", ["node", "operator"])]
    assert presence.leave(node)
    assert [each["roles"] for each in entries(presence)] == [["operator"]]
    assert presence.leave(operator)
    assert not presence.leave(operator)
    assert entries(presence) == []


def test_a_command_line_is_not_shown_and_instances_are_merged_whatever_their_case() -> None:
    presence = Presence(ManualClock(0.0), "1")
    presence.join(connection("a", mode="cli"))
    presence.join(connection("b", instance_id="MAC-1"))
    presence.join(connection("c", instance_id="mac-1"))

    assert [each["connId"] for each in entries(presence)] == ["c"]


def test_a_beacon_updates_its_entry_and_ends_without_a_connection() -> None:
    clock = ManualClock(0.0)
    presence = Presence(clock, "1")
    presence.join(connection("a", instance_id="mac"))
    presence.beacon({"lastInputSeconds": 7, "ip": "127.0.0.1", "host": "Studio", "text": "x" * 5_000}, "a")
    presence.beacon({"instanceId": "elsewhere", "host": "Attic"}, None)
    presence.beacon({"host": "nobody"}, None)

    found = {each["host"]: each for each in entries(presence)}
    assert found.keys() == {"Studio", "Attic"}
    assert (found["Studio"]["lastInputSeconds"], found["Studio"]["ip"]) == (7, "192.0.2.5")
    assert len(found["Studio"]["text"]) < 5_000
    clock.jump(BEACON_LIFE_S + 1)
    assert [each["host"] for each in entries(presence)] == ["Studio"]


def test_there_are_at_most_two_hundred_entries_the_latest() -> None:
    clock = ManualClock(0.0)
    presence = Presence(clock, "1")
    for number in range(ENTRIES_LIMIT + 50):
        presence.join(connection(f"c{number}"))
        clock.jump(0.001)
    first = connection("c0")

    assert len(entries(presence)) == ENTRIES_LIMIT
    assert presence.leave(first)
    assert len(entries(presence)) == ENTRIES_LIMIT


def test_an_instance_is_active_idle_or_stale_by_its_last_use_and_its_last_word() -> None:
    clock = ManualClock(0.0)
    presence = Presence(clock, "1")
    presence.join(connection("a", instance_id="used"))
    presence.join(connection("b", instance_id="left"))
    presence.beacon({"instanceId": "used", "lastInputSeconds": 5}, None)
    presence.beacon({"instanceId": "left", "lastInputSeconds": 55}, None)
    presence.beacon({"instanceId": "away"}, None)

    def states() -> dict[str, str]:
        return {each["instanceId"]: each["state"] for each in entries(presence)}

    assert states() == {"used": "active", "left": "active", "away": "active"}
    clock.jump(10)
    assert states() == {"used": "active", "left": "idle", "away": "active"}
    clock.jump(STALE_S)
    assert states() == {"used": "idle", "left": "idle", "away": "stale"}
    assert presence.list()[0]["state"] == "active"
