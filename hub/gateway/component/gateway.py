"""The gateway: the port that answers health from the first moment on, and opens last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hub import __version__
from hub.core.component import Component
from hub.core.stages import Stage
from hub.foundation import Foundation
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.connection.server import Gateway, GatewayState
from hub.security.hub_token import hub_token
from hub.security.people import People


class GatewayComponent(Component):
    """The gateway, its settings and the hub token.

    Args:
        host, port: Take precedence over the configuration's `http`.
    """

    name = "gateway"
    sections = frozenset({"http"})
    follows = frozenset({"people"})
    in_recovery = True

    def __init__(self, base: Foundation, *, people: Callable[[], People], host: str | None, port: int | None) -> None:
        self._base = base
        self._people = people
        self._host, self._port = host, port
        self.token = hub_token(base.home.path)
        base.redactor.register(self.token)
        self.gateway = Gateway(
            self._settings(),
            people(),
            self.token,
            base.clock,
            base.bus,
            tasks=base.tasks,
            repairs=base.repairs,
            version=__version__,
        )

    def stages(self) -> Sequence[Stage]:
        """Return the stage of the closed gateway, which answers health only."""
        return [Stage("gateway", self.gateway.start, self.gateway.stop)]

    def opening(self) -> Stage:
        """Return the last stage: the gateway opens."""
        return Stage("the door", self._open, self.gateway.stop)

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over settings and people."""
        self.gateway.configure(self._settings(), self._people())

    async def _open(self) -> None:
        in_recovery = self._base.config.current.recovery
        self.gateway.open(GatewayState.RECOVERY if in_recovery else GatewayState.RUNNING)

    def _settings(self) -> HttpSettings:
        section, home = self._base.section("http"), self._base.home
        return HttpSettings.from_config(section, home.path, host=self._host, port=self._port, in_worker=home.in_worker)
