"""HOOK.md: reads its front matter. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.config.bounds import Budget
from hub.config.errors import ConfigError
from hub.config.marks import MarkOrigin
from hub.config.yaml_reader import YamlReader
from hub.core.errors import InvalidRequest
from hub.hooks.contract import HOOKS
from hub.hooks.registry import TIMEOUT_LIMIT_S

HOOK_FILE = "HOOK.md"
HANDLER_FILE = "handler.py"
FRONT_LIMIT_CHARACTERS = 8_000
VALUES_LIMIT = 200
DESCRIPTION_LIMIT = 500

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_KEYS = frozenset({"name", "description", "events", "priority", "timeout_s"})


class HookFile(Struct, frozen=True):
    """The front matter of a HOOK.md.

    Attributes:
        description: The purpose of the hook.
        events: The hooks that its handler.py has a function for.
        priority: Of all of them.
        timeout_s: How long one call may take; as each hook says without it.
    """

    description: str
    events: tuple[str, ...]
    priority: int = 0
    timeout_s: float | None = None


def read_hook(text: str, folder: str) -> HookFile:
    """Parse a HOOK.md.

    Raises:
        InvalidRequest: Its front matter is missing or not valid; the message names the field.
    """
    match = _FRONT.match(text)
    if match is None or len(match[1]) > FRONT_LIMIT_CHARACTERS:
        raise InvalidRequest(
            f"{HOOK_FILE} does not begin with front matter: description and events between lines of ---"
        )
    budget, errors = Budget(), list[ConfigError]()
    budget.values = VALUES_LIMIT
    said = YamlReader(MarkOrigin(HOOK_FILE), None, budget, errors, []).read(match[1])
    if errors or not isinstance(said, Mapping):
        raise InvalidRequest(f"the front matter of {HOOK_FILE} is not a YAML mapping")
    for key in said:
        if key not in _KEYS:
            raise InvalidRequest(f"{HOOK_FILE} has the field {str(key)[:40]!r}; there are {', '.join(sorted(_KEYS))}")
    if said.get("name", folder) != folder:
        raise InvalidRequest(
            f"the name in {HOOK_FILE} is {str(said['name'])[:80]!r}; expected that of its folder, {folder}"
        )
    description = said.get("description")
    if not isinstance(description, str) or not description.strip() or len(description) > DESCRIPTION_LIMIT:
        raise InvalidRequest(f"the description in {HOOK_FILE} is missing or too long; say in a line what the hook does")
    return HookFile(
        " ".join(description.split()),
        _events(said.get("events")),
        _number(said.get("priority", 0), "priority", int, -1_000, 1_000),
        _number(said["timeout_s"], "timeout_s", (int, float), 0.1, TIMEOUT_LIMIT_S) if "timeout_s" in said else None,
    )


def function_of(event: str) -> str:
    """Return the name of the function of handler.py for a hook."""
    return event.replace(":*", "").replace(":", "_")


def _events(said: Any) -> tuple[str, ...]:
    events = [said] if isinstance(said, str) else said
    if not isinstance(events, list | tuple) or not events:
        raise InvalidRequest(f"events in {HOOK_FILE} is missing; expected a list of hooks")
    for event in events:
        if event not in HOOKS:
            raise InvalidRequest(f"events in {HOOK_FILE} has {str(event)[:80]!r}; there are {', '.join(HOOKS)}")
    return tuple(dict.fromkeys(events))


def _number(said: Any, key: str, kind: Any, least: float, most: float) -> Any:
    if isinstance(said, bool) or not isinstance(said, kind) or not least <= said <= most:
        raise InvalidRequest(f"{key} in {HOOK_FILE} is {str(said)[:40]!r}; expected a number from {least} to {most:g}")
    return said
