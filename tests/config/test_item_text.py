from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.config.edit import EditRefused, parse_value
from hub.config.item_text import entry_text
from hub.core.errors import InvalidRequest, NotFound

FILE = """\
# scripts
one:
  # why
  alias: One  # kept
  sequence:
    - delay: 5   # seconds

  # still one
two: {sequence: []}
three:
    alias: Three
    sequence: []
# the end
"""


def test_an_entry_comes_with_its_comments_at_the_left_margin() -> None:
    found = entry_text(FILE, ("one",))

    assert found.text == "alias: One  # kept\nsequence:\n  - delay: 5   # seconds\n\n# still one\n"
    assert found.first_line == 4


def test_what_is_put_back_unchanged_changes_nothing() -> None:
    for key in ("one", "three"):
        found = entry_text(FILE, (key,))

        assert found.put_back(FILE, found.text) == FILE


def test_an_entry_is_replaced_and_its_neighbours_stay() -> None:
    found = entry_text(FILE, ("three",))

    new = found.put_back(FILE, "# mine\nalias: 3\nsequence:\n- stop: x\n")

    assert parse_value(new) == {**parse_value(FILE), "three": {"alias": 3, "sequence": [{"stop": "x"}]}}
    assert "# still one" in new
    assert new.endswith("# the end\n")


def test_one_within_braces_is_left_to_a_person() -> None:
    with pytest.raises(EditRefused):
        entry_text(FILE, ("two",))


def test_one_that_is_not_there_is_told() -> None:
    with pytest.raises(NotFound):
        entry_text(FILE, ("four",))


@given(st.text(max_size=60))
def test_whatever_is_put_back_only_that_entry_changes(text: str) -> None:
    found = entry_text(FILE, ("one",))

    try:
        new = found.put_back(FILE, text)
    except InvalidRequest:  # it is not a mapping, or cannot stand there
        return

    before, after = parse_value(FILE), parse_value(new)
    assert {key: before[key] for key in ("two", "three")} == {key: after[key] for key in ("two", "three")}
    assert after["one"] == parse_value(text)
