"""Edits by splicing: what is addressed changes, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hub.config.edit import EditRefused, get_value, insert, parse_value, remove, replace_word, set_value
from hub.config.item_text import item_text
from hub.config.render import block
from hub.config.spans import SpanKind, SpanNode, Tagged, find, read_spans
from hub.core.errors import InvalidRequest, NotFound
from hub.core.secret import Secret
from tests.lengths import examples

TEXT = """\
# top
hub:   # the hub
  name: Home  # its name
  # before the zone
  time_zone: UTC

http:
models:
  providers: {a: {b: 1}, c: [1, 2]}   # inline
  # the end of models
agents:
  - id: main   # the main one
    default: true
    # inside
    tools: {}
  # before the second
  - id: two
    list:
    - x
    - y
"""
NAME = "  name: Home  # its name\n"
INLINE = "  providers: {a: {b: 1}, c: [1, 2]}   # inline\n"


def changed_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines that only one of two texts has, between their common beginning and end."""
    one, two = old.splitlines(keepends=True), new.splitlines(keepends=True)
    while one and two and one[0] == two[0]:
        one, two = one[1:], two[1:]
    while one and two and one[-1] == two[-1]:
        one, two = one[:-1], two[:-1]
    return one, two


@pytest.mark.parametrize(
    ("keys", "value", "gone", "come"),
    [
        (("hub", "name"), "My: home", ["  name: Home  # its name\n"], ['  name: "My: home"  # its name\n']),
        (("hub", "language"), "de", [], ["  language: de\n"]),
        (("http", "port"), 80, [], ["  port: 80\n"]),
        (("models", "providers", "c"), [], [INLINE], [INLINE.replace("[1, 2]", "[]")]),
        (("agents", 0, "tools"), {"deny": ["x"]}, ["    tools: {}\n"], ["    tools: {deny: [x]}\n"]),
        (("agents", 1, "list", 2), "z", [], ["    - z\n"]),
        (("agents", 2), {"id": "three"}, [], ["  - id: three\n"]),
        (("lamp", "token"), Tagged("!secret", "t"), [], ["lamp:\n", "  token: !secret t\n"]),
        (("hub", "name"), Secret("x", "!secret n"), [NAME], [NAME.replace("Home", "!secret n")]),
    ],
)  # fmt: skip
def test_setting_a_value_changes_its_lines_only(keys: Any, value: Any, gone: list[str], come: list[str]) -> None:
    new = set_value(TEXT, keys, value)

    assert changed_lines(TEXT, new) == (gone, come)


def test_comments_around_a_removed_item_stay() -> None:
    new = remove(TEXT, ("agents", 0))

    assert "# before the second\n  - id: two" in new
    assert "# the main one" not in new


def test_removing_the_first_key_of_an_item_keeps_the_item() -> None:
    assert get_value(remove(TEXT, ("agents", 1, "id")), ("agents", 1)) == {"list": ["x", "y"]}


def test_removing_the_only_key_leaves_an_empty_mapping() -> None:
    assert get_value(remove("a:\n  b: 1\nc: 2\n", ("a", "b")), ("a",)) == {}
    assert get_value(remove("a:\n- 1\n", ("a", 0)), ("a",)) == []


def test_inserting_puts_an_item_before_another() -> None:
    assert [agent["id"] for agent in get_value(insert(TEXT, ("agents", 0), {"id": "zero"}), ("agents",))] == [
        "zero",
        "main",
        "two",
    ]
    assert [agent["id"] for agent in get_value(insert(TEXT, ("agents", 1), {"id": "one"}), ("agents",))] == [
        "main",
        "one",
        "two",
    ]
    assert get_value(insert("a: [1, 2]\n", ("a", 1), "x"), ("a",)) == [1, "x", 2]


def test_windows_lines_and_a_byte_order_mark_stay() -> None:
    new = set_value("\ufeffa: 1\r\nb: 2\r\n", ("c", "d"), 3)

    assert new == "\ufeffa: 1\r\nb: 2\r\nc:\r\n  d: 3\r\n"


def test_a_file_without_a_last_newline_grows_by_a_line() -> None:
    assert set_value("a: 1", ("b",), 2) == "a: 1\nb: 2"
    assert set_value("# only words", ("b",), 2) == "# only words\nb: 2\n"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a: &x {b: 1}\nc: *x\n", ("c", "b")),
        ("a: &x {b: 1}\nc: *x\n", ("a", "b")),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", ("a",)),
    ],
)
def test_what_is_shared_by_an_alias_is_left_to_a_person(text: str, keys: Any) -> None:
    with pytest.raises(EditRefused):
        set_value(text, keys, 2)


