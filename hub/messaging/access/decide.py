"""The decision about a message or event: a pure function of it, its caller and the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from hub.agent.agents import Agents
from hub.core.context import Authority, Context
from hub.core.errors import NotFound
from hub.messaging.access.access import AccessPolicy, Activation, GroupSettings, authorize
from hub.messaging.access.routing import AgentRoute, Binding, Bindings, DmScope, MatchedBy, session_key_for
from hub.messaging.access.send_policy import SendPolicy
from hub.messaging.access.thread_bindings import BindingLimits
from hub.messaging.commands.reading import read_message
from hub.messaging.commands.registry import CommandCall
from hub.messaging.contract import Address, ButtonPressed, ChatType, ClientMessage, CommandUsed, Inbound, InboundMessage
from hub.messaging.queue.queue_policy import QueueSettings
from hub.messaging.schema import TEXT_LIMIT
from hub.messaging.texts import say
from hub.security.people import People
from hub.sessions.keys import SessionKey
from hub.template.searching import search_for


class MediaSettings(Struct, frozen=True):
    """Limits on attachments: the size of one, and how long they are kept."""

    file_bytes: int = 20_000_000
    keep_days: int = 30


class MessagingSettings(Struct, frozen=True):
    """What the configuration says about messages; replaced as a whole when it changes."""

    bindings: Bindings = field(default_factory=Bindings)
    broadcast: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dm_scope: DmScope = DmScope.AUTO
    send_policy: SendPolicy = SendPolicy()
    reset_triggers: tuple[str, ...] = ()
    queue: QueueSettings = QueueSettings()
    text_limit: int = TEXT_LIMIT
    language: str = "en"
    media: MediaSettings = MediaSettings()
    transcription_model: str | None = None
    thread_limits: BindingLimits = BindingLimits()

    @classmethod
    def from_config(cls, section: Callable[[str], Any], language: str) -> MessagingSettings:
        """Read the settings from the sections of a valid configuration."""
        messages, session = section("messages"), section("session")
        return cls(
            bindings=Bindings(Binding.from_config(each) for each in section("bindings") or ()),
            broadcast={peer: tuple(agents) for peer, agents in (section("broadcast") or {}).items()},
            dm_scope=DmScope(session["dm_scope"]),
            send_policy=SendPolicy.from_config(session["send_policy"]),
            reset_triggers=tuple(session["reset_triggers"]),
            queue=QueueSettings.from_config(messages),
            text_limit=messages["text_limit"],
            language=language,
            media=MediaSettings(messages["media"]["file_mb"] * 1_000_000, messages["media"]["keep_days"]),
            transcription_model=messages["media"].get("transcription_model"),
            thread_limits=BindingLimits.from_config(session["thread_bindings"]),
        )


class Facts(Struct, frozen=True):
    """The facts that a decision depends on besides the message.

    Attributes:
        knows_model: Whether there is a model of this name.
        paired: Identities that are paired with the account.
        activation: Returns the activation that was chosen for a session, or None.
        pressed: Returns the command that a pressed button stands for, or None.
        bound: Returns the session that a sender's words in a thread come to, or None if they go the usual way. It is
            None where no thread is bound.
    """

    policy: AccessPolicy
    people: People
    agents: Agents
    settings: MessagingSettings
    knows_model: Callable[[str], bool] = lambda ref: False
    paired: frozenset[str] = frozenset()
    activation: Callable[[str], str | None] = lambda key: None
    pressed: Callable[[Address, str], str | None] = lambda address, value: None
    bound: Callable[[Address, Authority], str | None] | None = None


class Accept(Struct, frozen=True):
    """An agent answers the message in a session.

    Attributes:
        context: Carries the sender's authority.
        at_once: Commands that were in the message, and are answered now.
        group: The settings of the group it came from.
        also: Further agents that answer it (`broadcast:`), each with its session.
        part: Distinguishes the rows of one message that several agents answer.
    """

    message: InboundMessage
    agent_id: str
    session_key: str
    context: Context
    at_once: CommandCall | None = None
    group: GroupSettings | None = None
    also: tuple[tuple[str, str], ...] = ()
    part: str = ""


class Overheard(Struct, frozen=True):
    """A group message that is not addressed to the assistant; it is added to the history of the group's sessions."""

    message: InboundMessage
    session_keys: tuple[str, ...]
    context: Context
    group: GroupSettings
    reason: str = "the assistant was not addressed (require_mention)"


class Notice(Struct, frozen=True):
    """The event is published in the hub; `context` carries the sender's authority."""

    context: Context


class Refuse(Struct, frozen=True):
    """The message or event is refused.

    Attributes:
        answer: Sent to the sender, if anything is.
        may_pair: Whether the sender is offered a pairing code instead.
    """

    reason: str
    answer: str | None = None
    may_pair: bool = False


Decision = Accept | CommandCall | Overheard | Notice | Refuse


