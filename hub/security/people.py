"""The people who live here: persons, which of them are owners, and their identities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import SCOPES, Authority, expand_scopes
from hub.core.schema import (
    All,
    Described,
    Invalid,
    Length,
    Match,
    Optional,
    Required,
    Schema,
    boolean,
    ensure_list,
    slug,
    string,
)

IMPLICIT_OWNER_ID = "owner"
PEOPLE_LIMIT = 200
IDENTITIES_LIMIT = 50
CHAT_SCOPES = expand_scopes({"operator.write", "operator.approvals", "operator.pairing", "operator.questions"})
"""What an owner may do from a chat app. Administration needs the hub token or a token made for it: an account at a
chat platform is a weaker lock than that."""

_IDENTITY = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}:[a-z][a-z0-9_-]{0,31}:[^\s\x00-\x1f\x7f]{1,256}")


def is_identity(value: object) -> bool:
    """Whether `value` is a typed identity, `<channel>:<kind>:<id>`, such as `telegram:user:123`."""
    return isinstance(value, str) and _IDENTITY.fullmatch(value) is not None


def _identity(value: Any) -> str:
    if not is_identity(value):
        raise Invalid(f"expected an identity such as telegram:user:123456789 (channel:kind:id), got {value!r}"[:200])
    return str(value)


identity = Described(_identity, {"type": "string", "pattern": f"^{_IDENTITY.pattern}$"}, "identity")
"""Accepts a typed identity."""


_language = All(
    string, Match(r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z", msg="expected a language such as en, de or zh-CN")
)
_tracker = All(string, Match(r"^device_tracker\.[a-z0-9_]+$", msg="expected an entity such as device_tracker.phone"))


def _consistent(persons: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Refuse two persons of one id, one identity of two persons, and a home without an owner."""
    ids: set[str] = set()
    holders: dict[str, str] = {}
    for index, person in enumerate(persons):
        if person["id"] in ids:
            raise Invalid(f"there are two persons with the id {person['id']}", path=[index, "id"])
        ids.add(person["id"])
        for each in person["identities"]:
            holder = holders.setdefault(each, person["id"])
            if holder != person["id"]:
                raise Invalid(f"{each} already belongs to {holder}", path=[index, "identities"])
    if persons and not any(person["owner"] for person in persons):
        raise Invalid("at least one person must be an owner (owner: true)")
    return persons


PEOPLE_SCHEMA = Schema(
    All(
        ensure_list(
            {
                Required("id", description="Short name used in configuration and storage."): slug,
                Optional("name", description="How to call the person."): All(string, Length(min=1, max=100)),
                Optional("owner", default=False, description="Whether this person owns the home."): boolean,
                Optional(
                    "language",
                    description="What they speak, such as de or zh-CN: voice messages are heard and spoken in it.",
                ): _language,
                Optional(
                    "identities", default=list, description="Who they are in chats, such as telegram:user:123456789."
                ): All(ensure_list(identity), Length(max=IDENTITIES_LIMIT)),
                Optional(
                    "device_trackers",
                    default=list,
                    description="Entities that say where they are; by default the phones that they signed in on.",
                ): All(ensure_list(_tracker), Length(max=IDENTITIES_LIMIT)),
            }
        ),
        Length(max=PEOPLE_LIMIT),
        _consistent,
    )
)


class Person(Struct, frozen=True):
    """A person of this home.

    Attributes:
        id: Stable; it identifies the person in storage.
        name: The name shown to people.
        owner: Whether the person is an owner of the home.
        identities: Typed stable identities; never names.
        language: What they speak, such as zh-CN; None if it is not known.
    """

    id: str
    name: str
    owner: bool = False
    identities: tuple[str, ...] = ()
    language: str | None = None


