"""The commands of nodes: declared, pending, approved, and permitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hub.core.context import Authority
from hub.core.errors import Forbidden, NotFound
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.nodes.commands import CommandRules, scopes_to_approve
from hub.nodes.contract import Node
from hub.nodes.failures import CommandNotAllowed
from hub.nodes.records import NodeRecord, NodeRecords, SurfaceRequest

EVENT_SURFACE_REQUESTED = "node_pair_requested"
EVENT_SURFACE_RESOLVED = "node_pair_resolved"


class NodeSurfaces:
    """Knows which commands of a node passed all three checks.

    Args:
        bus: Receives `node_pair_requested` and `node_pair_resolved`.
        wall_time: Seconds since the epoch.
        records: Stores approvals.
    """

    def __init__(self, bus: EventBus, wall_time: Callable[[], float], records: NodeRecords) -> None:
        self._bus = bus
        self._wall_time = wall_time
        self.records = records
        self.rules = CommandRules()

    def commands(self, node: Node) -> frozenset[str]:
        """Return the commands of a connected node: declared, approved and permitted."""
        record = self.records.get(node.id)
        return self._permitted(node) & frozenset(record.commands) if record is not None else frozenset()

    def may_queue(self, record: NodeRecord, command: str) -> bool:
        """Whether a command may be queued for a node that is away."""
        return command in record.commands and self.rules.permits(record.platform, record.caps, command)

    def approve(self, request_id: str, by: Authority) -> NodeRecord:
        """Approve the commands of a pending request, from now on.

        Raises:
            NotFound: There is no such request.
            Forbidden: The approver may not approve such commands.
        """
        record = self._requested(request_id)
        missing = sorted(set(scopes_to_approve(_waiting(record))) - by.scopes)
        if missing:
            raise Forbidden(
                phrase("someone with more rights must approve these commands: {names}", names=", ".join(missing)),
                details={"scopes": missing},
            )
        return self.admit(record)

    def admit(self, record: NodeRecord) -> NodeRecord:
        """Approve all declared commands of a node, without checking an approver."""
        request = record.request
        commands = {*record.commands, *(request.commands if request is not None else ())}
        caps = {*record.caps, *(request.caps if request is not None else ())}
        now = self._now_ms()
        fresh = replace(
            record, commands=tuple(sorted(commands)), caps=tuple(sorted(caps)), approved_ms=now, request=None
        )
        self._resolve(fresh, request, "approved")
        return fresh

    def reject(self, request_id: str) -> NodeRecord:
        """Refuse a pending request; the node asks again when it next connects.

        Raises:
            NotFound: There is no such request.
        """
        record = self._requested(request_id)
        fresh = replace(record, request=None)
        self._resolve(fresh, record.request, "rejected")
        return fresh

    def rename(self, id: str, label: str) -> NodeRecord:
        """Give a node another name.

        Raises:
            NotFound: There is no such node.
        """
        return self.records.put(replace(self.require(id), label=label))

    def require(self, id: str) -> NodeRecord:
        """Return the record of a node.

        Raises:
            NotFound: It does not exist.
        """
        record = self.records.get(id)
        if record is None:
            raise NotFound(phrase("there is no node {node}", node=id[:80]))
        return record

    def refusal(self, record: NodeRecord, node: Node | None, command: str) -> CommandNotAllowed:
        """Return why a node may not be sent a command."""
        declared = node.commands if node is not None else {*record.commands, *_waiting(record)}
        if command not in declared:
            return CommandNotAllowed(command, "command not declared by node", f"is none of {record.title}")
        if not self.rules.permits(record.platform, _caps(node, record), command):
            return CommandNotAllowed(
                command, "command not allowlisted", f"requires `nodes: commands: allow: [{command}]`"
            )
        return CommandNotAllowed(
            command, "command not approved", f"must be approved first: homarus nodes approve {record.id[:12]}"
        )

    def _permitted(self, node: Node) -> frozenset[str]:
        caps = _caps(node, None)
        return frozenset(each for each in node.commands if self.rules.permits(node.platform, caps, each))

    def declare(self, node: Node, record: NodeRecord) -> None:
        """Record newly declared commands of a node, and request their approval once."""
        commands = self._permitted(node)
        caps = _caps(node, record)
        if commands <= frozenset(record.commands) and record.approved_ms is not None:
            if record.request is not None:
                self.records.put(replace(record, request=None))
            return
        asked, request = tuple(sorted(commands)), record.request
        if request is not None and request.commands == asked:
            return
        request = SurfaceRequest(new_id(), asked, tuple(sorted(caps)), self._now_ms())
        self.records.put(replace(record, request=request))
        facts = {**shown(record), "request_id": request.id, "commands": list(asked), "caps": sorted(caps)}
        self._bus.fire(EVENT_SURFACE_REQUESTED, facts)

    def _resolve(self, record: NodeRecord, request: SurfaceRequest | None, decision: str) -> None:
        self.records.put(record)
        facts = {**shown(record), "request_id": request.id if request else "", "decision": decision}
        self._bus.fire(EVENT_SURFACE_RESOLVED, facts)

    def _requested(self, request_id: str) -> NodeRecord:
        record = self.records.by_request(request_id)
        if record is None:
            raise NotFound(phrase("there is no request {request} of a node", request=request_id[:64]))
        return record

    def _now_ms(self) -> int:
        return int(self._wall_time() * 1000)


def shown(record: NodeRecord) -> dict[str, Any]:
    """Return a node as events show it."""
    return {"node_id": record.id, "name": record.title, "platform": record.platform}


def _caps(node: Node | None, record: NodeRecord | None) -> tuple[str, ...]:
    """Return a connected node's capabilities; the approved ones if it is away."""
    declared = getattr(node, "about", {}).get("caps") if node is not None else None
    return tuple(declared or (record.caps if record is not None else ()))


def _waiting(record: NodeRecord) -> tuple[str, ...]:
    return record.request.commands if record.request is not None else ()
