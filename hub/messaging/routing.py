"""Which agent a message goes to and in which session: pure rules over bindings and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hub.core.context import Authority
from hub.messaging.contract import Address, ChatType, InboundMessage
from hub.sessions.keys import channel_key, direct_key, group_key, main_key


class DmScope(StrEnum):
    """How direct conversations are separated."""

    AUTO = "auto"
    MAIN = "main"
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


class Binding(Struct, frozen=True):
    """Messages that match go to this agent; None matches anything."""

    agent: str
    channel: str | None = None
    account: str | None = None
    peer: str | None = None
    chat_type: ChatType | None = None

    @classmethod
    def from_config(cls, entry: Mapping[str, Any]) -> Binding:
        """Read one item of `bindings:`."""
        match = entry["match"]
        chat_type = match.get("chat_type")
        return cls(
            agent=entry["agent"],
            channel=match.get("channel"),
            account=match.get("account"),
            peer=match.get("peer"),
            chat_type=ChatType(chat_type) if chat_type else None,
        )

    def matches(self, address: Address) -> bool:
        """Whether everything that is stated fits."""
        return (
            self.channel in (None, address.channel)
            and self.account in (None, address.account)
            and self.peer in (None, address.peer)
            and self.chat_type in (None, address.chat_type)
        )

    @property
    def rank(self) -> tuple[bool, bool, bool, bool]:
        """The more specific, the greater: a peer before a kind of chat, an account, a channel."""
        return (
            self.peer is not None,
            self.chat_type is not None,
            self.account is not None,
            self.channel is not None,
        )


def choose_agent(bindings: Iterable[Binding], address: Address, default: str) -> str:
    """Return the agent of the most specific binding that matches, the first of equals; else the default."""
    best: Binding | None = None
    for binding in bindings:
        if binding.matches(address) and (best is None or binding.rank > best.rank):
            best = binding
    return best.agent if best else default


def session_key_for(agent: str, message: InboundMessage, authority: Authority, dm_scope: DmScope) -> str:
    """Return the session of a message that an agent answers."""
    address = message.address
    match address.chat_type:
        case ChatType.GROUP:
            return group_key(agent, address.channel, address.peer, thread=address.thread)
        case ChatType.CHANNEL:
            return channel_key(agent, address.channel, address.peer, thread=address.thread)
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
