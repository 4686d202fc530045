"""Forgetting: by words, session and person, from files and history, and that it shows nothing that is not one's own."""

from __future__ import annotations

import shutil

import pytest

from hub.core.errors import Forbidden, InvalidRequest
from hub.memory.contract import Forget, MemoryKind
from hub.memory.notebook import Edit
from hub.memory.scope import MemoryProvenance
from tests.integrations.memory.notes_house import ANNA, BEN, MAIN, NOBODY, OWNER, ROOM, TODAY, Notes

OTHER = "agent:main:telegram:direct:2"


async def test_all_that_came_from_a_session_is_forgotten_however_much_it_is(notes: Notes) -> None:
    for number in range(12):
        await notes.put(f"tea number {number}", session=OTHER)
    await notes.put("coffee", MemoryKind.PREFERENCE, session=OTHER)
    await notes.put("kept")

    would_go = await notes.remove(Forget(session=OTHER), dry_run=True)
    gone = await notes.remove(Forget(session=OTHER))

    assert would_go == gone
    assert len(gone) == 13
    assert await notes.found("kept") == ["kept"]
    assert "tea number" not in notes.kept()


async def test_the_notes_of_a_session_go_with_it(notes: Notes) -> None:
    came = MemoryProvenance(OTHER, "me", notes.clock.time(), trusted=True)
    path = await notes.notebook.note("roof", "The roof", "We spoke of slate.", came, agent_id="main", scope=OWNER)

    (hit,) = await notes.remove(Forget(session=OTHER))

    assert (hit.path, "slate" in hit.text) == (path, True)
    assert path not in notes.files()
    assert "slate" not in notes.kept()


async def test_all_that_is_given_must_hold(notes: Notes) -> None:
    await notes.put("tea", session=OTHER, person="anna")
    await notes.put("tea again", person="anna")
    await notes.put("coffee", session=OTHER, person="anna")

    gone = await notes.remove(Forget("tea", session=OTHER, person="anna"))

    assert [hit.text for hit in gone] == ["tea"]


async def test_words_with_a_session_may_name_many(notes: Notes) -> None:
    for number in range(9):
        await notes.put(f"tea number {number}", session=OTHER)

    assert len(await notes.remove(Forget("tea", session=OTHER))) == 9


@pytest.mark.parametrize(
    ("said", "query"),
    [("The dishwasher shows E-15", "e15"), ("The plumber is at 0170 123 4567", "1234567"), ("Libraries", "library")],
)
async def test_words_name_an_entry_in_whatever_form_it_has_them(notes: Notes, said: str, query: str) -> None:
    await notes.put(said)

    gone = await notes.remove(Forget(query))

    assert [hit.text for hit in gone] == [said]


async def test_the_owner_has_a_person_forgotten_without_reading_what_they_said(notes: Notes) -> None:
    await notes.put("canary-anna", scope=ANNA, session=OTHER)
    await notes.put("canary-room", scope=ROOM, person="anna")
    await notes.put("canary-shared", scope=ANNA, shared=True)
    await notes.put("canary-day", person="anna")
    notes.write("memory/people/anna/2026-01-01-x.md", "canary-note\n")
    await notes.put("canary-ben", scope=BEN)
    await notes.put("canary-owner")

    seen = await notes.remove(Forget(person="anna"), dry_run=True)
    gone = await notes.remove(Forget(person="anna"))

    assert gone == seen
    assert {hit.path: hit.text for hit in gone} == {
        TODAY: "canary-day",
        "memory/shared.md": "canary-shared",
        "memory/groups/telegram-100-abc.md": "",
        "memory/people/anna.md": "",
        "memory/people/anna/2026-01-01-x.md": "",
    }
    left = b"".join(notes.files().values()).decode() + notes.kept()
    assert [name for name in ("anna", "room", "shared", "day", "note") if f"canary-{name}" in left] == []
    assert ["canary-ben" in left, "canary-owner" in left] == [True, True]


async def test_words_do_not_tell_what_is_in_anothers_memory(notes: Notes) -> None:
    await notes.put("canary-anna", scope=ANNA)

    assert await notes.remove(Forget("canary anna"), dry_run=True) == []
    assert await notes.remove(Forget("canary anna", person="anna"), dry_run=True) == []


async def test_others_forget_only_their_own(notes: Notes) -> None:
    await notes.put("canary-owner", person="anna")
    await notes.put("canary-shared-owner", shared=True)
    await notes.put("canary-shared-anna", shared=True, scope=ANNA)
    await notes.put("canary-ben", scope=BEN, person="anna")
    await notes.put("canary-anna", scope=ANNA)

    gone = await notes.remove(Forget(person="anna"), ANNA)
    theirs = await notes.remove(Forget(session=MAIN), ANNA)

    assert sorted(hit.path for hit in gone) == ["memory/people/anna.md", "memory/shared.md"]
    assert [hit.text for hit in gone if hit.path == "memory/shared.md"] == ["canary-shared-anna"]
    assert theirs == []
    assert await notes.found("canary", ANNA) == ["canary-shared-owner"]


