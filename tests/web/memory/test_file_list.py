from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from web.memory.file_list import (
    audience_of,
    by_month,
    by_section,
    day_of,
    is_writable,
    name_of,
    pick_month,
    section_of,
)


def file(path: str, area: str = "private", day: str | None = None) -> dict[str, Any]:
    return {"path": path, "area": area, "day": day, "size_bytes": 1, "changed_ms": 0}


@pytest.mark.parametrize(
    ("path", "area", "section", "name"),
    [
        ("MEMORY.md", "private", "curated", "MEMORY.md"),
        ("memory/2026-05-12.md", "private", "days", "2026-05-12"),
        ("memory/2026-05-12-boiler-repair.md", "private", "days", "2026-05-12 · boiler repair"),
        ("memory/people/anna.md", "person-anna", "people", "anna"),
        ("memory/people/anna/2026-05-12-tea.md", "person-anna", "people", "anna/2026-05-12-tea"),
        ("memory/groups/telegram-7.md", "group-telegram-7", "groups", "telegram-7"),
        ("memory/shared.md", "shared", "shared", "shared"),
        ("memory/shared/house.md", "shared", "shared", "shared/house"),
        ("memory/imported/openclaw/notes.md", "private", "imported", "openclaw/notes.md"),
        ("extra/vault/MEMORY.md", "shared", "extra", "vault/MEMORY.md"),
        ("transcripts/0123", "private", "transcripts", "transcripts/0123"),
        ("memory/recipes/soup.md", "private", "other", "recipes/soup"),
        ("memory/people.md", "private", "other", "people"),
    ],
)
def test_each_file_has_its_place_and_name(path: str, area: str, section: str, name: str) -> None:
    assert section_of(file(path, area)) == section
    assert name_of(file(path, area)) == name


def test_days_stand_in_their_months_the_latest_first() -> None:
    files = [file(f"memory/{day}.md") for day in ("2025-12-31", "2026-05-01", "2026-05-12", "2026-04-30")]

    sections = by_section([*files, file("MEMORY.md"), file("memory/2026-05-12-boiler.md")])
    months = by_month(sections["days"])

    assert {month: [day_of(each) for each in held] for month, held in months.items()} == {
        "2026-05": ["2026-05-12", "2026-05-12", "2026-05-01"],
        "2026-04": ["2026-04-30"],
        "2025-12": ["2025-12-31"],
    }


PATHS = st.builds(
    "{}{}".format,
    st.sampled_from(
        ["", "memory/", "memory/people/", "memory/groups/", "memory/imported/x/", "extra/v/", "transcripts/"]
    ),
    st.sampled_from(["MEMORY.md", "2026-05-12.md", "2026-05-12-a.md", "a.md", "shared.md"]),
)


@given(st.lists(st.tuples(PATHS, st.sampled_from(["private", "shared", "person-a", "group-b"])), unique=True))
def test_each_file_stands_in_one_place(files: list[tuple[str, str]]) -> None:
    every = [file(path, area) for path, area in files]

    sections = by_section(every)
    months = by_month(sections.pop("days", ()))

    shown = [each for held in (*sections.values(), *months.values()) for each in held]
    assert sorted((each["path"], each["area"]) for each in shown) == sorted(files)


@pytest.mark.parametrize(
    ("asked", "chosen"), [("2026-04", "2026-04"), ("2020-01", "2026-05"), ("", "2026-05"), ("<x>", "2026-05")]
)
def test_the_month_that_is_asked_for_is_shown_else_the_latest(asked: str, chosen: str) -> None:
    assert pick_month(asked, ["2026-05", "2026-04"]) == chosen


def test_no_month_is_chosen_when_there_is_none() -> None:
    assert pick_month("2026-04", []) is None


@pytest.mark.parametrize(
    ("path", "audience", "writable"),
    [
        ("MEMORY.md", "private", True),
        ("memory/2026-05-12.md", "private", True),
        ("memory/people/anna.md", "person", True),
        ("memory/groups/x.md", "group", True),
        ("memory/shared.md", "shared", True),
        ("memory/shared/a.md", "shared", True),
        ("memory/shared-secrets.md", "private", True),
        ("extra/vault/a.md", "", False),
        ("transcripts/x", "", False),
    ],
)
def test_who_sees_a_file_is_told_by_where_it_is(path: str, audience: str, writable: bool) -> None:
    assert audience_of(path) == audience
    assert is_writable(path) is writable
