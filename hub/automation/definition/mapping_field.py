"""A mapping whose values may be templates, or one template that gives a mapping: data of services and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.definition.fields import dynamic, dynamic_text, is_template
from hub.core.errors import InvalidRequest
from hub.core.schema import Described, Invalid, show


def _mapping(value: Any) -> Any:
    if value is None:
        return None
    if is_template(value):
        return dynamic_text(value)
    if not isinstance(value, dict):
        raise Invalid(f"expected a mapping or a template of one, got {show(value)}")
    return dynamic({str(key): each for key, each in value.items()})


dynamic_mapping = Described(_mapping, {"type": ["object", "string", "null"]}, "mapping or template")


def merge(data: dict[str, Any], given: Any, key: str) -> None:
    """Merge in the rendered value of a `dynamic_mapping`.

    Raises:
        InvalidRequest: It is not a mapping.
    """
    if given is None or given == "":
        return
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"{key} is not a mapping, but {show(given)}")
    data.update(given)