class People:
    """The persons of this home; without any there is one implicit owner, with the id `owner`.

    Args:
        persons: Everybody.
        is_home_channel: Whether the hub's own conversations are held on a channel: peers there are names of
            conversations, not identities of people.

    Raises:
        ValueError: Two persons share an id or an identity, or none is an owner.
    """

    def __init__(
        self, persons: Iterable[Person] = (), is_home_channel: Callable[[str], bool] = lambda channel: False
    ) -> None:
        self.is_home_channel = is_home_channel
        self._persons = tuple(persons) or (Person(IMPLICIT_OWNER_ID, "Owner", owner=True),)
        self._by_id = {person.id: person for person in self._persons}
        self._by_identity = {each: person for person in self._persons for each in person.identities if each}
        if len(self._by_id) != len(self._persons):
            raise ValueError("two persons share an id")
        if len(self._by_identity) != sum(len(set(person.identities)) for person in self._persons):
            raise ValueError("two persons share an identity, or one is empty")
        if not self.owners():
            raise ValueError("at least one person must be an owner")

    @classmethod
    def from_config(
        cls,
        section: Sequence[Mapping[str, Any]] | None,
        is_home_channel: Callable[[str], bool] = lambda channel: False,
    ) -> People:
        """Make the people of a `people:` section that passed `PEOPLE_SCHEMA`."""
        persons = [
            Person(
                each["id"],
                each.get("name") or each["id"],
                each["owner"],
                tuple(each["identities"]),
                each.get("language"),
            )
            for each in section or ()
        ]
        return cls(persons, is_home_channel)

    def all(self) -> tuple[Person, ...]:
        """Return everybody, in the order of the configuration."""
        return self._persons

    def by_id(self, person_id: str) -> Person | None:
        """Return the person with this id, or None."""
        return self._by_id.get(person_id)

    def by_identity(self, identity: str | None) -> Person | None:
        """Return the person with exactly this typed identity; empty and unknown ones match nobody."""
        return self._by_identity.get(identity) if identity else None

    def by_peer(self, channel: str, peer: str) -> Person | None:
        """Return the person who is this peer of a channel, of whatever kind the identity is (`email:address:…`)."""
        for identity, person in self._by_identity.items():
            of, _, rest = identity.partition(":")
            if of == channel and rest.partition(":")[2] == peer:
                return person
        return None

    def name_of(self, principal: str) -> str:
        """Return the name of whoever acts as a principal; the principal itself when it is nobody of this home."""
        if principal == IMPLICIT_OWNER_ID:
            return self.owners()[0].name
        person = self.by_id(principal) or self.by_identity(principal.removeprefix("peer:"))
        return person.name if person is not None else principal

    def owners(self) -> list[Person]:
        """Return the owners; there is always one."""
        return [person for person in self._persons if person.owner]

    def with_present_rights(self, authority: Authority) -> Authority:
        """Return stored rights, limited to those that their person still has.

        Who is no owner any more has an owner's rights no more, also in what was written down while they were one; who
        is not of this home any more is nobody.
        """
        if authority.person is None:
            return authority
        person = self.by_id(authority.person)
        if person is None and authority.person == IMPLICIT_OWNER_ID and authority.owner:
            return replace(authority, person=self.owners()[0].id)  # they have a name now
        if person is None:
            return replace(authority.narrow(scopes=(), owner=False), person=None)
        return authority if person.owner or not authority.owner else authority.narrow(scopes=(), owner=False)

    def with_rights_at_arrival(self, authority: Authority) -> Authority:
        """Return the present rights of words from a chat, limited to those at their arrival.

        As `with_present_rights`; an identity that a person no longer has grants nothing.
        """
        identity = authority.principal.removeprefix("peer:")
        if identity != authority.principal and self.authority_for(identity).person != authority.person:
            return replace(authority.narrow(scopes=(), owner=False), person=None)
        return self.with_present_rights(authority)

    def owner_authority(self) -> Authority:
        """Return every right, as the first owner: for the hub token and for sign-ins with it."""
        return Authority(principal="owner", person=self.owners()[0].id, scopes=SCOPES, owner=True)

    def authority_for(self, identity: str | None) -> Authority:
        """Return the rights of an identity in a chat.

        An owner may do all but administer; any other person, and an unknown one, has no operator scope.
        """
        principal = f"peer:{identity or 'unknown'}"
        person = self.by_identity(identity)
        if person is None:
            return Authority(principal=principal)
        if not person.owner:
            return Authority(principal=principal, person=person.id)
        return Authority(principal=principal, person=person.id, scopes=CHAT_SCOPES, owner=True)
