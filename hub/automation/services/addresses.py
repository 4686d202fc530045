"""The last address of a person, and the conversation of an address, read from the inbox."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hub.config.suggest import did_you_mean
from hub.core.context import Authority
from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import All, AnyOf, Described, Invalid, Length, Optional, Required, Schema, show, string
from hub.core.sql import SqlConnection
from hub.messaging.access.pairing import approved_entries
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Address, ChatType
from hub.messaging.places import channel_and_peer, chat_or_last
from hub.security.people import People
from hub.sessions.keys import ROOMS, SessionKey, main_key
from hub.storage.database import Database

if TYPE_CHECKING:
    from hub.messaging.directory import KnownChat

LOOKED_AT = 20_000
"""Rows of the inbox that are looked at for the last word of an owner or of a session; older ones count as silence."""

LIKE_AN_ADDRESS = re.compile(r"\S*[\d@#!+]\S*")
"""Ids, numbers, mail addresses and rooms; a word alone may be a name."""

_ID = All(string, Length(min=1, max=512))
TO_SCHEMA = Schema(
    {
        Optional("channel", description="The channel, such as telegram; it may stand before `to` instead."): _ID,
        Required("to", description="The peer: a person's or a group's id on that channel, or telegram:123456."): _ID,
        Optional("account", default="default", description="The account of the channel."): _ID,
        Optional("thread", description="A thread or topic in it."): _ID,
    }
)


def _written(value: Any) -> dict[str, Any]:
    """Accept an address as one word: `telegram:123456`."""
    try:
        channel, peer = channel_and_peer(None, value if isinstance(value, str) else "")
    except InvalidRequest:
        told = f"expected last, none, an address such as telegram:123456, or channel and to, got {show(value)}"
        raise Invalid(told) from None
    found: dict[str, Any] = TO_SCHEMA({"channel": channel, "to": peer})
    return found


ADDRESS = Described(_written, {"type": "string", "pattern": "^[^:]+:.+$"}, "address")
TARGET = AnyOf("last", "none", TO_SCHEMA, ADDRESS)
"""Where an answer goes: where the person was heard from last, nowhere, or to an address."""


class DeliveryTarget(Struct, frozen=True):
    """An address, and the conversation held there, if any."""

    address: Address
    session_key: str | None = None


class Addresses:
    """Resolves addresses.

    Args:
        db: The hub database.
        people: The people of this home as configured now.
        channels: Knows the channel of the hub's own conversations.
    """

    def __init__(self, db: Database, people: Callable[[], People], channels: ChannelRegistry) -> None:
        self._channels = channels
        self._db = db
        self._people = people

    async def target(self, target: Any, *, agent_id: str, session_key: str | None = None) -> DeliveryTarget | None:
        """Return the present meaning of a valid `TARGET`; None for nowhere.

        `last` is where the session was last spoken in, when it is a conversation with people; else where an owner last
        spoke to the agent; else the agent's main conversation on the dashboard.
        """
        if target == "none":
            return None
        chat = None if target == "last" else chat_or_last(target.get("channel"), target["to"])
        if chat is None:
            return await self.last(agent_id, session_key=session_key)
        return await self.at(*chat, target["account"], target.get("thread"))

    def check(self, address: Mapping[str, Any]) -> None:
        """Refuse an address that leads nowhere, before it is stored.

        Raises:
            NotFound: There is no such channel or account; see `ChannelRegistry.account`.
            InvalidRequest: It names no channel.
        """
        chat = chat_or_last(address.get("channel"), address.get("to"))
        if chat is not None:
            self._channels.account(chat[0], str(address.get("account", "default")))

    async def last(self, agent_id: str, *, session_key: str | None = None) -> DeliveryTarget:
        """Return where a session, or else an owner with an agent, last wrote from."""
        found = await self.of_session(session_key) if session_key is not None else None
        if found is None:
            heard = self._heard()
            found = await self._db.read(lambda connection: _last_of_owner(connection, f"agent:{agent_id}:", heard))
        return found or DeliveryTarget(Address(self._channels.home, main_key(agent_id)), main_key(agent_id))

    async def of_session(self, session_key: str) -> DeliveryTarget | None:
        """Return the chat of a conversation; None if it has none, such as an automation's."""
        heard = self._heard()
        found = await self._db.read(lambda connection: _last_of_session(connection, session_key, heard))
        if found is not None:
            return found
        kind = SessionKey.parse(session_key).kind.value
        if kind not in {"main", "direct"}:
            return None
        return DeliveryTarget(Address(self._channels.home, session_key), session_key)

    async def at(
        self, channel: str | None, to: str, account: str = "default", thread: str | None = None
    ) -> DeliveryTarget:
        """Return an address with its chat type and the conversation held there, as far as known.

        Raises:
            NotFound: There is no such channel or account; see `ChannelRegistry.account`.
            InvalidRequest: It names no channel.
        """
        channel, peer = channel_and_peer(channel, to)
        account = self._channels.account(channel, account)
        if self._channels.is_home(channel):
            key = str(SessionKey.parse(peer))
            return DeliveryTarget(Address(channel, key, account), key)
        return await self._db.read(lambda connection: _known(connection, Address(channel, peer, account), thread))

    async def known_chats(self) -> list[KnownChat]:
        """Return the chats of people and groups that were let in: the latest heard from first, then the silent."""
        heard = self._heard()
        chats = await self._db.read(lambda connection: _known_chats(connection, heard))
        return [each for each in chats if not self._channels.is_home(each.address.channel)]

    async def called(
        self, to: str, channel: str | None = None, account: str | None = None, thread: str | None = None
    ) -> DeliveryTarget | None:
        """Return the chat that a name means (`chat_called`), or the only one that the platforms list under it.

        A person whom only the directory of a platform knows is written to if nobody else can be meant: no person of
        this home, nobody who wrote, and nobody in another directory, each of which was asked and told all names.

        Args:
            to: A name, or the id of a known chat; the channel may stand before it.
            channel, account: Where; anywhere without them.

        Returns:
            None when it is an address, as far as is known.

        Raises:
            InvalidRequest: Several could be meant; it names the addresses.
            NotFound: A person of this home is meant who has not written there, or somebody on a platform on which
                people have to write first.
        """
        from hub.messaging.directory import chat_called

        before, _, rest = to.partition(":")
        word = channel is None and rest and before in {name for name, _ in self._channels.places()}
        name, channel = (rest, before) if word else (to, channel)
        chats = [each for each in await self.known_chats() if self._is_at(each.address, channel, account)]
        is_id = any(each.address.peer == name for each in chats)
        if word and is_id:
            return None  # an address, written out
        found = chat_called(name, chats, self._people().all())
        if found is not None:
            address = found.address
            return await self.at(address.channel, address.peer, address.account, thread)
        if is_id or (LIKE_AN_ADDRESS.fullmatch(name) and not name.startswith("#")):
            return None
        listed = await self._listed(name, channel, account)
        return None if listed is None else DeliveryTarget(replace(listed, thread=thread))

    async def suggestion(self, name: str) -> str:
        """Return what a name that nobody has may have been meant for; empty for no idea."""
        return did_you_mean(name, [each.name for each in await self.known_chats() if each.name])

    async def _listed(self, name: str, channel: str | None, account: str | None) -> Address | None:
        """Return the only person or room of that name that the platforms list."""
        from hub.messaging.directory import folded, is_called, look_up

        listing = await look_up(self._channels, folded(name), channel)
        by_address: dict[str, KnownChat] = {}  # one person may be listed for several accounts
        for each in listing.chats:
            if is_called(name, each) and self._is_at(each.address, channel, account):
                by_address.setdefault(each.written, each)
        found = list(by_address.values())
        told = ", or ".join(f"{each.name} ({each.written})" for each in found)
        if len(found) > 1:
            raise InvalidRequest(f"to: {name[:80]!r} could be {told}; give the address of the one you mean")
        if not found:
            if channel is not None and self._people_begin(channel):
                said = f"to: nobody who wrote on {channel} is called {name[:80]!r}; people have to write first there"
                raise NotFound(said)
            return None
        address = found[0].address
        if address.chat_type is not ChatType.DIRECT:
            return address
        if self._people_begin(address.channel):
            raise NotFound(f"to: {told} has not written yet, and people have to write first on {address.channel}")
        is_nick = folded(address.peer) == folded(name)
        if is_nick and channel is not None:
            return address
        unsure = sorted({each["channel"] for each in listing.problems} | listing.cut)
        if is_nick or unsure:
            why = f"not all names of {', '.join(unsure)} are known" if unsure else "anybody can take a nick"
            raise InvalidRequest(f"to: {name[:80]!r} may be {told}, but {why}; give the address")
        return address

    def _people_begin(self, channel: str) -> bool:
        """Whether people have to write first on a channel."""
        accounts = [each.channel for each in self._channels.all() if each.channel.name == channel]
        return bool(accounts) and all(each.limits.people_begin for each in accounts)

    def _is_at(self, address: Address, channel: str | None, account: str | None) -> bool:
        if channel not in (None, address.channel):
            return False
        try:
            return account is None or self._channels.account(address.channel, account) == address.account
        except NotFound:
            return False

    async def names(self, ids: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return the names of accounts by channel and platform id, as far as they differ."""
        unnamed = set(ids) - self._channels.places()
        return await self._db.read(lambda connection: _names(connection, unnamed)) if unnamed else {}

    def _heard(self) -> _Heard:
        return _Heard(self._people(), self._channels.places())

    async def of_person(self, person_id: str, agent_id: str | None = None) -> DeliveryTarget:
        """Return where a person last wrote from; an owner who never wrote is reached on the dashboard.

        Args:
            agent_id: Whose main conversation an owner has there; None for no such place.

        Raises:
            NotFound: There is no such person, or they have never written.
        """
        person = self._people().by_id(person_id)
        if person is None:
            known = ", ".join(each.id for each in self._people().all())
            raise NotFound(f"there is no person {person_id!r}; there are: {known}")
        heard = self._heard()
        found = await self._db.read(lambda connection: _last_of_person(connection, person_id, heard))
        if found is None and person.owner and agent_id is not None:
            return DeliveryTarget(Address(self._channels.home, main_key(agent_id)), main_key(agent_id))
        if found is None:
            raise NotFound(f"{person.name} has not written yet, so it is not known where to reach them")
        return found


_COLUMNS = "channel, account, peer, session_key, message"
_RECENT = "position > (SELECT COALESCE(max(position), 0) FROM inbox) - ? AND state IN ('queued', 'done', 'command')"
_PRIVATE = "session_key NOT LIKE '%:group:%' AND session_key NOT LIKE '%:channel:%'"


class _Heard(Struct, frozen=True):
    """The further conditions on a place: present owners of identities, and present accounts.

    Nothing goes to an identity that was taken away, or to an account that no longer exists.
    """

    people: People
    places: frozenset[tuple[str, str]]


def _last_of_session(connection: SqlConnection, session_key: str, heard: _Heard) -> DeliveryTarget | None:
    def holds(said: Authority, now: Authority) -> bool:
        return now.owner == said.owner and (now.person is None) is (said.person is None)

    return _last(connection, "session_key = ?", (session_key,), heard, holds)


def _last_of_owner(connection: SqlConnection, prefix: str, heard: _Heard) -> DeliveryTarget | None:
    where = f"substr(session_key, 1, ?) = ? AND owner = 1 AND {_PRIVATE}"
    return _last(connection, where, (len(prefix), prefix), heard, lambda said, now: now.owner)


def _last_of_person(connection: SqlConnection, person_id: str, heard: _Heard) -> DeliveryTarget | None:
    where = f"person = ? AND {_PRIVATE}"
    return _last(connection, where, (person_id,), heard, lambda said, now: now.person == person_id)


def _last(
    connection: SqlConnection,
    where: str,
    values: Sequence[Any],
    heard: _Heard,
    holds: Callable[[Authority, Authority], bool],
) -> DeliveryTarget | None:
    """Return the last place that matches a condition in SQL, and whose sender had and still has sufficient rights."""
    rows = connection.execute(
        f"SELECT {_COLUMNS}, principal FROM inbox WHERE {_RECENT} AND {where} ORDER BY position DESC",  # noqa: S608
        (LOOKED_AT, *values),
    )
    for *place, said_by in rows:
        said = Authority.from_dict(json.loads(said_by))
        if (place[0], place[1]) in heard.places and holds(said, heard.people.with_rights_at_arrival(said)):
            return _place(place)
    return None


def _known_chats(connection: SqlConnection, heard: _Heard) -> list[KnownChat]:
    from hub.messaging.directory import KnownChat

    rows = connection.execute(
        f"SELECT channel, account, peer, session_key, message, principal, received_ms FROM inbox WHERE {_RECENT}"  # noqa: S608
        " ORDER BY position DESC",
        (LOOKED_AT,),
    )
    found: dict[tuple[str, str, str], KnownChat] = {}
    for *place, said_by, heard_ms in rows:
        key = (place[0], place[1], place[2])
        known = found.get(key)
        if key[:2] not in heard.places or (known is not None and known.name is not None):
            continue
        target, message = _place(place), json.loads(place[4] or "{}")
        if target is None:
            continue
        is_direct = target.address.chat_type is ChatType.DIRECT
        if known is None:  # who wrote last holds the place: a nick can change hands
            said = heard.people.with_rights_at_arrival(Authority.from_dict(json.loads(said_by)))
            known = KnownChat(replace(target.address, thread=None), None, heard_ms, said.person if is_direct else None)
        person = heard.people.by_id(known.person) if known.person is not None else None
        name = person.name if person is not None else message.get("sender_name" if is_direct else "group_name")
        found[key] = replace(known, name=name, space=known.space or message.get("space_name"))
    for paired in approved_entries(connection):
        key = (paired.channel, paired.account_name, paired.peer)
        if paired.peer and key not in found and key[:2] in heard.places:
            address, person = (
                Address(paired.channel, paired.peer, paired.account_name),
                heard.people.by_identity(paired.identity),
            )
            name, id = (person.name, person.id) if person is not None else (paired.name or None, None)
            found[key] = KnownChat(address, name, paired.created_ms, id)
    return list(found.values())


def _names(connection: SqlConnection, ids: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    sql = "SELECT account FROM inbox WHERE channel = ? AND account_id = ? ORDER BY position DESC LIMIT 1"
    found = {id: connection.execute(sql, id).fetchone() for id in ids}
    return {id: row[0] for id, row in found.items() if row is not None}


def _known(connection: SqlConnection, address: Address, thread: str | None) -> DeliveryTarget:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM inbox WHERE channel = ? AND account = ? AND peer = ? AND session_key IS NOT NULL"  # noqa: S608
        " ORDER BY position DESC LIMIT 50",
        (address.channel, address.account, address.peer),
    ).fetchall()
    for row in rows:
        place = _place(row)
        if place is not None and (place.address.thread == thread or thread is None):
            return place
    chat_type = _place(rows[0]).address.chat_type if rows else ChatType.DIRECT  # type: ignore[union-attr]
    return DeliveryTarget(Address(address.channel, address.peer, address.account, chat_type, thread))


def _place(row: Sequence[str] | None) -> DeliveryTarget | None:
    """Return the place a message came from; if its words were deleted, its conversation supplies the rest."""
    if row is None:
        return None
    channel, account, peer, session_key, message = row
    stored = (json.loads(message or "{}")).get("address") or {}
    if not stored and session_key is not None:
        key = SessionKey.parse(session_key)
        stored = {"chat_type": key.kind.value if key.kind in ROOMS else ChatType.DIRECT, "thread": key.thread}
    chat_type = ChatType(stored.get("chat_type", ChatType.DIRECT))
    return DeliveryTarget(Address(channel, peer, account, chat_type, stored.get("thread")), session_key)
