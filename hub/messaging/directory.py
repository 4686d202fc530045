"""Who is meant by a name, and what the directories of the platforms have.

The people of this home come first: what others call themselves, or their room, never takes a message from them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import category, normalize

from msgspec import Struct

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.messaging.capabilities import CanLookUp, SomeEntries
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Address, ChatType
from hub.security.people import Person

LOOK_UP_LIMIT = 50
LOOK_UP_LIMIT_S = 20.0
"""What one platform's directory answers with, and within."""


class KnownChat(Struct, frozen=True):
    """A chat, and what it is called.

    Attributes:
        name: Of the person of this home, else as the platform showed it; None when it showed none.
        heard_ms: When it was last heard from, or asked to be paired, in milliseconds since the epoch; None for never.
        person: Id of the person of this home who writes there.
        space: Name of the server, team or workspace that a room belongs to.
    """

    address: Address
    name: str | None
    heard_ms: int | None = None
    person: str | None = None
    space: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        told = self.address
        return {
            "to": self.written,
            "channel": told.channel,
            "accountId": told.account,
            "peer": told.peer,
            "kind": told.chat_type.value,
            "name": self.name,
            "space": self.space,
            "lastHeardAtMs": self.heard_ms,
        }

    @property
    def written(self) -> str:
        """Its address in one word."""
        return f"{self.address.channel}:{self.address.peer}"


class Listing(Struct, frozen=True):
    """What the directories of platforms have.

    Attributes:
        asked: Names of the channels that have one.
        problems: Why an account's has nothing.
        cut: Names of the channels of which there may be more.
    """

    chats: tuple[KnownChat, ...]
    asked: frozenset[str]
    problems: tuple[Mapping[str, str], ...]
    cut: frozenset[str] = frozenset()


def folded(name: str | None) -> str:
    """Return a name without what people do not tell apart: case, spaces, forms of a letter, and the mark of a room."""
    visible = "".join(each for each in name or "" if category(each) != "Cf")
    return " ".join(normalize("NFKC", normalize("NFKC", visible).casefold()).split()).removeprefix("#")


def is_called(name: str, chat: KnownChat) -> bool:
    """Whether a chat has just this name."""
    return bool(folded(name)) and folded(chat.name) == folded(name)


def chat_called(name: str, chats: Sequence[KnownChat], people: Sequence[Person]) -> KnownChat | None:
    """Return the chat that a name, or the id of a chat, means; None when it is neither, or the id of several.

    A person of this home is meant by their name, by a part of it, or by their id, and reached where they were last
    heard. Any other chat is meant by its whole name, unless a person is called just so, and by its id, which outranks
    names.

    Args:
        chats: The latest heard from first.

    Raises:
        InvalidRequest: Several could be meant; it names them with their addresses.
        NotFound: A person is meant who has written in none of the chats.
    """
    asked = folded(name)
    exact = [each for each in people if asked and asked in (folded(each.name), each.id)]
    persons = exact or [each for each in people if asked and {*asked.split()} <= {*folded(each.name).split()}]
    places = {each.id: _usual_place(each.id, chats) for each in persons}
    by_id = [each for each in chats if each.address.peer == name]
    named = [] if by_id or exact else [each for each in chats if each.person is None and is_called(name, each)]
    others: dict[str, KnownChat] = {}
    for each in by_id or named:
        if each.person not in places:
            others.setdefault(each.written, each)
    if by_id and not persons:
        return by_id[0] if len(by_id) == 1 else None
    if len(persons) + len(others) > 1:
        told = [f"{each.name} ({_written(places[each.id])})" for each in persons]
        told += [f"{each.name or each.address.peer} ({each.written})" for each in others.values()]
        raise InvalidRequest(f"to: {name[:80]!r} could be {', or '.join(told)}; give the address of the one you mean")
    if not persons:
        return next(iter(others.values()), None)
    found = next(iter(by_id), places[persons[0].id])
    if found is None:
        raise NotFound(f"{persons[0].name} has not written there yet, so it is not known where to reach them")
    return found


async def look_up(channels: ChannelRegistry, query: str, channel: str | None = None) -> Listing:
    """Ask the directories of all accounts, or of one channel's, for names that hold a text."""
    able = [
        (each.channel.name, each.channel.account, each.channel)
        for each in channels.all()
        if isinstance(each.channel, CanLookUp) and channel in (None, each.channel.name)
    ]
    answers = await asyncio.gather(*(_asked(*each, query) for each in able))
    return Listing(
        tuple(chat for chats, _, _ in answers for chat in chats),
        frozenset(name for name, _, _ in able),
        tuple(problem for _, problem, _ in answers if problem is not None),
        frozenset(name for (name, _, _), (_, _, is_cut) in zip(able, answers, strict=True) if is_cut),
    )


async def _asked(
    name: str, account: str, channel: CanLookUp, query: str
) -> tuple[list[KnownChat], Mapping[str, str] | None, bool]:
    """Return what a directory has, why it has nothing, and whether there may be more."""
    about = {"channel": name, "accountId": account}
    try:
        async with asyncio.timeout(LOOK_UP_LIMIT_S):
            found = await channel.look_up(query, LOOK_UP_LIMIT)
    except TimeoutError:
        return [], {**about, "error": f"it did not answer within {LOOK_UP_LIMIT_S:g} s"}, False
    except HubError as error:
        return [], {**about, "error": error.message}, False
    chats = [
        KnownChat(Address(name, each.peer, account, each.chat_type), each.name, space=each.space)
        for each in found[:LOOK_UP_LIMIT]
    ]
    return chats, None, isinstance(found, SomeEntries) or len(found) >= LOOK_UP_LIMIT


def _usual_place(person: str, chats: Sequence[KnownChat]) -> KnownChat | None:
    theirs = [each for each in chats if each.person == person and each.address.chat_type is ChatType.DIRECT]
    return max(theirs, key=lambda each: each.heard_ms or 0, default=None)


def _written(chat: KnownChat | None) -> str:
    return chat.written if chat is not None else "has not written"
