"""A registry of nodes as the hub makes it."""

from __future__ import annotations

from collections.abc import Callable

from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
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
    nodes.surfaces.admit(nodes.surfaces.known(id))
    nodes.begin_work(id)
