"""Preview of a template: its result, the entities it reads, and its errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hub.core.errors import HubError, InvalidRequest
from hub.gateway.calls.plain_data import as_json
from hub.security.redaction import Redactor
from hub.template.contract import NeedsWaiting, RenderInfo, TemplateFailed
from hub.template.engine import TemplateEngine
from web.settings.yaml_data import data_of

TEXT_LIMIT = 16_384
RESULT_LIMIT = 50_000
LISTED_LIMIT = 100


class TemplatePreview:
    """Renders templates for those who write them.

    Args:
        templates: Renders.
        redactor: Removes secrets from the result.
    """

    def __init__(self, templates: TemplateEngine, redactor: Redactor) -> None:
        self._templates = templates
        self._redactor = redactor

    async def render(self, text: str, variables: str) -> dict[str, Any]:
        """Return the result and its type, or the error and its line; and its dependencies.

        Args:
            variables: Its variables, as YAML.
        """
        shown: dict[str, Any] = {"result": "", "type": "", "error": "", "line": 0, "looks": None}
        try:
            if len(text) > TEXT_LIMIT:
                raise InvalidRequest(f"a template has at most {TEXT_LIMIT} characters here")
            value, info = await self._render(text, data_of(variables))
        except TemplateFailed as error:
            return {**shown, "error": self._redactor.redact(error.reason), "line": error.line}
        except HubError as error:
            return {**shown, "error": self._redactor.redact(error.message)}
        clean = self._redactor.redact_data(as_json(value))
        result = clean if isinstance(clean, str) else json.dumps(clean, ensure_ascii=False, indent=2)
        kind = "none" if value is None else type(value).__name__
        return {**shown, "result": result[:RESULT_LIMIT], "type": kind, "looks": None if info is None else _looks(info)}

    async def _render(self, text: str, variables: Mapping[str, Any]) -> tuple[Any, RenderInfo | None]:
        template = self._templates.compile(text)
        try:
            return template.render_info(variables)
        except NeedsWaiting:
            pass
        return await self._templates.render_async(template, variables), None


def _looks(info: RenderInfo) -> dict[str, Any]:
    return {
        "entities": sorted(info.entities)[:LISTED_LIMIT],
        "domains": sorted(info.domains)[:LISTED_LIMIT],
        "all_states": info.all_states,
        "uses_time": info.uses_time,
    }
