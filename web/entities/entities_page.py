"""The pages *All* and that of one device, and their forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from msgspec.structs import asdict

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.schema import All, In, Invalid, Length, Optional, Required, Schema, describe_error, string
from hub.core.surfaces import ADMIN, WRITE, HttpCall
from web.core.form import read_fields, read_lists
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.entities.chart import LINES_LIMIT, PastOf, number_of, past_chart
from web.entities.home_tiles import ONE_PATH, HomeTiles
from web.entities.state_texts import DOMAINS, SLIDER_TEXTS
from web.entities.tiles import ICONS, PLAYS, choices_of, command, entry_of, value_text
from web.entities.weather import ForecastDay, forecast_days

PATH = ONE_PATH
SHOWN_LIMIT = 200
PAST_SHOWN = 50
SPANS = (1, 24, 168, 744)
"""Hours of the past that can be looked at."""
BUTTONS: Mapping[str, str] = {
    "turn_on": "Turn on",
    "turn_off": "Turn off",
    "open_cover": "Open",
    "stop_cover": "Stop",
    "close_cover": "Close",
    "open_valve": "Open",
    "close_valve": "Close",
    "lock": "Lock",
    "unlock": "Unlock",
    "press": "Press",
    "start": "Start",
    "pause": "Pause",
    "cancel": "Cancel",
    "increment": "Step up",
    "decrement": "Step down",
    "reset": "Start over",
    "return_to_base": "Send home",
    "media_play_pause": "Play or pause",
    "media_previous_track": "Previous",
    "media_next_track": "Next",
}
"""Services that need no data, and what their buttons say."""

_ID = All(string, Length(min=1, max=255))
_WORDS = All(string, Length(max=1_000))
DO = Schema(
    {
        Required("entity_id"): _ID,
        Optional("do", default="set"): All(string, Length(min=1, max=64)),
        Optional("value", default=""): _WORDS,
        Optional("back", default=""): _WORDS,
    }
)
SAVE = Schema(
    {
        Required("entity_id"): _ID,
        **dict.fromkeys(
            (Optional(name, default="") for name in ("name", "new_entity_id", "icon", "area_id", "aliases", "labels")),
            _WORDS,
        ),
        Optional("exposed", default="default"): In(("default", "yes", "no")),
        Optional("hidden", default=""): _WORDS,
        Optional("disabled", default=""): _WORDS,
    }
)
ACCEPT = Schema({Optional("id", default=""): _WORDS})


class EntitiesPage:
    """The pages and their forms.

    Args:
        client: Calls the methods for entities.
        pulse: Counts their changes.
        tiles: Makes their tiles.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, pulse: PagePulse, tiles: HomeTiles) -> None:
        self._renderer = renderer
        self._client = client
        self._pulse = pulse
        self._tiles = tiles

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /devices/all[?q=WORDS][&area=ID][&kind=DOMAIN]` or `?entity=ID[&hours=24][&also=ID…]`."""
        entity_id = call.request.query.get("entity", "")
        return await (self._one(call, entity_id) if entity_id else self._list(call))

    async def table(self, call: HttpCall) -> web.StreamResponse:
        """`GET /devices/all.csv?entity=ID[&hours=24]`: the past of an entity."""
        past = await self._past(call, call.request.query.get("entity", ""))
        lines = [f"{self._renderer.iso(int(each['time'] * 1000))},{_cell(each['state'])}" for each in past["points"]]
        return web.Response(
            body="\n".join(["time,state", *lines, ""]).encode(),
            content_type="text/csv",
            charset="utf-8",
            headers={"Content-Disposition": 'attachment; filename="history.csv"', "Cache-Control": "no-store"},
        )

    async def do(self, call: HttpCall) -> web.StreamResponse:
        """`POST /entities/do`: what touching a tile or a button of an entity does."""
        fields = read_fields(call, DO)
        entity_id = fields["entity_id"]
        listed = await self._client.ask(call, "entities.list", {"domain": entity_id.partition(".")[0]})
        entity = next((each for each in listed["entities"] if each["entity_id"] == entity_id), None)
        if entity is None:
            raise NotFound(f"there is no entity {entity_id}", details={"entity_id": entity_id})
        try:
            service, data = command(entity, fields["do"], fields["value"])
            params = {"service": f"{entity['domain']}.{service}", "data": {"entity_id": entity_id, **data}}
            answer = await self._client.ask(call, "service.call", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._one(call, entity_id, error=error)
        back = (
            fields["back"] if fields["back"] == "/" or fields["back"].startswith("/devices/") else _path_of(entity_id)
        )
        return json_response(answer) if wants_json(call.request) else see_other(back)

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /entities/save`: save people's decisions about an entity."""
        try:
            fields = SAVE({name: ", ".join(values) for name, values in read_lists(call).items()})
        except Invalid as error:
            raise InvalidRequest(describe_error(error)) from error
        entity_id = fields["entity_id"]
        new_id = fields["new_entity_id"].strip() or entity_id
        params = {
            "entity_id": entity_id,
            **({"new_entity_id": new_id} if new_id != entity_id else {}),
            "name": fields["name"].strip(),
            "icon": fields["icon"].strip(),
            "area_id": fields["area_id"],
            "aliases": _parts(fields["aliases"]),
            "labels": _parts(fields["labels"]),
            "exposed": {"yes": True, "no": False}.get(fields["exposed"]),
            "hidden": bool(fields["hidden"]),
            "disabled": bool(fields["disabled"]),
        }
        try:
            answer = await self._client.ask(call, "entities.update", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._one(call, entity_id, error=error, typed=fields)
        return json_response(answer) if wants_json(call.request) else see_other(_path_of(new_id))

    async def accept(self, call: HttpCall) -> web.StreamResponse:
        """`POST /entities/accept`: let agents use a new device, or all of them."""
        id = read_fields(call, ACCEPT)["id"]
        answer = await self._client.ask(call, "entities.accept", {"ids": [id]} if id else {})
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def _list(self, call: HttpCall) -> web.StreamResponse:
        query = call.request.query
        words, area, kind = query.get("q", "").strip(), query.get("area", ""), query.get("kind", "")
        places = await self._client.ask(call, "areas.list")
        known = {each["id"] for each in places["areas"]}
        narrowed = {"area_id": area} if area in known else {}
        listed = (await self._client.ask(call, "entities.list", narrowed))["entities"]
        wanted = words.casefold().split()
        gettext = catalogue(self._renderer.preferences(call).language).gettext
        found = [
            each
            for each in listed
            if all(word in _text(each) for word in wanted) and (not kind or each["domain"] == kind)
        ]
        found.sort(key=lambda each: each["shown_name"].casefold())
        shown, kinds = found[:SHOWN_LIMIT], {each["domain"] for each in listed} | ({kind} - {""})
        tiles = await self._tiles.of(call, shown, sparks=False)
        data: dict[str, Any] = {
            "entities": [{**each, **tile} for each, tile in zip(shown, tiles, strict=True)],
            "count": len(found),
            "limit": SHOWN_LIMIT,
            "q": words,
            "area": area,
            "kind": kind,
            "kind_options": sorted(
                ((each, gettext(DOMAINS.get(each, each))) for each in kinds), key=lambda each: each[1]
            ),
            "area_options": [(each["id"], each["name"]) for each in places["areas"]],
            "here": f"{PATH}?{urlencode({'q': words, 'area': area, 'kind': kind})}",
            "gone": [each for each in places["devices"] if not each["entities"]],
            "new": (await self._client.ask(call, "entities.new"))["new"],
            **self._rights(call),
        }
        return await self._renderer.respond(call, RenderedPage("entities", "All devices", data, PATH))

    async def _one(
        self,
        call: HttpCall,
        entity_id: str,
        error: HubError | None = None,
        typed: Mapping[str, Any] | None = None,
    ) -> web.StreamResponse:
        listed = (await self._client.ask(call, "entities.list"))["entities"]
        entity = next((each for each in listed if each["entity_id"] == entity_id), None)
        if entity is None:
            raise NotFound(f"there is no entity {entity_id}", details={"entity_id": entity_id})
        places = await self._client.ask(call, "areas.list")
        device = next((each for each in places["devices"] if each["id"] == entity["device_id"]), None)
        siblings = [each for each in listed if device and each["device_id"] == device["id"] and each is not entity]
        [tile] = await self._tiles.of(call, [entity], sparks=False)
        gettext = catalogue(self._renderer.preferences(call).language).gettext
        state = await self._state_of(call, entity_id)
        attributes = state.get("attributes", {})
        data = {
            "entity": {**entity, "domain_text": DOMAINS.get(entity["domain"], entity["domain"])},
            "tile": tile,
            "buttons": _buttons(entity["commands"]),
            "entry": entry_of(entity, attributes),
            "choices": [asdict(each) for each in choices_of(entity, attributes, gettext)],
            "attributes": [(key, value) for key, value in attributes.items() if not isinstance(value, (dict, list))],
            "forecast": [asdict(each) for each in await self._forecast(call, entity, attributes)],
            "slider_text": SLIDER_TEXTS.get(entity["domain"], "Value"),
            "room": next((each["id"] for each in places["areas"] if each["name"] == entity["area"]), ""),
            "timeline": urlencode({"kind": "device", "entity": entity_id}),
            "device": device,
            "siblings": await self._tiles.of(call, siblings),
            "areas": [(each["id"], each["name"]) for each in places["areas"]],
            "icons": _icons(entity["icon_by_user"] or "", gettext),
            "labels": [(each["id"], each["name"]) for each in places["labels"]],
            "history": await self._history(call, entity, listed),
            "automations": await self._uses(call, entity),
            "typed": typed
            or {
                "name": entity["name"] or "",
                "new_entity_id": entity_id,
                "icon": entity["icon_by_user"] or "",
                "area_id": entity["area_id"] or "",
                "aliases": ", ".join(entity["aliases"]),
                "labels": ", ".join(entity["labels"]),
                "exposed": {None: "default", True: "yes", False: "no"}[entity["exposed"]],
                "hidden": entity["hidden"],
                "disabled": entity["disabled"],
            },
            "error": error.message if error is not None else None,
            "error_at": None if error is None or typed is None else _field_of(error, typed),
            "here": _path_of(entity_id),
            **self._rights(call),
        }
        status = 200 if error is None else error.http_status
        return await self._renderer.respond(call, RenderedPage("entity", entity["shown_name"], data, PATH, status))

    async def _forecast(
        self, call: HttpCall, entity: Mapping[str, Any], attributes: Mapping[str, Any]
    ) -> list[ForecastDay]:
        """Return the days to come of a weather, where it tells them to whoever looks."""
        if "get_forecasts" not in entity["commands"] or not self._rights(call)["may_do"]:
            return []
        data = {"entity_id": entity["entity_id"], "type": "daily"}
        try:
            asked = {"service": "weather.get_forecasts", "data": data}
            answer = await self._client.ask(call, "service.call", asked)
        except HubError:  # a station may tell hours alone, or nothing yet
            return []
        told = (answer.get("response") or {}).get(entity["entity_id"]) or {}
        gettext = catalogue(self._renderer.preferences(call).language).gettext
        return forecast_days(told.get("forecast") or (), attributes, self._renderer.today(), gettext)

    async def _state_of(self, call: HttpCall, entity_id: str) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = await self._client.ask(call, "state.get", {"entity_id": entity_id})
        except NotFound:  # disabled, or its integration is not there
            return {}
        return found

    async def _history(
        self, call: HttpCall, entity: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return the past of an entity, and of those it is compared with, for the chart and as a table."""
        id, gettext = entity["entity_id"], catalogue(self._renderer.preferences(call).language).gettext
        past = await self._past(call, id)
        hours = round((past["until"] - past["since"]) / 3600)
        asked = call.request.query.getall("also", [])
        beside = [each for each in listed if each["entity_id"] != id and number_of(each["state"]) is not None]
        beside.sort(key=lambda each: (each["unit"] != entity["unit"], each["shown_name"].casefold()))
        also = [each for each in beside if each["entity_id"] in asked][: LINES_LIMIT - 1]
        pasts = [past, *[await self._past(call, each["entity_id"]) for each in also]]
        drawn = [
            PastOf(each["shown_name"], each["unit"] or "", found["points"])
            for each, found in zip((entity, *also), pasts, strict=True)
        ]
        chart = past_chart(drawn, past["since"], past["until"])
        chosen = [each["entity_id"] for each in also]
        changes = [
            {
                "state": value_text(entity, each["state"], gettext),
                "when": self._renderer.when(int(each["time"] * 1000)),
                "iso": self._renderer.iso(int(each["time"] * 1000)),
            }
            for each in reversed(past["points"][-PAST_SHOWN:])
        ]
        return {
            "hours": hours,
            "spans": [{"hours": span, "path": _path_of(id, hours=span, also=chosen)} for span in SPANS],
            "csv": f"{PATH}.csv?{urlencode({'entity': id, 'hours': hours})}",
            "chart": None if chart is None else _translated(asdict(chart), entity, gettext),
            "also": chosen,
            "beside": [(each["entity_id"], each["shown_name"]) for each in beside],
            "changes": changes,
        }

    async def _past(self, call: HttpCall, entity_id: str) -> Any:
        asked = call.request.query.get("hours", "")
        hours = int(asked) if asked in {str(span) for span in SPANS} else 24
        return await self._client.ask(call, "entities.history", {"entity_id": entity_id, "hours": hours})

    async def _uses(self, call: HttpCall, entity: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the automations whose configuration names an entity."""
        found = []
        for each in (await self._client.ask(call, "automation.list"))["automations"]:
            config = (await self._client.ask(call, "automation.get", {"id": each["id"]}))["config"]
            if config is not None and entity["entity_id"] in re.findall(r"[\w.]+", str(config)):
                found.append({"id": each["id"], "name": each["alias"], "state": each["state"]})
        return found

    def _rights(self, call: HttpCall) -> dict[str, Any]:
        return {
            "may_change": call.known_caller.authority.has(ADMIN),
            "may_do": call.known_caller.authority.has(WRITE),
            "revision": self._pulse.revision,
        }


def _buttons(commands: Collection[str]) -> list[tuple[str, str]]:
    """Return the services with buttons, and what these say; a player that plays and pauses has one for both."""
    able = {*commands, *(("media_play_pause",) if PLAYS & set(commands) else ())}
    return [(name, text) for name, text in BUTTONS.items() if name in able]


def _path_of(entity_id: str, **more: Any) -> str:
    return f"{PATH}?{urlencode({'entity': entity_id, **more}, doseq=True)}"


def _translated(chart: dict[str, Any], entity: Mapping[str, Any], gettext: Any) -> dict[str, Any]:
    """Return a chart whose two states are in words."""
    series = [
        {**asdict(each), "words": [value_text(entity, word, gettext) for word in each.words]}
        for each in chart["series"]
    ]
    return {**chart, "series": series}


def _icons(chosen: str, gettext: Callable[[str], str]) -> list[tuple[str, str, str]]:
    """Return what can be chosen: value, text and icon; with one that others chose, of which we have no picture."""
    found = [(name, gettext(text), icon) for name, (icon, text) in ICONS.items()]
    return found if not chosen or chosen in ICONS else [(chosen, chosen, "circle"), *found]


def _field_of(error: HubError, typed: Mapping[str, Any]) -> str:
    """Return the field that a refusal is about, as far as it says."""
    if typed["new_entity_id"] != typed["entity_id"] and typed["new_entity_id"].strip() in error.message:
        return "new_entity_id"
    return next((name for name in ("labels", "area_id", "aliases") if name in error.message), "name")


def _text(entity: Mapping[str, Any]) -> str:
    shown = (entity["entity_id"], entity["shown_name"], entity["area"], entity["device"], *entity["aliases"])
    return " ".join(each for each in shown if each).casefold()


def _parts(text: str) -> Sequence[str]:
    return [part for each in text.split(",") if (part := each.strip())]


def _cell(state: Any) -> str:
    """Return a cell of CSV; one that a spreadsheet would read as a formula begins with an apostrophe."""
    text = "" if state is None else str(state)
    text = (
        f"'{text}" if text[:1] in "=+-@\t\r" and not text.lstrip("+-").replace(".", "", 1).isdigit() and text else text
    )
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\n\r') else text
