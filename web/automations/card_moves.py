"""Reordering cards: moves a YAML list item up or down, with its comments."""

from __future__ import annotations

import copy

from hub.config import edit
from hub.config.paths import KeyPath
from hub.config.spans import SpanNode, find, read_spans


def move_item(text: str, keys: KeyPath, by: int) -> str:
    """Return the text with a list item moved up (-1) or down (1), its comments with it."""
    index = keys[-1]
    root = read_spans(text)
    holder = find(root, keys[:-1]) if root is not None else None
    if not isinstance(index, int) or holder is None or not 0 <= index + by < len(holder.items) or index < 0:
        return text
    wanted = copy.deepcopy(holder.data)
    wanted.insert(index + by, wanted.pop(index))
    if not holder.flow:
        swapped = _swapped(text, holder, min(index, index + by))
        after = read_spans(swapped)
        if after is not None and (found := find(after, keys[:-1])) is not None and found.data == wanted:
            return swapped
    return edit.set_value(text, keys[:-1], wanted)


def _swapped(text: str, holder: SpanNode, first: int) -> str:
    """Return the text with two neighbours swapped, each with the comments above it."""
    lines = text.split("\n")
    starts = [_first_line(lines, text.count("\n", 0, node.start)) for node in holder.items]
    last = text.count("\n", 0, max(holder.end, holder.items[-1].end - 1)) + 1
    bounds = [*starts, last]
    one, two, behind = bounds[first], bounds[first + 1], bounds[first + 2]
    return "\n".join([*lines[:one], *lines[two:behind], *lines[one:two], *lines[behind:]])


def _first_line(lines: list[str], line: int) -> int:
    """Return the first line of an item: that of the comments directly above its dash."""
    column = len(lines[line]) - len(lines[line].lstrip(" "))
    while line > 0 and lines[line - 1].strip().startswith("#"):
        above = lines[line - 1]
        if len(above) - len(above.lstrip(" ")) != column:
            break
        line -= 1
    return line
