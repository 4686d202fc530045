"""Nodes come and go with the transport that brings them, and are asked only for what they can do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.cluster.lease import WorkerLease
from hub.core.clock import Clock, ManualClock
from hub.core.context import Authority
from hub.core.errors import Conflict, Forbidden, NotFound, TimedOut
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from hub.nodes.commands import CommandRules
from hub.nodes.contract import Connect, Disconnect
from hub.nodes.failures import CommandNotAllowed, NodeRefused
from hub.storage.database import Database
from tests.databases import make_database
from tests.nodes.making import admit, make_nodes
from tests.until import until


class Lamp:
    """A node that switches; `slow` never answers."""

    name, platform, permissions = "Lamp", "linux", dict[str, bool]()
    commands = frozenset({"switch", "slow", "starting"})

    def __init__(self, id: str) -> None:
        self.id = id
        self.cancelled = False
        self.keys: list[str] = []

    async def invoke(
        self, command: str, params: Mapping[str, Any], *, timeout_s: float, idempotency_key: str
    ) -> Mapping[str, Any]:
        self.keys.append(idempotency_key)
        if command == "starting" and len(self.keys) < 2:
            raise NodeRefused("NODE_NOT_READY", "not yet")
        if command == "slow":
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled = True
        return {"on": params.get("on")}


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

    def __init__(self, tasks: TaskOwner, db: Database | None = None) -> None:
        self.told: list[tuple[str, str, str | None]] = []
        self.events: list[dict[str, Any]] = []
        bus = EventBus(tasks, Clock().time)
        for type in ("node_connected", "node_disconnected"):
            bus.listen(type, self._heard)
        bus.listen("node_event", lambda event: self.events.append(event.data))
        self.nodes = make_nodes(bus, lambda: 7.0, tasks, db)
        self.nodes.configure(CommandRules(allow=("switch", "slow", "starting")))

    def admit(self, id: str) -> None:
        admit(self.nodes, id)

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
    room.admit("lamp")

    answers = [await room.nodes.invoke("lamp", "switch", {"on": on}) for on in (True, False)]

    assert answers == [{"on": True}, {"on": False}]
    assert len(set(lamp.keys)) == 2
    assert [(each.node.id, each.transport, each.connected_ms) for each in room.nodes.all()] == [("lamp", "radio", 7000)]


async def test_a_node_is_not_asked_for_what_it_cannot_do_nor_when_it_is_away(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    gone = radio.connect(lamp)
    room.admit("lamp")

    with pytest.raises(CommandNotAllowed, match='"explode" is none of Lamp'):
        await room.nodes.invoke("lamp", "explode")
    with pytest.raises(NotFound, match="there is no node fan"):
        await room.nodes.invoke("fan", "switch")
    gone("it left")
    with pytest.raises(NodeRefused, match="the node Lamp is not connected"):
        await room.nodes.invoke("lamp", "switch")
    assert lamp.keys == []


async def test_a_node_that_does_not_answer_in_time_is_cancelled(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)
    room.admit("lamp")

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


async def test_a_command_passes_three_gates(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)

    with pytest.raises(CommandNotAllowed, match="must be approved first"):
        await room.nodes.invoke("lamp", "switch")
    room.admit("lamp")
    assert await room.nodes.invoke("lamp", "switch", {"on": True}) == {"on": True}
    room.nodes.configure(CommandRules(allow=("*",), deny=("switch",)))
    with pytest.raises(CommandNotAllowed, match="requires `nodes: commands: allow"):
        await room.nodes.invoke("lamp", "switch")
    assert len(lamp.keys) == 1


async def test_what_a_node_declares_later_is_asked_for_again(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)
    room.admit("lamp")
    bold = Lamp("lamp")
    bold.commands = frozenset({"switch", "system.run"})
    radio.connect(bold)
    record = room.nodes.surfaces.require("lamp")

    assert record.approval == "pending-reapproval"
    assert room.nodes.commands("lamp") == {"switch"}
    assert record.request is not None
    with pytest.raises(Forbidden, match=r"operator\.admin"):
        room.nodes.surfaces.approve(record.request.id, Authority("a", scopes=frozenset({"operator.pairing"})))
    room.nodes.surfaces.reject(record.request.id)
    assert room.nodes.commands("lamp") == {"switch"}


async def test_a_key_means_one_invocation(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)
    room.admit("lamp")

    answers = [await room.nodes.invoke("lamp", "switch", {"on": on}, key="once") for on in (True, False)]

    assert answers == [{"on": True}, {"on": True}]
    assert lamp.keys == ["once"]


async def test_a_node_that_is_not_ready_yet_is_asked_again(room: Room) -> None:
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)
    room.admit("lamp")

    await room.nodes.invoke("lamp", "starting")

    assert len(lamp.keys) == 2


async def test_what_waits_for_a_node_outlives_the_hub_and_is_done_when_it_comes(tmp_path: Path) -> None:
    tasks = TaskOwner("test")
    db = make_database(tmp_path / "hub.db")
    await db.open()
    room, radio = Room(tasks, db), Radio()
    await room.nodes.add(radio)
    gone = radio.connect(Lamp("lamp"))
    room.admit("lamp")
    gone("it sleeps")
    with pytest.raises(CommandNotAllowed):
        await room.nodes.queue("lamp", "explode", {})
    item = await room.nodes.queue("lamp", "switch", {"on": True})
    later, lamp = Room(tasks, db), Lamp("lamp")
    await db.write(lambda _: None)
    await later.nodes.records.open()
    await later.nodes.work.open()
    await later.nodes.add(radio)
    radio.connect(lamp)
    await until(lambda: len(later.events) >= 1)

    assert lamp.keys == [item.id]
    assert later.events[0]["event"] == "invoke.result"
    assert later.events[0]["data"]["payload"] == {"on": True}
    assert later.nodes.work.of("lamp") == []
    await tasks.cancel_all()
    await db.close()


async def test_a_node_is_asked_only_while_the_lease_is_held(room: Room) -> None:
    clock = ManualClock()
    room.nodes.lease = lease = WorkerLease(clock.monotonic, clock.sleep)
    radio, lamp = Radio(), Lamp("lamp")
    await room.nodes.add(radio)
    radio.connect(lamp)
    room.admit("lamp")

    asking = asyncio.ensure_future(room.nodes.invoke("lamp", "switch", {"on": True}))
    await clock.advance(60)
    assert lamp.keys == []
    lease.renew(begun=60.0)
    await clock.advance(1)

    assert await asking == {"on": True}
