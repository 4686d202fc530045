"""The decision about a message or event: a pure function of it, its caller and the configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.core.context import Context
from hub.core.errors import NotFound
from hub.messaging.access import AccessPolicy, authorize
from hub.messaging.commands import CommandCall
from hub.messaging.contract import Address, ChatType, ClientMessage, CommandUsed, Inbound, InboundMessage
from hub.messaging.queue_policy import QueueSettings
from hub.messaging.reading import read_message
from hub.messaging.routing import Binding, DmScope, choose_agent, session_key_for
from hub.messaging.schema import TEXT_LIMIT
from hub.messaging.texts import say
from hub.security.people import People
from hub.sessions.keys import SessionKey


class MediaSettings(Struct, frozen=True):
    """Limits on attachments: the size of one, and how long they are kept."""

    file_bytes: int = 20_000_000
    keep_days: int = 30


class MessagingSettings(Struct, frozen=True):
    """What the configuration says about messages; replaced as a whole when it changes."""

    bindings: tuple[Binding, ...] = ()
    dm_scope: DmScope = DmScope.AUTO
    queue: QueueSettings = QueueSettings()
    text_limit: int = TEXT_LIMIT
    language: str = "en"
    media: MediaSettings = MediaSettings()
    transcription_model: str | None = None

    @classmethod
    def from_config(cls, section: Callable[[str], Any], language: str) -> MessagingSettings:
        """Read the settings from the sections of a valid configuration."""
        messages = section("messages")
        return cls(
            bindings=tuple(Binding.from_config(each) for each in section("bindings") or ()),
            dm_scope=DmScope(section("session")["dm_scope"]),
            queue=QueueSettings.from_config(messages),
            text_limit=messages["text_limit"],
            language=language,
            media=MediaSettings(messages["media"]["file_mb"] * 1_000_000, messages["media"]["keep_days"]),
            transcription_model=messages["media"].get("transcription_model"),
        )


def _knows_none(ref: str) -> bool:
    """Default callable: there is no model."""
    return False


class Facts(Struct, frozen=True):
    """The facts that a decision depends on besides the message.

    Attributes:
        knows_model: Whether there is a model of this name.
    """

    policy: AccessPolicy
    people: People
    agents: Agents
    settings: MessagingSettings
    knows_model: Callable[[str], bool] = _knows_none


class Accept(Struct, frozen=True):
    """An agent answers the message in a session; `context` carries the sender's authority.

    Attributes:
        at_once: Commands that were in the message, and are answered now.
    """

    message: InboundMessage
    agent_id: str
    session_key: str
    context: Context
    at_once: CommandCall | None = None


class Notice(Struct, frozen=True):
    """The event is published in the hub; `context` carries the sender's authority."""

    context: Context


class Refuse(Struct, frozen=True):
    """It is not handled; `answer` is sent to the sender, if anything is."""

    reason: str
    answer: str | None = None


def decide(inbound: Inbound, context: Context, facts: Facts) -> Accept | CommandCall | Notice | Refuse:
    """Return what is done with a message or event.

    Raises:
        InvalidRequest, NotFound: A client of the gateway named a session or agent that cannot be.
    """
    settings = facts.settings
    message = _as_message(inbound)
    verdict = authorize(message or inbound, context.authority, facts.policy, facts.people)
    if verdict.authority is None:
        return Refuse(verdict.reason or "not allowed")
    allowed = Context(verdict.authority, context.id, context.parent_id, context.chain)
    if message is None:
        return Notice(allowed)
    if not (message.text.strip() or message.images or message.media or message.location or message.contacts):
        return Refuse("the message is empty")
    if len(message.text) > settings.text_limit:
        text = say("text.too_long", settings.language, limit=settings.text_limit)
        return Refuse(text, answer=text)
    agent_id, session_key = _route(message, allowed, facts)
    by_owner = _is_owner(message, allowed, facts)
    reading = read_message(message, verdict.authority, facts.knows_model, by_owner=by_owner)
    at_once = None
    if reading.commands:
        first, *more = reading.commands
        at_once = CommandCall(*first, message, agent_id, session_key, allowed, by_owner, tuple(more))
    if reading.message is None and at_once is not None:
        return at_once
    return Accept(reading.message or message, agent_id, session_key, allowed, at_once=at_once)


def _as_message(inbound: Inbound) -> InboundMessage | None:
    if isinstance(inbound, InboundMessage):
        return inbound
    if isinstance(inbound, CommandUsed):
        text = f"/{inbound.name} {inbound.arguments}".strip()
        return InboundMessage(inbound.address, inbound.event_id, inbound.sender, text, mentioned=True)
    return None


def _is_owner(message: InboundMessage, context: Context, facts: Facts) -> bool:
    """Whether an owner says it; in a group, where owners have no rights, by their identity."""
    if context.authority.owner or message.address.chat_type is ChatType.DIRECT:
        return context.authority.owner
    person = facts.people.by_identity(message.sender)
    return person is not None and person.owner


def _route(message: InboundMessage, context: Context, facts: Facts) -> tuple[str, str]:
    """Return the agent and the session; a client that names a session gets that one."""
    if isinstance(message, ClientMessage) and message.session_key is not None:
        key = SessionKey.parse(message.session_key, default_agent=facts.agents.default().id)
        return facts.agents.get(key.agent).id, str(key)
    agent_id = _bound_agent(message.address, facts)
    return agent_id, session_key_for(agent_id, message, context.authority, facts.settings.dm_scope)


def _bound_agent(address: Address, facts: Facts) -> str:
    """Return the agent that the bindings name; the default one when it no longer exists."""
    default = facts.agents.default().id
    agent_id = choose_agent(facts.settings.bindings, address, default)
    try:
        return facts.agents.get(agent_id).id
    except NotFound:
        return default
