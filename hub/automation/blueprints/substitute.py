"""`!input name` in a blueprint's file, and its replacement with values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.config.errors import TagError
from hub.config.marks import Mark, plain
from hub.config.paths import KeyPath

TAG = "!input"
NAME_LENGTH_LIMIT = 100


class Input(Struct, frozen=True):
    """The placeholder of an input's value."""

    name: str


class InputTags:
    """Resolves the tags of a blueprint's file: `!input`, and no other.

    Other tags (secrets, other files, environment variables) are not for a file that a stranger wrote.
    """

    def __init__(self) -> None:
        self.used: dict[str, tuple[Mark, KeyPath]] = {}
        """Where each input is used first."""

    def __call__(self, tag: str, value: Any, mark: Mark, keys: KeyPath) -> Input:
        """Return the placeholder for an input's value; see `hub.config.yaml_reader.TagResolver`."""
        if tag != TAG:
            raise TagError(f"the tag {tag} cannot be used in a blueprint", "make it an input, and use !input NAME")
        if keys[:1] == ("blueprint",):
            raise TagError("an input cannot be used in the description of the blueprint", "write the value itself")
        if not isinstance(value, str) or not 0 < len(value.strip()) <= NAME_LENGTH_LIMIT:
            raise TagError("!input is followed by the name of an input")
        name = value.strip()
        self.used.setdefault(name, (mark, keys))
        return Input(name)


def substitute(value: Any, inputs: Mapping[str, Any]) -> Any:
    """Return plain data with inputs replaced by their values; each place gets its own copy."""
    if isinstance(value, Input):
        return plain(inputs[value.name])
    if isinstance(value, dict):
        return {key: substitute(each, inputs) for key, each in value.items()}
    if isinstance(value, list):
        return [substitute(each, inputs) for each in value]
    return value


def input_on_the_way(root: Any, keys: KeyPath) -> tuple[str, KeyPath] | None:
    """Return the input whose value contains a path, and the rest of the path; None if it leads into no input."""
    value = root
    for depth, key in enumerate(keys):
        if isinstance(value, Input):
            return value.name, keys[depth:]
        if isinstance(value, dict) and key in value:
            value = value[str(key)]
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return (value.name, ()) if isinstance(value, Input) else None
