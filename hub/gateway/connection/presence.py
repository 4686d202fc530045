"""Presence: one entry per connected or recently reported device or instance, and one for the hub."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable, Mapping
from typing import Any

from hub.core.clock import Clock
from hub.gateway.access.hosts import is_loopback
from hub.gateway.connection.connection import Connection

MODE = "gateway"
ENTRIES_LIMIT = 200
BEACON_LIFE_S = 300.0
"""How long an instance without a connection is shown after it reported itself."""
UNSHOWN_MODES = frozenset({"cli"})
BEACON_KEYS = (
    *("host", "ip", "version", "platform", "deviceFamily", "modelIdentifier", "mode", "reason", "text"),
    "lastInputSeconds",
)
TEXT_LIMIT = 200
IDLE_S = 60
"""An instance that nobody used for so long is idle."""
STALE_S = 180
"""Without a connection and silent for so long, it is stale until it is forgotten."""


class Presence:
    """Keeps the entries of `system-presence` and a version that rises with each change."""

    def __init__(self, clock: Clock, version: str) -> None:
        self._clock = clock
        self._entries: dict[str, dict[str, Any]] = {}
        self._connections: dict[str, dict[str, str]] = {}
        """For each entry, its connections with their roles."""
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
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a listener after each change.

        Returns:
            A function that ends it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def list(self) -> list[dict[str, Any]]:
        """Return the entries, the hub's own first, then the latest."""
        before = self._now_ms() - BEACON_LIFE_S * 1000
        for key in [
            key for key, entry in self._entries.items() if entry["ts"] < before and key not in self._connections
        ]:
            del self._entries[key]
        entries = sorted(self._entries.items(), key=lambda item: -item[1]["ts"])
        shown = [{**entry, "state": self._state(entry, connected=key in self._connections)} for key, entry in entries]
        return [{**self._hub, "state": "active"}, *shown]

    def join(self, connection: Connection) -> None:
        """Add a client, or merge it into the entry of its device or instance; a command line adds none."""
        client, caller = connection.client, connection.caller
        if client.mode in UNSHOWN_MODES:
            return
        self.enter(
            _key(client.instance_id, client.device_id, connection.id),
            connection.id,
            client.role,
            {
                "host": client.display_name or client.id,
                "ip": caller.address if caller is not None else None,
                "version": client.version,
                "platform": client.platform,
                "deviceFamily": client.device_family,
                "modelIdentifier": client.model_identifier,
                "mode": client.mode,
                "reason": "node-connected" if client.role == "node" else "connect",
                "scopes": sorted(connection.authority.scopes),
                "deviceId": client.device_id,
                "instanceId": client.instance_id or connection.id,
                "connId": connection.id,
                "text": f"{client.display_name or client.id} ({client.mode})",
            },
        )

    def leave(self, connection: Connection) -> bool:
        """Remove a client; return whether an entry changed."""
        client = connection.client
        return self.exit(_key(client.instance_id, client.device_id, connection.id), connection.id)

    def enter(self, key: str, connection_id: str, role: str, facts: Mapping[str, Any]) -> None:
        """Add a connection of any kind to the entry of its device, browser or instance."""
        connections = self._connections.setdefault(key, {})
        connections[connection_id] = role
        self._put(key, {**facts, "roles": sorted(set(connections.values()))})

    def exit(self, key: str, connection_id: str) -> bool:
        """Remove a connection; return whether an entry changed."""
        connections = self._connections.get(key)
        if connections is None or connections.pop(connection_id, None) is None:
            return False
        if connections and key in self._entries:
            self._entries[key]["roles"] = sorted(set(connections.values()))
        elif not connections:
            del self._connections[key]
            self._entries.pop(key, None)
        self._changed()
        return True

    def beacon(self, params: Mapping[str, Any], connection_id: str | None) -> None:
        """Record an instance's report: where it is, and how long ago somebody used it."""
        instance = params.get("instanceId") or params.get("deviceId")
        key = next((key for key, found in self._connections.items() if connection_id in found), None)
        if key is None and not isinstance(instance, str):
            return
        facts: dict[str, Any] = {each: params[each] for each in BEACON_KEYS if _is_plain(params.get(each))}
        self._put(key or _key(str(instance), None, ""), {"reason": "periodic", "instanceId": instance, **facts})

    def _state(self, entry: Mapping[str, Any], *, connected: bool) -> str:
        """Return active, idle or stale: by the last use that an instance reported, else by its last word."""
        silent_s = (self._now_ms() - entry["ts"]) / 1000
        if silent_s >= STALE_S and not connected:
            return "stale"
        used = entry.get("lastInputSeconds")
        unused_s = silent_s + float(used) if used is not None else 0.0 if connected else silent_s
        return "active" if unused_s < IDLE_S else "idle"

    def _put(self, key: str, facts: Mapping[str, Any]) -> None:
        entry = {**self._entries.get(key, {})}
        known = entry.get("ip")
        for name, value in facts.items():
            # The other end of a tunnel is on loopback; it says nothing of where the device is.
            if value is not None and not (name == "ip" and known and is_loopback(str(value))):
                entry[name] = value
        entry["ts"] = self._now_ms()
        self._entries[key] = entry
        while len(self._entries) > ENTRIES_LIMIT:
            del self._entries[min(self._entries, key=lambda each: self._entries[each]["ts"])]
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        for listener in self._listeners:
            listener()

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def _key(instance: str | None, device: str | None, connection_id: str) -> str:
    return (device or instance or connection_id).casefold()


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= TEXT_LIMIT
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**53
