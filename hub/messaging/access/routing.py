"""Chooses the agent and the session of a message: pure rules over bindings and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from typing import Any

from msgspec import Struct

from hub.core.context import Authority
from hub.messaging.access.routing_schema import ANY_ACCOUNT
from hub.messaging.contract import Address, ChatType, InboundMessage
from hub.sessions.keys import ThreadKind, channel_key, direct_key, group_key, main_key


class DmScope(StrEnum):
    """How direct conversations are separated."""

    AUTO = "auto"
    MAIN = "main"
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


class MatchedBy(IntEnum):
    """What made a binding match, from the least specific to the most."""

    DEFAULT = 0
    CHANNEL = 1
    ACCOUNT = 2
    TEAM = 3
    GUILD = 4
    GUILD_ROLES = 5
    PARENT = 6
    PEER = 7
    GROUP = 8
    """Not a binding: the settings of the group name the agent."""
    BROADCAST = 9
    """Not a binding: several agents answer there."""
    THREAD = 10
    """Not a binding: the thread is bound to a session (`/focus`, or a subagent's)."""


class Binding(Struct, frozen=True):
    """Messages that match go to this agent; None matches anything.

    Attributes:
        peer: The conversation, or the room that a thread hangs in.
        guild, team: The server or workspace that a room belongs to.
        roles: Roles in the guild, of which the sender has one.
    """

    agent: str
    channel: str | None = None
    account: str | None = None
    peer: str | None = None
    chat_type: ChatType | None = None
    guild: str | None = None
    team: str | None = None
    roles: frozenset[str] = frozenset()

    @classmethod
    def from_config(cls, entry: Mapping[str, Any]) -> Binding:
        """Read one item of `bindings:`."""
        match = entry["match"]
        peer, chat_type = match.get("peer"), match.get("chat_type")
        if isinstance(peer, Mapping):
            peer, chat_type = peer["id"], peer["kind"]
        account = match.get("account")
        return cls(
            agent=entry["agent"],
            channel=match.get("channel"),
            account=None if account == ANY_ACCOUNT else account,
            peer=peer,
            chat_type=ChatType(chat_type) if chat_type else None,
            guild=match.get("guild"),
            team=match.get("team"),
            roles=frozenset(match.get("roles") or ()),
        )

    def matched_by(self, address: Address, roles: Iterable[str] = ()) -> MatchedBy | None:
        """Return the most specific match; None if any stated condition fails."""
        if not (
            self.channel in (None, address.channel)
            and self.account in (None, address.account)
            and self.peer in (None, address.peer, address.parent)
            and self.chat_type in (None, address.chat_type)
            and self.guild in (None, address.space)
            and self.team in (None, address.space)
            and (not self.roles or not self.roles.isdisjoint(roles))
        ):
            return None
        if self.peer is not None:
            return MatchedBy.PEER if self.peer == address.peer else MatchedBy.PARENT
        if self.guild is not None:
            return MatchedBy.GUILD_ROLES if self.roles else MatchedBy.GUILD
        if self.team is not None:
            return MatchedBy.TEAM
        if self.account is not None:
            return MatchedBy.ACCOUNT
        return MatchedBy.DEFAULT if self.channel is None else MatchedBy.CHANNEL

    @property
    def details(self) -> int:
        """The number of stated conditions beside the match."""
        return sum(each is not None for each in (self.channel, self.account, self.chat_type, self.guild, self.team))


class AgentRoute(Struct, frozen=True):
    """The chosen agent, and why: the number of the binding in `bindings:`, unless none matched."""

    agent: str
    matched_by: MatchedBy = MatchedBy.DEFAULT
    index: int | None = None


class Bindings:
    """The bindings of a configuration, in its order."""

    def __init__(self, bindings: Iterable[Binding] = ()) -> None:
        self.all = tuple(bindings)

    def choose(self, address: Address, default: str, roles: Iterable[str] = ()) -> AgentRoute:
        """Return the agent of the most specific binding that matches, the first of equals; else the default."""
        best, best_rank = AgentRoute(default), (-1, 0)
        for index, binding in enumerate(self.all):
            matched_by = binding.matched_by(address, roles)
            if matched_by is not None and (rank := (int(matched_by), binding.details)) > best_rank:
                best, best_rank = AgentRoute(binding.agent, matched_by, index), rank
        return best


def session_key_for(agent: str, message: InboundMessage, authority: Authority, dm_scope: DmScope) -> str:
    """Return the session of a message that an agent answers."""
    address = message.address
    kind = ThreadKind.TOPIC if address.topic else ThreadKind.THREAD
    match address.chat_type:
        case ChatType.GROUP:
            return group_key(agent, address.channel, address.peer, thread=address.thread, thread_kind=kind)
        case ChatType.CHANNEL:
            return channel_key(agent, address.channel, address.peer, thread=address.thread, thread_kind=kind)
    match dm_scope:
        # Whoever does not belong to this home never shares a conversation with those who do.
        case DmScope.MAIN if authority.owner or authority.person is not None:
            return main_key(agent)
        case DmScope.AUTO if authority.owner:
            return main_key(agent)
        case DmScope.PER_PEER:
            return direct_key(agent, authority.person or message.sender)
        case DmScope.PER_ACCOUNT_CHANNEL_PEER:
            return direct_key(agent, address.peer, channel=address.channel, account=address.account)
        case _:
            return direct_key(agent, address.peer, channel=address.channel)
