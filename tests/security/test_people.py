"""People: exact identities, at least one owner, and nothing for whoever is unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.core.context import SCOPES
from hub.core.schema import SchemaError, describe_error
from hub.security.people import PEOPLE_SCHEMA, People, Person

ANNA = Person("anna", "Anna", owner=True, identities=("telegram:user:1", "matrix:user:@anna:example.org"))
BEN = Person("ben", "Ben", identities=("telegram:user:2",))


def test_a_person_is_known_by_each_identity() -> None:
    people = People([ANNA, BEN])

    assert people.by_identity("telegram:user:1") is ANNA
    assert people.by_identity("matrix:user:@anna:example.org") is ANNA
    assert people.by_id("ben") is BEN


@pytest.mark.parametrize(
    "identity",
    ["", None, "1", "user:1", "telegram:user:", "telegram:user:11", "Telegram:user:1", "telegram:user:1 ",
     "signal:user:1", "telegram:chat:1", "anna", "Anna"],
)  # fmt: skip
def test_anything_but_the_exact_identity_is_nobody(identity: str | None) -> None:
    people = People([ANNA, BEN])

    authority = people.authority_for(identity)

    assert people.by_identity(identity) is None
    assert (authority.person, authority.scopes, authority.owner) == (None, frozenset(), False)


def test_without_people_there_is_an_implicit_owner() -> None:
    people = People.from_config(None)

    assert [person.id for person in people.owners()] == ["owner"]
    assert people.owner_authority().owner
    assert people.authority_for("telegram:user:1").owner is False


def test_the_owner_of_the_machine_may_do_everything() -> None:
    authority = People([BEN, ANNA]).owner_authority()

    assert (authority.principal, authority.person, authority.scopes) == ("owner", "anna", SCOPES)


def test_an_owner_in_a_chat_may_do_all_but_administer() -> None:
    authority = People([ANNA]).authority_for("telegram:user:1")

    assert authority.owner
    assert authority.principal == "peer:telegram:user:1"
    assert authority.has("operator.write")
    assert not authority.has("operator.admin")


def test_another_person_is_known_and_has_no_scope() -> None:
    authority = People([ANNA, BEN]).authority_for("telegram:user:2")

    assert (authority.person, authority.scopes, authority.owner) == ("ben", frozenset(), False)


@pytest.mark.parametrize(
    "persons",
    [[BEN], [ANNA, Person("anna", "Other", owner=True)], [ANNA, Person("eve", "Eve", identities=("telegram:user:1",))]],
)
def test_people_that_contradict_each_other_are_refused(persons: list[Person]) -> None:
    with pytest.raises(ValueError, match=r"share|owner"):
        People(persons)


def test_the_section_is_read() -> None:
    section = PEOPLE_SCHEMA(
        [{"id": "me", "owner": "yes", "identities": "telegram:user:5"}, {"id": "kid", "name": "Kid"}]
    )

    people = People.from_config(section)

    assert people.by_identity("telegram:user:5") == Person("me", "me", True, ("telegram:user:5",))
    assert people.by_id("kid") == Person("kid", "Kid")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ([{"name": "no id"}], "id"),
        ([{"id": "Not A Slug", "owner": True}], "identifier"),
        ([{"id": "me", "owner": True, "identities": ["bob"]}], "telegram:user:123456789"),
        ([{"id": "me", "owner": True, "identities": ["telegram:user:"]}], "telegram:user:123456789"),
        ([{"id": "me", "owner": True, "identities": [5]}], "telegram:user:123456789"),
        ([{"id": "me", "owner": True}, {"id": "me"}], "[1].id: there are two persons with the id me"),
        (
            [{"id": "me", "owner": True, "identities": ["a:user:1"]}, {"id": "you", "identities": ["a:user:1"]}],
            "[1].identities: a:user:1 already belongs to me",
        ),
        ([{"id": "me"}], "at least one person must be an owner"),
        ([{"id": "me", "owner": True, "admin": True}], "extra keys"),
        ("me", "dict"),
    ],
)
def test_a_section_that_makes_no_sense_says_why(section: Any, message: str) -> None:
    with pytest.raises(SchemaError) as refused:
        PEOPLE_SCHEMA(section)

    assert message.lower() in describe_error(refused.value).lower()


@given(st.text(max_size=60))
def test_no_text_is_a_person_by_chance(text: str) -> None:
    people = People([ANNA, BEN])

    found = people.by_identity(text)

    assert found is None or text in found.identities


def test_rights_that_were_kept_are_those_their_person_has_now() -> None:
    before = People([Person("me", "Me", owner=True), Person("anna", "Anna", identities=("a:user:2",))])
    now = People([Person("me", "Me"), Person("eva", "Eva", owner=True)])
    mine, annas = before.owner_authority().narrow(tainted=True), before.authority_for("a:user:2")

    narrowed = now.with_present_rights(mine)

    assert (narrowed.person, narrowed.owner, narrowed.scopes, narrowed.tainted) == ("me", False, frozenset(), True)
    assert now.with_present_rights(annas).person is None
    assert before.with_present_rights(mine) == mine
    assert before.with_present_rights(annas) == annas
    assert now.with_present_rights(People().owner_authority()) == now.owner_authority()


def test_words_from_a_chat_have_no_rights_once_its_identity_is_taken_from_their_person() -> None:
    before = People([Person("me", "Me", owner=True, identities=("a:user:1", "a:user:2"))])
    now = People([Person("me", "Me", owner=True, identities=("a:user:2",))])
    taken, kept = (before.authority_for(f"a:user:{each}") for each in (1, 2))

    assert (now.with_rights_at_arrival(taken).owner, now.with_rights_at_arrival(taken).person) == (False, None)
    assert now.with_rights_at_arrival(kept) == kept
    assert now.with_rights_at_arrival(before.owner_authority()) == before.owner_authority()
    assert now.with_rights_at_arrival(now.authority_for("a:user:9")) == now.authority_for("a:user:9")
