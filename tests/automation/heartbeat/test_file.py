from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given, strategies as st

from hub.automation.heartbeat.file import HeartbeatCheck, due, parse

TEXT = """# What to look after

<!-- - this is only an example (every 1h) -->
Be brief.

- Look at the inbox (every 4h)
- [ ] (every 30 minutes) Is the printer out of paper?
- [x] done already
  and its details
- ~~not any more~~
* Weather warnings
  for the next day
1. 看看锅炉（每2小时）
- Backups (daily)
- Count (every now and then)
-
"""


def test_items_are_checks_with_their_intervals() -> None:
    checklist = parse(TEXT)

    assert [(check.text, check.every_s) for check in checklist.checks] == [
        ("Look at the inbox", 14_400.0),
        ("Is the printer out of paper?", 1_800.0),
        ("Weather warnings\n  for the next day", None),
        ("看看锅炉", 7_200.0),
        ("Backups", 86_400.0),
        ("Count (every now and then)", None),
    ]
    assert checklist.notes == "Be brief."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "# Title\n\n## Another\n",
        "<!-- a comment\nover lines -->",
        "<!-- never closed",
        "-\n- [ ]\n* \n---\n",
    ],
)
def test_a_file_without_checks_is_empty(text: str) -> None:
    assert parse(text).is_empty


def test_what_a_new_workspace_is_furnished_with_is_empty() -> None:
    template = files("hub.agent.workspace").joinpath("templates", "HEARTBEAT.md").read_text(encoding="utf-8")
    first = "# What to look after\n\nOne line per thing to check when nobody asks. Empty means: nothing, stay quiet.\n"

    assert parse(template).is_empty
    assert parse(first).is_empty


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("every 90s", 90),
        ("every 1h 30m", 5400),
        ("every day", 86400),
        ("every 2 weeks", 1209600),
        ("hourly", 3600),
        ("每天", 86400),
    ],
)
def test_intervals_are_read(words: str, seconds: float) -> None:
    assert parse(f"- look ({words})").checks[0] == HeartbeatCheck(parse("- look").checks[0].id, "look", seconds)


def test_the_most_overdue_comes_first() -> None:
    daily, hourly, always, new = (
        HeartbeatCheck("daily", "d", 86_400.0),
        HeartbeatCheck("hourly", "h", 3_600.0),
        HeartbeatCheck("always", "a"),
        HeartbeatCheck("new", "n", 60.0),
    )
    looked = {"daily": -2 * 86_400.0, "hourly": -5_400.0, "always": -600.0}

    assert due([hourly, always, daily, new], looked, 0.0, 10) == [new, daily, hourly, always]
    assert due([hourly, always, daily, new], looked, 0.0, 2) == [new, daily]
    assert due([hourly, daily], {"hourly": -60.0, "daily": -60.0}, 0.0, 10) == []


def test_a_clock_that_was_set_back_makes_nothing_wait() -> None:
    assert due([HeartbeatCheck("c", "c", 60.0)], {"c": 1_000_000.0}, 0.0, 1) == [HeartbeatCheck("c", "c", 60.0)]


@given(st.text(max_size=500))
def test_no_text_breaks_it(text: str) -> None:
    checklist = parse(text)

    assert len({check.id for check in checklist.checks}) == len(checklist.checks)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", "e"]), st.one_of(st.none(), st.floats(1, 1e6)))),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d", "e"]), st.floats(-1e7, 1e7)),
    st.integers(0, 5),
)
def test_nothing_that_is_not_due_is_picked(
    made: list[tuple[str, float | None]], looked: dict[str, float], limit: int
) -> None:
    checks = [HeartbeatCheck(id, id, every_s) for id, every_s in dict(made).items()]

    picked = due(checks, looked, 0.0, limit)

    assert len(picked) == min(limit, len(due(checks, looked, 0.0, 99)))
    for check in picked:
        last = looked.get(check.id)
        assert last is None or last > 0 or check.every_s is None or -last >= check.every_s


def test_over_many_beats_every_check_has_its_turn() -> None:
    checks = [HeartbeatCheck(str(number), str(number)) for number in range(9)]
    looked: dict[str, float] = {}
    seen: list[str] = []

    for beat in range(3):
        for check in due(checks, looked, beat * 1_800.0, 3):
            looked[check.id] = beat * 1_800.0
            seen.append(check.id)

    assert sorted(seen) == [check.id for check in checks]
