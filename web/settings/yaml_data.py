"""Read typed YAML or JSON as a mapping."""

from __future__ import annotations

from typing import Any

from hub.config.edit import parse_value
from hub.config.spans import Tagged
from hub.core.errors import InvalidRequest


def data_of(text: str) -> dict[str, Any]:
    """Return the mapping that a text holds; nothing is an empty one.

    Raises:
        InvalidRequest: It is not YAML, or no mapping.
    """
    if not text.strip():
        return {}
    try:
        found = parse_value(text)
    except InvalidRequest as error:
        mark = getattr(error.__cause__, "problem_mark", None)
        problem = getattr(error.__cause__, "problem", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise InvalidRequest(f"this is neither YAML nor JSON{where}: {problem or error.message}") from error
    found = without_tags(found)
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise InvalidRequest("a mapping was expected, such as `entity_id: light.kitchen`")
    return found


def without_tags(value: Any, *, secrets: bool = False) -> Any:
    """Return data that holds no YAML tags.

    Args:
        secrets: Whether it may hold `!secret name`, which becomes the text that editors of automations read as one.

    Raises:
        InvalidRequest: There is a tag in it.
    """
    if isinstance(value, Tagged):
        if secrets and value.tag == "!secret" and isinstance(value.value, str):
            return f"!secret {value.value}"
        raise InvalidRequest(f"{value.tag} cannot be used here; put quotes around it if it is meant as text")
    if isinstance(value, dict):
        return {key: without_tags(each, secrets=secrets) for key, each in value.items()}
    return [without_tags(each, secrets=secrets) for each in value] if isinstance(value, list) else value
