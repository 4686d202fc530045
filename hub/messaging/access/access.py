"""Access to the assistant, in direct chats and in groups (who, and whether only when mentioned): a pure decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from hub.core.context import Authority, ToolPolicy
from hub.messaging.contract import Address, ChatType, Inbound
from hub.security.people import People, is_identity

ANYBODY = "*"
"""In a list of senders: everybody. In `groups`: what holds for every group. It never makes anybody an owner."""
NOT_LISTED = "is not on the list of those who may write"
"""The middle of why a stranger is refused, between who they are and which policy holds."""


class DmPolicy(StrEnum):
    """Policies for direct messages. Owners are admitted by all but `disabled`."""

    PAIRING = "pairing"
    """People of this home, the allow-list and whoever is paired; a stranger gets a pairing code."""
    ALLOWLIST = "allowlist"
    """The allow-list, and whoever was paired."""
    OPEN = "open"
    """Everybody."""
    DISABLED = "disabled"
    """Nobody."""


class GroupPolicy(StrEnum):
    """The groups that are answered."""

    ALLOWLIST = "allowlist"
    OPEN = "open"
    DISABLED = "disabled"


class Activation(StrEnum):
    """The messages of a group that are answered: those that mention the assistant, or all."""

    MENTION = "mention"
    ALWAYS = "always"


class GroupSettings(Struct, frozen=True):
    """The settings of a group; None (or empty) defers to more general settings.

    Attributes:
        allow: Whether it is answered at all.
        activation: Which of its messages are.
        mention_patterns: Regular expressions that count as a mention.
        tools: All must permit a tool, beside the agent's and the sender's own.
        agent: Id of the answering agent, whatever the bindings say.
        system_prompt: Appended to the agent's prompt.
        history_limit: Messages since the last answer that are included as context.
        skills: Names of the skills there are in it, within those of the agent.
        allow_from: Senders who are answered; the account's `group_allow_from` without it.
    """

    allow: bool | None = None
    activation: Activation | None = None
    mention_patterns: tuple[str, ...] = ()
    tools: tuple[ToolPolicy, ...] = ()
    agent: str | None = None
    system_prompt: str | None = None
    history_limit: int | None = None
    allow_from: frozenset[str] | None = None
    skills: tuple[str, ...] | None = None

    def over(self, general: GroupSettings) -> GroupSettings:
        """Return these settings, completed by more general ones; the policies for tools meet."""
        stated = {name: value for name, value in asdict(self).items() if value not in (None, "")}
        stated["tools"] = (*general.tools, *self.tools)
        return replace(general, **stated | {"mention_patterns": self.mention_patterns or general.mention_patterns})


class AccessPolicy(Struct, frozen=True):
    """The policy of one account of a channel; by default the owner alone, and no group.

    Attributes:
        dm: The policy for direct messages.
        allow_from: Further identities that may, typed (`telegram:user:123`).
        group: Which groups are answered.
        groups: Settings by the id of a group, of a space, of `<space>/<group>`, or `*` for all; a group that is named
            is on the allow-list unless it says `allow: false`.
        group_allow_from: Identities that are answered in groups; all members without it.
        require_mention: Whether a group message must address the assistant, where `groups` does not say.
        weak_identity: Whether senders are proved too weakly for an owner's rights (`ChannelLimits.weak_identity`).
    """

    dm: DmPolicy = DmPolicy.ALLOWLIST
    allow_from: frozenset[str] = frozenset()
    group: GroupPolicy = GroupPolicy.ALLOWLIST
    groups: Mapping[str, GroupSettings] = field(default_factory=dict)
    group_allow_from: frozenset[str] = frozenset()
    require_mention: bool = True
    weak_identity: bool = False

    def group_settings(self, address: Address) -> GroupSettings | None:
        """Return the settings of an address's room, including its threads and topics; None for a direct conversation.

        The room's own settings come before those of the room that a thread belongs to, of the space, of all.
        """
        if address.chat_type is ChatType.DIRECT:
            return None
        activation = Activation.MENTION if self.require_mention else Activation.ALWAYS
        settings = GroupSettings(activation=activation, allow_from=self.group_allow_from or None)
        for key in _group_keys(address):
            if (stated := self.groups.get(key)) is not None:
                named = stated.allow is None and key != ANYBODY
                settings = (replace(stated, allow=True) if named else stated).over(settings)
        return settings


class AccessVerdict(Struct, frozen=True):
    """The decision about access.

    Attributes:
        authority: With whose authority it may; None when it may not.
        reason: Which rule decided.
        group: The settings of the group it came from.
        may_pair: Whether the sender may ask to be let in.
    """

    authority: Authority | None
    reason: str
    group: GroupSettings | None = None
    may_pair: bool = False


def authorize(
    inbound: Inbound,
    caller: Authority,
    policy: AccessPolicy,
    people: People,
    paired: frozenset[str] = frozenset(),
) -> AccessVerdict:
    """Decide on one message or event; every inbound kind passes through here.

    A caller whom the gateway authenticated has operator scopes and is let in by `operator.write`. Everybody else is
    known by their typed identity alone; an empty or malformed one matches nobody.

    Args:
        inbound: The message.
        caller: The authenticated caller that sent it, if any.
        policy: That of the account.
        people: The people of this home.
        paired: Identities that an owner let in for direct messages on this account.
    """
    if caller.scopes:
        if caller.has("operator.write"):
            return AccessVerdict(caller, "the caller may write (operator.write)")
        return AccessVerdict(None, "the credential may not write")
    if not is_identity(inbound.sender):
        return AccessVerdict(None, "the sender has no identity")
    group = policy.group_settings(inbound.address)
    if group is not None:
        return _authorize_group(inbound, policy, group, people)
    authority = known = people.authority_for(inbound.sender)
    if policy.weak_identity:
        authority = known.narrow(scopes=(), owner=False)
    match policy.dm:
        case DmPolicy.DISABLED:
            return AccessVerdict(None, "direct messages are not answered (dm_policy: disabled)")
        case _ if known.owner:
            return AccessVerdict(authority, "an owner of this home")
        case DmPolicy.OPEN:
            return AccessVerdict(authority, "everybody may write (dm_policy: open)")
        case _ if inbound.sender in policy.allow_from:
            return AccessVerdict(authority, "on the allow-list (allow_from)")
        case _ if inbound.sender in paired:
            return AccessVerdict(authority, "paired")
        case DmPolicy.PAIRING if authority.person is not None:
            return AccessVerdict(authority, "a person of this home")
    refused = f"{inbound.sender} {NOT_LISTED} (dm_policy: {policy.dm})"
    return AccessVerdict(None, refused, may_pair=policy.dm is DmPolicy.PAIRING)


def _authorize_group(inbound: Inbound, policy: AccessPolicy, group: GroupSettings, people: People) -> AccessVerdict:
    peer = inbound.address.peer
    match policy.group:
        case GroupPolicy.ALLOWLIST if group.allow:
            allowed = f"the group {peer} is on the list (groups)"
        case GroupPolicy.OPEN if group.allow is not False:
            allowed = "all groups are answered (group_policy: open)"
        case GroupPolicy.DISABLED:
            return AccessVerdict(None, "groups are not answered (group_policy: disabled)", group)
        case _ if group.allow is False:
            return AccessVerdict(None, f"the group {peer} is not answered (groups, allow: false)", group)
        case _:
            return AccessVerdict(None, f"the group {peer} is not on the list (groups)", group)
    # What a person may in direct conversations, by pairing or allow_from, counts for nothing here.
    authority, senders = people.authority_for(inbound.sender), group.allow_from
    if senders is not None and not authority.owner and not senders & {inbound.sender, ANYBODY}:
        return AccessVerdict(None, f"{inbound.sender} is not on the group's list of senders (allow_from)", group)
    # In a group others read and write too: an owner keeps the name there, not the rights.
    authority = authority.narrow(scopes=(), owner=False)
    for tools in group.tools:
        authority = authority.narrow(policy=tools)
    return AccessVerdict(authority, allowed, group)


def _group_keys(address: Address) -> Iterator[str]:
    """Yield the configuration keys of a room, from general to specific."""
    yield ANYBODY
    if address.space:
        yield address.space
    for room in (address.parent, address.peer):
        if room:
            yield room
            if address.space:
                yield f"{address.space}/{room}"
