"""The list over what a home has kept: every row once whatever the pages, ten thousand of them, and who sees what."""

from __future__ import annotations

import ast
import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hub.messaging.access.access import NOT_LISTED
from hub.timeline.happening import Kind
from hub.timeline.listing import SCAN_LIMIT, TimelineFilters
from hub.timeline.narrowing import word_of
from tests.timeline.kept_home import BOB, BOBS, NOON, KeptHome, kept_home

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["run", "approval", "lamp", "automation", "motion", "skipped"]),
        st.integers(min_value=0, max_value=40),
    ),
    max_size=30,
)


async def happen(home: KeptHome, what: str, at: float) -> None:
    match what:
        case "run":
            await home.run("A question", at)
        case "approval":
            await home.approval("ls -la", at)
        case "lamp":
            home.change("Sofa", at)
        case "automation":
            home.automation("evening", at)
        case "motion":
            home.change("Hall", at, cause=home.automation("motion", at, home.change("Door", at), "light.door"))
        case _:
            home.skipped("night", at)


HUB = Path(__file__).parents[2] / "hub"


def phrases_of(path: Path) -> list[str]:
    """The templates of the phrases of a module."""
    calls = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call) and each.args]
    return [ast.literal_eval(each.args[0]) for each in calls if getattr(each.func, "id", "") == "phrase"]


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


@settings(max_examples=25, deadline=None)
@given(EVENTS, st.integers(min_value=1, max_value=7), st.booleans())
def test_pages_hold_every_row_once_and_the_newest_first(
    events: list[tuple[str, int]], limit: int, devices: bool
) -> None:
    async def look(folder: Path) -> None:
        async with kept_home(folder) as home:
            for what, minutes in sorted(events, key=lambda each: each[1]):
                await happen(home, what, NOON + minutes * 60)
            wanted = TimelineFilters(kinds=frozenset({Kind.DEVICE})) if devices else TimelineFilters()
            rows = await home.pages(wanted, limit=limit)

            whole = await home.pages(wanted, limit=200)
            names = [what for what, _ in events]
            changes = names.count("lamp") + 3 * names.count("motion") - names.count("motion")
            assert ids(rows) == ids(whole)
            assert len({*ids(rows)}) == len(rows) == (changes if devices else len(events))
            assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(look(Path(folder) / "home"))


NAMES = ["Sofa", "Küche", "Straße 7", "厨房灯", "Hall"]
HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from(["run", "work", "asked", "approval", "lamp", "automation", "motion", "skipped", "refused"]),
        st.sampled_from(NAMES),
        st.integers(min_value=0, max_value=30),
    ),
    max_size=12,
)


async def happen_with(home: KeptHome, what: str, name: str, at: float) -> None:
    match what:
        case "run":
            await home.run(f"Is {name} on?", at)
        case "work":
            await home.at_work("light please", at, name)
        case "asked":
            await home.at_work("What is on today?", at, name, automation=f"briefing {name}")
        case "approval":
            await home.approval(f"ls {name}", at, await home.run("Look there", at))
        case "lamp":
            home.change(name, at)
        case "automation":
            home.automation(name, at)
        case "motion":
            home.change("Hall", at, cause=home.automation("motion", at, home.change(name, at), f"light.{name.lower()}"))
        case "refused":
            await home.refused(name, at)
        case _:
            home.skipped(name, at)


@settings(max_examples=60, deadline=None)
@given(HAPPENINGS, st.data())
def test_a_filter_finds_what_a_look_at_every_row_finds(
    happenings: list[tuple[str, str, int]], data: st.DataObject
) -> None:
    async def look(folder: Path) -> None:
        async with kept_home(folder) as home:
            for what, name, minutes in happenings:
                await happen_with(home, what, name, NOON + minutes * 60)
            every = (await home.timeline.page(TimelineFilters(), home.owner, limit=200)).rows
            words = data.draw(st.sampled_from([row.words() for row in every] or ["nothing"]))
            begin = data.draw(st.integers(min_value=0, max_value=len(words) - 1))
            text = words[begin : begin + data.draw(st.integers(min_value=1, max_value=9))].strip()
            for wanted in (
                TimelineFilters(text=text.upper()),
                TimelineFilters(text=text),
                TimelineFilters(person="ada"),
                TimelineFilters(person="bob"),
                TimelineFilters(agent="main"),
                TimelineFilters(automation=f"briefing {NAMES[1]}"),
                TimelineFilters(entity="light.küche"),
            ):
                found = await home.pages(wanted, limit=3)

                assert sorted(ids(found)) == sorted(row.id for row in every if wanted.takes(row)), wanted

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(look(Path(folder) / "home"))


def test_a_search_for_words_of_the_hub_alone_is_not_narrowed() -> None:
    told = [each for name in ("words", "rows") for each in phrases_of(HUB / "timeline" / f"{name}.py")]

    assert len(told) > 30
    assert [each for each in told if word_of(re.sub(r"\{\w+\}", " ", each)) is not None] == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("boiler due", "boiler"),
        ("oil", "oil"),
        ("otion", None),
        ("KÜCHENLAMPE", "chenlampe"),
        ("Straße 7", "tra"),
        ("stras", "tra"),
        ("厨房灯 on", "厨房灯"),
        ("turned off", None),
        ("42", "42"),
    ],
)
def test_the_word_that_is_looked_for_is_one_that_tables_have_as_it_is(text: str, word: str | None) -> None:
    assert word_of(text) == word


