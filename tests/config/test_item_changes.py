"""Changes carried into YAML: whatever they are, the text then says exactly the new data; what is alike stays."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from hub.config.edit import EditRefused
from hub.config.item_changes import with_changes
from hub.config.render import block
from hub.config.spans import read_spans
from tests.lengths import examples

_KEYS = st.sampled_from(["alias", "mode", "data", "delay", "actions"])
_LEAVES = st.one_of(st.booleans(), st.integers(0, 99), st.sampled_from(["on", "bell", "a b", "{{ x }}"]))
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=8,
)
_ITEMS = st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=4)


def said(text: str) -> Any:
    root = read_spans(text)
    return None if root is None else root.data


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(old=_ITEMS, new=_ITEMS)
def test_the_text_says_the_new_data(old: dict[str, Any], new: dict[str, Any]) -> None:
    text = "\n".join(block(old, 0)) + "\n"

    try:
        changed = with_changes(text, said(text), new)
    except EditRefused:
        return

    assert said(changed) == new


@settings(max_examples=examples(100), deadline=None)
@given(old=_ITEMS)
def test_nothing_is_written_when_nothing_differs(old: dict[str, Any]) -> None:
    text = "# above\n" + "\n".join(block(old, 0)) + "\n# below\n"

    assert with_changes(text, said(text), old) == text


def test_a_step_in_the_middle_goes_and_the_others_keep_their_comments() -> None:
    text = "actions:\n  # one\n  - a: 1\n  - b: 2  # two\n  # three\n  - c: 3\n"

    changed = with_changes(text, said(text), {"actions": [{"a": 1}, {"c": 3}]})

    assert "  # one\n  - a: 1\n" in changed
    assert "  # three\n  - c: 3\n" in changed
    assert "b:" not in changed


def test_a_step_comes_into_the_middle() -> None:
    text = "actions:\n  - a: 1  # one\n  - c: 3  # three\n"

    changed = with_changes(text, said(text), {"actions": [{"a": 1}, {"b": 2}, {"c": 3}]})

    assert changed == "actions:\n  - a: 1  # one\n  - b: 2\n  - c: 3  # three\n"
