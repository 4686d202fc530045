"""One YAML list item or mapping entry as text: extracted with its comments, and put back."""

from __future__ import annotations

import copy
from hashlib import sha256

from msgspec import Struct

from hub.config.edit import BYTE_ORDER_MARK, EditRefused
from hub.config.paths import KeyPath, format_path
from hub.config.spans import SpanKind, SpanNode, Tagged, find, read_spans
from hub.core.errors import InvalidRequest, NotFound


class ItemText(Struct, frozen=True):
    """An item and its place in the text of its file.

    Attributes:
        text: The item, its lines moved to the left margin; ends with a newline.
        keys: The path to it within the file.
        start, end: Characters of the file, without mark and with plain newlines, that it takes.
        column: How far its lines are indented in the file.
        first_line: Line of the file, from 1, that its first line is.
    """

    text: str
    keys: KeyPath
    start: int
    end: int
    column: int
    first_line: int

    @property
    def hash(self) -> str:
        """A hash to detect whether the item changed since a draft was made."""
        return text_hash(self.text)

    def put_back(self, file_text: str, text: str) -> str:
        """Return the file with another mapping text in this item's place; nothing else changes.

        Raises:
            InvalidRequest: The text is not YAML, or not a mapping.
            EditRefused: It cannot be put there without changing anything else.
        """
        wanted = mapping_in(text)
        mark = BYTE_ORDER_MARK if file_text.startswith(BYTE_ORDER_MARK) else ""
        newline = "\r\n" if "\r\n" in file_text else "\n"
        body = _plain(file_text)
        first, *rest = text.replace("\r\n", "\n").strip("\n").split("\n")
        space = " " * self.column
        before = self.start - (body.rfind("\n", 0, self.start) + 1)
        lines = [" " * max(0, self.column - before) + first, *(space + line if line.strip() else "" for line in rest)]
        tail = body[self.end :]
        gap = "" if tail.startswith("\n") else "\n"
        new = body[: self.start] + "\n".join(lines) + gap + tail
        self._prove(body, new, wanted)
        return mark + new.replace("\n", newline)

    def _prove(self, before: str, after: str, wanted: SpanNode) -> None:
        """Verify by parsing both again: only this item may differ, and it must equal the given text."""
        old, new = read_spans(before), read_spans(after)
        if old is None or new is None:
            raise EditRefused(f"{format_path(self.keys)} cannot be put back. Edit the file by hand.")
        expected = copy.deepcopy(old.data)
        holder = expected
        for key in self.keys[:-1]:
            holder = holder[key]
        holder[self.keys[-1]] = wanted.data
        if new.data != expected:
            raise EditRefused("this text would change other parts of its file. Edit the file by hand.")


def item_text(file_text: str, keys: KeyPath) -> ItemText:
    """Return the item at `keys` of a file.

    Raises:
        InvalidRequest: The file is not YAML.
        EditRefused: It is written within braces, or shared by an alias.
        NotFound: There is nothing at `keys`.
    """
    body = _plain(file_text)
    root = read_spans(body)
    node = find(root, keys) if root is not None else None
    holder = find(root, keys[:-1]) if root is not None and keys else None
    if node is None or holder is None or holder.kind is not SpanKind.LIST:
        raise NotFound("the file no longer contains this item; load it again")
    if holder.flow or node.kind is SpanKind.ALIAS or node.anchored or isinstance(node.data, Tagged):
        raise EditRefused.at(
            body.count("\n", 0, node.start) + 1, f"{format_path(keys)} is within braces, or has an anchor, alias or tag"
        )
    return _cut(body, node, keys, _dash_column(body, node), _first_comment(body, node))


def entry_text(file_text: str, keys: KeyPath) -> ItemText:
    """Return the mapping that is the value of a key of a file.

    Raises:
        InvalidRequest: The file is not YAML.
        EditRefused: It does not have separate lines below its key.
        NotFound: There is no such key.
    """
    body = _plain(file_text)
    root = read_spans(body)
    node = find(root, keys) if root is not None else None
    holder = find(root, keys[:-1]) if root is not None and keys else None
    pair = holder.entry(str(keys[-1])) if holder is not None and holder.kind is SpanKind.MAPPING else None
    if node is None or pair is None:
        raise NotFound("the file no longer contains this item; load it again")
    before = body[body.rfind("\n", 0, node.start) + 1 : node.start]
    if node.kind is not SpanKind.MAPPING or node.flow or node.anchored or before.strip():
        raise EditRefused.at(
            body.count("\n", 0, node.start) + 1, f"{format_path(keys)} is not on lines of its own below its key"
        )
    return _cut(body, node, keys, pair[0].column, node.start)


def text_hash(text: str) -> str:
    """Return the hash of an item's text, ignoring trailing whitespace."""
    return sha256(text.rstrip().encode("utf-8", "replace")).hexdigest()


def mapping_in(text: str) -> SpanNode:
    """Return the mapping in the text of an item.

    Raises:
        InvalidRequest: It is not YAML, not one mapping, or does not begin at the left margin.
    """
    node = read_spans(text.replace("\r\n", "\n"))
    if node is None or node.kind is not SpanKind.MAPPING or isinstance(node.data, Tagged):
        raise InvalidRequest("expected one mapping, such as `alias: …` with `triggers:` and `actions:` below it")
    if node.column != 0 or text.lstrip().startswith(("---", "%")):
        raise InvalidRequest("expected text that begins at the left margin, without --- above it")
    return node


def _cut(body: str, node: SpanNode, keys: KeyPath, column: int, start: int) -> ItemText:
    """Return a node from `start` on as text, with the comments below it that are indented more than `column`."""
    end = _with_comments(body, _line_end(body, node.end), column)
    first, *rest = body[start:end].split("\n")
    text = "\n".join([first, *(_moved(line, node.column) for line in rest)]).rstrip("\n") + "\n"
    return ItemText(text, keys, start, end, node.column, body.count("\n", 0, start) + 1)


def _first_comment(body: str, node: SpanNode) -> int:
    """Return where an item begins with the comments between its dash and its first key."""
    start = cursor = node.start
    while (before := body.rfind("\n", 0, cursor)) >= 0 and not body[before + 1 : cursor].strip():
        above = body.rfind("\n", 0, before) + 1
        line = body[above:before].lstrip(" ")
        comment = line.find("#")
        if line.startswith("#"):
            start = cursor = before - len(line)
        elif not line.strip():
            cursor = above
        elif line.rstrip() == "-":
            return start
        elif line.startswith("-") and comment > 0 and not line[1:comment].strip():
            return before - len(line) + comment
        else:
            break
    return node.start


def _plain(file_text: str) -> str:
    return file_text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n")


def _moved(line: str, column: int) -> str:
    return line[column:] if not line[:column].strip() else line.lstrip(" ")


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _dash_column(text: str, node: SpanNode) -> int:
    start = text.rfind("\n", 0, node.start) + 1
    before = text[start : node.start]
    return len(before) - len(before.lstrip(" ")) if before.strip() == "-" else max(0, node.column - 2)


def _with_comments(text: str, end: int, outer_column: int) -> int:
    """Return the end of an item with the comments behind it that are indented more than its dash or key."""
    kept = end
    while end < len(text):
        stop = _line_end(text, end + 1)
        line = text[end + 1 : stop]
        bare = line.lstrip(" ")
        if bare.startswith("#") and len(line) - len(bare) > outer_column:
            kept = stop
        elif bare.strip():
            return kept
        end = stop
    return kept
