"""One happening whole: where the time went, what happened, and why; and its actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import HubError, InvalidRequest
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.gateway.calls.method_table import IDEMPOTENCY_KEY
from web.automations.trace_graph import step_id
from web.automations.trace_view import TraceView, pretty
from web.core.form import read_fields
from web.core.formats import model_name, size_text
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import HAPPENING_FACTS, STEP_FACTS, STEP_STATES, STEP_TEXTS
from web.core.tool_texts import tool_title
from web.entities.home_tiles import ONE_PATH as ENTITIES
from web.entities.tiles import icon_of, state_phrase
from web.timeline.happening_view import PATH, HappeningView, cost, happening_path, list_path, took
from web.timeline.pictures import KeptPictures

_ID = All(string, Length(min=1, max=256))
ONE = Schema({Required("id"): _ID})
ASK = Schema({Required("id"): _ID, Required("model"): _ID})
SERIES = {"queue": 5, "model": 1, "tool": 2, "action": 2, "send": 3, "approval": 4}
"""The colours of lanes, by what they are."""
LEAST_LANE = 0.6
AXIS_PARTS = 4
LEAST_STEP_MS = 1_000
"""A step of an automation that took less than this took no time to speak of."""
LATELY = 8
"""So many changes of a device stand beside the one that is shown."""
STEP_ICONS = {
    "message": "message-circle",
    "model": "sparkles",
    "tool": "wrench",
    "condition": "list-checks",
    "action": "play",
    "approval": "shield-check",
    "send": "send",
    "note": "info",
    "conversation": "message-circle",
    "automation": "zap",
    "reminder": "bell",
    "device": "lightbulb",
    "trigger": "zap",
    "terminal": "terminal",
    "globe": "globe",
    "file": "file",
    "brain": "brain",
    "clock": "clock",
    "lamp": "lightbulb",
    "zap": "zap",
}

Plain = Mapping[str, Any]


class HappeningPage:
    """The page, for owners.

    Args:
        client: Calls the methods for happenings and their actions.
        pulse: Counts changes of the timeline.
        pictures: What was seen in happenings.
        traces: Draws the graph of an automation's run.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        view: HappeningView,
        pulse: PagePulse,
        pictures: KeptPictures,
        traces: TraceView,
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._view = view
        self._pulse = pulse
        self._pictures = pictures
        self._traces = traces

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /timeline/{id}`: one happening; `/timeline/run?run=ID` is where its page was before."""
        if call.params["id"] == "run":
            return see_other(happening_path(f"run.{call.request.query.get('run', '')}"))
        return await self._show(call, call.params["id"])

    async def file(self, call: HttpCall) -> web.StreamResponse:
        """`GET /timeline/{id}/file`: its stored records, as a file."""
        told = await self._get(call, call.params["id"])
        kept = _action(told, "download")
        response = json_response(await self._client.ask(call, kept["method"], kept["params"]) if kept else told)
        name = "".join(each for each in call.params["id"] if each.isalnum() or each in "-_.")[:80]
        response.headers["Content-Disposition"] = f'attachment; filename="{name}.json"'
        return response

    async def picture(self, call: HttpCall) -> web.StreamResponse:
        """`GET /timeline/{id}/picture/{number}`: a picture or a film of it."""
        told = await self._get(call, call.params["id"])
        return await self._pictures.answer(call, told["happening"]["pictures"])

    async def sent(self, call: HttpCall) -> web.StreamResponse:
        """`GET /timeline/{id}/sent[?call=N]`: what a model was sent in one of a run's calls."""
        number = call.request.query.get("call", "0")
        if not number.isdecimal() or len(number) > 3:
            raise InvalidRequest("`call`: expected the number of a model call, from 0")
        run_id = call.params["id"].removeprefix("run.")
        found = await self._client.ask(call, "runs.sent", {"runId": run_id, "call": int(number)})
        for tool in found["tools"]:
            tool["parameters"] = pretty(tool["parameters"])
        path = happening_path(call.params["id"])
        calls = [{"path": f"{path}/sent?call={at}", "title": str(at + 1)} for at in range(found["calls"])]
        data = {**found, **self._view.moment(found["at"]), "happening": path, "choices": calls}
        return await self._renderer.respond(
            call, RenderedPage("sent", "What the model was sent", data, PATH, secret=True)
        )

    async def again(self, call: HttpCall) -> web.StreamResponse:
        """`POST /timeline/again`: ask the same again, or run the automation again; leads to what that began."""
        told = await self._get(call, read_fields(call, ONE)["id"])
        wanted = _action(told, "run_again") or _action(told, "run_anyway")
        if wanted is None or not _is_theirs(told, call):
            raise InvalidRequest("this cannot be run again; only your own messages and automations can")
        if wanted["method"] == "chat.send":
            begun = await self._client.ask(call, "chat.send", {**wanted["params"], IDEMPOTENCY_KEY: new_id()})
            path = happening_path(f"run.{begun['runId']}")
        else:
            begun = await self._client.ask(call, wanted["method"], wanted["params"])
            ran = begun.get("run_id")
            path = happening_path(f"automation.{ran}") if ran else list_path(automation=wanted["params"]["id"])
        return json_response(begun) if wants_json(call.request) else see_other(path)

    async def ask(self, call: HttpCall) -> web.StreamResponse:
        """`POST /timeline/ask`: ask another model the same as a run; the page then shows both answers side by side."""
        fields = read_fields(call, ASK)
        run_id = fields["id"].partition(".")[2]
        asked = {"runId": run_id, "model": fields["model"], IDEMPOTENCY_KEY: new_id()}
        try:
            sides = await self._client.ask(call, "runs.replay", asked)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, fields["id"], refused=error.message)
        if wants_json(call.request):
            return json_response(sides)
        return await self._show(call, fields["id"], compared=[_side(sides[each]) for each in ("original", "replay")])

    async def stop(self, call: HttpCall) -> web.StreamResponse:
        """`POST /timeline/stop`: stop a subagent and those below it."""
        stopped = await self._client.ask(call, "subagents.kill", read_fields(call, ONE))
        return json_response(stopped) if wants_json(call.request) else see_other(PATH)

    # --- inside ---

    async def _get(self, call: HttpCall, id: str) -> dict[str, Any]:
        told: dict[str, Any] = await self._client.ask(call, "timeline.get", {"id": id})
        return told

    async def _show(self, call: HttpCall, id: str, **more: Any) -> web.StreamResponse:
        revision = self._pulse.revision
        told = await self._get(call, id)
        happening = told["happening"]
        row = self._view.row(happening)
        may = {each["do"] for each in told["actions"]} - (set() if _is_theirs(told, call) else {"run_again"})
        models = (await self._client.ask(call, "models.list"))["models"] if "ask_another_model" in may else []
        exact = happening["kind"] not in ("device", "automation", "reminder") or _is_quick(told["steps"])
        steps = [self._step(each, at, happening, seconds=exact) for at, each in enumerate(told["steps"])]
        _thin(steps)
        if happening["kind"] == "conversation":
            for number, step in enumerate(each for each in steps if each["kind"] == "model"):
                step["sent"] = f"{row['path']}/sent?call={number}"
        seen = (await self._pictures.shown([happening], happening_path)).get(happening["id"], [])
        for step, found in zip(steps, told["steps"], strict=True):
            numbers = found["data"].get("pictures") or ()
            step["pictures"] = [seen[each] for each in numbers if seen[each]["src"]]
        key = happening["sessionKey"]
        data = {
            "row": {**row, **self._view.moment(happening["at"], seconds=happening["kind"] == "conversation")},
            "device": await self._device(call, told),
            "session_path": f"/chat?{urlencode({'session': key})}" if key and happening["kind"] != "approval" else "",
            "automation_path": list_path(automation=happening["automationId"]),
            "facts": list(_facts(told["facts"])),
            "lanes": list(self._lanes(told)),
            "axis": _axis(told["axis"]["lengthMs"]),
            "steps": steps,
            "graph": await self._graph(call, told, steps),
            "state_texts": STEP_STATES,
            "led_to": [self._view.cause(each, happening["at"]) for each in told["why"]["caused"]],
            "led_by": [self._view.cause(each, happening["at"]) for each in told["why"]["causedBy"]],
            "may": sorted(may),
            "models": sorted(
                ((each["ref"], str(each.get("name") or each["id"])) for each in models), key=lambda each: each[1]
            ),
            "stop": await self._stoppable(call, happening) if row["going_on"] else "",
            "compared": [],
            "refused": "",
            "topic": self._pulse.topic,
            "revision": revision,
            **more,
        }
        gettext = catalogue(self._renderer.preferences(call).language).gettext
        data["text"] = "\n".join(_as_text(data, gettext))
        return await self._renderer.respond(call, RenderedPage("happening", row["title"], data, PATH))

    async def _device(self, call: HttpCall, told: Plain) -> dict[str, Any] | None:
        """Return what a device was and became, for how long, its room, and what else it did; None for other kinds."""
        happening, facts = told["happening"], told["facts"]
        if happening["kind"] != "device":
            return None
        asked = {"kind": ["device"], "entityId": happening["entityId"], "limit": LATELY}
        lately = (await self._client.ask(call, "timeline.list", asked))["happenings"]
        listed = (await self._client.ask(call, "entities.list"))["entities"]
        entity = next((each for each in listed if each["entity_id"] == happening["entityId"]), None)
        known = entity or {"domain": happening["entityId"].partition(".")[0], "unit": None, "icon": None}
        known = {**known, "device_class": facts["attributes"].get("device_class") or known.get("device_class")}
        before = state_phrase({**known, "state": facts["before"]}, {})
        after = state_phrase({**known, "state": facts["state"]}, facts["attributes"])
        held, lasted = (
            "" if each is None else phrase("for {time}", time=took(each))
            for each in (facts["beforeMs"], facts["stateMs"])
        )
        stats = [(phrase("It was"), before, held), (phrase("It became"), after, lasted or phrase("since then"))]
        if entity is not None and entity["area"]:
            stats.append((phrase("Room"), entity["area"], ""))
        return {
            "icon": icon_of({**known, "state": facts["state"], "entity_id": happening["entityId"]}),
            "path": f"{ENTITIES}?{urlencode({'entity': happening['entityId']})}" if entity is not None else "",
            "all": list_path(kind="device", entity=happening["entityId"]),
            "stats": stats,
            "lately": [self._lately(each) for each in lately],
        }

    def _lately(self, row: Plain) -> dict[str, Any]:
        shown = self._view.row(row)
        own = next((at for at, each in enumerate(shown["causes"]) if each["own"]), 0)
        by = shown["causes"][own - 1]["title"] if own else ""
        return shown | {"when": self._renderer.when(row["at"]), "by": by}

    async def _graph(self, call: HttpCall, told: Plain, steps: Sequence[Plain]) -> dict[str, Any] | None:
        """Return the graph of an automation's run, each box with the words of its step."""
        trace = told["trace"]
        if trace is None or trace["method"] != "automation.trace.get":
            return None
        try:
            found = await self._client.ask(call, "automation.trace.get", {"run_id": trace["runId"]})
        except HubError:  # its trace is not kept any more: the steps stay
            return None
        graph: dict[str, Any] = self._traces.trace(found)["graph"]
        title_of = {each["id"]: each["title"] for each in steps}
        for box in graph["boxes"]:
            if box["path"].startswith("trigger/") and box["count"]:  # the step that begins it says who did it
                box |= {"label": steps[0]["title"], "id": steps[0]["id"]}
                continue
            box["label"] = title_of.get(box["id"]) or self._view.names.with_names(box["label"])
        return graph if graph["boxes"] else None

    async def _stoppable(self, call: HttpCall, happening: Plain) -> str:
        if happening["kind"] != "conversation":
            return ""
        found = (await self._client.ask(call, "subagents.list"))["subagents"]
        own = (each for each in found if each["runId"] == happening["runId"] and each["state"] == "running")
        return next((str(each["id"]) for each in own), "")

    def _lanes(self, told: Plain) -> Iterator[dict[str, Any]]:
        whole = max(told["axis"]["lengthMs"], 1)
        for each in told["lanes"]:
            start = min(each["startMs"] / whole * 100, 100 - LEAST_LANE)
            yield {
                "name": tool_title(each["label"]) if each["kind"] == "tool" else self._view.words(each, "label"),
                "start": round(start, 2),
                "length": round(min(each["durationMs"] / whole * 100, 100 - start), 2),
                "text": took(each["durationMs"]),
                "series": SERIES.get(each["kind"], 5),
                "begins": took(each["startMs"]),
                "tokens": f"{each['tokens']:,}" if each["tokens"] else "",
            }

    def _step(self, step: Plain, at: int, happening: Plain, *, seconds: bool) -> dict[str, Any]:
        data, bad = step["data"], step["tone"] == "bad"
        is_skipped = happening["outcome"] == "did_not_run"
        detail = self._view.words(step, "detail")
        trigger = data.get("trigger")
        title = self._view.fired(trigger, happening["at"]) if trigger else self._view.words(step, "title")
        icon = STEP_ICONS.get(step["icon"] or "") or STEP_ICONS.get(step["kind"], "circle")
        if "device" in (step["kind"], step["icon"]) or (trigger and data.get("entity")):
            icon = self._view.icon({"kind": "device", "entityId": data.get("entity")})
        elif trigger or _is_delay(data.get("result")):
            icon = "clock"
        elif step["kind"] == "note" and step["tone"] == "good":
            icon = "check"
        if bad:
            icon = {"approval": "shield-x", "tool": "shield-x" if data.get("approval") else icon}.get(
                step["kind"], "circle-slash" if step["kind"] == "condition" or is_skipped else "circle-alert"
            )
        usual = {"model": "action", "tool": "tool", "action": "tool"}.get(step["kind"], "")
        refused = (
            step["kind"] in ("condition", "approval") or is_skipped or (step["kind"] == "tool" and data.get("approval"))
        )
        tone = ("warn" if refused else "danger") if bad else step["tone"] or usual
        return {
            **self._view.moment(step["at"], seconds=seconds),
            "id": step_id(str(data["path"])) if data.get("path") else f"step-{at}",
            "title": title,
            "detail": "" if str(detail).startswith(("{", "[")) else detail,
            "icon": icon,
            "tone": tone,
            "took": took(step["durationMs"]) if (step["durationMs"] or 0) >= LEAST_STEP_MS or seconds else "",
            "effects": [self._view.cause(each, happening["at"]) for each in data.get("effects") or ()],
            "tokens": f"{step['tokens']:,}" if step["tokens"] else "",
            "cost": cost(step["costUsd"]),
            "path": happening_path(str(data["id"])) if data.get("id") else "",
            "kind": step["kind"],
            "facts": list(self._values(data.get("values") or {} if step["kind"] == "condition" else data)),
            "texts": list(_texts(data)),
        }

    def _values(self, data: Plain) -> Iterator[tuple[str, str]]:
        for name, label in STEP_FACTS.items():
            value = data.get(name)
            if value is None or value == "" or isinstance(value, (dict, list)):
                continue
            shown: Callable[[Any], str] = (
                took if name == "firstMs" else size_text if name == "bytesSent" else self._plain
            )
            yield label, shown(value)

    def _plain(self, value: Any) -> str:
        if isinstance(value, float):
            return f"{value:g}"
        return f"{value:,}" if isinstance(value, int) else str(self._view.names.with_names(str(value)))


def _texts(data: Plain) -> Iterator[tuple[str, str]]:
    for name, label in STEP_TEXTS.items():
        value = data.get(name)
        if value and not _is_delay(value):  # its title says it
            yield label, value if isinstance(value, str) else pretty(value)


def _is_delay(result: Any) -> bool:
    return isinstance(result, Mapping) and result.keys() == {"delay"}


def _facts(facts: Plain) -> Iterator[tuple[str, str]]:
    shown: dict[str, Callable[[Any], str]] = {
        "durationMs": took,
        "waitedMs": took,
        "costUsd": cost,
        "bytesSent": size_text,
        "model": model_name,
        "tokens": lambda count: f"{count:,}",
    }
    for name, label in HAPPENING_FACTS.items():
        show: Callable[[Any], str] = shown.get(name) or str
        if facts.get(name) not in (None, "") and (text := show(facts[name])):
            yield label, text


def _is_quick(steps: Sequence[Plain]) -> bool:
    """Whether steps lie so near to each other that their order is seen by the second."""
    first, last = min(each["at"] for each in steps), max(each["at"] for each in steps)
    return bool(1_000 <= last - first < 60_000)


def _thin(steps: Sequence[dict[str, Any]]) -> None:
    """Take away times that are the same as those above them."""
    for above, step in reversed(list(pairwise(steps))):
        if (above["day"], above["time"]) == (step["day"], step["time"]):
            step["time"] = ""


def _axis(length_ms: float) -> list[str]:
    return [took(length_ms * each / AXIS_PARTS) for each in range(AXIS_PARTS + 1)]


def _action(told: Plain, do: str) -> Plain | None:
    return next((each for each in told["actions"] if each["do"] == do), None)


def _is_theirs(told: Plain, call: HttpCall) -> bool:
    """Whether running it again repeats nobody else's words: they would become the reader's own."""
    row, authority = told["happening"], call.known_caller.authority
    person = (row["who"] or {}).get("person")
    return (
        row["kind"] != "conversation"
        or authority.principal == row["principal"]
        or (person is not None and person == authority.person)
    )


def _side(side: Plain) -> dict[str, Any]:
    usage, error = side["usage"] or {}, side.get("error") or {}
    return {
        "model": model_name(side["model"]),
        "reply": side["reply"] or "",
        "took": took(side["durationMs"]),
        "tokens": f"{usage.get('total_tokens') or 0:,}",
        "cost": cost(usage.get("cost_usd")),
        "calls": list(side.get("calls") or ()),
        "error": str(error.get("message") or error.get("code") or ""),
    }


def _as_text(data: Plain, gettext: Callable[..., str]) -> Iterator[str]:
    """Yield the lines of the happening as a text to share."""
    row = data["row"]
    ended = ", ".join(gettext(each["text"]) for each in row["chips"])
    yield f"{gettext(row['title'])}{f' ({ended})' if ended else ''}"
    yield " · ".join([*map(gettext, row["where"]), f"{gettext(row['day'])} {row['time']}"])
    if row["reason"]:
        yield gettext(row["reason"])
    yield " · ".join(f"{gettext(label)} {gettext(text)}" for label, text in data["facts"])
    for step in data["steps"]:
        detail = f": {gettext(step['detail'])}" if step["detail"] else ""
        yield f"{step['time']}  {gettext(step['title'])}{detail}"
