"""`automation.*`: list automations, run and switch them by hand, and show their runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.errors import Conflict
from hub.core.schema import All, AnyOf, Length, Optional, Range, Required, Schema, boolean, integer, string
from hub.core.surfaces import LARGE_FRAME_BYTES, READ, WRITE, Method, MethodCall
from hub.gateway.calls.acting import call_context
from hub.gateway.calls.plain_data import as_json, plain_mapping
from hub.security.redaction import Redactor

if TYPE_CHECKING:
    from hub.automation.assembly import AutomationEngine

OWNER = "gateway"
LISTED_LIMIT = 500
LISTED = 50
BATCH = 100
"""After so many the event loop gets a turn."""
NAME = All(string, Length(min=1, max=256))
ONE = Schema({Required("id", description="Its id, entity id or name."): NAME})
_LIMIT: Mapping[Any, Any] = {Optional("limit", default=LISTED): All(integer, Range(min=1, max=LISTED_LIMIT))}


class AutomationMethods:
    """The methods about automations and their traces.

    Args:
        engine: The engine.
        redactor: Removes secrets from displayed text.
    """

    def __init__(self, engine: AutomationEngine, redactor: Redactor) -> None:
        self._engine = engine
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        trigger = Schema(
            {
                **ONE.schema,
                Optional("variables", default=dict, description="Over its own."): plain_mapping,
                Optional("skip_conditions", default=True, description="Whatever its conditions say."): boolean,
            }
        )
        off = Schema({**ONE.schema, Optional("stop_runs", default=True, description="End what runs."): boolean})
        traces = Schema({**ONE.schema, **_LIMIT})
        some = Schema({Optional("id", description="Of this automation only."): AnyOf(None, NAME), **_LIMIT})
        run = Schema({Required("run_id"): NAME})
        import_ = Schema({Required("trace", description="What was exported."): plain_mapping})
        return [
            Method("automation.list", self._list, OWNER, Schema({}), READ),
            Method("automation.get", self._get, OWNER, ONE, READ),
            Method("automation.trigger", self._trigger, OWNER, trigger, WRITE, acts=True),
            Method("automation.on", self._on, OWNER, ONE, WRITE, acts=True),
            Method("automation.off", self._off, OWNER, off, WRITE, acts=True),
            Method("automation.resume", self._resume, OWNER, ONE, WRITE, acts=True),
            Method("automation.trace", self._traces, OWNER, traces, READ),
            Method("automation.trace.get", self._trace, OWNER, run, READ),
            Method("automation.trace.export", self._export, OWNER, run, READ),
            Method(
                "automation.trace.import", self._import, OWNER, import_, WRITE, acts=True, frame_limit=LARGE_FRAME_BYTES
            ),
            Method("automation.not_run", self._not_run, OWNER, some, READ),
            Method("automation.history", self._history, OWNER, Schema(dict(_LIMIT)), READ),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        listed: list[Mapping[str, Any]] = []
        for count, each in enumerate(self._engine.automations.all(), 1):
            listed.append(self._clean(each.as_dict()))
            if count % BATCH == 0:
                await asyncio.sleep(0)
        return {"automations": listed}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        automations, name = self._engine.automations, call.params["id"]
        status = automations.status(name)
        config = None if status.state == "unavailable" else automations.get(name).config
        source = automations.source(name)
        return {**status.as_dict(), **self._clean({"error": status.error, "source": source, "config": config})}

    async def _trigger(self, call: MethodCall) -> Mapping[str, Any]:
        name = call.params["id"]
        begun = await self._engine.automations.trigger(
            name, call.params["variables"], call_context(call), skip_conditions=call.params["skip_conditions"]
        )
        return {
            "id": self._engine.automations.status(name).id,
            "run_id": begun.run_id,
            "reason": None if begun.not_run is None else begun.not_run.value,
            "text": begun.text,
        }

    async def _on(self, call: MethodCall) -> Mapping[str, Any]:
        await self._engine.automations.get(call.params["id"]).turn_on()
        return self._status(call)

    async def _off(self, call: MethodCall) -> Mapping[str, Any]:
        await self._engine.automations.get(call.params["id"]).turn_off(stop_runs=call.params["stop_runs"])
        return self._status(call)

    async def _resume(self, call: MethodCall) -> Mapping[str, Any]:
        automation = self._engine.automations.get(call.params["id"])
        if automation.paused_reason is None:
            raise Conflict(f"the automation {automation.alias} has not paused itself")
        await automation.turn_on()
        return self._status(call)

    async def _traces(self, call: MethodCall) -> Mapping[str, Any]:
        return {"traces": await self._engine.traces.list(self._id(call.params["id"]), call.params["limit"])}

    async def _trace(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._engine.traces.get(call.params["run_id"])

    async def _export(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._engine.traces.export(call.params["run_id"])

    async def _import(self, call: MethodCall) -> Mapping[str, Any]:
        return {"run_id": await asyncio.to_thread(self._engine.traces.import_, call.params["trace"])}

    async def _not_run(self, call: MethodCall) -> Mapping[str, Any]:
        name = call.params.get("id")
        id = None if name is None else self._id(name)
        return {"entries": await self._engine.traces.not_run(id, call.params["limit"])}

    async def _history(self, call: MethodCall) -> Mapping[str, Any]:
        return {"runs": await self._engine.traces.recent(call.params["limit"])}

    # --- below ---

    def _status(self, call: MethodCall) -> Mapping[str, Any]:
        return self._clean(self._engine.automations.status(call.params["id"]).as_dict())

    def _id(self, name: str) -> str:
        """Return the id under which the traces of an automation or a script are stored."""
        return name if name.startswith("script.") else self._engine.automations.status(name).id

    def _clean(self, data: Mapping[str, Any]) -> dict[str, Any]:
        clean: dict[str, Any] = as_json(self._redactor.redact_data(data))
        return clean
