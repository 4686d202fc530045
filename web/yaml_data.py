"""What somebody typed as YAML or JSON, as a mapping."""

from __future__ import annotations

from typing import Any

from hub.config.edit import parse_value
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
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise InvalidRequest("a mapping was expected, such as `entity_id: light.kitchen`")
    return found
