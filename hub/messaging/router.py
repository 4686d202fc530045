"""Decides about messages with what is configured at the moment."""

from __future__ import annotations

from collections.abc import Callable

from hub.agent.agents import Agents
from hub.core.context import Context
from hub.messaging.access import AccessPolicy
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands import CommandCall
from hub.messaging.contract import Inbound
from hub.messaging.decide import Accept, Facts, MessagingSettings, Notice, Refuse, decide
from hub.models.registry import ModelRegistry
from hub.security.people import People


class Router:
    """Gathers the facts for each decision.

    Args:
        people: The people of this home as configured now.
        settings: The current settings.
        models: Know whether a model that a message names exists.
    """

    def __init__(
        self,
        channels: ChannelRegistry,
        agents: Agents,
        people: Callable[[], People],
        settings: Callable[[], MessagingSettings],
        *,
        models: ModelRegistry,
    ) -> None:
        self._channels = channels
        self._agents = agents
        self._people = people
        self._settings = settings
        self._models = models

    @property
    def settings(self) -> MessagingSettings:
        """The current settings."""
        return self._settings()

    def decide(self, inbound: Inbound, context: Context) -> Accept | CommandCall | Notice | Refuse:
        """Return what is done with a message or event; see `hub.messaging.decide`."""
        attached = self._channels.get(inbound.address.channel, inbound.address.account)
        policy = attached.access if attached else AccessPolicy()
        return decide(
            inbound, context, Facts(policy, self._people(), self._agents, self._settings(), self._knows_model)
        )

    def _knows_model(self, ref: str) -> bool:
        return self._models.describe(ref)["ref"] is not None
