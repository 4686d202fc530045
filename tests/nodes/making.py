"""A registry of nodes as the hub makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.nodes.contract import Connect
from hub.nodes.records import NodeRecords
from hub.nodes.registry import NodeRegistry
from hub.nodes.surfaces import NodeSurfaces
from hub.nodes.work import PendingWork
from hub.storage.database import Database


def make_nodes(
    bus: EventBus, wall_time: Callable[[], float], tasks: TaskOwner, db: Database | None = None
) -> NodeRegistry:
    surfaces = NodeSurfaces(bus, wall_time, NodeRecords(db))
    return NodeRegistry(bus, wall_time, surfaces, PendingWork(wall_time, db), tasks)


def admit(nodes: NodeRegistry, id: str) -> None:
    """Approve all that a node declares."""
    nodes.surfaces.admit(nodes.surfaces.require(id))
    nodes.begin_work(id)


class ScriptedNode:
    """A node that answers each command as a test says, and notes what it was asked."""

    def __init__(self, id: str, name: str, platform: str, answers: Mapping[str, Any]) -> None:
        self.id, self.name, self.platform = id, name, platform
        self.answers = dict(answers)
        self.commands = frozenset(answers)
        self.permissions = dict[str, bool]()
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.limits_s: list[float] = []

    async def invoke(
        self, command: str, params: Mapping[str, Any], *, timeout_s: float, idempotency_key: str
    ) -> Mapping[str, Any]:
        self.asked.append((command, params))
        self.limits_s.append(timeout_s)
        answer: Mapping[str, Any] = self.answers[command]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Cable:
    """A transport that a test drives."""

    name = "cable"

    async def start(self, connect: Connect) -> None:
        self.connect = connect

    async def stop(self) -> None: ...
