"""Nodes come and go with the transport that brings them, and are asked only for what they can do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.core.errors import Conflict, NotFound, TimedOut
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from hub.nodes.contract import Connect, Disconnect
from hub.nodes.registry import NodeRegistry


class Lamp:
    """A node that switches; `slow` never answers."""

    name, platform, permissions = "Lamp", "linux", dict[str, bool]()
    commands = frozenset({"switch", "slow"})

    def __init__(self, id: str) -> None:
        self.id = id
        self.cancelled = False
        self.keys: list[str] = []

    async def invoke(
        self, command: str, params: Mapping[str, Any], *, timeout_s: float, idempotency_key: str
    ) -> Mapping[str, Any]:
        self.keys.append(idempotency_key)
        if command == "slow":
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled = True
        return {"on": params["on"]}


class Radio:
    """A transport that a test drives."""

    def __init__(self, name: str = "radio", *, broken: bool = False) -> None:
        self.name = name
        self.broken = broken
        self.stopped = False
        self.connect: Connect

    async def start(self, connect: Connect) -> None:
        self.connect = connect
        if self.broken:
            connect(Lamp("half"))
            raise OSError("no antenna")

    async def stop(self) -> None:
        self.stopped = True


class Room:
    """A registry and all that it fired."""

    def __init__(self, tasks: TaskOwner) -> None:
        self.told: list[tuple[str, str, str | None]] = []
        bus = EventBus(tasks, Clock().time)
        for type in ("node_connected", "node_disconnected"):
            bus.listen(type, self._heard)
        self.nodes = NodeRegistry(bus, lambda: 7.0)

    def _heard(self, event: Event) -> None:
        self.told.append((event.type, event.data["node_id"], event.data.get("reason")))


@pytest.fixture
async def room() -> AsyncIterator[Room]:
    tasks = TaskOwner("test")
    yield Room(tasks)
    await tasks.cancel_all()


async def test_a_node_is_asked_by_its_id_with_a_key_of_its_own_each_time(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)

    answers = [await room.nodes.invoke("lamp", "switch", {"on": on}) for on in (True, False)]

    assert answers == [{"on": True}, {"on": False}]
    assert len(set(lamp.keys)) == 2
    assert [(each.node.id, each.transport, each.connected_ms) for each in room.nodes.all()] == [("lamp", "radio", 7000)]


async def test_a_node_is_not_asked_for_what_it_cannot_do_nor_when_it_is_away(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)

    with pytest.raises(NotFound, match="no command explode"):
        await room.nodes.invoke("lamp", "explode")
    with pytest.raises(NotFound, match="the node fan is not connected"):
        await room.nodes.invoke("fan", "switch")
    assert lamp.keys == []


async def test_a_node_that_does_not_answer_in_time_is_cancelled(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)

    with pytest.raises(TimedOut):
        await room.nodes.invoke("lamp", "slow", timeout_s=0.01)

    assert lamp.cancelled


async def test_a_node_that_comes_again_replaces_itself_and_its_old_connection_cannot_end_the_new(room: Room) -> None:
    radio, first, second = Radio(), Lamp("lamp"), Lamp("lamp")
    await room.nodes.add(radio)
    gone: Disconnect = radio.connect(first)
    radio.connect(second)

    gone("the old socket closed")

    assert room.nodes.get("lamp") is second
    assert [each[0] for each in room.told] == ["node_connected", "node_disconnected", "node_connected"]


async def test_the_nodes_of_a_transport_go_with_it_and_none_comes_by_one_that_was_stopped(room: Room) -> None:
    radio, wire = Radio(), Radio("wire")
    await room.nodes.add(radio)
    await room.nodes.add(wire)
    radio.connect(Lamp("lamp"))
    wire.connect(Lamp("fan"))

    await room.nodes.remove("radio")

    assert radio.stopped
    assert [each.node.id for each in room.nodes.all()] == ["fan"]
    assert room.told[-1] == ("node_disconnected", "lamp", "radio was stopped")
    with pytest.raises(Conflict, match="was stopped"):
        radio.connect(Lamp("lamp"))


async def test_a_transport_that_cannot_start_leaves_nothing_behind(room: Room) -> None:
    with pytest.raises(OSError, match="no antenna"):
        await room.nodes.add(Radio(broken=True))
    await room.nodes.add(Radio())

    assert room.nodes.all() == []


async def test_two_transports_have_neither_one_name_nor_one_node(room: Room) -> None:
    radio, wire = Radio(), Radio("wire")
    await room.nodes.add(radio)
    await room.nodes.add(wire)
    radio.connect(Lamp("lamp"))

    with pytest.raises(Conflict, match="a node transport radio already"):
        await room.nodes.add(Radio())
    with pytest.raises(Conflict, match="connected by radio"):
        wire.connect(Lamp("lamp"))
