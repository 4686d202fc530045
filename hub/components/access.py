"""Who may come in: tokens, devices, dashboard sessions and login codes; and what the gateway serves them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from hub.components.agents import AgentsComponent
from hub.components.component import Component
from hub.components.foundation import Foundation
from hub.components.messaging import MessagingComponent
from hub.components.tools import ToolsComponent
from hub.core.errors import Unavailable
from hub.core.secret import Secret
from hub.core.stages import Stage
from hub.gateway.access.devices import Devices
from hub.gateway.calls.idempotency import Idempotency
from hub.gateway.connection.server import Gateway
from hub.gateway.log_tail import LogTail
from hub.gateway.serve import CoreServices, HubServices, Served, serve
from hub.models.registry import ModelRegistry
from hub.security.login_codes import LoginCodes
from hub.security.tokens import TokenStore
from hub.security.web_sessions import WebSessions
from hub.sessions.store import SessionStore
from hub.storage.database import Database


class LoginLink(Struct, frozen=True):
    """A way to sign in to the dashboard once: the address with the code behind `#`, or the code typed in."""

    url: str
    code: str
    valid_s: float


class AccessComponent(Component):
    """The credentials, and the methods and routes behind them.

    Args:
        integrations: Returns the states of integrations as plain data.
        components: Returns the components whose methods and routes are served too.
        log: The latest log lines.
    """

    name = "access"
    in_recovery = True

    def __init__(  # noqa: PLR0913  each part that it needs, by name
        self,
        base: Foundation,
        *,
        gateway: Gateway,
        db: Database,
        token: Secret,
        integrations: Callable[[], list[dict[str, Any]]],
        sessions: SessionStore,
        models: ModelRegistry,
        tools: ToolsComponent,
        agents: AgentsComponent,
        messaging: MessagingComponent,
        components: Callable[[], Iterable[Component]],
        log: LogTail | None,
    ) -> None:
        self._base = base
        self._gateway = gateway
        self._components = components
        self._devices = Devices(db, base.clock, base.bus, token)
        self._core = CoreServices(
            db,
            base.config,
            base.repairs,
            TokenStore(db, base.clock),
            WebSessions(db, base.clock),
            LoginCodes(db, base.clock),
            base.redactor,
            base.tasks,
            integrations,
            log,
        )
        self._services = HubServices(
            agents.agents,
            sessions,
            models,
            tools.tools,
            agents.runner,
            messaging.inbox,
            messaging.outbox,
            agents.lanes,
            tools.approvals,
        )
        self._served: Served | None = None

    def stages(self) -> Sequence[Stage]:
        """Return the stage that opens the credentials and fills the tables of the gateway."""
        return [Stage("credentials", self._open)]

    async def login_link(self) -> LoginLink:
        """Return a fresh link that signs in to the dashboard once.

        Raises:
            Unavailable: The gateway serves nothing yet.
        """
        if self._served is None:
            raise Unavailable("the hub does not serve yet")
        made = await self._served.state.link()
        return LoginLink(made["url"], made["code"], made["valid_s"])

    async def _open(self) -> None:
        core = self._core
        await core.tokens.open()
        await core.web_sessions.open()
        await core.codes.open()
        await self._devices.open()
        idempotency = Idempotency(core.db, self._base.clock, self._base.tasks)
        self._gateway.attach(core.tokens, core.web_sessions, self._devices, idempotency)
        components = list(self._components())
        self._served = serve(
            self._gateway,
            core,
            None if self._base.config.current.recovery else self._services,
            methods=[method for each in components for method in each.methods()],
            routes=[route for each in components for route in each.routes()],
        )