def test_a_secret_without_a_name_is_never_written() -> None:
    with pytest.raises(InvalidRequest, match=r"secrets\.yaml"):
        set_value(TEXT, ("lamp", "token"), Secret("value"))


def test_what_is_not_there_is_not_removed() -> None:
    with pytest.raises(NotFound, match=r"agents\[7\]"):
        remove(TEXT, ("agents", 7))


def test_keys_that_look_like_something_else_are_text() -> None:
    text = "levels:\n  1: low\n  on: high\n"

    changed = set_value(text, ("levels", "1"), "lowest")

    assert changed == "levels:\n  1: lowest\n  on: high\n"


def test_a_broken_file_is_not_edited() -> None:
    with pytest.raises(InvalidRequest, match="not valid YAML"):
        set_value("a: [1\n", ("b",), 2)


def test_a_path_through_a_text_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="cannot be added"):
        set_value(TEXT, ("hub", "name", "x"), 1)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(
        ["yes", "~", "a: b", "- x", "#no", "{", "0x10", "1e5", "<<", "null", "!tag", "*a", "'", '"', " x", "x "]
    ),
)
names = st.text("abcdefghij_", min_size=1, max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)
mappings = st.dictionaries(names, values, min_size=1, max_size=4)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a mapping, and a text for it with comments and blank lines between its lines."""
    data = draw(mappings)
    lines: list[str] = []
    for line in block(data, 0):
        if draw(st.integers(0, 4)) == 0:
            lines.append(draw(st.sampled_from(["", "# a comment", "      # indented: [", "  # - x"])))
        lines.append(line + draw(st.sampled_from(["", "", "  # behind", " # {a: b}"])))
    return "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n# end\n"])), data


def paths_in(node: SpanNode, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = [(index, item) for index, item in enumerate(node.items)] + [
        (key.data, value) for key, value in node.entries
    ]
    found = [] if node.kind is SpanKind.SCALAR and not prefix else [prefix] if prefix else []
    for key, child in inside:
        found += paths_in(child, (*prefix, key))
    return found


def lines_of(text: str, root: SpanNode, keys: tuple[Any, ...]) -> tuple[int, int]:
    """Return the first and last line of a value with its key or dash."""
    holder = find(root, keys[:-1])
    node = find(root, keys)
    assert holder is not None
    assert node is not None
    pair = holder.entry(keys[-1]) if isinstance(keys[-1], str) else None
    start = pair[0].start if pair else max(node.start - 1, 0)
    return text.count("\n", 0, start), text.count("\n", 0, max(node.start, node.end))


def alone(text: str, root: SpanNode, keys: tuple[Any, ...]) -> bool:
    """Whether nothing but spaces stands before a key or dash on its line, so that its lines can go as a whole."""
    holder = find(root, keys[:-1])
    node = find(root, keys)
    assert holder is not None
    assert node is not None
    pair = holder.entry(keys[-1]) if isinstance(keys[-1], str) else None
    start = pair[0].start if pair else text.rindex("-", 0, max(node.start, 1))
    return not text[text.rfind("\n", 0, start) + 1 : start].strip()


def replaced(data: Any, keys: tuple[Any, ...], value: Any) -> Any:
    if not keys:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[keys[0]] = replaced(data[keys[0]], keys[1:], value)
    return copy


@settings(max_examples=examples(100), deadline=None)
@given(document=documents(), value=values, choice=st.integers(0, 10_000))
def test_any_value_can_be_set_and_no_other_line_changes(document: tuple[str, Any], value: Any, choice: int) -> None:
    text, data = document
    root = read_spans(text)
    assert root is not None
    keys = (ways := paths_in(root))[choice % len(ways)]

    new = set_value(text, keys, value)

    assert parse_value(new) == replaced(data, keys, value)
    first, last = lines_of(text, root, keys)
    assert new.split("\n")[:first] == text.split("\n")[:first]
    assert new.endswith("\n".join(text.split("\n")[last + 1 :]))


@settings(max_examples=examples(100), deadline=None)
@given(document=documents(), choice=st.integers(0, 10_000))
def test_anything_can_be_removed_and_the_rest_stays(document: tuple[str, Any], choice: int) -> None:
    text, data = document
    root = read_spans(text)
    assert root is not None
    keys = (ways := paths_in(root))[choice % len(ways)]

    new = remove(text, keys)

    holder = data
    for key in keys[:-1]:
        holder = holder[key]
    smaller = (
        {key: value for key, value in holder.items() if key != keys[-1]}
        if isinstance(holder, dict)
        else holder[: keys[-1]] + holder[keys[-1] + 1 :]
    )
    assert (parse_value(new) or {}) == (replaced(data, keys[:-1], smaller) or {})
    first, last = lines_of(text, root, keys)
    assert new.split("\n")[: max(0, first - len(keys))] == text.split("\n")[: max(0, first - len(keys))]
    rest = text.split("\n")[last + 1 :]
    if not alone(text, root, keys):
        # The entry behind it moves up to its place, over blank lines; comments between the two go above it.
        moved = next((at for at, line in enumerate(rest) if line.strip() and not line.lstrip().startswith("#")), 0)
        comments = [line for line in rest[:moved] if line.strip()]
        assert all(line in new.split("\n") for line in comments)
        rest = rest[moved + 1 :]
    assert new.endswith("\n".join(rest))


def test_the_comment_of_the_second_key_stays_when_the_first_goes() -> None:
    text = "- id: x  # its name\n\n  # what people call it\n  alias: y\n- id: z\n"

    assert remove(text, (0, "id")) == "# what people call it\n- alias: y\n- id: z\n".replace("#", "  #", 1)


@settings(max_examples=examples(60), deadline=None)
@given(document=documents(), name=names, value=values)
def test_a_new_key_is_one_more_entry_at_the_end(document: tuple[str, Any], name: str, value: Any) -> None:
    text, data = document

    new = set_value(text, (f"new_{name}",), value)

    assert parse_value(new) == {**data, f"new_{name}": value}
    lines = iter(new.split("\n"))
    assert all(line in lines for line in text.rstrip("\n").split("\n"))


@st.composite
def commented_lists(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """Draw a list of mappings, each begun on the line of its dash or below it, with comments anywhere."""
    items = draw(st.lists(mappings, min_size=1, max_size=3))
    lines: list[str] = []
    for data in items:
        space = " " * draw(st.sampled_from([2, 2, 4]))
        body = [space + line for line in block(data, 0)]
        comments = draw(st.lists(st.sampled_from(["# a - b", "# x: 1", "#- y", ""]), max_size=2))
        above = ["# above - it"] * draw(st.integers(0, 1))
        if comments:
            own = draw(st.booleans())
            head = ["-"] if own else [f"-{space[1:]}{comments.pop(0)}"]
            lines += [*above, *head, *(space + each for each in comments), *body]
        else:
            lines += [*above, "-" + body[0][1:], *body[1:]]
        lines += draw(st.sampled_from([[], [], [f"{space}# behind"], ["# between"], [""]]))
    return "\n".join(lines) + "\n", items


@settings(max_examples=150, deadline=None)
@given(document=commented_lists(), new=mappings, choice=st.integers(0, 10_000))
def test_every_kind_of_edit_works_on_items_commented_anywhere(
    document: tuple[str, list[dict[str, Any]]], new: dict[str, Any], choice: int
) -> None:
    text, items = document
    at = choice % len(items)
    key = next(iter(items[at]))

    assert parse_value(set_value(text, (len(items),), new)) == [*items, new]
    assert parse_value(insert(text, (at,), new)) == [*items[:at], new, *items[at:]]
    assert parse_value(set_value(text, (at,), new)) == [*items[:at], new, *items[at + 1 :]]
    assert parse_value(set_value(text, (at, key), 1)) == [*items[:at], {**items[at], key: 1}, *items[at + 1 :]]
    assert parse_value(set_value(text, (at, "new_key"), 1)) == [
        *items[:at],
        {**items[at], "new_key": 1},
        *items[at + 1 :],
    ]
    assert (parse_value(remove(text, (at,))) or []) == [*items[:at], *items[at + 1 :]]
    taken = item_text(text, (at,))
    assert parse_value(taken.text) == items[at]
    same = taken.put_back(text, taken.text)
    assert [line.rstrip() for line in same.split("\n")] == [line.rstrip() for line in text.split("\n")]
    put = taken.put_back(text, "# its comment\n" + "\n".join(block(new, 0)) + "\n")
    assert parse_value(put) == [*items[:at], new, *items[at + 1 :]]
    assert "# its comment\n" in item_text(put, (at,)).text


def test_a_refused_edit_names_its_line() -> None:
    with pytest.raises(EditRefused, match="line 2 cannot be edited automatically"):
        set_value("a: 1\nb: &x {c: 1}\nd: *x\n", ("b", "c"), 2)


def test_a_word_of_a_line_is_replaced_and_no_part_of_another() -> None:
    text = "port: 1\nhttp_port: {port: 2}  # port\n"

    assert replace_word(text, 2, "port", "host") == "port: 1\nhttp_port: {host: 2}  # port\n"


@pytest.mark.parametrize(("line", "old"), [(1, "host"), (0, "port"), (3, "port"), (1, "por"), (1, "")])
def test_a_word_that_is_not_in_the_line_is_refused(line: int, old: str) -> None:
    with pytest.raises(NotFound):
        replace_word("port: 1\n", line, old, "host")
