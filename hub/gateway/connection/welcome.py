"""hello-ok: the answer to a successful handshake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.clock import Clock
from hub.gateway.calls.method_table import NODE, MethodTable, serves_role
from hub.gateway.connection.connection import ENVELOPE_BYTES, Connection
from hub.gateway.connection.handshake import Welcome
from hub.gateway.connection.presence import Presence
from hub.gateway.connection.protocol import TICK_S

EVENTS = (
    "agent",
    "automation",
    "chat",
    "config.changed",
    "connect.challenge",
    "cron",
    "device.pair.requested",
    "device.pair.resolved",
    "device.pair.setup.completed",
    "exec.approval.requested",
    "exec.approval.resolved",
    "health",
    "heartbeat",
    "node.hostStats",
    "node.invoke.cancel",
    "node.invoke.request",
    "node.pair.requested",
    "node.pair.resolved",
    "node.presence",
    "pairing.requested",
    "pairing.resolved",
    "presence",
    "session.message",
    "session.tool",
    "sessions.changed",
    "shutdown",
    "talk.event",
    "talk.mode",
    "tick",
    "voicewake.changed",
    "voicewake.routing.changed",
)

CAPABILITIES = ("published-model-catalog", "session-scoped-chat-metadata")
"""What clients of the protocol ask for by name: `models.list` has the models, `chat.metadata` takes a session."""

Facts = Callable[[], Mapping[str, Any]]


class Welcomer:
    """Makes hello-ok.

    Args:
        methods: For `features`.
        presence: For the snapshot.
        buffer_bytes: The bound on what may wait for a client.
    """

    def __init__(self, clock: Clock, version: str, methods: MethodTable, presence: Presence, buffer_bytes: int) -> None:
        self._clock = clock
        self._version = version
        self._methods = methods
        self._presence = presence
        self._buffer_bytes = buffer_bytes
        self._started_s = clock.monotonic()
        self._health: Facts = dict
        self._session_defaults: Facts = dict
        self._about: Mapping[str, Any] = {}
        self.health_version = 0

    def attach(self, health: Facts, session_defaults: Facts, about: Mapping[str, Any]) -> None:
        """Connect the sources of the snapshot once the hub runs.

        Args:
            health: The payload of `health`.
            session_defaults: `defaultAgentId`, `mainKey`, `mainSessionKey`, `scope`.
            about: `configPath`, `stateDir`, `authMode`; for those who may administer.
        """
        self._health = health
        self._session_defaults = session_defaults
        self._about = about

    @property
    def uptime_ms(self) -> int:
        """Milliseconds since the gateway was made."""
        return int((self._clock.monotonic() - self._started_s) * 1000)

    def state_version(self) -> dict[str, int]:
        """Return the versions of presence and health."""
        return {"presence": self._presence.version, "health": self.health_version}

    def hello(self, connection: Connection, welcome: Welcome) -> dict[str, Any]:
        """Return the payload of hello-ok."""
        role = welcome.client.role
        may = [method.name for method in sorted(self._methods, key=lambda each: each.name) if serves_role(method, role)]
        auth: dict[str, Any] = {"method": welcome.method, "role": role, "scopes": sorted(welcome.scopes)}
        if welcome.device_token is not None:
            auth |= {"deviceToken": welcome.device_token, "issuedAtMs": connection.connected_ms}
        if welcome.further_tokens:
            auth["deviceTokens"] = list(welcome.further_tokens)
        snapshot: dict[str, Any] = {
            "presence": [] if role == NODE else self._presence.list(),
            "health": dict(self._health()),
            "stateVersion": self.state_version(),
            "uptimeMs": self.uptime_ms,
            "sessionDefaults": dict(self._session_defaults()),
        }
        if "operator.admin" in welcome.scopes:
            snapshot |= self._about
        return {
            "type": "hello-ok",
            "protocol": welcome.protocol,
            "server": {"version": self._version, "connId": connection.id},
            "features": {"methods": may, "events": list(EVENTS), "capabilities": list(CAPABILITIES)},
            "snapshot": snapshot,
            "auth": auth,
            "policy": {
                "maxPayload": connection.frame_limit - ENVELOPE_BYTES,
                "maxBufferedBytes": self._buffer_bytes,
                "tickIntervalMs": int(TICK_S * 1000),
            },
        }