def decide(inbound: Inbound, context: Context, facts: Facts) -> Decision:
    """Return the decision about a message or event.

    Raises:
        InvalidRequest, NotFound: A client of the gateway named a session or agent that cannot be.
    """
    settings = facts.settings
    message = _as_message(inbound, facts)
    verdict = authorize(message or inbound, context.authority, facts.policy, facts.people, facts.paired)
    if verdict.authority is None:
        return Refuse(verdict.reason, may_pair=verdict.may_pair and message is not None)
    allowed = Context(verdict.authority, context.id, context.parent_id, context.chain)
    if message is None:
        return Notice(allowed)
    if not (message.text.strip() or message.images or message.media or message.location or message.contacts):
        return Refuse("the message is empty")
    (agent_id, session_key), *also = _targets(message, allowed, facts, verdict.group)
    is_bound = bound_route(message, allowed.authority, facts) is not None
    if (group := verdict.group) is not None and not (
        is_bound or _is_addressed(message, agent_id, session_key, group, facts)
    ):
        sessions = (session_key, *(key for _, key in also))
        return Overheard(message, sessions, allowed, group)
    if len(message.text) > settings.text_limit:
        text = say("text.too_long", settings.language, limit=settings.text_limit)
        return Refuse(text, answer=text)
    at_once, triggers = None, settings.reset_triggers
    if "/" in message.text or triggers:
        by_owner = _is_owner(message, allowed, facts)
        reading = read_message(
            message, verdict.authority, facts.knows_model, by_owner=by_owner, reset_triggers=triggers
        )
        if reading.commands:
            first, *more = reading.commands
            at_once = CommandCall(*first, message, agent_id, session_key, allowed, by_owner, tuple(more))
            if reading.message is None:
                return at_once
        message = reading.message or message
    return Accept(message, agent_id, session_key, allowed, at_once, verdict.group, tuple(also))


def accept_verbatim(message: InboundMessage, context: Context, facts: Facts, session_key: str | None) -> Accept:
    """Return the acceptance of a message as it is, without looking for commands.

    Args:
        context: With the authority it was admitted with.
        session_key: The conversation it belongs to, unless its agent no longer exists; None for that of its address.
    """
    group = facts.policy.group_settings(message.address)
    if session_key is not None and _exists(agent := SessionKey.parse(session_key).agent, facts):
        return Accept(message, agent, session_key, context, None, group)
    (agent_id, key), *also = _targets(message, context, facts, group)
    return Accept(message, agent_id, key, context, None, group, tuple(also))


def agents_for(
    message: InboundMessage, facts: Facts, group: GroupSettings | None
) -> tuple[AgentRoute, tuple[str, ...]]:
    """Return the agent that answers a message, with the reason, and the further ones of a broadcast.

    A named agent that no longer exists is left out; if none is left, the default one answers.
    """
    settings = facts.settings
    together = [each for each in settings.broadcast.get(message.address.peer, ()) if _exists(each, facts)]
    if together:
        return AgentRoute(together[0], MatchedBy.BROADCAST), tuple(together[1:])
    default = facts.agents.default().id
    if group is not None and group.agent is not None:
        found = AgentRoute(group.agent, MatchedBy.GROUP)
    else:
        found = settings.bindings.choose(message.address, default, message.roles)
    return (found if _exists(found.agent, facts) else AgentRoute(default)), ()


def bound_route(message: InboundMessage, authority: Authority, facts: Facts) -> tuple[str, str] | None:
    """Return the agent and the session that the message's thread is bound to, if they still exist."""
    key = facts.bound(message.address, authority) if facts.bound is not None else None
    if key is None or not _exists(agent := SessionKey.parse(key).agent, facts):
        return None
    return agent, key


def activation_of(group: GroupSettings, session_key: str, facts: Facts) -> Activation:
    """Return which messages of a group are answered: the session's choice, else the configuration's."""
    chosen = facts.activation(session_key)
    return Activation(chosen) if chosen in tuple(Activation) else group.activation or Activation.MENTION


def _as_message(inbound: Inbound, facts: Facts) -> InboundMessage | None:
    text: str | None = None
    match inbound:
        case InboundMessage():
            return inbound
        case CommandUsed():
            text = f"/{inbound.name} {inbound.arguments}".strip()
        case ButtonPressed():
            text = facts.pressed(inbound.address, inbound.value)
    if text is None:
        return None
    return InboundMessage(inbound.address, inbound.event_id, inbound.sender, text, mentioned=True)


def _is_owner(message: InboundMessage, context: Context, facts: Facts) -> bool:
    """Whether an owner says it; in a group, where owners have no rights, judged by their identity."""
    if context.authority.owner or message.address.chat_type is ChatType.DIRECT:
        return context.authority.owner
    person = facts.people.by_identity(message.sender)
    return person is not None and person.owner and not facts.policy.weak_identity


def _targets(
    message: InboundMessage, context: Context, facts: Facts, group: GroupSettings | None
) -> list[tuple[str, str]]:
    """Return each agent that answers with its session; a client that names a session gets that one."""
    if isinstance(message, ClientMessage) and message.session_key is not None:
        key = SessionKey.parse(message.session_key, default_agent=facts.agents.default().id)
        return [(facts.agents.get(key.agent).id, str(key))]
    if (bound := bound_route(message, context.authority, facts)) is not None:
        return [bound]
    found, also = agents_for(message, facts, group)
    scope = facts.settings.dm_scope
    return [(each, session_key_for(each, message, context.authority, scope)) for each in (found.agent, *also)]


def _is_addressed(message: InboundMessage, agent_id: str, session_key: str, group: GroupSettings, facts: Facts) -> bool:
    if message.mentioned or activation_of(group, session_key, facts) is Activation.ALWAYS:
        return True
    patterns = (*group.mention_patterns, *facts.agents.get(agent_id).mention_patterns)
    return any(search_for(each, ignorecase=True)(message.text) for each in patterns)


def _exists(agent_id: str, facts: Facts) -> bool:
    try:
        facts.agents.get(agent_id)
    except NotFound:
        return False
    return True
