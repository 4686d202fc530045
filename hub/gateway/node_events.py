"""Events of nodes: statistics become entities, spoken words a message, everything else the event `node_event`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.surfaces import READ, WRITE, Caller, Push
from hub.gateway.connection.server import Gateway
from hub.gateway.node_socket import SocketNode
from hub.nodes.registry import NodeRegistry
from hub.nodes.sensors import NodeSensors

TEXT_LIMIT = 20_000
TAG_LIMIT = 255
SAME_WORDS_S = 1.5
"""The same words in a conversation within so many seconds are one utterance, where nothing else tells them apart."""
KEPT_WORDS = 200


class NodeEvents:
    """Takes the events of nodes.

    Args:
        nodes: All nodes.
        gateway: Has the devices, and passes messages on for those that may.
        sensors: Show statistics.
        hear: Takes the sound of a node with a microphone; returns whether it is expected.
    """

    def __init__(
        self, nodes: NodeRegistry, gateway: Gateway, sensors: NodeSensors, hear: Callable[[str, Any], bool]
    ) -> None:
        self._nodes = nodes
        self._gateway = gateway
        self._sensors = sensors
        self._hear = hear
        self._said: dict[tuple[str, str], tuple[str, float]] = {}

    async def take(self, node: SocketNode, name: str, data: Any) -> Mapping[str, Any]:
        """Handle an event; return the protocol's answer."""
        answer = {"ok": True, "event": name, "handled": True}
        if name == "node.host.stats":
            stats = self._sensors.report(self._nodes.surfaces.require(node.id), data)
            if stats is None:
                return answer | {"handled": False, "reason": "invalid_payload"}
            stats["updatedAtMs"] = int(self._gateway.clock.time() * 1000)
            self._nodes.note(node.id, "hostStats", stats)
            payload = {"nodeId": node.id, "hostStats": stats}
            self._gateway.push(Push("node.hostStats", payload, scope=READ, droppable=True))
            return answer | {"reason": "updated"}
        if name == "voice.audio":
            return answer if self._hear(node.id, data) else answer | {"handled": False, "reason": "not_listening"}
        if name == "node.report":
            taken = self._sensors.locate(self._nodes.surfaces.require(node.id), data)
            return answer | ({"reason": "updated"} if taken else {"handled": False, "reason": "invalid_payload"})
        if name == "tag.scanned":
            return answer if self._scan(node, data) else answer | {"handled": False, "reason": "invalid_payload"}
        if name == "node.presence.alive":
            self._nodes.record_activity(node.id, "alive")
            return answer | {"reason": "persisted"}
        if name in ("voice.transcript", "agent.request"):
            return await self._say(node, name, data)
        self._nodes.event(node.id, name, data)
        return answer

    def _scan(self, node: SocketNode, data: Any) -> bool:
        """Fire the event of a tag that a phone has read; return whether it was one."""
        tag_id = data.get("tagId") if isinstance(data, Mapping) else None
        if not isinstance(tag_id, str) or not 0 < len(tag_id) <= TAG_LIMIT:
            return False
        device_id = self._sensors.appear(self._nodes.surfaces.require(node.id))
        authority = self._gateway.authenticator.authority_of(f"device:{node.id}")
        return self._nodes.scanned(node.id, {"tag_id": tag_id, "device_id": device_id}, Context(authority))

    async def _say(self, node: SocketNode, name: str, data: Any) -> Mapping[str, Any]:
        """Forward spoken or typed words, for a device that is also an operator and may write."""
        text = data.get("text" if name == "voice.transcript" else "message") if isinstance(data, Mapping) else None
        caller = self._operator(node)
        if not isinstance(text, str) or not text.strip() or len(text) > TEXT_LIMIT:
            return {"ok": True, "event": name, "handled": False, "reason": "invalid_payload"}
        if caller is None:
            return {"ok": True, "event": name, "handled": False, "reason": "unauthorized"}
        default = "main" if name == "voice.transcript" else f"node-{node.id}"
        session_key, known_as = str(data.get("sessionKey") or default), utterance_id(data)
        if known_as is None and name == "voice.transcript" and self._is_repeated(node.id, session_key, text):
            return {"ok": True, "event": name, "handled": True, "reason": "duplicate"}
        params = {"sessionKey": session_key, "message": text, "idempotencyKey": (known_as or new_id())[:256]}
        dispatcher = self._gateway.dispatcher
        try:
            await dispatcher.run(*dispatcher.prepare("chat.send", params, caller))
        except HubError as error:
            return {"ok": True, "event": name, "handled": False, "reason": error.message[:200]}
        return {"ok": True, "event": name, "handled": True}

    def _is_repeated(self, node_id: str, session_key: str, text: str) -> bool:
        """Whether the node said the same there a moment ago."""
        now, place = self._gateway.clock.monotonic(), (node_id, session_key)
        before = self._said.pop(place, None)
        self._said[place] = (text, now)
        if len(self._said) > KEPT_WORDS:
            self._said.pop(next(iter(self._said)))
        return before is not None and before[0] == text and now - before[1] <= SAME_WORDS_S

    def _operator(self, node: SocketNode) -> Caller | None:
        """Return the operator that a device also is, if it may write."""
        gateway, socket = self._gateway, node.connection.caller
        grant = gateway.devices.grant(node.id, "operator") if gateway.devices is not None else None
        if grant is None or socket is None or not gateway.authenticator.all_valid(grant.made_by):
            return None
        authority = gateway.authenticator.device_authority(grant)
        if not authority.has(WRITE):
            return None
        return Caller(authority, grant.credential_id, socket.address, socket.local, grant.made_by)


def utterance_id(data: Mapping[str, Any]) -> str | None:
    """Return what tells one utterance from another: its id, or its number in a call; None if the device says none."""
    for key in ("eventId", "providerEventId", "transcriptId", "key"):
        if data.get(key):
            return str(data[key])
    call = data.get("providerCallId") or data.get("callId")
    numbers = (data.get(key) for key in ("sequence", "seq", "timestamp", "ts", "eventTimestamp"))
    number = next((each for each in numbers if isinstance(each, int | float)), None)
    return f"{call}:{number}" if call and number is not None else None
