"""Nodes with a microphone, as satellites: what they hear comes as events, and what they say is a command."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable
from typing import Any

from hub.core.errors import HubError
from hub.nodes.commands import PLAY
from hub.nodes.records import NodeRecord
from hub.nodes.registry import NodeRegistry
from hub.voice.contract import Line, Satellite, SatelliteInfo, Satellites, Sound, Stage

PLATFORM = "nodes"
PLAYED_LATE_S = 20.0
"""How much later than it takes to play it a node may say that something was played."""
PIECE_LIMIT = 65_536
_log = logging.getLogger(__name__)


class NodeSatellite:
    """A node that listens.

    Args:
        record: The node.
        device_id: The device that it is in the home.
    """

    def __init__(self, nodes: NodeRegistry, record: NodeRecord, device_id: str) -> None:
        self._nodes, self._node_id = nodes, record.id
        self.info = SatelliteInfo(
            f"node_{record.id[:12].lower()}",
            record.title,
            PLATFORM,
            device_id,
            wakes_itself=False,
            always_sends=True,
        )

    async def listen(self) -> None:
        """Do nothing: it sends all that it hears."""

    async def play(self, sound: Sound) -> None:
        """Play a sound there to its end."""
        params = {"base64": base64.b64encode(sound.samples).decode(), "rate": sound.rate}
        await self._nodes.invoke(self._node_id, PLAY, params, timeout_s=sound.seconds + PLAYED_LATE_S)

    async def show(self, stage: Stage, text: str = "") -> None:
        """Do nothing: it has no lights."""


class NodeSatellites:
    """The satellites among the nodes.

    Args:
        nodes: All nodes.
        satellites: All satellites.
        device_for: Returns the id of the device that a node is.
    """

    def __init__(self, nodes: NodeRegistry, satellites: Satellites, device_for: Callable[[NodeRecord], str]) -> None:
        self._nodes, self._satellites, self._device_for = nodes, satellites, device_for
        self._lines: dict[str, tuple[Line, Callable[[], Any]]] = {}

    def follow(self, record: NodeRecord) -> None:
        """Add, renew or remove a node whose approval or connection has changed."""
        node = self._nodes.get(record.id)
        is_there = node is not None and PLAY in node.commands
        if record.approved_ms is None or PLAY not in record.commands:
            self.forget(record.id)
            return
        if record.id not in self._lines and is_there:
            self._add(record)
        if (found := self._lines.get(record.id)) is not None:
            found[0].connected(is_connected=is_there)

    def forget(self, node_id: str) -> None:
        """Remove a node."""
        if (found := self._lines.pop(node_id, None)) is not None:
            found[1]()

    def hear(self, node_id: str, data: Any) -> bool:
        """Take sound of a node; return whether it was well formed, and the node is a satellite."""
        text = data.get("base64") if isinstance(data, dict) else None
        found = self._lines.get(node_id)
        if found is None or not isinstance(text, str) or len(text) > PIECE_LIMIT:
            return False
        try:
            samples = base64.b64decode(text, validate=True)
        except binascii.Error:
            return False
        found[0].feed(samples[: len(samples) // 2 * 2])
        return True

    def _add(self, record: NodeRecord) -> None:
        satellite: Satellite = NodeSatellite(self._nodes, record, self._device_for(record))
        try:
            self._lines[record.id] = self._satellites.add(satellite)
        except HubError as error:
            _log.warning("%s is no satellite: %s", record.title, error)
