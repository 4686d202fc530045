"""Paths of keys in the configuration: `automation[0].triggers[1].at`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hub.core.errors import InvalidRequest

Key = str | int
KeyPath = tuple[Key, ...]

PATH_LENGTH_LIMIT = 1_000

_PLAIN = re.compile(r"[^\s.\[\]\"]+")
_TOKEN = re.compile(r"\[(\d{1,9})\]|\[\"((?:[^\"\\]|\\.)*)\"\]|\.?([^\s.\[\]\"]+)")


def format_path(keys: Iterable[Key]) -> str:
    """Return keys and list indexes as one path; a key that is not a plain word is written `["like this"]`."""
    shown = ""
    for key in keys:
        if isinstance(key, int):
            shown += f"[{key}]"
        elif _PLAIN.fullmatch(key):
            shown += f".{key}" if shown else key
        else:
            escaped = key.replace("\\", "\\\\").replace('"', '\\"')
            shown += f'["{escaped}"]'
    return shown


def parse_path(path: str) -> KeyPath:
    """Return the keys of a path as `format_path` writes it.

    Raises:
        InvalidRequest: It is malformed or longer than 1 000 characters.
    """
    if len(path) > PATH_LENGTH_LIMIT:
        raise InvalidRequest(f"a path of keys has at most {PATH_LENGTH_LIMIT} characters")
    keys: list[Key] = []
    position = 0
    while position < len(path):
        match = _TOKEN.match(path, position)
        if match is None or (position == 0 and path[0] == "."):
            raise InvalidRequest(f"{path!r} is not a path of keys such as agents[0].model")
        index, quoted, plain = match.groups()
        if index is not None:
            keys.append(int(index))
        elif quoted is not None:
            keys.append(re.sub(r"\\(.)", r"\1", quoted))
        else:
            if position and path[position] != ".":
                raise InvalidRequest(f"{path!r} is not a path of keys such as agents[0].model")
            keys.append(plain)
        position = match.end()
    return tuple(keys)
