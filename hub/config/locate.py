"""Finds in which file, and at which path within it, a value of the whole configuration is written."""

from __future__ import annotations

from collections.abc import Callable

from hub.config.edit import EditRefused
from hub.config.files import ROOT_FILE
from hub.config.marks import ConfigList, ConfigMapping, Mark, place, value_at
from hub.config.paths import KeyPath, format_path
from hub.config.spans import SpanKind, SpanNode, Tagged, find, path_to, path_to_item, path_to_key, read_spans

ReadText = Callable[[str], str]


def locate(raw: ConfigMapping, keys: KeyPath, read_text: ReadText) -> tuple[str, KeyPath]:
    """Return the file that holds (or would hold) the value at `keys`, and its path within that file.

    Args:
        raw: The configuration as it was read, packages merged in.
        keys: The path in the whole configuration.
        read_text: Gives a file's text as it was when `raw` was read.

    Raises:
        EditRefused: It is brought in by a folder, an alias or a merge key, so that no single place can be edited.
    """
    if not keys:
        return ROOT_FILE, ()
    holder, last = value_at(raw, keys[:-1]), keys[-1]
    if isinstance(holder, ConfigMapping) and isinstance(last, str) and last in holder:
        return _written(holder.key_marks[last], keys, read_text)
    if isinstance(holder, ConfigList) and isinstance(last, int) and 0 <= last < len(holder):
        return _written(holder.marks[last], keys, read_text)
    if isinstance(holder, (ConfigMapping, ConfigList)) and len(keys) > 1:
        file, inner = _container(holder, keys[:-1], read_text)
        if isinstance(holder, ConfigList) and isinstance(last, int):
            node = _root(file, read_text)
            found = find(node, inner) if node is not None else None
            if found is not None and found.kind is not SpanKind.LIST:
                raise EditRefused(f"{format_path(keys[:-1])} is one item, not a list; put a dash before it in {file}")
            last = len(found.items) if found is not None else last  # a list joined from several files grows in its own
        return file, (*inner, last)
    file, inner = locate(raw, keys[:-1], read_text)
    return file, (*inner, last)


def _written(mark: Mark, keys: KeyPath, read_text: ReadText) -> tuple[str, KeyPath]:
    file, root, position = _position(mark, read_text)
    search = path_to_item if isinstance(keys[-1], int) else path_to_key
    path = search(root, position) if root is not None else None
    node = find(root, path) if root is not None and path is not None else None
    if path is None or node is None or (isinstance(keys[-1], str) and path[-1] != keys[-1]):
        raise EditRefused(f"{format_path(keys)} is brought in by an alias or a folder of files; edit it by hand")
    if isinstance(node.data, Tagged) and node.data.tag.startswith("!include"):
        raise EditRefused(f"{format_path(keys)} is in {node.data.value}; set what is inside it, or edit it by hand")
    return file, path


def _container(holder: ConfigMapping | ConfigList, keys: KeyPath, read_text: ReadText) -> tuple[str, KeyPath]:
    file, root, position = _position(holder.mark, read_text)
    path = path_to(root, position) if root is not None else None
    if path is None:
        raise EditRefused(f"{format_path(keys)} is brought in by a folder of files; edit it by hand")
    return file, path


def _position(mark: Mark, read_text: ReadText) -> tuple[str, SpanNode | None, int]:
    file, line, column = place(mark)
    text = read_text(file)
    lines = text.split("\n")
    return file, read_spans(text), sum(len(each) + 1 for each in lines[: line - 1]) + column - 1


def _root(file: str, read_text: ReadText) -> SpanNode | None:
    return read_spans(read_text(file))
