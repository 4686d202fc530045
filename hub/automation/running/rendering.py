"""Templates in conditions: rendered with the caller's variables, or left alone where text is literal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hub.automation.contract import ConditionContext
from hub.template.native import as_bool


def render(asking: ConditionContext, value: Any, *, quote: Callable[[str], str] | None = None) -> Any:
    """Return a value with the templates in it rendered.

    Args:
        quote: What becomes of each text that a template puts in.

    Raises:
        HubError: A template cannot be rendered; the message names the line and the variable.
    """
    if not asking.templates:
        return value
    return asking.parts.templates.render_value(value, asking.variables, quote=quote)


def truth(value: Any) -> bool:
    """Whether a rendered value means yes: true, a number that is not 0, or one of true, yes, on, enable, 1."""
    return as_bool(value)
