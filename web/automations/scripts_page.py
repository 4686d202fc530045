"""Scripts: the list, running one and seeing its answer, its runs, and deleting it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import web

from hub.automation.editing.script_editor import ScriptEditor
from hub.automation.tracing.trace_store import TraceStore
from hub.core.errors import HubError, NotFound
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import ADMIN, WRITE, HttpCall
from web.automations.blueprint_form import BlueprintForm
from web.automations.entity_names import EntityNames
from web.automations.script_fields import script_form
from web.automations.trace_view import TraceView, outcome_chip, seconds_of
from web.core.form import read_fields, read_lists
from web.core.i18n import Catalogue, catalogue
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.suggestions import NameCatalog
from web.core.texts import AUTOMATION_STATES, STEP_STATES
from web.core.urls import script_place

PATH = "/scripts"
RUNS_LIMIT = 20
RECENT_LIMIT = 200
"""The number of traces read for the last outcomes."""
ANSWER_LIMIT_S = 20.0
"""How long a page waits for a script to end; it goes on behind it."""
TONES = {"on": "good", "off": "", "unavailable": "danger"}
ONE = Schema({Required("id"): All(string, Length(min=1, max=128))})


class ScriptsPage:
    """Pages and forms of the scripts.

    Args:
        client: Calls the methods for scripts.
        editor: Deletes them.
        traces: The traces of their runs.
        suggestions: The suggestions for fields.
        names: Names entities in sentences.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        editor: ScriptEditor,
        traces: TraceStore,
        suggestions: NameCatalog,
        names: EntityNames,
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._editor = editor
        self._traces = traces
        self._suggestions = suggestions
        self._view = TraceView(renderer, names, editor.kinds)

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /scripts`."""
        found = await self._client.ask(call, "script.list")
        data = {"scripts": await self._listed(found["scripts"]), "may_change": _may(call, ADMIN)}
        return await self._renderer.respond(call, RenderedPage("scripts", "Scripts", data, PATH))

    async def one(self, call: HttpCall) -> web.StreamResponse:
        """`GET /scripts/show?id=KEY[&run=ID]`: its form, its runs, and one of them in all its steps."""
        script = await self._found(call, call.request.query.get("id", ""))
        return await self._shown(call, script, script_form(script["fields"], self._suggestions))

    async def run(self, call: HttpCall) -> web.StreamResponse:
        """`POST /scripts/run`: run it with the fields of the form, and show its response."""
        fields = read_lists(call)
        script = await self._found(call, (fields.get("id") or [""])[-1])
        form = script_form(script["fields"], self._suggestions)
        words = self._words(call)
        data = form.take(fields, words)
        if form.has_errors:
            told = {"error": words.gettext("Some fields have errors.")}
            return await self._shown(call, script, form, told, status=422)
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                answer = await self._client.ask(call, "script.run", {"id": script["id"], "data": data})
        except TimeoutError:
            told = {"note": words.gettext("Still running; the result will appear below.")}
            return await self._shown(call, script, form, told)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._shown(call, script, form, {"error": error.message}, status=error.http_status)
        if wants_json(call.request):
            return json_response(answer)
        response = answer["response"]
        shown = json.dumps(response, ensure_ascii=False, indent=2, default=str) if response else ""
        return await self._shown(call, script, form, {"note": words.gettext("It ran."), "response": shown})

    async def delete(self, call: HttpCall) -> web.StreamResponse:
        """`POST /scripts/delete`: delete it from its file, after the page's confirmation."""
        key = read_fields(call, ONE)["id"]
        await self._editor.delete(key)
        return json_response({"id": key, "deleted": True}) if wants_json(call.request) else see_other(PATH)

    # --- below ---

    async def _listed(self, scripts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        outcomes: dict[str, Any] = {}
        for trace in await self._traces.recent(RECENT_LIMIT):
            outcomes.setdefault(str(trace.get("automation_id")), trace.get("outcome"))
        return [self._row(script, outcomes) for script in scripts]

    def _row(self, script: Mapping[str, Any], outcomes: Mapping[str, Any]) -> dict[str, Any]:
        seconds = seconds_of(script["last_triggered"])
        entity = script["entity_id"]
        return {
            **script,
            "state_text": AUTOMATION_STATES.get(script["state"], script["state"]),
            "tone": TONES.get(script["state"], ""),
            "last": outcome_chip(outcomes[entity]) if entity in outcomes else None,
            **self._view.moment(seconds),
            "path": script_place(script["id"]),
            "edit_path": f"{PATH}/edit?id={quote(script['id'], safe='')}",
        }

    async def _found(self, call: HttpCall, key: str) -> dict[str, Any]:
        found = await self._client.ask(call, "script.list")
        for script in found["scripts"]:
            if script["id"] == key:
                return dict(script)
        raise NotFound(f"there is no script {key[:128]}")

    async def _shown(
        self,
        call: HttpCall,
        script: Mapping[str, Any],
        form: BlueprintForm,
        told: Mapping[str, str] | None = None,
        *,
        status: int = 200,
    ) -> web.Response:
        traces = await self._traces.list(script["entity_id"], RUNS_LIMIT)
        runs = [self._run(script, each) for each in traces]
        wanted = call.request.query.get("run") or (runs[0]["run_id"] if runs else None)
        trace = None if wanted is None else self._view.trace(await self._traces.get(wanted))
        data = {
            "script": (await self._listed([script]))[0],
            "fields": [each for section in form.as_list() for each in section["fields"]],
            "told": {"error": "", "note": "", "response": "", **(told or {})},
            "runs": runs,
            "trace": trace,
            "file_path": None if wanted is None else f"/automations/trace-file?run={quote(wanted, safe='')}",
            "state_texts": STEP_STATES,
            "may_run": _may(call, WRITE),
            "may_change": _may(call, ADMIN),
        }
        return await self._renderer.respond(call, RenderedPage("script", "Script", data, PATH, status))

    def _run(self, script: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, Any]:
        run = self._view.run(trace)
        return {**run, "path": f"{script_place(script['id'])}&run={quote(run['run_id'], safe='')}"}

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the list."""
        found = await self._client.read("script.list")
        page = {"scripts": await self._listed(found["scripts"])}
        html = self._renderer.fragment("scripts", language, page=page)
        return ({"t": "html", "id": "scripts", "html": html},)

    def _words(self, call: HttpCall) -> Catalogue:
        return catalogue(self._renderer.preferences(call).language)


def _may(call: HttpCall, scope: str) -> bool:
    return call.known_caller.authority.has(scope)
