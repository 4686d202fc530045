"""Entries: where they go in which conversation, that they are there once, and that what holds no longer is struck."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from hub.core.errors import Forbidden, InvalidRequest
from hub.memory.contract import Filters, Forget, MemoryKind
from hub.memory.markdown import passages
from tests.integrations.memory.notes_house import ANNA, NOBODY, OTHER_ROOM, OWNER, ROOM, TODAY, Notes
from tests.lengths import examples


async def test_a_group_remembers_for_itself(notes: Notes) -> None:
    hit = await notes.add("pizza on Friday", scope=ROOM)

    assert hit.path == "memory/groups/telegram-100-abc.md"
    assert notes.read(hit.path).startswith("# telegram-100-abc\n\n- pizza on Friday\n  _fact · ")
    seen = [await notes.found("pizza", scope) for scope in (ROOM, OTHER_ROOM, OWNER, ANNA, NOBODY)]
    assert seen == [["pizza on Friday"], [], [], [], []]


async def test_what_is_shared_is_seen_by_everybody_of_this_home_and_nobody_else(notes: Notes) -> None:
    added = await notes.put("the wifi is called tulip", scope=ANNA, shared=True)

    assert added.hit.path == "memory/shared.md"
    assert "## Facts" in notes.read("memory/shared.md")
    seen = [await notes.found("wifi", scope) for scope in (OWNER, ANNA, ROOM, OTHER_ROOM, NOBODY)]
    assert [len(each) for each in seen] == [1, 1, 1, 0, 0]


async def test_nobody_shares_from_a_group(notes: Notes) -> None:
    with pytest.raises(Forbidden, match="from a private conversation"):
        await notes.put("the wifi is called tulip", scope=ROOM, shared=True)

    assert notes.files() == {}


@pytest.mark.parametrize(("scope", "path"), [(OWNER, TODAY), (ANNA, "memory/people/anna.md")])
async def test_words_from_outside_are_never_shared(notes: Notes, scope: object, path: str) -> None:
    added = await notes.put("obey", MemoryKind.PREFERENCE, scope, trusted=False, shared=True)  # type: ignore[arg-type]

    assert added.hit.path == path
    assert list(notes.files()) == [path]


@pytest.mark.parametrize("again", ["Tea without sugar", "tea without sugar.", " TEA, without  sugar!"])
async def test_the_same_but_for_case_and_punctuation_is_not_written_twice(notes: Notes, again: str) -> None:
    first = await notes.put("tea without sugar")
    before = notes.files()

    added = await notes.put(again)

    assert (added.known, added.hit) == (True, first.hit)
    assert first.known is False
    assert notes.files() == before


@pytest.mark.parametrize(("one", "other"), [("costs 3.5 €", "costs 35 €"), ("it is -5 out", "it is 5 out"),
                                            ("C++", "C"), ("5 €", "5 $"), ("锅炉", "锅")])  # fmt: skip
async def test_what_differs_in_what_it_says_is_written(notes: Notes, one: str, other: str) -> None:
    await notes.put(one)

    assert (await notes.put(other)).known is False


async def test_what_is_curated_already_is_not_written_into_the_day(notes: Notes) -> None:
    notes.write("MEMORY.md", "# Memory\n\n* Anna likes tea\n")

    added = await notes.put("Anna likes tea")

    assert (added.known, added.hit.path, added.hit.start_line) == (True, "MEMORY.md", 3)


async def test_what_the_owner_says_counts_though_it_was_heard_from_outside_before(notes: Notes) -> None:
    await notes.put("the shop closes at six", trusted=False)

    assert (await notes.put("the shop closes at six")).known is False
    assert (await notes.put("the shop closes at six", trusted=False)).known is True


async def test_what_holds_no_longer_is_struck_and_not_found(notes: Notes) -> None:
    await notes.put("Anna works at the bakery", MemoryKind.PERSON)
    notes.clock.jump(20 * 86_400)

    added = await notes.put("Anna works at the school", MemoryKind.PERSON, replaces="Anna bakery")

    assert [(hit.path, hit.text) for hit in added.struck] == [("MEMORY.md", "Anna works at the bakery")]
    assert "- ~~Anna works at the bakery~~\n" in notes.read("MEMORY.md")
    assert "` · superseded 2026-06-01_\n" in notes.read("MEMORY.md")
    assert await notes.found("where does Anna work?") == ["Anna works at the school"]
    assert notes.read("MEMORY.md").split("\n")[added.hit.start_line - 1] == "- Anna works at the school"


async def test_what_is_struck_may_be_in_another_file(notes: Notes) -> None:
    notes.write("memory/2026-01-01.md", "# x\r\n\r\n- the boiler is old\r\n- other\r\n")

    added = await notes.put("the boiler is new", replaces="the boiler is old")

    assert added.hit.path == TODAY
    assert notes.read("memory/2026-01-01.md") == (
        "# x\r\n\r\n- ~~the boiler is old~~\r\n  _superseded 2026-05-12_\r\n- other\r\n"
    )


async def test_what_is_known_already_still_strikes_what_it_replaces(notes: Notes) -> None:
    await notes.put("Anna works at the bakery", MemoryKind.PERSON)
    await notes.put("Anna works at the school", MemoryKind.PERSON)

    added = await notes.put("Anna works at the school", MemoryKind.PERSON, replaces="Anna works at the bakery")

    assert (added.known, len(added.struck)) == (True, 1)
    assert notes.read("MEMORY.md").split("\n")[added.hit.start_line - 1] == "- Anna works at the school"
    assert await notes.found("Anna") == ["Anna works at the school"]


async def test_a_fact_that_was_struck_may_hold_again(notes: Notes) -> None:
    await notes.put("Anna is at home")
    await notes.put("Anna is away", replaces="Anna is at home")

    assert (await notes.put("Anna is at home", replaces="Anna is away")).known is False
    assert await notes.found("Anna") == ["Anna is at home"]


async def test_words_from_outside_strike_nothing_that_people_said(notes: Notes) -> None:
    await notes.put("the code is 1234")
    await notes.put("the code is 0000", trusted=False)

    added = await notes.put("the code is 6666", trusted=False, replaces="code")

    assert [hit.text for hit in added.struck] == ["> the code is 0000"]
    assert "the code is 1234" in await notes.found("code")


async def test_nobody_strikes_what_another_said(notes: Notes) -> None:
    await notes.put("canary-owner", MemoryKind.PREFERENCE)
    await notes.put("the wifi is tulip", shared=True)

    own = await notes.put("new", scope=ANNA, replaces="canary owner")
    shared = await notes.put("the wifi is rose", scope=ANNA, replaces="wifi tulip", shared=True)
    owners = await notes.put("the wifi is lily", replaces="wifi rose", shared=True)

    assert [list(own.struck), list(shared.struck)] == [[], []]
    assert [hit.text for hit in owners.struck] == ["the wifi is rose"]


async def test_what_is_replaced_must_be_clear(notes: Notes) -> None:
    for number in range(4):
        await notes.put(f"tea number {number}")
    before = notes.files()

    with pytest.raises(InvalidRequest, match="4 entries match"):
        await notes.put("coffee", replaces="tea")

    assert notes.files() == before


async def test_entries_in_a_file_that_is_no_text_are_shown_and_their_bytes_stay(notes: Notes) -> None:
    notes.write(TODAY, "")
    (notes.folder / TODAY).write_bytes(b"- caf\xe9 is closed\n- \xff\n")

    known = await notes.put("caf\u00e9 is open", replaces="closed")
    gone = await notes.remove(Forget("open"))

    assert [hit.text for hit in known.struck] == ["caf\ufffd is closed"]
    assert sorted(hit.text for hit in gone) == ["caf\u00e9 is open", "caf\ufffd is closed"]
    assert (notes.folder / TODAY).read_bytes() == b"- \xff\n"


async def test_results_are_filtered_before_they_are_ranked(notes: Notes) -> None:
    for number in range(60):
        await notes.put(f"tea tea {number}")
    await notes.put("tea for Anna", MemoryKind.PREFERENCE, person="anna", session="agent:main:x")
    await notes.put("tea from outside", trusted=False)

    for filters in (Filters(person="anna"), Filters(session="agent:main:x"), Filters(kind=MemoryKind.PREFERENCE)):
        assert [hit.text for hit in await notes.search("tea", filters=filters)] == ["tea for Anna"]
        assert [hit.text for hit in await notes.search("", filters=filters)] == ["tea for Anna"]
    (outside,) = await notes.search("tea", filters=Filters(trusted=False))
    assert (outside.trusted, outside.person, outside.day) == (False, "me", "2026-05-12")


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(min_size=1, max_size=120).filter(str.strip), trusted=st.booleans(), data=st.data())
async def test_whatever_is_remembered_comes_back_and_goes_again_and_all_else_stays(
    tmp_path_factory: pytest.TempPathFactory, text: str, trusted: bool, data: st.DataObject
) -> None:
    notes = Notes(tmp_path_factory.mktemp("n"))
    own = data.draw(st.sampled_from(["", "# x\r\n\r\n- a\r\n", "no end", "- a\n  b\n\n\n", "﻿# bom\n- ~~c~~\n"]))
    notes.write(TODAY, own)

    added = await notes.put(text, trusted=trusted)
    assume(not added.known)
    written = notes.read(TODAY)
    whole = [each for each in passages(written) if each.start_line == added.hit.start_line]

    assert {(each.kind, each.trusted, each.person, each.session) for each in whole} == {
        ("fact", trusted, "me", "agent:main:main")
    }
    assert written.startswith(own)
    assert len(passages(written)) - len(whole) == len(passages(own))
