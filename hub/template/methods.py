"""`template.render`: the present result of a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.schema import All, Length, Optional, Required, Schema
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.gateway.calls.plain_data import as_json, plain_mapping
from hub.security.redaction import Redactor

if TYPE_CHECKING:
    from hub.automation.assembly import AutomationEngine

OWNER = "gateway"
TEXT_LIMIT = 16_384


class TemplateMethods:
    """The methods about templates. They need the scope of an administrator: templates see the owner's memory.

    Args:
        engine: Renders.
        redactor: Removes secrets from the result.
    """

    def __init__(self, engine: AutomationEngine, redactor: Redactor) -> None:
        self._engine = engine
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        render = Schema(
            {
                Required("template", description="The template."): All(str, Length(min=1, max=TEXT_LIMIT)),
                Optional("variables", default=dict, description="Its variables."): plain_mapping,
            }
        )
        return [Method("template.render", self._render, OWNER, render, ADMIN)]

    async def _render(self, call: MethodCall) -> Mapping[str, Any]:
        result = await self._engine.render(call.params["template"], call.params["variables"])
        kind = "none" if result is None else type(result).__name__
        return {"result": as_json(self._redactor.redact_data(result)), "type": kind}
