"""The positions of every key, value and item of a YAML text, so that an edit can splice exactly there."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from hub.config.bounds import DEPTH_LIMIT
from hub.config.paths import Key, KeyPath
from hub.config.scalars import BadScalar, resolve_plain
from hub.config.second_parser import second_opinion
from hub.core.errors import InvalidRequest


class SpanKind(StrEnum):
    """The kind of a node."""

    SCALAR = "scalar"
    MAPPING = "mapping"
    LIST = "list"
    ALIAS = "alias"


class Tagged(Struct, frozen=True):
    """A value with a tag, such as `!secret name`, kept as written."""

    tag: str
    value: Any


def as_written(value: Any) -> Any:
    """Return data with each tag as its text: `!secret name`."""
    if isinstance(value, Tagged):
        return f"{value.tag} {as_written(value.value)}"
    if isinstance(value, dict):
        return {key: as_written(each) for key, each in value.items()}
    return [as_written(each) for each in value] if isinstance(value, list) else value


class SpanNode(Struct):
    """A value and its place.

    Attributes:
        kind: Its kind.
        start, end: Characters from the beginning of the text; `end` is behind its last own character, before
            whitespace and comments.
        column: The column of its start, from 0.
        flow: Whether it is written with braces, or is inside such.
        data: Its value; tags are kept as `Tagged`.
        entries: Keys and values of a mapping.
        items: Items of a list.
    """

    kind: SpanKind
    start: int
    end: int
    column: int
    flow: bool
    data: Any
    anchored: bool = False
    entries: list[tuple[SpanNode, SpanNode]] = field(default_factory=list)
    items: list[SpanNode] = field(default_factory=list)

    def entry(self, key: str) -> tuple[SpanNode, SpanNode] | None:
        """Return a key and its value."""
        return next((pair for pair in self.entries if pair[0].data == key), None)


def read_spans(text: str) -> SpanNode | None:
    """Return the root node of a text without byte order mark; None when it is empty.

    Raises:
        InvalidRequest: It is not YAML, holds several documents, or is nested too deeply.
    """
    parser = CParser(text)
    try:
        try:
            return _root(parser.get_event, text)
        except YAMLError as refusal:
            return _root(iter(second_opinion(text, refusal)).__next__, text)
    except YAMLError as error:
        raise InvalidRequest("the file is not valid YAML; fix it before changing a value in it") from error
    finally:
        parser.dispose()


def _root(next_event: Callable[[], Any], text: str) -> SpanNode | None:
    next_event()
    if isinstance(next_event(), StreamEndEvent):
        return None
    root = _Builder(next_event, text).node(next_event(), flow=False, depth=0)
    next_event()
    if not isinstance(next_event(), StreamEndEvent):
        raise InvalidRequest("the file holds several documents; edit it by hand")
    return root


def find(root: SpanNode, keys: KeyPath) -> SpanNode | None:
    """Return the node at a path, or None."""
    node: SpanNode | None = root
    for key in keys:
        node = child(node, key) if node is not None else None
    return node


def child(node: SpanNode, key: Key) -> SpanNode | None:
    """Return the value of a key, or the item at an index."""
    if isinstance(key, int):
        return node.items[key] if node.kind is SpanKind.LIST and 0 <= key < len(node.items) else None
    pair = node.entry(key) if node.kind is SpanKind.MAPPING else None
    return pair[1] if pair else None


def path_to(root: SpanNode, position: int) -> KeyPath | None:
    """Return the path of the mapping or list, or of the key or item, that begins at a character."""
    if root.start == position and root.kind in {SpanKind.MAPPING, SpanKind.LIST}:
        return ()
    return _path_below(root, position)


def path_to_key(root: SpanNode, position: int) -> KeyPath | None:
    """Return the path of the key that begins at a character."""
    for index, item in enumerate(root.items):
        if item.start <= position <= item.end:
            return _prefixed(index, path_to_key(item, position))
    for key, value in root.entries:
        if key.start == position:
            return (str(key.data),)
        if value.start <= position <= value.end:
            return _prefixed(str(key.data), path_to_key(value, position))
    return None


def path_to_item(root: SpanNode, position: int) -> KeyPath | None:
    """Return the path of the list item that begins at a character."""
    for index, item in enumerate(root.items):
        if item.start == position:
            return (index,)
        if item.start < position <= item.end:
            return _prefixed(index, path_to_item(item, position))
    for key, value in root.entries:
        if value.start <= position <= value.end:
            return _prefixed(str(key.data), path_to_item(value, position))
    return None


def _path_below(node: SpanNode, position: int) -> KeyPath | None:
    children: list[tuple[Key, SpanNode]] = [
        *enumerate(node.items),
        *((str(key.data), value) for key, value in node.entries),
    ]
    for key, value in children:
        if value.start <= position <= value.end:
            return _prefixed(key, path_to(value, position))
    return None


def _prefixed(key: Key, path: KeyPath | None) -> KeyPath | None:
    return None if path is None else (key, *path)


class _Builder:
    def __init__(self, next_event: Callable[[], Any], text: str) -> None:
        self._next = next_event
        self._text = text

    def node(self, event: Any, *, flow: bool, depth: int) -> SpanNode:
        if depth > DEPTH_LIMIT:
            raise InvalidRequest("the file is nested too deeply")
        start, end, column = event.start_mark.index, event.end_mark.index, event.start_mark.column
        if isinstance(event, AliasEvent):
            return SpanNode(SpanKind.ALIAS, start, end, column, flow, Tagged("*", event.anchor))
        if isinstance(event, ScalarEvent):
            return SpanNode(
                SpanKind.SCALAR, start, self._trimmed(start, end), column, flow, _scalar(event), bool(event.anchor)
            )
        flow = flow or bool(event.flow_style)
        if isinstance(event, MappingStartEvent):
            found = SpanNode(SpanKind.MAPPING, start, end, column, flow, {}, bool(event.anchor))
            end_event = self._entries(found, depth)
        elif isinstance(event, SequenceStartEvent):
            found = SpanNode(SpanKind.LIST, start, end, column, flow, [], bool(event.anchor))
            end_event = self._items(found, depth)
        else:
            raise InvalidRequest("the file is not valid YAML")
        found.end = end_event.end_mark.index if event.flow_style else self._content_end(found)
        if event.tag is not None:
            found.data = Tagged(event.tag, found.data)
        return found

    def _entries(self, found: SpanNode, depth: int) -> Any:
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self.node(event, flow=found.flow, depth=depth + 1)
            value = self.node(self._next(), flow=found.flow, depth=depth + 1)
            if isinstance(event, ScalarEvent) and event.tag is None and event.value:
                key.data = event.value  # a key is text, also where it looks like a number
            if not isinstance(key.data, str):
                raise InvalidRequest("the file has a key that is not a text; edit it by hand")
            if key.data in found.data:
                raise InvalidRequest(f"the file has the key {key.data} twice; fix it first")
            found.entries.append((key, value))
            found.data[key.data] = value.data
        return event

    def _items(self, found: SpanNode, depth: int) -> Any:
        while not isinstance(event := self._next(), SequenceEndEvent):
            item = self.node(event, flow=found.flow, depth=depth + 1)
            found.items.append(item)
            found.data.append(item.data)
        return event

    def _content_end(self, node: SpanNode) -> int:
        if node.items:
            return max(node.items[-1].end, node.items[-1].start)
        key, value = node.entries[-1]
        return max(key.end, value.end)

    def _trimmed(self, start: int, end: int) -> int:
        while end > start and self._text[end - 1] in " \t\r\n":
            end -= 1
        return end


def _scalar(event: Any) -> Any:
    if event.tag is not None and event.tag != "!":
        return Tagged(event.tag, event.value)
    if event.style or event.tag == "!":
        return event.value
    try:
        return resolve_plain(event.value)
    except BadScalar:
        return event.value
