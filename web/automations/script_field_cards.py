"""The fields of a script as cards of its form: what each is called, and how it is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.automation.definition.grammar import script_field_json
from hub.core.phrases import phrase
from web.automations.card_fields import card_control
from web.automations.form_kinds import FIELD
from web.automations.script_field_kinds import NUMBER, OPTIONS, TEXT
from web.core.form_fields import MISSING, Control

KEY = ":key"
"""Behind the path of a field, in the name of the box with its key."""
MARK = "field."
"""In front of the keys of these controls: their labels are others than those of steps."""
ABOUT_KEY = phrase("The steps use it by this name.")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
FIRST = ("description", "required")
LATER = ("example", "advanced")
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {"number": NUMBER, "boolean": {"type": "boolean"}, "object": {}}


def field_controls(path: str, kind: str, item: Any) -> tuple[list[Control], list[Control]]:
    """Return the controls of a field, and those rarely used.

    Args:
        path: Of the field: `fields.KEY`.
        kind: Its selector.
        item: The field as written.
    """
    given: Mapping[str, Any] = item or {}
    options: Mapping[str, Any] = (given.get("selector") or {}).get(kind) or {}
    known = dict(script_field_json())
    known["default"] = {**_DEFAULTS.get(kind, TEXT), "description": known["default"]["description"]}
    below = f"{path}.selector.{kind}"
    first = [
        _control(path, "name", known["name"], given),
        Control(path + KEY, f"{MARK}key", "text", path.rpartition(".")[2], description=ABOUT_KEY, required=True),
        *(_control(path, each, known[each], given) for each in FIRST),
        *(_control(below, each, OPTIONS[kind].get(each, {}), options) for each in {**OPTIONS[kind], **options}),
        _control(path, "default", known["default"], given),
    ]
    return first, [_control(path, each, known[each], given) for each in LATER]


def _control(path: str, key: str, schema: Mapping[str, Any], given: Mapping[str, Any]) -> Control:
    found = card_control((FIELD, ""), f"{path}.{key}", key, schema, given.get(key, MISSING), required=False)
    return replace(found, key=MARK + key)
