"""The fields of a script as a form, made from their selectors where they name one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.blueprints.selectors import SELECTOR_TEXT, read_selector
from hub.core.schema import Invalid
from web.automations.blueprint_form import BlueprintForm, FormSection
from web.automations.selector_fields import input_control
from web.core.suggestions import Suggestions

PREFIX = "field."
ANYTHING = "object"


def script_form(fields: Mapping[str, Mapping[str, Any]], suggestions: Suggestions) -> BlueprintForm:
    """Return the form that asks for the fields of a script.

    Args:
        fields: By name: name, description, required, default, example and selector, each if it has one.
    """
    controls = [input_control(PREFIX, field_of(key, field), suggestions) for key, field in fields.items()]
    return BlueprintForm([FormSection("", "", False, controls)])


def field_of(key: str, field: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field of a script or a service as `InputField.as_dict` has an input."""
    type, options = _selector(field)
    about = str(field.get("description") or "")
    example = field.get("example")
    return {
        "key": key,
        "name": str(field.get("name") or key),
        "description": f"{about} ({example})".strip() if example not in (None, "") else about,
        "required": bool(field.get("required")) and "default" not in field,
        "default": field.get("default"),
        "selector": {**options, "type": type},
    }


def _selector(field: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return kind and options of its selector; one without is text, unless its default is something else."""
    if field.get("selector") is None:
        return (SELECTOR_TEXT if isinstance(field.get("default"), (str, type(None))) else ANYTHING), {}
    try:
        return read_selector(field["selector"])
    except Invalid:
        return ANYTHING, {}
