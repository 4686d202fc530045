"""Edits of YAML text by splicing: only the addressed part changes, and every other line stays byte for byte.

Each edit is verified before it is returned: the new text is parsed again and must hold exactly the requested change.
What cannot be edited that way (aliases, merge keys, unusual layouts) is refused, with its line.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hub.config.paths import KeyPath, format_path
from hub.config.plain_data import at, nest, plain, same
from hub.config.render import INDENT, block, entry, inline, is_block, item
from hub.config.spans import SpanKind, SpanNode, child, find, read_spans
from hub.core.errors import InvalidRequest, NotFound

BYTE_ORDER_MARK = "\ufeff"
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")
_ENTANGLED = "the value cannot be set without changing what is around it. Edit the file by hand."


class EditRefused(InvalidRequest):
    """The edit is not possible without changing something else; the message says where a person has to do it."""

    code = "EDIT_REFUSED"

    @classmethod
    def at(cls, line: int, reason: str) -> EditRefused:
        """Return the refusal for a line of the text, counted from 1."""
        return cls(f"line {line} cannot be edited automatically: {reason}. Edit the file by hand.")


@contextmanager
def prefix_errors(name: str) -> Iterator[None]:
    """Put the name of the file before the message of an edit that is refused."""
    try:
        yield
    except EditRefused as error:
        raise EditRefused(f"{name}: {error.message}") from error


def set_value(text: str, keys: KeyPath, value: Any) -> str:
    """Return the text with the value at `keys` set; keys and list items that are missing are added at the end.

    Args:
        text: A whole file.
        keys: The path to the value within this file; a list index may be one past the last item.
        value: Plain data, `Tagged("!secret", "name")`, or a `Secret` with a source.

    Raises:
        EditRefused: It cannot be done without touching anything else.
        InvalidRequest: The text is not YAML, the value cannot be written, or the path leads through a scalar.
    """
    return _Edit(text).set(keys, value)


def insert(text: str, keys: KeyPath, value: Any) -> str:
    """Return the text with a new item inserted at the index that `keys` end with; see `set_value`.

    Raises:
        NotFound: There is no list, or the index is past its end.
    """
    return _Edit(text).insert(keys, value)


def remove(text: str, keys: KeyPath) -> str:
    """Return the text without the key or item at `keys`; see `set_value`.

    Raises:
        NotFound: There is nothing at `keys`.
    """
    return _Edit(text).remove(keys)


def replace_word(text: str, line: int, old: str, new: str) -> str:
    """Return the text with the first such word of a line replaced.

    Args:
        line: Counted from 1.
        old, new: Words without white space.

    Raises:
        NotFound: The line has no such word.
    """
    lines = text.splitlines(keepends=True)
    found = lines[line - 1] if 0 < line <= len(lines) else ""
    at = found.find(old) if old else -1
    while at >= 0:
        around = found[at - 1 : at] + found[at + len(old) : at + len(old) + 1]
        if not any(each.isalnum() or each in "_-" for each in around):
            lines[line - 1] = f"{found[:at]}{new}{found[at + len(old) :]}"
            return "".join(lines)
        at = found.find(old, at + 1)
    raise NotFound(f"line {line} no longer contains {old[:100]!r}")


def get_value(text: str, keys: KeyPath) -> Any:
    """Return the value at `keys` as written, with tags as `Tagged`.

    Raises:
        NotFound: There is nothing at `keys`.
    """
    root = read_spans(text.removeprefix(BYTE_ORDER_MARK))
    node = find(root, keys) if root is not None else None
    if node is None:
        raise NotFound(f"there is nothing at {format_path(keys)}")
    return node.data


def parse_value(text: str) -> Any:
    """Return the value of a short YAML text, such as one typed in a terminal; tags are kept as `Tagged`.

    Raises:
        InvalidRequest: It is not YAML.
    """
    try:
        root = read_spans(text)
    except InvalidRequest as error:
        if "\n" in text:
            raise  # it says in which line
        raise InvalidRequest(f"the value {text[:80]} is not valid YAML; put it in quotes if it is text") from error
    return None if root is None else root.data


class _Edit:
    def __init__(self, text: str) -> None:
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        self._text = text.removeprefix(BYTE_ORDER_MARK)
        self._newline = "\r\n" if "\r\n" in self._text else "\n"
        self._root = read_spans(self._text)
        self._data: Any = {} if self._root is None else copy.deepcopy(self._root.data)

    def set(self, keys: KeyPath, value: Any) -> str:
        if not keys:
            raise InvalidRequest("expected a path of keys such as agents[0].model")
        root = self._root
        if root is None:
            if not isinstance(keys[0], str):
                raise InvalidRequest(f"there is no list at {format_path(keys)}")
            wanted = nest(keys, value)
            return self._done(self._with_lines_at_end(block(wanted, 0)), wanted)
        self._refuse_aliases(root, keys)
        node = find(root, keys)
        if node is not None:
            return self._done(self._replace(keys, node, value), self._wanted(keys, value))
        depth = len(keys) - 1
        while (parent := find(root, keys[:depth])) is None:
            depth -= 1
        rest = keys[depth + 1 :]
        added = nest(rest, value)
        text = self._add(parent, keys[:depth], keys[depth], added)
        return self._done(text, self._wanted(keys[: depth + 1], added))

    def insert(self, keys: KeyPath, value: Any) -> str:
        root = self._root
        index = keys[-1] if keys else None
        if root is None or not isinstance(index, int):
            raise NotFound(f"there is no list item at {format_path(keys)}")
        self._refuse_aliases(root, keys)
        holder = find(root, keys[:-1])
        if holder is None or holder.kind is not SpanKind.LIST or not 0 <= index <= len(holder.items):
            raise NotFound(f"there is no list item at {format_path(keys)}")
        if index == len(holder.items):
            return self.set(keys, value)
        before = holder.items[index]
        if holder.flow:
            text = self._spliced(before.start, before.start, f"{inline(value)}, ")
        elif index == 0:
            text = self._insert_first(holder, before, value)
        else:
            text = self._insert_lines(holder.items[index - 1], item(value, self._dash_column(before)))
        wanted = copy.deepcopy(self._data)
        at(wanted, keys[:-1]).insert(index, plain(value))
        return self._done(text, wanted)

    def remove(self, keys: KeyPath) -> str:
        root = self._root
        node = find(root, keys) if root is not None else None
        if root is None or node is None or not keys:
            raise NotFound(f"there is nothing at {format_path(keys)}")
        self._refuse_aliases(root, keys[:-1])
        holder = find(root, keys[:-1])
        assert holder is not None  # noqa: S101  its child was found
        wanted = copy.deepcopy(self._data)
        del at(wanted, keys[:-1])[keys[-1]]
        if len(holder.items) + len(holder.entries) == 1:
            text = self._emptied(keys[:-1], holder)
        elif holder.flow:
            text = self._remove_flow(holder, keys)
        else:
            text = self._remove_block(holder, keys)
        return self._done(text, wanted)

    # --- replacing and adding ---

    def _replace(self, keys: KeyPath, node: SpanNode, value: Any) -> str:
        """Return the text with an existing value replaced."""
        if node.flow or (node.kind is SpanKind.SCALAR and not is_block(value) and node.end > node.start):
            return self._spliced(node.start, node.end, inline(value))
        root = self._root
        if root is node or root is None:
            raise EditRefused("the whole file cannot be replaced by an edit")
        if isinstance(keys[-1], int):
            return self._replace_item(node, value)
        holder = find(root, keys[:-1])
        pair = holder.entry(str(keys[-1])) if holder is not None else None
        assert pair is not None  # noqa: S101  its value was found
        key = pair[0]
        colon = self._after_colon(key)
        below = node.kind in {SpanKind.MAPPING, SpanKind.LIST} and "\n" in self._text[colon : node.start]
        if not below:
            new = (
                self._newline + self._joined(block(value, key.column + INDENT))
                if is_block(value)
                else f" {inline(value)}"
            )
            return self._spliced(colon, max(node.end, colon), new)
        first = self._line_start(node.start)
        if is_block(value):
            return self._spliced(first, node.end, self._joined(block(value, max(node.column, key.column + INDENT))))
        without = self._text[:first] + self._text[self._after_line(node.end) :]
        return without[:colon] + f" {inline(value)}" + without[colon:]

    def _replace_item(self, node: SpanNode, value: Any) -> str:
        column = self._dash_column(node)
        dash = self._dash(node) + 1
        if "#" in self._text[dash : node.start] and is_block(value):  # comments between the dash and the item stay
            lines = block(value, node.column)
            return self._spliced(node.start, max(node.end, node.start), self._joined(lines)[node.column :])
        lines = item(value, column)
        return self._spliced(dash, max(node.end, dash), self._joined(lines)[column + 1 :])

    def _add(self, parent: SpanNode, way: KeyPath, key: str | int, value: Any) -> str:
        """Return the text with a key or item added at the end of `parent`."""
        if parent.kind is SpanKind.SCALAR and parent.data is None and isinstance(key, str):
            return self._replace(way, parent, {key: value})
        wrong = SpanKind.LIST if isinstance(key, int) else SpanKind.MAPPING
        if parent.kind is not wrong or (isinstance(key, int) and key != len(parent.items)):
            raise InvalidRequest(f"{format_path((*way, key))} cannot be added: expected a new key or the next index")
        if parent.flow:
            return self._add_flow(parent, key, value)
        if isinstance(key, int):
            return self._insert_lines(parent.items[-1], item(value, self._dash_column(parent.items[-1])))
        last_key, last = parent.entries[-1]
        lines = entry(key, value, last_key.column)
        return self._insert_lines(last if last.end > last_key.end else last_key, lines)

    def _add_flow(self, parent: SpanNode, key: str | int, value: Any) -> str:
        new = inline(value) if isinstance(key, int) else inline({key: value})[1:-1]
        children = [*parent.items, *(value for _, value in parent.entries)]
        if not children:
            return self._spliced(parent.end - 1, parent.end - 1, new)
        end = max(children[-1].end, parent.entries[-1][0].end if parent.entries else 0)
        if parent.entries and children[-1].end <= parent.entries[-1][0].end:
            raise self._refused(end, "the last key within the braces has no value")
        return self._spliced(end, end, f", {new}")

    def _insert_first(self, holder: SpanNode, before: SpanNode, value: Any) -> str:
        column = self._dash_column(before)
        if self._text[self._line_start(before.start) : holder.start].strip():
            raise self._refused(holder.start, "the list begins on the line of another one")
        lines = self._joined(item(value, column)) + self._newline
        start = self._line_start(holder.start)
        return self._spliced(start, start, lines)

    def _insert_lines(self, after: SpanNode, lines: list[str]) -> str:
        """Return the text with lines put below the one on which a node ends."""
        position = self._after_line(max(after.end, after.start))
        if position == len(self._text) and not self._text.endswith("\n"):
            return self._text + self._newline + self._joined(lines)
        return self._spliced(position, position, self._joined(lines) + self._newline)

    def _with_lines_at_end(self, lines: list[str]) -> str:
        gap = self._newline if self._text and not self._text.endswith("\n") else ""
        return self._text + gap + self._joined(lines) + self._newline

    # --- removing ---

    def _emptied(self, way: KeyPath, holder: SpanNode) -> str:
        """Return the text with the only key or item of a mapping or list removed."""
        empty: Any = [] if holder.kind is SpanKind.LIST else {}
        if holder is self._root:
            if holder.flow:
                return self._spliced(holder.start, holder.end, inline(empty))
            first = self._line_start(holder.start)
            return self._spliced(first, self._after_line(holder.end), inline(empty) + self._newline)
        return self._replace(way, holder, empty)

    def _remove_flow(self, holder: SpanNode, keys: KeyPath) -> str:
        starts = [each.start for each in holder.items] or [key.start for key, _ in holder.entries]
        ends = [each.end for each in holder.items] or [max(key.end, value.end) for key, value in holder.entries]
        index = self._index(holder, keys)
        if index + 1 < len(starts):
            return self._spliced(starts[index], starts[index + 1], "")
        return self._spliced(ends[index - 1], ends[index], "")

    def _remove_block(self, holder: SpanNode, keys: KeyPath) -> str:
        index = self._index(holder, keys)
        if holder.kind is SpanKind.LIST:
            start, end = self._dash(holder.items[index]), holder.items[index].end
        else:
            key, value = holder.entries[index]
            start, end = key.start, max(key.end, value.end)
        first = self._line_start(start)
        if not self._text[first:start].strip():
            return self._spliced(first, self._after_line(end), "")
        # It shares its line with the dash of the list around it: what follows moves up to its place, comments above it.
        follower = (
            self._dash(holder.items[index + 1]) if holder.kind is SpanKind.LIST else holder.entries[index + 1][0].start
        )
        between = self._text[self._after_line(end) : self._line_start(follower)].splitlines(keepends=True)
        comments = "".join(line for line in between if line.lstrip().startswith("#"))
        return self._text[:first] + comments + self._text[first:start] + self._text[follower:]

    def _index(self, holder: SpanNode, keys: KeyPath) -> int:
        last = keys[-1]
        if isinstance(last, int):
            return last
        return next(i for i, (key, _) in enumerate(holder.entries) if key.data == last)

    # --- places in the text ---

    def _after_colon(self, key: SpanNode) -> int:
        position = key.end
        while self._text[position : position + 1] in {" ", "\t"}:
            position += 1
        if self._text[position : position + 1] != ":":
            raise self._refused(key.start, "the key and its colon are apart")
        return position + 1

    def _dash(self, node: SpanNode) -> int:
        """Return the position of a list item's dash; comments may stand between the two."""
        end = max(node.start, 1)
        while True:
            start = self._line_start(end)
            head = _COMMENT.sub("", self._text[start:end]).rstrip()
            if head.endswith("-"):
                return start + len(head) - 1
            if head or start == 0:
                raise self._refused(node.start, "the item does not begin right behind its dash")
            end = start - 1

    def _dash_column(self, node: SpanNode) -> int:
        dash = self._dash(node)
        return dash - self._line_start(dash)

    def _line_start(self, position: int) -> int:
        return self._text.rfind("\n", 0, position) + 1

    def _after_line(self, position: int) -> int:
        found = self._text.find("\n", position)
        return len(self._text) if found < 0 else found + 1

    def _joined(self, lines: list[str]) -> str:
        return self._newline.join(lines)

    def _spliced(self, start: int, end: int, new: str) -> str:
        return self._text[:start] + new + self._text[end:]

    # --- the proof ---

    def _refuse_aliases(self, root: SpanNode, keys: KeyPath) -> None:
        node: SpanNode | None = root
        for key in keys:
            node = child(node, key) if node is not None else None
            if node is None:
                return
            if node.kind is SpanKind.ALIAS or node.anchored:
                raise self._refused(node.start, f"{format_path(keys)} is shared by an anchor and its aliases")

    def _wanted(self, keys: KeyPath, value: Any) -> Any:
        wanted = copy.deepcopy(self._data)
        holder = at(wanted, keys[:-1])
        if holder is None:
            holder = {}
            if len(keys) == 1:
                wanted = holder
            else:
                at(wanted, keys[:-2])[keys[-2]] = holder
        if isinstance(keys[-1], int) and keys[-1] == len(holder):
            holder.append(plain(value))
        else:
            holder[keys[-1]] = plain(value)
        return wanted

    def _done(self, text: str, wanted: Any) -> str:
        try:
            root = read_spans(text)
        except InvalidRequest as error:
            raise EditRefused(_ENTANGLED) from error
        if not same(wanted, {} if root is None else root.data):
            raise EditRefused(_ENTANGLED)
        return self._mark + text

    def _refused(self, position: int, reason: str) -> EditRefused:
        return EditRefused.at(self._text.count("\n", 0, position) + 1, reason)
