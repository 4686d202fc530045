"""Pairing for direct messages: loaded before any channel delivers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from hub.config.store import ConfigStore, ReloadResult
from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.messaging.access.pairing import Pairings
from hub.messaging.access.router import Router
from hub.messaging.channels import ChannelRegistry


class PairingComponent(Component):
    """Pairing, and the methods about who may talk and to which agent."""

    name = "pairing"

    def __init__(
        self,
        pairings: Pairings,
        router: Router,
        channels: ChannelRegistry,
        config: ConfigStore,
        reload: Callable[[], Awaitable[ReloadResult]],
    ) -> None:
        self._pairings = pairings
        self._router, self._channels, self._config, self._reload = router, channels, config, reload

    def stages(self) -> Sequence[Stage]:
        """Return the stage that loads the pairings."""
        return [Stage("pairing", self._pairings.open)]

    def methods(self) -> MethodGroups:
        """Return the methods."""
        return {"pairing": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.messaging.methods.message_access import MessageAccessMethods

        return MessageAccessMethods(self._pairings, self._router, self._channels, self._config, self._reload).methods()
