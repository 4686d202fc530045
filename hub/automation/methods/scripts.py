"""`script.list|get|run|stop`: scripts by name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import READ, WRITE, Method, MethodCall
from hub.gateway.calls.acting import call_context
from hub.gateway.calls.plain_data import as_json, plain_mapping
from hub.security.redaction import Redactor

if TYPE_CHECKING:
    from hub.automation.assembly import AutomationEngine
    from hub.automation.engine.script import Script

OWNER = "gateway"
DOMAIN = "script"
RUN_LIMIT_S = 3_600.0
"""How long a caller waits for a script at most; one that takes longer is begun without waiting."""

_NAME = All(string, Length(min=1, max=128))
_ONE: Mapping[Any, Any] = {Required("id", description="Its key or entity id."): _NAME}


class ScriptMethods:
    """The methods about scripts.

    Args:
        engine: The engine.
        redactor: Removes secrets from displayed text.
    """

    def __init__(self, engine: AutomationEngine, redactor: Redactor) -> None:
        self._engine = engine
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        run = Schema(
            {
                **_ONE,
                Optional("data", default=dict, description="Its fields."): plain_mapping,
                Optional("wait", default=True, description="Whether its end is waited for."): boolean,
            }
        )
        return [
            Method("script.list", self._list, OWNER, Schema({}), READ),
            Method("script.get", self._get, OWNER, Schema(dict(_ONE)), READ),
            Method("script.run", self._run, OWNER, run, WRITE, acts=True),
            Method("script.stop", self._stop, OWNER, Schema(dict(_ONE)), WRITE, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        scripts = self._engine.scripts
        shown = [_shown(script) for script in scripts.all()]
        shown += [_broken(key, error) for key, error in scripts.broken().items()]
        return {"scripts": self._clean(shown)}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        script = self._engine.scripts.get(call.params["id"])
        found: Mapping[str, Any] = self._clean({**_shown(script), "config": script.config})
        return found

    async def _run(self, call: MethodCall) -> Mapping[str, Any]:
        script, services = self._engine.scripts.get(call.params["id"]), self._engine.parts.services
        data = call.params["data"]
        if not call.params["wait"]:
            begin = {"entity_id": [script.entity_id], "variables": data}
            await services.call(DOMAIN, "turn_on", begin, context=call_context(call))
            return {"id": script.key, "response": None}
        answer = await services.call(
            DOMAIN, script.key, data, context=call_context(call), wants_response=True, timeout_s=RUN_LIMIT_S
        )
        return {"id": script.key, "response": self._clean(dict(answer or {}))}

    async def _stop(self, call: MethodCall) -> Mapping[str, Any]:
        script = self._engine.scripts.get(call.params["id"])
        await script.stop(phrase("it was turned off"))
        return _shown(script)

    def _clean(self, data: Any) -> Any:
        return as_json(self._redactor.redact_data(data))


def _shown(script: Script) -> dict[str, Any]:
    config, last = script.config, script.last_triggered
    return {
        "id": script.key,
        "alias": script.plan.alias,
        "entity_id": script.entity_id,
        "state": "on" if script.current else "off",
        "mode": config["mode"],
        "current": script.current,
        "last_triggered": None
        if last is None
        else datetime.fromtimestamp(last, UTC).isoformat(timespec="milliseconds"),
        "description": config.get("description") or "",
        "fields": {name: field or {} for name, field in config["fields"].items()},
        "expose": bool(config.get("expose")),
        "error": None,
    }


def _broken(key: str, error: str) -> dict[str, Any]:
    return {
        "id": key,
        "alias": key,
        "entity_id": f"{DOMAIN}.{key}",
        "state": "unavailable",
        "mode": "single",
        "current": 0,
        "last_triggered": None,
        "description": "",
        "fields": {},
        "expose": False,
        "error": error,
    }
