"""`health`, `status`, `system-presence`, `logs.tail`, `dashboard.link`: the state of the hub, and sign-in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from hub.core.errors import Forbidden, Unavailable
from hub.core.repairs import Repairs
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Schema, boolean, integer, string
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.gateway.connection.server import Gateway
from hub.gateway.log_tail import LEVELS, LogTail
from hub.security.login_codes import EXPIRES_S, LoginCodes

OWNER = "gateway"
OWNER_PRINCIPAL = "owner"
LINES_LIMIT = 5_000
BYTES_LIMIT = 4_194_304
LOG_NAME = "memory"
"""Where the lines are: in no file."""

Facts = Callable[[], Any]


class HubFacts(Struct, frozen=True):
    """The sources of the facts in `status`.

    Attributes:
        integrations, agents: Lists of plain data.
        models: Mapping with at least `default` and `reason`.
        sessions: Mapping with `count`.
        session_defaults: Of the handshake's snapshot.
        health: Further facts of `health`: channels, and how many sessions there are.
        waiting: What waits in the outbox, and why.
        database: Where the hub database is, and its counters.
    """

    integrations: Facts
    agents: Facts
    models: Callable[[], Awaitable[dict[str, Any]]]
    sessions: Facts
    session_defaults: Facts
    health: Facts
    waiting: Callable[[], Awaitable[list[dict[str, Any]]]]
    database: Facts

    def in_recovery(self) -> HubFacts:
        """Return the facts of a hub in recovery mode, which has no agents."""
        return HubFacts(self.integrations, list, _no_models, lambda: {"count": 0}, dict, dict, _nothing, self.database)


async def _no_models() -> dict[str, Any]:
    return {"default": None}


async def _nothing() -> list[dict[str, Any]]:
    return []


class HubState:
    """The methods about the hub itself.

    Args:
        gateway: The gateway.
        repairs: The open repairs.
        codes: Makes sign-in codes.
        log: The latest lines.
        facts: The facts of the parts.
    """

    def __init__(
        self, gateway: Gateway, repairs: Repairs, codes: LoginCodes, log: LogTail | None, facts: HubFacts
    ) -> None:
        self._gateway = gateway
        self._repairs = repairs
        self._codes = codes
        self._log = log
        self.facts = facts

    def methods(self) -> list[Method]:
        """Return the methods."""
        nothing = Schema({})
        tail = Schema(
            {
                Optional("cursor"): AnyOf(None, All(integer, Range(min=0))),
                Optional("limit", default=500): All(integer, Range(min=1, max=LINES_LIMIT)),
                Optional("maxBytes", default=1_000_000): All(integer, Range(min=1, max=BYTES_LIMIT)),
                Optional("level"): In(LEVELS),
                Optional("part"): All(string, Length(min=1, max=100)),
            }
        )
        stability = Schema(
            {Optional("limit"): integer, Optional("type"): str, Optional("sinceSeq"): integer},
        )
        return [
            Method("health", self._health, OWNER, Schema({Optional("probe"): boolean}), READ, quick=True),
            Method("status", self._status, OWNER, nothing, READ),
            Method("system-presence", self._presence, OWNER, nothing, READ, quick=True),
            Method("diagnostics.stability", self._stability, OWNER, stability, READ, quick=True),
            Method("logs.tail", self._tail, OWNER, tail, READ),
            Method("dashboard.link", self._link, OWNER, nothing, ADMIN),
        ]

    def health(self) -> dict[str, Any]:
        """Return the payload of `health`, also used by its event and the snapshot."""
        state = self._gateway.state.value
        return {
            "ok": state == "running",
            "state": state,
            "ts": int(self._gateway.clock.time() * 1000),
            "uptimeMs": self._gateway.welcomer.uptime_ms,
            "version": self._gateway.version,
            "repairs": len(self._repairs.all()),
        }

    async def status(self) -> dict[str, Any]:
        """Return the payload of `status`."""
        gateway = self._gateway
        shown = {
            "version": gateway.version,
            "state": gateway.state.value,
            "uptime_s": gateway.welcomer.uptime_ms / 1000,
            "address": gateway.url,
            "connections": len(gateway.connections),
            "integrations": self.facts.integrations(),
            "agents": self.facts.agents(),
            "models": await self.facts.models(),
            "sessions": self.facts.sessions(),
            "waiting": await self.facts.waiting(),
            "database": self.facts.database(),
            "repairs": [repair.as_dict() for repair in self._repairs.all()],
        }
        redactor = gateway.broadcast.redactor
        return redactor.redact_data(shown) if redactor is not None else shown

    async def link(self) -> dict[str, Any]:
        """Return a fresh sign-in link: `url`, `code`, `valid_s`."""
        code = await self._codes.create()
        return {"url": f"{self._gateway.url}/login#{code}", "code": code, "valid_s": EXPIRES_S}

    async def _health(self, call: MethodCall) -> Mapping[str, Any]:
        if not call.caller.authority.has(READ):  # a node
            return self.health()
        started = self._gateway.clock.monotonic()
        facts = self.facts.health()
        took_ms = int((self._gateway.clock.monotonic() - started) * 1000)
        return {**self.health(), **facts, "durationMs": took_ms}

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        return await self.status()

    async def _presence(self, call: MethodCall) -> list[dict[str, Any]]:
        return self._gateway.presence.list()

    async def _stability(self, call: MethodCall) -> Mapping[str, Any]:
        """Return the events of an unstable process: none are recorded; repairs report problems instead."""
        made = datetime.fromtimestamp(self._gateway.clock.time(), UTC).isoformat()
        return {"generatedAt": made, "capacity": 0, "count": 0, "dropped": 0, "events": [], "summary": {"byType": {}}}

    async def _tail(self, call: MethodCall) -> Mapping[str, Any]:
        if self._log is None:
            raise Unavailable("this hub keeps no log in memory")
        params = call.params
        tail = self._log.read(
            params.get("cursor"),
            params["limit"],
            params["maxBytes"],
            level=params.get("level"),
            part=params.get("part"),
        )
        size = sum(len(line) + 1 for line in tail.lines)
        return {
            "file": LOG_NAME,
            "cursor": tail.cursor,
            "size": size,
            "lines": tail.lines,
            "truncated": tail.lost,
            "reset": False,
        }

    async def _link(self, call: MethodCall) -> Mapping[str, Any]:
        # A browser that is signed in stays so for weeks: a token that ends or is revoked must not open that door.
        if call.caller.authority.principal != OWNER_PRINCIPAL:
            raise Forbidden(
                "only the owner makes sign-in links: on the hub's own machine, or signed in to the dashboard"
            )
        return await self.link()
