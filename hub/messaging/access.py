"""Access to the assistant: a pure decision over a message, its sender and the account's policy."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hub.core.context import Authority
from hub.messaging.contract import ChatType, Inbound, InboundMessage
from hub.security.people import People


class DmPolicy(StrEnum):
    """Policies for direct messages."""

    OWNER = "owner"
    PEOPLE = "people"
    ALLOWLIST = "allowlist"
    OPEN = "open"


class GroupPolicy(StrEnum):
    """Which groups are answered."""

    DISABLED = "disabled"
    ALLOWLIST = "allowlist"


class AccessPolicy(Struct, frozen=True):
    """The policy of one account of a channel; the defaults let in the owner alone.

    Attributes:
        dm: The policy for direct messages.
        allow_from: Further identities that may, typed (`telegram:user:123`).
        group: Which groups are answered.
        groups: Peers of the groups on the allow-list.
        require_mention: Whether a group message must address the assistant.
    """

    dm: DmPolicy = DmPolicy.OWNER
    allow_from: frozenset[str] = frozenset()
    group: GroupPolicy = GroupPolicy.DISABLED
    groups: frozenset[str] = frozenset()
    require_mention: bool = True


class AccessVerdict(Struct, frozen=True):
    """Whether a message may be handled, with whose authority, or why not."""

    authority: Authority | None
    reason: str | None = None


def authorize(inbound: Inbound, caller: Authority, policy: AccessPolicy, people: People) -> AccessVerdict:
    """Decide on one message or event; every inbound kind passes through here.

    A caller whom the gateway authenticated has operator scopes and is let in by `operator.write`. Everybody else is
    known by their typed identity alone; an empty or malformed one matches nobody.
    """
    if caller.scopes:
        if caller.has("operator.write"):
            return AccessVerdict(caller)
        return AccessVerdict(None, "the credential may not write")
    if not _well_formed(inbound.sender):
        return AccessVerdict(None, "the sender has no identity")
    person = people.by_identity(inbound.sender)
    authority = people.authority_for(inbound.sender)
    if inbound.address.chat_type is not ChatType.DIRECT:
        return _authorize_group(inbound, policy, authority)
    if inbound.sender in policy.allow_from or (person is not None and person.owner):
        return AccessVerdict(authority)
    match policy.dm:
        case DmPolicy.OPEN:
            return AccessVerdict(authority)
        case DmPolicy.PEOPLE if person is not None:
            return AccessVerdict(authority)
    return AccessVerdict(None, f"{inbound.sender} is not on the list of those who may write (dm_policy: {policy.dm})")


def _authorize_group(inbound: Inbound, policy: AccessPolicy, authority: Authority) -> AccessVerdict:
    if policy.group is GroupPolicy.DISABLED:
        return AccessVerdict(None, "groups are not answered (group_policy: disabled)")
    if inbound.address.peer not in policy.groups:
        return AccessVerdict(None, f"the group {inbound.address.peer} is not on the list (groups)")
    # Reactions, edits and joins are not addressed to anyone and get no answer.
    if policy.require_mention and isinstance(inbound, InboundMessage) and not inbound.mentioned:
        return AccessVerdict(None, "the assistant was not addressed (require_mention)")
    # In a group others read and write too: an owner keeps the name there, not the rights.
    return AccessVerdict(authority.narrow(owner=False))


def _well_formed(sender: str) -> bool:
    parts = sender.split(":", 2)
    return len(parts) == 3 and all(part.strip() for part in parts)