async def test_struck_entries_are_forgotten_too(notes: Notes) -> None:
    await notes.put("Anna works at the bakery")
    await notes.put("Anna works at the school", replaces="Anna bakery")

    assert await notes.forget("Anna bakery") == ["Anna works at the bakery"]
    assert "bakery" not in notes.read(TODAY) + notes.kept()


async def test_what_an_entry_was_corrected_from_is_forgotten_with_it(notes: Notes) -> None:
    await notes.put("the boiler was serviced on 12 May")
    await notes.put("the boiler was serviced on 14 May", replaces="the boiler was serviced on 12 May")
    await notes.put("no, the man came a day later", replaces="the boiler was serviced on 14 May")
    await notes.put("the stove was swept on 12 May")

    would_go = [hit.text for hit in await notes.remove(Forget("the man came"), dry_run=True)]
    gone = await notes.forget("no, the man came a day later")

    assert sorted(gone) == sorted(would_go)
    assert sorted(gone) == [
        "no, the man came a day later",
        "the boiler was serviced on 12 May",
        "the boiler was serviced on 14 May",
    ]
    assert "boiler" not in notes.read(TODAY) + notes.kept()
    assert "the stove was swept on 12 May" in notes.read(TODAY)
    assert all("boiler" not in f"{each.summary}{each.diff}" for each in await notes.changes())


async def test_what_an_entry_was_corrected_from_is_forgotten_when_the_record_of_it_is_gone(notes: Notes) -> None:
    await notes.put("the boiler was serviced on 12 May")
    await notes.put("the rent is 900 euros")
    await notes.put("the boiler was serviced on 14 May", replaces="the boiler was serviced on 12 May")
    await notes.put("the rent is 950 euros", replaces="the rent is 900 euros")
    shutil.rmtree(notes.history)

    assert len(await notes.forget("the boiler was serviced on 14 May")) == 2
    assert "boiler" not in notes.read(TODAY)
    assert "~~the rent is 900 euros~~" in notes.read(TODAY)


async def test_older_versions_do_not_count_when_words_name_too_much(notes: Notes) -> None:
    await notes.put("level 0")
    for number in range(1, 8):
        await notes.put(f"level {number}", replaces=f"level {number - 1}")

    assert len(await notes.forget("level 7")) == 8


async def test_what_is_forgotten_leaves_the_history_and_nothing_else_does(notes: Notes) -> None:
    await notes.put("the alarm code is 1234")
    await notes.put("tea")
    await notes.put("coffee")
    await notes.rewrite(TODAY, notes.read(TODAY).replace("1234", "1234!") + "own\n")

    await notes.forget("alarm code")

    assert "1234" not in notes.kept()
    changes = await notes.notebook.changes(agent_id="main", scope=OWNER)
    assert [(each.reason, each.can_undo, bool(each.diff)) for each in changes] == [
        ("forget", False, False),
        ("edit", False, False),
        ("add", True, True),
        ("add", True, True),
        ("add", False, False),
    ]
    await notes.notebook.undo(changes[3].id, agent_id="main", scope=OWNER, who="me")
    assert await notes.found("tea") == []


async def test_that_something_was_forgotten_is_seen_by_those_whose_it_was(notes: Notes) -> None:
    await notes.put("canary", scope=ANNA)
    await notes.put("canary", person="anna")

    await notes.remove(Forget(person="anna"))

    for scope in (OWNER, ANNA):
        newest = (await notes.notebook.changes(agent_id="main", scope=scope))[0]
        assert (newest.reason, newest.who) == ("forget", "me")
        assert "canary" not in newest.summary
    assert await notes.notebook.changes(agent_id="main", scope=BEN) == []


@pytest.mark.parametrize("what", [Forget(), Forget(query=""), Forget(query="  "), Forget(query="the of"),
                                  Forget(query="the", person="anna")])  # fmt: skip
async def test_what_names_nothing_forgets_nothing(notes: Notes, what: Forget) -> None:
    await notes.put("the tea")

    with pytest.raises(InvalidRequest, match=r"at least one word|expected query"):
        await notes.remove(what)
    assert await notes.found("tea") == ["the tea"]


async def test_nobody_forgets_nothing(notes: Notes) -> None:
    for what in (Forget("tea"), Forget(session=MAIN), Forget(person="me")):
        with pytest.raises(Forbidden):
            await notes.remove(what, NOBODY)


async def test_a_group_forgets_its_own(notes: Notes) -> None:
    await notes.put("pizza", scope=ROOM, person="anna")
    await notes.put("pizza at home")

    assert await notes.forget("pizza", ROOM) == ["pizza"]
    assert await notes.found("pizza") == ["pizza at home"]


async def test_what_was_taken_away_by_hand_is_still_forgotten_by_the_history(notes: Notes) -> None:
    await notes.edit(Edit("memory/x.md", "- the code is 1234\n", None))
    await notes.edit(Edit("memory/y.md", "- the code is 1234\n", None))

    await notes.remove(Forget("the code is 1234"))

    assert "1234" not in notes.kept()
