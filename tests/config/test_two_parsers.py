"""The quick parser and the one that knows YAML 1.2: what both read they read alike, and what one reads counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import MappingEndEvent, ScalarEvent, SequenceEndEvent, StreamEndEvent

from hub.config.bounds import Budget
from hub.config.edit import set_value
from hub.config.marks import MarkOrigin, mark_of, place
from hub.config.second_parser import OLD_GRAMMAR, second_opinion
from hub.config.spans import read_spans
from hub.config.yaml_reader import YamlReader

CHECKOUT = Path(__file__).parents[2]
URL = "{base_url: http://127.0.0.1:8000/v1, api_key: k}"


def texts() -> list[str]:
    """Every piece of YAML that this project ships, shows or tests with."""
    files = [
        path
        for folder in ("blueprints", "config", "docs", "hub", "integrations", "tests")
        for ending in ("*.yaml", "*.md")
        for path in (CHECKOUT / folder).rglob(ending)
    ]
    found: list[str] = []
    for path in sorted(files):
        text = path.read_text(encoding="utf-8")
        found += re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if path.suffix == ".md" else [text]
    return found


def facts(event: Any) -> tuple[Any, ...]:
    """What a reader takes from an event; what is not text ends, or is missing, at a place of each."""
    start = event.start_mark
    said = [getattr(event, name, None) for name in ("value", "tag", "anchor", "flow_style")]
    ends = isinstance(event, (MappingEndEvent, SequenceEndEvent)) or getattr(event, "value", None) == ""
    where = () if ends else (start.line, start.column, start.index)
    return type(event), *said, bool(getattr(event, "style", None)), where


def quick(text: str) -> list[Any] | YAMLError:
    parser = CParser(text)
    events: list[Any] = []
    try:
        while not events or not isinstance(events[-1], StreamEndEvent):
            events.append(parser.get_event())
    except YAMLError as refusal:
        return refusal
    return events


def thorough(text: str) -> list[Any] | None:
    try:
        return list(YAML(typ="safe", pure=True).parse(text))
    except YAMLError:
        return None


def read(text: str) -> tuple[Any, list[str]]:
    errors: list[Any] = []
    reader = YamlReader(MarkOrigin("a.yaml"), lambda tag, value, mark, keys: (tag, value), Budget(), errors, [])
    return reader.read(text), [f"{each.line}:{each.column} {each.message}" for each in errors]


def assert_alike(text: str) -> None:
    one, other = quick(text), thorough(text)
    if isinstance(one, list) and other is not None:
        inner = slice(2, -2)  # between the marks of the stream and the document, which stand for no text
        assert [facts(event) for event in one][inner] == [facts(event) for event in other][inner]
    if isinstance(one, YAMLError) and other is not None:
        asked = second_opinion(text, one) if any(each in str(one) for each in OLD_GRAMMAR) else None
        # Of valid texts, the word of the first counts only where a key is missing, which no reader takes.
        assert asked or any(isinstance(each, ScalarEvent) and not each.value and not each.style for each in other)
        assert [facts(each) for each in asked or other] == [facts(each) for each in other]


def test_both_read_alike_what_is_shipped_shown_and_tested() -> None:
    shown = texts()

    assert len(shown) > 150
    for text in shown:
        assert_alike(text)


KEYS = ["a", "on", "1_0", "0o7", "a:b", "http://x:1/v", "light.hall", "!secret k", "'it''s'", "~", "", "ä 中", "-1"]
PIECES = [
    '"q\\u00e9"',
    "&n v",
    "*n",
    "&n.1 v",
    "*n.1",
    "telegram:user:7",
    "{{ x }}",
    "# c",
    "? z",
    "a,b",
    "x]",
    "%x",
    "12:30:00",
    "a#b",
]
KEY = st.sampled_from(KEYS)  # no alias: of `*n: x` each thinks otherwise, and no key may be one
WORDS = st.sampled_from([*KEYS, *PIECES])
FLOW = st.recursive(
    WORDS,
    lambda each: (
        st.lists(each, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(KEY, each), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=6,
)
BLOCK = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["", "- "]), KEY, FLOW), min_size=1, max_size=6).map(
    lambda lines: "".join(f"{'  ' * depth}{dash}{key}: {value}\n" for depth, dash, key, value in lines)
)


@settings(max_examples=400, deadline=None)
@given(FLOW | BLOCK)
def test_both_read_alike_what_anybody_writes(text: str) -> None:
    assert_alike(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (URL, {"base_url": "http://127.0.0.1:8000/v1", "api_key": "k"}),
        ("identities: [telegram:user:7]", {"identities": ["telegram:user:7"]}),
        ("a: &light.hall x\nb: *light.hall", {"a": "x", "b": "x"}),
        (f"a: &a {{x: y:z}}\nb: {{<<: *a, c: !secret d}}\nc: {URL}", None),
    ],
)
def test_what_only_the_newer_grammar_takes_is_read(text: str, value: Any) -> None:
    found, errors = read(text)

    assert errors == []
    if value is not None:
        assert found == value
    else:
        assert found["b"] == {"x": "y:z", "c": ("!secret", "d")}


def test_marks_keys_that_come_twice_and_errors_are_told_once() -> None:
    found, errors = read(f"list:\n- 1\nlist: 2\nnumber: !!int x\nmodels: {URL}\nmodels: {{}}\n")

    assert [each.split(" ", 1)[0] for each in errors] == ["3:1", "4:9", "6:1"]
    assert place(mark_of(found, ("number",), (MarkOrigin("a.yaml"), 0, 0)))[1:] == (4, 9)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a: {url: http://x, b: c\n", 1, "not closed"),
        ("a: [telegram:user:7\n", 1, "not closed"),
        ("a: {url: http://x}\nb: 'c\n", 2, "quotation mark"),
        ("a: {url: http://x}\n" + "b: " + "[" * 200 + "\n", 1, ""),
    ],
)
def test_what_neither_reads_is_told_by_the_one_that_knows_more(text: str, line: int, told: str) -> None:
    _, (error,) = read(text)

    assert error.startswith(f"{line}:")
    assert told in error


@pytest.mark.parametrize(
    "text", ["a: 'b\n", "a: [b\n", "a: {b: c\n", "a: b: c\n", "a:\n  - b\n c: d\n", "a: @b\n", "\ta: b\n", "a: !é b\n"]
)
def test_a_typing_error_is_not_parsed_a_second_time(text: str) -> None:
    refusal = quick(text)
    assert isinstance(refusal, YAMLError)

    for asked in (text, URL):  # whatever the text: the refusal alone says whether another parser may know better
        with pytest.raises(YAMLError) as raised:
            second_opinion(asked, refusal)
        assert raised.value is refusal


def test_a_value_beside_such_text_is_edited_and_the_text_kept() -> None:
    text = f"# mine\nmodels: {URL}  # here\nidentities: [telegram:user:7]\n"

    edited = set_value(text, ("models", "api_key"), "new")

    assert edited == text.replace("api_key: k", "api_key: new")
    root = read_spans(text)
    assert root is not None
    assert root.data["identities"] == ["telegram:user:7"]
