"""The pages of entities and areas, and their forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import HubError
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, WRITE, HttpCall
from web.core.form import read_fields
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.entities.chart import HEIGHT, STYLES, WIDTH, PastOf, number_of, past_chart

PATH, AREAS = "/devices/all", "/devices/rooms"
SHOWN_LIMIT = 200
PAST_SHOWN = 50
BESIDE_LIMIT = 30
"""Other numbers that can be drawn beside that of an entity."""
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
    "return_to_base": "Send home",
}
"""Services that need no data, and what their buttons say."""

_ID = All(string, Length(min=1, max=255))
_WORDS = All(string, Length(max=1_000))
DO = Schema({Required("entity_id"): _ID, Required("service"): In(tuple(BUTTONS)), Optional("back", default=""): _WORDS})
SAVE = Schema(
    {
        Required("entity_id"): _ID,
        **{Optional(name, default=""): _WORDS for name in ("name", "new_entity_id", "area_id", "aliases", "labels")},
        Optional("exposed", default="default"): In(("default", "yes", "no")),
        Optional("hidden", default=""): _WORDS,
        Optional("disabled", default=""): _WORDS,
    }
)
ACCEPT = Schema({Optional("id", default=""): _WORDS})
ADD = Schema(
    {
        Required("kind"): In(("area", "floor", "label")),
        Required("name"): All(string, Length(min=1, max=128)),
        Optional("floor_id", default=""): _WORDS,
    }
)
SAVE_AREA = Schema(
    {
        Required("kind"): In(("area", "floor", "label", "device")),
        Required("id"): _ID,
        Required("name"): All(string, Length(max=128)),
        Optional("floor_id"): _WORDS,
        Optional("area_id"): _WORDS,
        Optional("aliases"): _WORDS,
    }
)
REMOVE = Schema({Required("kind"): In(("area", "floor", "label", "device")), Required("id"): _ID})


class EntitiesPage:
    """The pages and their forms.

    Args:
        client: Where entities and areas are listed, changed and controlled.
        pulse: Counts their changes.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, pulse: PagePulse) -> None:
        self._renderer = renderer
        self._client = client
        self._pulse = pulse

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /entities[?q=WORDS][&area=ID]` or `?entity=ID[&hours=24][&also=ID…]`: the list, or one entity."""
        return await self._show(call, call.request.query.get("entity", ""))

    async def table(self, call: HttpCall) -> web.StreamResponse:
        """`GET /entities.csv?entity=ID[&hours=24]`: the past of an entity."""
        past = await self._past(call, call.request.query.get("entity", ""))
        lines = [f"{self._renderer.iso(int(each['time'] * 1000))},{_cell(each['state'])}" for each in past["points"]]
        return web.Response(
            body="\n".join(["time,state", *lines, ""]).encode(),
            content_type="text/csv",
            charset="utf-8",
            headers={"Content-Disposition": 'attachment; filename="history.csv"', "Cache-Control": "no-store"},
        )

    async def do(self, call: HttpCall) -> web.StreamResponse:
        """`POST /entities/do`: call a service of an entity."""
        fields = read_fields(call, DO)
        entity_id = fields["entity_id"]
        service = f"{entity_id.partition('.')[0]}.{fields['service']}"
        params = {"service": service, "data": {"entity_id": entity_id}}
        back = f"{PATH}?{fields['back']}" if fields["back"] else _path_of(entity_id)
        return await self._act(call, "service.call", params, back, entity_id)

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /entities/save`: what people decide about an entity."""
        fields = read_fields(call, SAVE)
        entity_id = fields["entity_id"]
        new_id = fields["new_entity_id"].strip() or entity_id
        params = {
            "entity_id": entity_id,
            **({"new_entity_id": new_id} if new_id != entity_id else {}),
            "name": fields["name"].strip(),
            "area_id": fields["area_id"],
            "aliases": _parts(fields["aliases"]),
            "labels": _parts(fields["labels"]),
            "exposed": {"yes": True, "no": False}.get(fields["exposed"]),
            "hidden": bool(fields["hidden"]),
            "disabled": bool(fields["disabled"]),
        }
        return await self._act(call, "entities.update", params, _path_of(new_id), entity_id)

    async def accept(self, call: HttpCall) -> web.StreamResponse:
        """`POST /entities/accept`: let agents use a new device, or all of them."""
        id = read_fields(call, ACCEPT)["id"]
        return await self._act(call, "entities.accept", {"ids": [id]} if id else {}, PATH)

    async def areas(self, call: HttpCall) -> web.StreamResponse:
        """`GET /areas`: floors, areas, labels and devices."""
        return await self._areas(call)

    async def add(self, call: HttpCall) -> web.StreamResponse:
        """`POST /areas/add`: add an area, a floor or a label."""
        fields = read_fields(call, ADD)
        params = {"kind": fields["kind"], "name": fields["name"]}
        if fields["kind"] == "area" and fields["floor_id"]:
            params["floor_id"] = fields["floor_id"]
        return await self._act(call, "areas.create", params, AREAS)

    async def save_area(self, call: HttpCall) -> web.StreamResponse:
        """`POST /areas/save`: rename or move a place or a device."""
        fields = dict(read_fields(call, SAVE_AREA))
        if "aliases" in fields:
            fields["aliases"] = _parts(fields["aliases"])
        return await self._act(call, "areas.update", fields, AREAS)

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /areas/remove`: remove a place, or a device that is gone."""
        return await self._act(call, "areas.remove", read_fields(call, REMOVE), AREAS)

    async def _act(
        self, call: HttpCall, method: str, params: Mapping[str, Any], back: str, entity_id: str = ""
    ) -> web.StreamResponse:
        """Call a method, then go back; a refusal is shown where it was asked."""
        try:
            answer = await self._client.ask(call, method, params)
        except HubError as error:
            if wants_json(call.request):
                raise
            if entity_id:
                return await self._show(call, entity_id, error=error)
            return await self._areas(call, error=error)
        return json_response(answer) if wants_json(call.request) else see_other(back)

    async def _show(self, call: HttpCall, entity_id: str, error: HubError | None = None) -> web.StreamResponse:
        query = call.request.query
        places = await self._client.ask(call, "areas.list")
        words, area = query.get("q", "").strip(), query.get("area", "")
        listed = (await self._client.ask(call, "entities.list", {"area_id": area} if area else {}))["entities"]
        chosen = next((each for each in listed if each["entity_id"] == entity_id), None)
        wanted = words.casefold().split()
        found = [each for each in listed if all(word in _text(each) for word in wanted)]
        data: dict[str, Any] = {
            "entities": [_shown(each) for each in found[:SHOWN_LIMIT]],
            "count": len(found),
            "limit": SHOWN_LIMIT,
            "q": words,
            "area": area,
            "back": urlencode({"q": words, "area": area}),
            "places": places,
            "new": (await self._client.ask(call, "entities.new"))["new"],
            "chosen": None if chosen is None else await self._chosen(call, chosen, listed),
            "error": error.message if error is not None else None,
            "may_change": call.known_caller.authority.has(ADMIN),
            "may_do": call.known_caller.authority.has(WRITE),
            "revision": self._pulse.revision,
        }
        status = error.http_status if error is not None else 404 if entity_id and chosen is None else 200
        return await self._renderer.respond(call, RenderedPage("entities", "Entities", data, PATH, status))

    async def _chosen(
        self, call: HttpCall, entity: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        id = entity["entity_id"]
        past = await self._past(call, id)
        hours = round((past["until"] - past["since"]) / 3600)
        beside = [each for each in listed if each["entity_id"] != id and number_of(each["state"]) is not None]
        beside.sort(key=lambda each: each["unit"] != entity["unit"])
        asked = call.request.query.getall("also", [])
        also = [each for each in beside if each["entity_id"] in asked][: len(STYLES) - 1]
        pasts = [past, *[await self._past(call, each["entity_id"]) for each in also]]
        chart = past_chart(
            [
                PastOf(each["shown_name"], each["unit"] or "", found["points"])
                for each, found in zip((entity, *also), pasts, strict=True)
            ],
            past["since"],
            past["until"],
            lambda time: self._renderer.when(int(time * 1000)),
        )
        changes = [
            {"state": each["state"], "when": self._renderer.when(int(each["time"] * 1000))}
            for each in reversed(past["points"][-PAST_SHOWN:])
        ]
        chosen = [each["entity_id"] for each in also]
        return {
            **_shown(entity),
            "aliases_text": ", ".join(entity["aliases"]),
            "labels_text": ", ".join(entity["labels"]),
            "hours": hours,
            "spans": [{"hours": span, "path": _path_of(id, hours=span, also=chosen)} for span in SPANS],
            "csv": f"{PATH}.csv?{urlencode({'entity': id, 'hours': hours})}",
            "chart": chart,
            "beside": [{**each, "is_shown": each["entity_id"] in chosen} for each in beside[:BESIDE_LIMIT]],
            "width": WIDTH,
            "height": HEIGHT,
            "changes": changes,
        }

    async def _past(self, call: HttpCall, entity_id: str) -> Any:
        asked = call.request.query.get("hours", "")
        hours = int(asked) if asked in {str(span) for span in SPANS} else 24
        return await self._client.ask(call, "entities.history", {"entity_id": entity_id, "hours": hours})

    async def _areas(self, call: HttpCall, error: HubError | None = None) -> web.StreamResponse:
        data = {
            **await self._client.ask(call, "areas.list"),
            "error": error.message if error is not None else None,
            "may_change": call.known_caller.authority.has(ADMIN),
            "revision": self._pulse.revision,
        }
        status = error.http_status if error is not None else 200
        return await self._renderer.respond(call, RenderedPage("areas", "Areas", data, AREAS, status))


def _path_of(entity_id: str, **more: Any) -> str:
    return f"{PATH}?{urlencode({'entity': entity_id, **more}, doseq=True)}"


def _shown(entity: Mapping[str, Any]) -> dict[str, Any]:
    able = [name for name in BUTTONS if name in entity["commands"]]
    return {
        **entity,
        "path": _path_of(entity["entity_id"]),
        "key": entity["entity_id"].replace(".", "-"),
        "buttons": [{"service": name, "text": BUTTONS[name]} for name in able],
    }


def _text(entity: Mapping[str, Any]) -> str:
    shown = (entity["entity_id"], entity["shown_name"], entity["area"], entity["device"], *entity["aliases"])
    return " ".join(each for each in shown if each).casefold()


def _parts(text: str) -> Sequence[str]:
    return [part for each in text.split(",") if (part := each.strip())]


def _cell(state: Any) -> str:
    """Return a cell of CSV; what a spreadsheet would take for a formula begins with an apostrophe."""
    text = "" if state is None else str(state)
    text = (
        f"'{text}" if text[:1] in "=+-@\t\r" and not text.lstrip("+-").replace(".", "", 1).isdigit() and text else text
    )
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\n\r') else text
