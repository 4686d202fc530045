"""Who is meant by a name: never somebody else than the person of this home who is called so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis.strategies import builds, integers, lists, sampled_from

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.messaging.contract import Address, ChatType
from hub.messaging.directory import KnownChat, chat_called
from hub.security.people import Person

ANNA, BEN = Person("anna", "Anna Berg", owner=True), Person("ben", "Ben")
PEOPLE = [ANNA, BEN]
WORDS = ["anna", "Anna", "ANNA BERG", "anna  berg", "berg", "Ben", "ben", "Carl", "#Carl", "7", "8", ""]


def chat(
    peer: str,
    name: str | None,
    heard_ms: int = 1,
    person: str | None = None,
    channel: str = "irc",
    kind: ChatType = ChatType.DIRECT,
) -> KnownChat:
    return KnownChat(Address(channel, peer, chat_type=kind), name, heard_ms, person)


STRANGERS = builds(
    chat,
    sampled_from(WORDS),
    sampled_from([*WORDS, None]),
    integers(1, 99),
    channel=sampled_from(["irc", "telegram"]),
    kind=sampled_from(list(ChatType)),
)
ANNAS = [chat("7", "Anna Berg", 5, "anna", "telegram"), chat("ann", "Anna Berg", 9, "anna")]
CARL = chat("44", "Carl", channel="telegram")


@pytest.mark.parametrize("name", ["Anna Berg", "anna  BERG", "anna", "Berg", "7"])
def test_a_person_is_reached_by_name_by_a_part_of_it_and_by_id(name: str) -> None:
    found = chat_called(name, [*ANNAS, CARL], PEOPLE)

    assert found == (ANNAS[0] if name == "7" else ANNAS[1])  # where they were last heard, or the place itself


@pytest.mark.parametrize("name", ["Carl", "carl", "44"])
def test_whoever_else_wrote_is_reached_by_the_whole_name_and_by_id(name: str) -> None:
    assert chat_called(name, [*ANNAS, CARL], PEOPLE) == CARL
    assert chat_called("car", [*ANNAS, CARL], PEOPLE) is None


def test_who_only_calls_themselves_as_a_person_is_called_is_passed_over() -> None:
    impostors = [chat("66", "Anna Berg", 99), chat("67", "ben", 98, kind=ChatType.GROUP)]

    assert chat_called("anna berg", [*impostors, *ANNAS], PEOPLE) == ANNAS[1]
    with pytest.raises(NotFound):
        chat_called("Ben", impostors, PEOPLE)


@given(lists(STRANGERS, max_size=6), sampled_from(["Anna Berg", "anna berg", "anna", "ANNA", "berg"]))
def test_what_others_call_themselves_never_takes_a_message_meant_for_a_person(
    strangers: list[KnownChat], name: str
) -> None:
    told = ""
    found = None
    try:
        found = chat_called(name, [*strangers, *ANNAS], PEOPLE)
    except InvalidRequest as asked:
        told = asked.message

    assert found == ANNAS[1] or "Anna Berg (irc:ann)" in told


@given(lists(STRANGERS, max_size=6), sampled_from(WORDS))
def test_a_person_who_never_wrote_is_stood_in_for_by_nobody(strangers: list[KnownChat], name: str) -> None:
    persons = [each for each in PEOPLE if {*name.casefold().split()} & {*each.name.casefold().split(), each.id}]
    try:
        found = chat_called(name, strangers, PEOPLE)
    except HubError:
        return
    assert not persons or found is None


@given(lists(STRANGERS, max_size=6), sampled_from(WORDS))
def test_what_is_found_is_called_so_or_is_that_id_and_is_the_only_one(strangers: list[KnownChat], name: str) -> None:
    try:
        found = chat_called(name, [*strangers, *ANNAS], PEOPLE)
    except HubError:
        return
    if found is None or found.person is not None:
        return
    same = [each for each in strangers if name in (each.address.peer, each.name)]
    assert {each.written for each in same if each.address.peer == name or found.address.peer != name} <= {found.written}


def test_two_who_fit_are_named_with_their_addresses() -> None:
    carls = [CARL, chat("c", "Carl")]

    with pytest.raises(InvalidRequest, match=r"'Carl' could be Carl \(telegram:44\), or Carl \(irc:c\)"):
        chat_called("Carl", carls, PEOPLE)


def test_an_id_that_anybody_can_take_is_asked_about_when_a_person_is_called_so() -> None:
    with pytest.raises(InvalidRequest, match=r"Ben \(has not written\), or ben \(irc:ben\)"):
        chat_called("ben", [chat("ben", None)], PEOPLE)


def test_an_id_on_two_platforms_is_an_address_that_lacks_its_channel() -> None:
    assert chat_called("44", [CARL, chat("44", "44")], PEOPLE) is None


def test_a_person_who_wrote_nowhere_is_not_reached() -> None:
    with pytest.raises(NotFound, match="Ben has not written there"):
        chat_called("Ben", ANNAS, PEOPLE)
