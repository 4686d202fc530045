"""Deciding about a message with what is configured now: may its sender talk, which agent answers, in which session."""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec import Struct

from hub.agent.agents import Agents
from hub.core.context import Context
from hub.core.errors import NotFound
from hub.messaging.access import AccessPolicy, authorize
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import InboundMessage
from hub.messaging.routing import Binding, DmScope, choose_agent, session_key_for
from hub.messaging.schema import QUEUE_LIMIT, TEXT_LIMIT
from hub.messaging.texts import say
from hub.security.people import People
from hub.sessions.keys import SessionKey

_log = logging.getLogger(__name__)


class MessagingSettings(Struct, frozen=True):
    """What the configuration says about messages; replaced as a whole when it changes."""

    bindings: tuple[Binding, ...] = ()
    dm_scope: DmScope = DmScope.AUTO
    queue_limit: int = QUEUE_LIMIT
    text_limit: int = TEXT_LIMIT
    language: str = "en"


class Routed(Struct, frozen=True):
    """Where an allowed message goes; `context` carries the sender's authority."""

    agent_id: str
    session_key: str
    context: Context


class Refused(Struct, frozen=True):
    """Why a message is not handled; `answer` is told to the sender, if anything is."""

    reason: str
    answer: str | None = None


class Router:
    """Decides about messages.

    Args:
        people: The people of this home as configured now.
        settings: The settings in force now.
    """

    def __init__(
        self,
        channels: ChannelRegistry,
        agents: Agents,
        people: Callable[[], People],
        settings: Callable[[], MessagingSettings],
    ) -> None:
        self._channels = channels
        self._agents = agents
        self._people = people
        self._settings = settings

    @property
    def settings(self) -> MessagingSettings:
        """The settings in force now."""
        return self._settings()

    def decide(self, message: InboundMessage, context: Context) -> Routed | Refused:
        """Return where a message goes or why it does not.

        Raises:
            InvalidRequest, NotFound: A client of the gateway named a session or agent that cannot be.
        """
        attached = self._channels.get(message.address.channel, message.address.account)
        policy = attached.access if attached else AccessPolicy()
        verdict = authorize(message, context, policy, self._people())
        if verdict.authority is None:
            return Refused(verdict.reason or "not allowed")
        if not message.text.strip() and not message.images:
            return Refused("the message is empty")
        if len(message.text) > self.settings.text_limit:
            text = say("text.too_long", self.settings.language, limit=self.settings.text_limit)
            return Refused(text, answer=text)
        allowed = Context(verdict.authority, context.id, context.parent_id, context.chain)
        if message.session_key is not None and verdict.authority.scopes:
            key = SessionKey.parse(message.session_key, default_agent=self._agents.default().id)
            self._agents.get(key.agent)
            return Routed(key.agent, str(key), allowed)
        agent_id = self._bound_agent(message)
        return Routed(agent_id, session_key_for(agent_id, message, verdict.authority, self.settings.dm_scope), allowed)

    def _bound_agent(self, message: InboundMessage) -> str:
        default = self._agents.default().id
        agent_id = choose_agent(self.settings.bindings, message.address, default)
        try:
            self._agents.get(agent_id)
        except NotFound:
            _log.warning("a binding names agent %r, which is not there; the default agent answers", agent_id)
            return default
        return agent_id
