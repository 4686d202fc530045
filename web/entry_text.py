"""One entry of a YAML mapping, itself a mapping, as a text of its own: what `hub.config.item_text` is for lists."""

from __future__ import annotations

from hub.config.edit import BYTE_ORDER_MARK, EditRefused
from hub.config.item_text import ItemText
from hub.config.paths import KeyPath, format_path
from hub.config.spans import Kind, find, read_spans
from hub.core.errors import NotFound


def entry_text(file_text: str, keys: KeyPath) -> ItemText:
    """Return the value of a key of a file, with its comments.

    Raises:
        InvalidRequest: The file is not YAML.
        EditRefused: It does not stand on lines of its own below its key.
        NotFound: There is no such key.
    """
    body = file_text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n")
    root = read_spans(body)
    node = find(root, keys) if root is not None else None
    holder = find(root, keys[:-1]) if root is not None and keys else None
    pair = holder.entry(str(keys[-1])) if holder is not None and holder.kind is Kind.MAPPING else None
    if node is None or pair is None:
        raise NotFound("the file does not hold this any more")
    before = body[body.rfind("\n", 0, node.start) + 1 : node.start]
    if node.kind is not Kind.MAPPING or node.flow or node.anchored or before.strip():
        raise EditRefused(f"{format_path(keys)} is written in a way that is left to a person; edit it in its file")
    end = _with_comments(body, node.end, pair[0].column)
    first, *rest = body[node.start : end].split("\n")
    lines = [line[node.column :] if not line[: node.column].strip() else line.lstrip(" ") for line in rest]
    text = "\n".join([first, *lines]).rstrip("\n") + "\n"
    return ItemText(text, keys, node.start, end, node.column, body.count("\n", 0, node.start) + 1)


def _with_comments(text: str, end: int, key_column: int) -> int:
    """Return the end of its last line, or of the comments below that are indented more than its key."""
    end = kept = _line_end(text, end)
    while end < len(text):
        stop = _line_end(text, end + 1)
        line = text[end + 1 : stop]
        bare = line.lstrip(" ")
        if bare.startswith("#") and len(line) - len(bare) > key_column:
            kept = stop
        elif bare.strip():
            return kept
        end = stop
    return kept


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
