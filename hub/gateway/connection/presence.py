"""Presence: one entry per connected client, and one for the hub itself."""

from __future__ import annotations

import platform
import socket
from typing import Any

from hub.core.clock import Clock
from hub.gateway.connection.connection import Connection

MODE = "gateway"


class Presence:
    """Keeps the entries of `system-presence` and a version that rises with each change."""

    def __init__(self, clock: Clock, version: str) -> None:
        self._clock = clock
        self._entries: dict[str, dict[str, Any]] = {}
        self._hub = {
            "host": socket.gethostname(),
            "version": version,
            "platform": platform.system().lower(),
            "mode": MODE,
            "reason": "self",
            "text": f"Homarus {version}",
            "ts": int(clock.time() * 1000),
        }
        self.version = 0

    def list(self) -> list[dict[str, Any]]:
        """Return the entries, the hub's own first."""
        return [self._hub, *self._entries.values()]

    def joined(self, connection: Connection) -> None:
        """Add a client."""
        client = connection.client
        caller = connection.caller
        entry: dict[str, Any] = {
            "host": client.display_name or client.id,
            "ip": caller.address if caller is not None else None,
            "version": client.version,
            "platform": client.platform,
            "deviceFamily": client.device_family,
            "modelIdentifier": client.model_identifier,
            "mode": client.mode,
            "reason": "connect",
            "roles": [client.role],
            "scopes": sorted(connection.authority.scopes),
            "deviceId": client.device_id,
            "instanceId": client.instance_id or connection.id,
            "connId": connection.id,
            "text": f"{client.display_name or client.id} ({client.mode})",
            "ts": int(self._clock.time() * 1000),
        }
        self._entries[connection.id] = {key: value for key, value in entry.items() if value is not None}
        self.version += 1

    def left(self, connection: Connection) -> bool:
        """Remove a client; return whether it was there."""
        if self._entries.pop(connection.id, None) is None:
            return False
        self.version += 1
        return True
