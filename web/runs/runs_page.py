"""The pages of runs: a list with filters, and one run from the message to the reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.gateway.calls.method_table import IDEMPOTENCY_KEY
from hub.sessions.keys import SessionKey, SessionKind
from web.core.form import read_fields
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import APPROVAL_STATES, MESSAGE_STATES, RUN_STATES
from web.runs.run_view import (
    CHART_HEIGHT,
    CHART_WIDTH,
    GOING_ON,
    PATH,
    bars,
    shown_run,
    shown_side,
    shown_step,
    shown_subagent,
)

STOP = Schema({Required("id"): All(string, Length(min=1, max=256))})
REPLAY = Schema({Required(name): All(string, Length(min=1, max=256)) for name in ("run", "model")})
FILTERS = {"agent": "agentId", "session": "sessionKey", "state": "state"}
"""The fields of the form, by what `runs.list` calls them."""


class RunsPage:
    """The pages, for owners.

    Args:
        client: Where runs are asked for.
        title: Returns the name of a conversation, or None.
        pulse: Told when runs change.
    """

    def __init__(
        self, renderer: Renderer, client: MethodClient, title: Callable[[str], str | None], pulse: PagePulse
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._title = title
        self._pulse = pulse

    async def list(self, call: HttpCall) -> web.StreamResponse:
        """`GET /runs[?agent=…&session=…&state=…&before=…]`: the runs, newest first."""
        query = call.request.query
        chosen = {field: query[field] for field in FILTERS if query.get(field)}
        asked: dict[str, Any] = {FILTERS[field]: value for field, value in chosen.items()}
        if query.get("before", "").isdecimal():
            asked["before"] = int(query["before"])
        revision = self._pulse.revision
        found = await self._client.ask(call, "runs.list", asked)
        subagents, parent = [], asked.get("sessionKey")
        if not asked.keys() - {"sessionKey"}:
            subagents = (await self._client.ask(call, "subagents.list"))["subagents"]
        agents = (await self._client.ask(call, "agents.list"))["agents"]
        data = {
            "subagents": [self._subagent(each) for each in subagents if parent in (None, each["requesterKey"])],
            "whole": not asked,
            "runs": [self._row(each) for each in found["runs"]],
            "older": f"{PATH}?{urlencode({**chosen, 'before': found['next']})}" if found["next"] else None,
            "chosen": chosen,
            "session_title": self._title(chosen["session"]) if "session" in chosen else None,
            "agents": [each["id"] for each in agents],
            "states": RUN_STATES,
            "topic": self._pulse.topic,
            "revision": revision,
        }
        return await self._renderer.respond(call, RenderedPage("runs", "Runs", data, PATH))

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /runs/show?run=…`: one run."""
        return await self._show(call, call.request.query.get("run", ""))

    async def stop(self, call: HttpCall) -> web.StreamResponse:
        """`POST /runs/stop`: stop a subagent and those below it."""
        stopped = await self._client.ask(call, "subagents.kill", read_fields(call, STOP))
        return json_response(stopped) if wants_json(call.request) else see_other(PATH)

    async def replay(self, call: HttpCall) -> web.StreamResponse:
        """`POST /runs/replay`: replay a run with another model; the page then shows both answers side by side."""
        fields = read_fields(call, REPLAY)
        asked = {"runId": fields["run"], "model": fields["model"], IDEMPOTENCY_KEY: new_id()}
        try:
            sides = await self._client.ask(call, "runs.replay", asked)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, fields["run"], refused=error.message)
        if wants_json(call.request):
            return json_response(sides)
        compared = [shown_side(sides[name]) for name in ("original", "replay")]
        return await self._show(call, fields["run"], compared=compared)

    async def _show(self, call: HttpCall, run_id: str, **more: Any) -> web.StreamResponse:
        revision = self._pulse.revision
        run = await self._client.ask(call, "runs.get", {"runId": run_id})
        going_on = run["state"] in GOING_ON
        models = [] if going_on else (await self._client.ask(call, "models.list"))["models"]
        data = {
            "run": {**self._row(run), "reply": run["reply"], "prompt": run["prompt"], "dropped": run["dropped"]},
            "traced": run["traced"],
            "steps": [shown_step(each, self._moment) for each in run["steps"]],
            "bars": bars(run["steps"]),
            "width": CHART_WIDTH,
            "height": CHART_HEIGHT,
            "going_on": going_on,
            "models": sorted(each["ref"] for each in models),
            "compared": [],
            "refused": "",
            "approval_states": APPROVAL_STATES,
            "message_states": MESSAGE_STATES,
            "topic": self._pulse.topic,
            "revision": revision,
            **more,
        }
        return await self._renderer.respond(call, RenderedPage("run", "Run", data, PATH))

    def _row(self, run: dict[str, Any]) -> dict[str, Any]:
        key = run["sessionKey"]
        return {
            **shown_run(run, self._moment),
            "session_title": self._title(key),
            "is_main": SessionKey.parse(key).kind is SessionKind.MAIN,
            "session_path": f"/chat?{urlencode({'session': key})}",
            "same_session": f"{PATH}?{urlencode({'session': key})}",
        }

    def _subagent(self, each: dict[str, Any]) -> dict[str, Any]:
        key = each["requesterKey"]
        named = {"parent": self._title(key), "is_main": SessionKey.parse(key).kind is SessionKind.MAIN}
        return {**shown_subagent(each, self._moment), **named, "parent_path": f"/chat?{urlencode({'session': key})}"}

    def _moment(self, ts_ms: int | None) -> dict[str, str]:
        return {"when": self._renderer.when(ts_ms, seconds=True), "iso": self._renderer.iso(ts_ms)}
