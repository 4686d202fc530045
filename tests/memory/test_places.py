"""Each path lies in one area, and each session sees its own."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, strategies as st

from hub.memory.places import area_of, areas_of, day_of, may_see, may_strike, may_write
from hub.memory.scope import MemoryScope
from tests.integrations.memory.notes_house import ANNA, NOBODY, OTHER_ROOM, OWNER, ROOM


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("MEMORY.md", "private"),
        ("memory/2026-05-12.md", "private"),
        ("memory/2026-05-12-roof.md", "private"),
        ("memory/imported/openclaw/2026-01-01.md", "private"),
        ("memory/people/anna.md", "person-anna"),
        ("memory/people/anna/2026-05-12-roof.md", "person-anna"),
        ("memory/people/anna/deep/x.md", "person-anna"),
        ("memory/groups/telegram-1-ab.md", "group-telegram-1-ab"),
        ("memory/groups/telegram-1-ab/x.md", "group-telegram-1-ab"),
        ("memory/shared.md", "shared"),
        ("memory/shared/wifi.md", "shared"),
    ],
)
def test_a_memory_file_lies_in_one_area(path: str, area: str) -> None:
    assert area_of(path) == area


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md", "memory.md", "memory", "memory/x.txt", "x/memory/y.md", "../MEMORY.md", "/MEMORY.md", "",
        "memory//people/anna.md", "memory/./people/anna.md", "memory/people", "memory/people.md", "memory/groups.md",
        "memory/People/anna.md", "memory/PEOPLE/anna.md", "memory/people/Anna.md", "memory/people/.md",
        "memory/people/an na.md", "memory/Shared.md", "memory/shared", "memory/ｐeople/anna.md",
        "memory/people/../x.md",
        "Memory/2026-05-12.md", "memory/people/anna.md/", "memory/\x00.md", "memory/.homarus-x.tmp",
    ],
)  # fmt: skip
def test_what_could_be_anybodys_is_nobodys(path: str) -> None:
    assert area_of(path) is None
    assert not may_see(path, OWNER)


@pytest.mark.parametrize(
    ("scope", "areas"),
    [
        (OWNER, ("private", "person-me", "shared")),
        (MemoryScope("me", private=True), ("private", "person-me", "shared")),
        (MemoryScope(None, private=True), ("private", "shared")),
        (ANNA, ("person-anna", "shared")),
        (MemoryScope("anna", private=False), ("person-anna",)),
        (ROOM, ("group-telegram-100-abc", "shared")),
        (OTHER_ROOM, ("group-telegram-200-def",)),
        (NOBODY, ()),
        (MemoryScope(None, private=False, shared=True), ()),
        (MemoryScope("../x", private=False), ()),
        (MemoryScope(None, private=False, group="../x"), ()),
        (MemoryScope("me", private=True, group="../x"), ()),
        (MemoryScope("me", private=True, group="r"), ("group-r",)),
    ],
)
def test_a_session_sees_its_own_areas(scope: MemoryScope, areas: tuple[str, ...]) -> None:
    assert areas_of(scope) == areas


def test_what_is_shared_is_the_owners_to_edit_and_others_take_back_what_they_said() -> None:
    shared = "memory/shared.md"

    assert [may_write(shared, scope) for scope in (OWNER, ANNA, ROOM)] == [True, False, False]
    assert [may_strike(shared, "anna", scope) for scope in (OWNER, ANNA, ROOM)] == [True, True, False]
    assert [may_strike(shared, who, ANNA) for who in ("me", None, "anna")] == [False, False, True]
    assert may_strike("memory/people/anna.md", None, ANNA)
    assert not may_strike("memory/people/ben.md", "anna", ANNA)


@given(st.text(max_size=60), st.sampled_from([OWNER, ANNA, ROOM, OTHER_ROOM, NOBODY]))
def test_who_may_write_may_see(tail: str, scope: MemoryScope) -> None:
    for path in (tail, f"memory/{tail}.md", f"memory/people/{tail}.md", f"memory/groups/{tail}/x.md"):
        assert may_see(path, scope) or not may_write(path, scope)
        assert may_see(path, scope) == (area_of(path) in areas_of(scope))


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-05-12.md", date(2026, 5, 12)),
        ("memory/2026-05-12-roof.md", date(2026, 5, 12)),
        ("memory/people/anna/2026-05-12-x.md", date(2026, 5, 12)),
        ("extra/diary/2026-05-12-a-slug.md", date(2026, 5, 12)),
        ("2026-05-12.md", date(2026, 5, 12)),
        ("memory/2026-13-12.md", None),
        ("memory/x2026-05-12.md", None),
        ("memory/x.md", None),
        ("MEMORY.md", None),
    ],
)
def test_the_day_of_a_file_is_in_its_name_wherever_it_lies(path: str, day: date | None) -> None:
    assert day_of(path) == day