async def test_what_comes_between_two_pages_is_in_none_of_the_older_ones(tmp_path: Path) -> None:
    async with kept_home(tmp_path / "home") as home:
        for minute in range(5):
            await home.run(f"question {minute}", NOON + minute * 60)
        first = await home.timeline.page(TimelineFilters(), home.owner, limit=2)
        await home.run("a new one", NOON + 600)
        home.change("Sofa", NOON + 601)

        second = await home.timeline.page(TimelineFilters(), home.owner, limit=50, cursor=first.next)

    assert [row.title for row in first.rows] == ["question 4", "question 3"]
    assert [row.title for row in second.rows] == ["question 2", "question 1", "question 0"]
    assert second.next is None


async def test_a_lamp_of_the_same_call_that_did_not_set_off_an_automation_is_a_row_of_its_own(tmp_path: Path) -> None:
    async with kept_home(tmp_path / "home") as home:
        cause = home.change("Door", NOON)
        home.change("Sofa", NOON, cause=cause)
        home.automation("motion", NOON + 0.1, cause, "light.door")

        rows = await home.pages()

    assert [row["title"] for row in rows] == ["motion", "Sofa turned on"]
    assert [each["title"] for each in rows[0]["causes"]] == ["Door turned on", "motion"]


async def test_a_stranger_who_was_refused_is_a_row_and_what_is_said_in_a_group_is_none(tmp_path: Path) -> None:
    async with kept_home(tmp_path / "home") as home:
        await home.refused("Mallory", NOON, principal="peer:telegram:user:12")
        await home.refused("A neighbour", NOON + 1, chat_type="group")

        (found,) = await home.pages()

    assert (found["title"], found["kind"]) == ("Mallory (12) wrote on telegram", "person")
    assert (found["outcome"], found["reason"]) == ("refused", "not paired")


async def test_a_stranger_without_a_name_is_called_by_the_number_on_the_platform_and_the_policy_is_left_out(
    tmp_path: Path,
) -> None:
    async with kept_home(tmp_path / "home") as home:
        refused = f"telegram:user:12:3 {NOT_LISTED} (dm_policy: pairing)"
        await home.refused("", NOON, principal="peer:telegram:user:12:3", reason=refused)

        (found,) = await home.pages()

    assert found["title"] == "12:3 wrote on telegram"
    assert found["reason"] == "12:3 is not on the list of those who may write"


async def test_what_was_said_in_a_conversation_that_was_deleted_is_neither_shown_nor_found(tmp_path: Path) -> None:
    async with kept_home(tmp_path / "home") as home:
        run_id = await home.run("Where is the treasure?", NOON, session_id="s1")
        await home.approval("ls", NOON + 1, run_id)

        rows = await home.pages()
        found = await home.pages(TimelineFilters(text="treasure"))

    assert [row["title"] for row in rows] == ["ls", "A message on telegram"]
    assert [each["title"] for each in rows[0]["causes"]] == ["A message on telegram", "ls"]
    assert found == []


async def test_an_owner_sees_nothing_of_what_others_say_in_private_and_a_person_only_their_own(tmp_path: Path) -> None:
    async with kept_home(tmp_path / "home") as home:
        private = await home.run("Bob's secret", NOON, key=BOBS, authority=BOB)
        await home.run("The owner's question", NOON + 60)
        await home.approval("rm it", NOON + 61, private, by=BOB)
        await home.approval("ls", NOON + 62)
        home.change("Sofa", NOON + 63)

        owner, bob = await home.pages(), await home.pages(authority=BOB)

    assert [row["title"] for row in owner] == ["Sofa turned on", "ls", "rm it", "The owner's question"]
    assert [row["title"] for row in bob] == ["rm it", "Bob's secret"]
    (cause, own) = owner[2]["causes"]
    assert (cause["title"], cause.get("id")) == ("A conversation of somebody else", None)
    assert own["self"]
    assert [each["title"] for each in bob[0]["causes"]] == ["Bob's secret", "rm it"]


async def test_ten_thousand_happenings_are_listed_and_the_oldest_of_them_is_found(tmp_path: Path) -> None:
    async with kept_home(tmp_path / "home") as home:
        await home.run("The oldest question", NOON - 60)
        for second in range(10_000):
            home.change("Sofa", NOON + second)
            if second % 5_000 == 4_999:
                await home.history.recent_events(1)  # reading writes first what waits

        rows = await home.pages(limit=200)
        found = await home.pages(TimelineFilters(text="oldest"))

    assert len({*ids(rows)}) == len(rows) == 10_001
    assert [row["title"] for row in found] == ["The oldest question"]
    assert SCAN_LIMIT < 10_000  # so it was on a later page than the first, which was empty


@pytest.mark.parametrize("cursor", ["r1", "r1.m2.a3.e4.s5.c6", "z9"])
async def test_a_cursor_of_another_list_goes_on_where_it_can(tmp_path: Path, cursor: str) -> None:
    async with kept_home(tmp_path / "home") as home:
        await home.run("A question", NOON)

        page = await home.timeline.page(TimelineFilters(), home.owner, limit=5, cursor=cursor)

    assert len(page.rows) == (1 if cursor == "z9" else 0)
