"""The accounts of channels, as people manage them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from hub.config.store import ReloadResult
from hub.core.component import Component
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.integration.manager import IntegrationManager
from hub.messaging.channel_accounts import ChannelAccounts
from hub.messaging.channels import ChannelRegistry
from hub.messaging.notices.owner_place import OwnerPlaces


class ChannelsComponent(Component):
    """Lists, probes, adds and removes accounts."""

    name = "channels"

    def __init__(
        self,
        base: Foundation,
        channels: ChannelRegistry,
        owners: OwnerPlaces,
        integrations: IntegrationManager,
        apply: Callable[[ReloadResult], Awaitable[None]],
    ) -> None:
        self._base = base
        self._owners = owners
        self._accounts = ChannelAccounts(base.config, channels, integrations, base.bus, apply)
        channels.count_in(self._accounts.configured_accounts)

    def methods(self) -> MethodGroups:
        """Return `channels.*`."""
        return {"channels": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.messaging.methods.channels import ChannelMethods

        return ChannelMethods(self._accounts, self._owners, self._base.clock.time).methods()
