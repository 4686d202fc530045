"""One automation: explained in plain words, run, tried out, and tested against the past; its runs and traces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson
from aiohttp import web

from hub.automation.engine.automations import Automations
from hub.automation.engine.parts import AutomationParts
from hub.automation.tracing.trace_store import TraceStore
from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.secret import SecretMask
from hub.core.surfaces import HttpCall
from web.automations.card_words import clause_of
from web.automations.form_kinds import ACTION
from web.automations.form_texts import KIND_NAMES
from web.automations.list_page import ID, PATH, AutomationsPage, back_to, rights_of
from web.automations.trace_view import TraceView, automation_path, pretty, seconds_of
from web.core.form import read_fields, read_lists
from web.core.i18n import catalogue
from web.core.live import Frame
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import NOT_RUN_REASONS, STEP_STATES
from web.core.urls import AUTOMATION_READ_TOPIC

LATEST = 14
RUNS_LIMIT = 100
SPANS = {"1d": 86_400.0, "7d": 604_800.0, "30d": 2_592_000.0}
VARIABLES = All(string, Length(max=20_000))
RUN = Schema(
    {
        Required("id"): ID,
        Optional("variables"): VARIABLES,
        Optional("conditions"): string,
        Optional("back"): All(string, Length(max=500)),
    }
)
TRACE_LIMIT = 200_000
ONE = Schema({Required("id"): ID})

Duplicate = Callable[[str], Awaitable[str]]
Delete = Callable[[str], Awaitable[None]]


class AutomationPage:
    """Pages and forms of one automation.

    Args:
        list_page: Shows its state as the list does.
        parts: The dependencies of trials; nothing of them is changed.
        redact: Takes secrets out of plain data.
        duplicate: Writes a copy into the files; returns its id.
        delete: Takes one out of the files.
    """

    def __init__(
        self,
        renderer: Renderer,
        list_page: AutomationsPage,
        automations: Automations,
        traces: TraceStore,
        parts: AutomationParts,
        *,
        redact: Callable[[Any], Any],
        duplicate: Duplicate,
        delete: Delete,
    ) -> None:
        self._renderer = renderer
        self._list_page = list_page
        self._automations = automations
        self._traces = traces
        self._parts = parts
        self._names = list_page.names
        self._redact = redact
        self._duplicate = duplicate
        self._delete = delete
        self._view = TraceView(renderer, list_page.names, parts.kinds)

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /automations/{id}[?test=TRIGGER&variables=JSON][?since=7d]`: with a trial run or a backtest."""
        id = self._id(call)
        rights = rights_of(call)
        data = await self._data(id, self._renderer.preferences(call).language) | rights
        data["topic"] = f"automation:{id}" if rights["may_run"] else f"{AUTOMATION_READ_TOPIC}:{id}"
        test, since = call.request.query.get("test"), call.request.query.get("since")
        data["variables"] = call.request.query.get("variables", "")[:20_000]
        data["tested"] = None if test is None else self._redact(await self._test(id, test, data["variables"]))
        data["backtested"] = None if since is None else self._redact(await self._backtest(id, since))
        return await self._renderer.respond(
            call, RenderedPage("automation", str(data["automation"]["alias"]), data, PATH)
        )

    async def traces(self, call: HttpCall) -> web.StreamResponse:
        """`GET /automations/{id}/traces[?run=ID]`: its runs, one of them in detail, and firings without a run."""
        status = self._automations.status(self._id(call))
        runs = [self._view.run(each) for each in await self._traces.list(status.id, RUNS_LIMIT)]
        wanted = call.request.query.get("run") or (runs[0]["run_id"] if runs else None)
        trace = None if wanted is None else self._view.trace(await self._traces.get(wanted))
        data = {
            "automation": self._list_page.status(status),
            "runs": runs,
            "trace": trace,
            "file_path": None if wanted is None else f"{PATH}/trace-file?run={quote(wanted, safe='')}",
            "not_run": [self._view.not_run(each) for each in await self._traces.not_run(status.id, RUNS_LIMIT)],
            "topic": f"automation-runs:{status.id}",
            "state_texts": STEP_STATES,
        }
        return await self._renderer.respond(
            call, RenderedPage("automation_traces", status.alias, data | rights_of(call), PATH)
        )

    async def trace_file(self, call: HttpCall) -> web.StreamResponse:
        """`GET /automations/trace-file?run=ID`: a trace as a file."""
        run_id = call.request.query.get("run", "")
        data = await self._traces.export(run_id)
        name = "".join(each for each in run_id if each.isalnum() or each in "-_")[:64]
        response = json_response(data)
        response.headers["Content-Disposition"] = f'attachment; filename="trace-{name}.json"'
        return response

    async def import_trace(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/import-trace`: import a downloaded trace."""
        fields = read_lists(call)
        text, id = (fields.get(name, [""])[-1] for name in ("trace", "id"))
        if not text.strip() or len(text) > TRACE_LIMIT:
            raise InvalidRequest("choose the file of a trace that was downloaded")
        try:
            data = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InvalidRequest(f"the trace is not JSON: {error}") from error
        run_id = self._traces.import_(data)
        owner = str(data["trace"]["automation_id"])
        known = owner if any(each.id == owner for each in self._automations.all()) else id
        path = automation_path(known, f"/traces?run={quote(run_id, safe='')}")
        return json_response({"run_id": run_id, "path": path}) if wants_json(call.request) else see_other(path)

    async def run(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/run`: run it now; its conditions are checked only on request."""
        fields = read_fields(call, RUN)
        automation = self._automations.get(fields["id"])
        begun = await automation.trigger(
            _variables(fields.get("variables", "")),
            call.context(),
            skip_conditions="conditions" not in fields,
        )
        if wants_json(call.request):
            reason = begun.not_run.value if begun.not_run is not None else None
            return json_response({"run_id": begun.run_id, "not_run": reason, "text": begun.text})
        if begun.run_id is None:
            return see_other(automation_path(automation.id, "/traces#not-run"))
        return see_other(back_to(fields.get("back"), automation.id))

    async def duplicate(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/duplicate`: save a copy, turned off, and open it."""
        id = await self._duplicate(read_fields(call, ONE)["id"])
        path = automation_path(id, "/edit")
        return json_response({"id": id}) if wants_json(call.request) else see_other(path)

    async def delete(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/delete`: delete it from its file, after the page's confirmation."""
        id = read_fields(call, ONE)["id"]
        await self._delete(self._automations.status(id).id)
        return json_response({"deleted": id}) if wants_json(call.request) else see_other(PATH)

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frames that show the state and the runs of the automation of a live topic, `automation:<id>`.

        Viewers who may only read watch `automation-read:<id>`, which has no buttons.
        """
        kind, _, id = topic.partition(":")
        data = await self._data(id, language) | {"may_run": kind != AUTOMATION_READ_TOPIC, "topic": topic}
        return [
            {"t": "html", "id": name, "html": self._renderer.fragment(name.replace("-", "_"), language, page=data)}
            for name in ("automation-state", "automation-runs")
        ]

    async def runs_state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the runs of the automation of a live topic, `automation-runs:<id>`."""
        id = topic.partition(":")[2]
        runs = [self._view.run(each) for each in await self._traces.list(id, RUNS_LIMIT)]
        html = self._renderer.fragment("trace_runs", language, page={"topic": topic, "runs": runs})
        return ({"t": "html", "id": "trace-runs", "html": html},)

    # --- inside ---

    def _id(self, call: HttpCall) -> str:
        return self._automations.status(call.params["id"]).id

    async def _data(self, id: str, language: str) -> dict[str, Any]:
        status = self._automations.status(id)
        runs = [self._view.run(each) for each in await self._traces.list(id, LATEST)]
        words, triggers = "", []
        if status.state != "unavailable":
            from hub.automation.definition.explain import explain

            config = SecretMask(self._automations.get(id).config).data
            with self._parts.kinds.in_use():
                told = explain(config, catalogue(language).gettext)
            words = self._names.with_names(told.removeprefix(f"{status.alias}\n"))  # the page's heading
            triggers = [_trigger(each) for each in config["triggers"]]
        return {
            "automation": self._list_page.status(status),
            "sentence": self._list_page.sentence(id, language),
            "words": self._redact(words),
            "triggers": triggers,
            "runs": runs,
            "not_run": [self._view.not_run(each) for each in await self._traces.not_run(id, LATEST)],
            "spans": list(SPANS),
        }

    async def _test(self, id: str, trigger: str, variables: str) -> dict[str, Any]:
        from hub.automation.trial.simulation import simulate

        automation = self._automations.get(id)
        try:
            found = await simulate(
                automation.config, self._parts, trigger or None, variables=_variables(variables), skip_conditions=False
            )
        except HubError as error:
            return {"failure": error.message}
        return dict(found) | {
            "failure": None,
            "trigger": trigger,
            "reason_text": NOT_RUN_REASONS.get(str(found.get("not_run")), ""),
            "reason": self._names.with_names(found.get("reason") or ""),
            "calls": [self._call(each) for each in found["calls"]],
        }

    async def _backtest(self, id: str, since: str) -> dict[str, Any]:
        if since not in SPANS:
            raise InvalidRequest(f"`since`: expected one of {', '.join(SPANS)}")
        from hub.automation.trial.backtest import backtest

        automation = self._automations.get(id)
        now = self._parts.clock.time()
        try:
            found = await backtest(automation.config, self._parts, now - SPANS[since], now)
        except HubError as error:
            return {"failure": error.message}
        return dict(found) | {
            "failure": None,
            "span": since,
            "runs": [
                self._past(each) | {"calls": [self._call(one) for one in each["calls"]]} for each in found["runs"]
            ],
            "not_run": [self._past(each) for each in found["not_run"]],
        }

    def _past(self, each: Mapping[str, Any]) -> dict[str, Any]:
        when = each.get("time")
        seconds = float(when) if isinstance(when, (int, float)) else seconds_of(when)
        reason = str(each.get("reason") or "")
        trigger = each.get("trigger")
        return self._view.moment(seconds) | {
            "trigger": self._view.fired(trigger, seconds),
            "reason_text": NOT_RUN_REASONS.get(reason, reason),
            "text": each.get("text") or "",
        }

    def _call(self, call: Mapping[str, Any]) -> dict[str, str]:
        action = {"action": call["service"], "data": call.get("data") or {}}
        said = self._names.with_names(clause_of(ACTION, action)) or str(call["service"])
        return {
            "path": str(call["path"]),
            "said": said,
            "service": str(call["service"]),
            "data": pretty(call.get("data")),
        }


def _trigger(config: Mapping[str, Any]) -> dict[str, str]:
    index = str(config.get("index", "0"))
    return {
        "value": str(config.get("id") or index),
        "text": str(config.get("alias") or KIND_NAMES.get(config["trigger"], config["trigger"])),
    }


def _variables(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the variables are not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidRequest('the variables are not a JSON object such as {"name": "value"}')
    return found
