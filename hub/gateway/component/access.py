"""Access: tokens, devices, dashboard sessions and login codes, and the tables of the gateway."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.component import Component
from hub.core.events import Event
from hub.core.sql import SqlConnection
from hub.core.stages import Stage
from hub.core.surface_table import read_table
from hub.core.surfaces import Method, MethodCall, MethodGroups, Route, RouteGroups
from hub.foundation import Foundation
from hub.gateway.access.devices import Devices
from hub.gateway.calls.idempotency import Idempotency
from hub.gateway.component.clients import ClientsComponent
from hub.gateway.component.gateway import GatewayComponent
from hub.gateway.log_tail import LogTail
from hub.gateway.methods.hub_state import HubState
from hub.gateway.push.events import HubEvents
from hub.integration.manager import IntegrationManager
from hub.security.login_codes import LoginCodes
from hub.security.tokens import TokenStore
from hub.security.web_sessions import WebSessions
from hub.storage.database import Database
from hub.storage.errors import StorageError
from hub.storage.versioned_file import VersionedFile
from hub.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from hub.gateway.access.audit import Audit

_log = logging.getLogger(__name__)

AUDITED_EVENTS = (
    *(
        "approval_resolved",
        "call_ended",
        "call_priced",
        "config_changed",
        "device_pair_resolved",
        "device_pair_setup_completed",
    ),
    *("node_pair_resolved", "pairing_decided", "signed_in", "signed_out"),
)
AUDITED_COMMANDS = frozenset({"allowlist", "config", "debug", "devices", "elevated", "restart", "trust"})
"""Commands in a chat that change what the hub may do; those that approve and pair fire events of their own."""
IGNORED = "ignored_repairs.json"
"""Which repairs nobody wants to see."""


class LoginLink(Struct, frozen=True):
    """A way to sign in to the dashboard once: the address with the code behind `#`, or the code to type in."""

    url: str
    code: str
    valid_s: float


class AccessDependencies(Struct, frozen=True):
    """The dependencies of the credentials.

    Attributes:
        gateway: With the hub token.
        clients: The facts of `status`, and the metrics.
        integrations, tools: Their names, which say nothing about the people of this home.
        components: Returns the components whose methods and routes are served.
        log: The latest log lines, when they are kept.
    """

    gateway: GatewayComponent
    db: Database
    clients: ClientsComponent
    integrations: IntegrationManager
    tools: ToolRegistry
    components: Callable[[], Iterable[Component]]
    log: LogTail | None = None


class AccessComponent(Component):
    """The credentials, and the methods and routes behind them."""

    name = "access"
    in_recovery = True

    def __init__(self, base: Foundation, needs: AccessDependencies) -> None:
        self._base = base
        self._needs = needs
        self._gateway = gateway = needs.gateway.gateway
        db, clock = needs.db, base.clock
        home = base.home.in_worker.name if base.home.in_worker is not None else None
        self.tokens, self._web_sessions = TokenStore(db, clock, home), WebSessions(db, clock)
        self._codes = LoginCodes(db, clock)
        self.devices = Devices(db, clock, base.bus, needs.gateway.token, home)
        facts = needs.clients.facts(needs.integrations.statuses)
        if base.config.current.recovery:
            facts = facts.in_recovery()
        self._ignored = VersionedFile(base.home.storage / IGNORED, 1, documents=base.home.documents)
        self._state = HubState(gateway, base.repairs, self._codes, needs.log, facts)

    @cached_property
    def audit(self) -> Audit:
        """The audit log, imported with its first entry."""
        from hub.gateway.access.audit import Audit
        from hub.storage.audit_log import FOLDER

        base = self._base
        folder = base.home.storage / FOLDER
        return Audit(folder, self._needs.db, base.clock, base.tasks, base.redactor, base.repairs)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that opens the credentials and fills the tables of the gateway."""
        return [Stage("credentials", self._open, self._close)]

    def methods(self) -> MethodGroups:
        """Return the methods about the hub itself, tokens, devices and the audit log."""
        return {
            "hub": self._state.methods,
            "access": self._access_methods,
            "repairs": self._repair_methods,
            "audit log": self._audit_methods,
            "diagnostics": self._diagnostics_methods,
        }

    def _diagnostics_methods(self) -> Iterable[Method]:
        from hub.gateway.methods.diagnostics import DiagnosticsMethods

        base, needs = self._base, self._needs
        return DiagnosticsMethods(
            base.config,
            base.clock,
            base.redactor,
            needs.log,
            status=self._state.status,
            metrics=needs.clients.metrics_text,
            names=lambda: {*needs.integrations.catalog, *(tool.name for tool in needs.tools.all())},
        ).methods()

    def _audit_methods(self) -> Iterable[Method]:
        from hub.gateway.methods.audit import AuditMethods

        return AuditMethods(self.audit, self.tokens).methods()

    def _repair_methods(self) -> Iterable[Method]:
        from hub.gateway.methods.repairs import RepairMethods

        return RepairMethods(self._gateway, self._base.repairs, self._ignored).methods()

    def _access_methods(self) -> Iterable[Method]:
        from hub.gateway.methods.device_setup import SetupMethods
        from hub.gateway.methods.devices import DeviceMethods
        from hub.gateway.methods.tokens import TokenMethods

        gateway = self._gateway
        return [
            *TokenMethods(self.tokens, gateway.authenticator, gateway.clock.time).methods(),
            *DeviceMethods(self.devices, gateway.authenticator, self._connected).methods(),
            *SetupMethods(gateway).methods(),
        ]

    def routes(self) -> RouteGroups:
        """Return the routes of method calls over HTTP, and of signing in."""
        return {"access": self._load_routes}

    def _load_routes(self) -> Iterable[Route]:
        from hub.gateway.http_api.rpc import rpc_routes
        from hub.gateway.http_api.sign_in import SignIn

        gateway = self._gateway
        sign_in = SignIn(gateway.ingress, gateway.authenticator, self._codes, self._web_sessions, gateway.bus)
        return [*rpc_routes(gateway.dispatcher), *sign_in.routes()]

    def _connected(self) -> set[str]:
        clients = (each.client for each in self._gateway.connections.values())
        return {client.device_id for client in clients if client.device_id is not None}

    async def login_link(self) -> LoginLink:
        """Return a fresh link that signs in to the dashboard once.

        Raises:
            Unavailable: The gateway does not listen.
        """
        made = await self._state.link()
        return LoginLink(made["url"], made["code"], made["valid_s"])

    async def _close(self) -> None:
        if "audit" in vars(self):
            await self.audit.flush()

    def _watch_audited(self) -> None:
        """Record what is audited from now on."""
        bus = self._base.bus

        def note(event: Event) -> None:
            if event.type != "approval_resolved" or event.data["decided_by"]:
                self.audit.note(event)

        def note_command(event: Event) -> None:
            if event.data["name"] in AUDITED_COMMANDS and event.data["from_owner"]:
                self.audit.note(event)

        for type in AUDITED_EVENTS:
            bus.listen(type, note)
        bus.listen("command_received", note_command)
        self._gateway.dispatcher.audit = self._audited

    def _audited(self, call: MethodCall, answer: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
        return self.audit.record_call(call, answer)

    async def _open(self) -> None:
        gateway, base = self._gateway, self._base
        self._watch_audited()
        if await self._needs.db.read(_is_restored):
            self.audit.record("home.restored", {}, who="system")
        base.repairs.ignored = frozenset(await asyncio.to_thread(_ignored_in, self._ignored))
        await self.tokens.open()
        await self._web_sessions.open()
        await self._codes.open()
        await self.devices.open()
        idempotency = Idempotency(self._needs.db, base.clock, base.tasks)
        gateway.attach(self.tokens, self._web_sessions, self.devices, idempotency)
        gateway.broadcast.redactor = base.redactor
        HubEvents(base.bus, gateway.broadcast, base.clock, self._state.health)
        home = base.config.home
        gateway.welcomer.attach(
            self._state.health,
            self._state.facts.session_defaults,
            {
                "configPath": str(home / "configuration.yaml"),
                "stateDir": str(home),
                "authMode": gateway.settings.mode.value,
            },
        )
        table = read_table()
        for component in self._needs.components():
            gateway.methods.add_groups(component.methods(), table["methods"])
            gateway.routes.add_groups(component.routes(), table["routes"])


def _is_restored(connection: SqlConnection) -> bool:
    """Whether this home was restored since the last entry of the audit log."""
    found = connection.execute("SELECT key FROM meta WHERE key IN ('restored_ms', 'audit_head')").fetchall()
    return found == [("restored_ms",)]


def _ignored_in(file: VersionedFile) -> list[tuple[str, str, str]]:
    """Return which repairs nobody wants to see; none where that cannot be read."""
    try:
        found = file.read()
    except StorageError as error:
        _log.warning("which repairs are ignored cannot be read: %s", error.message)
        return []
    rows = found if isinstance(found, list) else []
    return [(row[0], row[1], row[2]) for row in rows if isinstance(row, list) and len(row) == 3]
