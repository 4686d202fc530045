"""The people of the home, what the hub may reach on behalf of others, and the secrets that no sink may show."""

from __future__ import annotations

from collections.abc import Sequence

from hub.core.component import Component
from hub.core.stages import Stage
from hub.foundation import Foundation
from hub.messaging.channels import ChannelRegistry
from hub.models.registry import ModelRegistry
from hub.security.egress import Egress
from hub.security.people import People


class SecurityComponent(Component):
    """People and egress."""

    name = "security"
    sections = frozenset({"people", "network"})

    def __init__(self, base: Foundation, *, channels: ChannelRegistry) -> None:
        self._base = base
        self._channels = channels
        self.people = self._configured()
        self.egress = Egress(lambda: base.section("network")["allow_private"], apart=base.share is not None)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that ends fetching and reading."""
        return [Stage("egress", None, self.egress.close)]

    def current_people(self) -> People:
        """Return the people as configured now."""
        return self.people

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over the people; egress reads its section each time."""
        if "people" in changed:
            self.people = self._configured()

    def _configured(self) -> People:
        return People.from_config(self._base.section("people"), self._channels.is_home)


class SecretsComponent(Component):
    """Registers the secrets of the configuration with the redactor."""

    name = "secrets"
    follows_all = True

    def __init__(self, base: Foundation, *, models: ModelRegistry) -> None:
        self._base = base
        self._models = models
        self._register()

    async def apply(self, changed: frozenset[str]) -> None:
        """Register the secrets of a changed configuration."""
        self._register()

    def _register(self) -> None:
        for secret in (*self._base.config.current.secrets, *self._models.secrets()):
            self._base.redactor.register(secret)
