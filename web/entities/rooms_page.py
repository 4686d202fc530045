"""The page *Rooms*, that of one room, and the forms of rooms, floors, labels and devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from hub.core.errors import HubError, NotFound
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, WRITE, HttpCall
from web.core.form import read_fields, read_lists
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.entities.home_tiles import HomeTiles

PATH = "/devices/rooms"
NO_DEVICES = frozenset({"automation", "conversation", "heartbeat", "person", "script", "sun", "zone"})
"""Domains that are not in any room."""
ORDER = ("player", "slider", "thermostat", "cover", "weather", "toggle", "action", "value")

_ID = All(string, Length(min=1, max=255))
_WORDS = All(string, Length(max=1_000))
_KIND = In(("area", "floor", "label", "device"))
ADD = Schema(
    {
        Required("kind"): In(("area", "floor", "label")),
        Required("name"): All(string, Length(max=128)),
        Optional("floor_id", default=""): _WORDS,
    }
)
SAVE = Schema(
    {
        Required("kind"): _KIND,
        Required("id"): _ID,
        Required("name"): All(string, Length(max=128)),
        Optional("area_id"): _WORDS,
        Optional("back", default=""): _WORDS,
    }
)
REMOVE = Schema({Required("kind"): _KIND, Required("id"): _ID})


class RoomsPage:
    """The pages and their forms.

    Args:
        client: Calls the methods for rooms.
        pulse: Counts changes of their content.
        tiles: Makes the tiles.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, pulse: PagePulse, tiles: HomeTiles) -> None:
        self._renderer = renderer
        self._client = client
        self._pulse = pulse
        self._tiles = tiles

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /devices/rooms[?area=ID][&add=yes]`: a card for each room, or one room with its settings."""
        area = call.request.query.get("area", "")
        return await (self._room(call, area) if area else self._rooms(call))

    async def add(self, call: HttpCall) -> web.StreamResponse:
        """`POST /areas/add`: add a room, a floor or a label."""
        fields = read_fields(call, ADD)
        params = {"kind": fields["kind"], "name": fields["name"].strip()}
        if fields["kind"] == "area" and fields["floor_id"]:
            params["floor_id"] = fields["floor_id"]
        try:
            made = await self._client.ask(call, "areas.create", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._rooms(call, error=error, typed=fields)
        if wants_json(call.request):
            return json_response(made)
        return see_other(f"{PATH}?area={made['area']['id']}" if fields["kind"] == "area" else PATH)

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /areas/save`: rename a floor, a label or a device, or put a device into a room."""
        fields = dict(read_fields(call, SAVE))
        back = fields.pop("back")
        answer = await self._client.ask(call, "areas.update", fields)
        if wants_json(call.request):
            return json_response(answer)
        return see_other(back if back.startswith("/devices/") else PATH)

    async def save_room(self, call: HttpCall) -> web.StreamResponse:
        """`POST /areas/room`: save a room's name, place and devices."""
        form = read_lists(call)
        id, name = form.get("id", [""])[0], form.get("name", [""])[0].strip()
        chosen = {part.strip() for each in form.get("devices", []) for part in each.split(",") if part.strip()}
        params = {
            "name": name,
            "floor_id": form.get("floor_id", [""])[0],
            "aliases": [each.strip() for each in form.get("aliases", []) if each.strip()],
        }
        try:
            devices = (await self._client.ask(call, "areas.list"))["devices"]
            await self._client.ask(call, "areas.update", {"kind": "area", "id": id, **params})
            for each in devices:
                if (each["id"] in chosen) != (each["area_id"] == id):
                    moved = {"kind": "device", "id": each["id"], "area_id": id if each["id"] in chosen else ""}
                    await self._client.ask(call, "areas.update", moved)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._room(call, id, error=error, typed={**params, "devices": sorted(chosen)})
        return json_response({"id": id}) if wants_json(call.request) else see_other(PATH)

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /areas/remove`: remove a place, or a device that no longer exists."""
        answer = await self._client.ask(call, "areas.remove", read_fields(call, REMOVE))
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def _rooms(
        self, call: HttpCall, error: HubError | None = None, typed: Mapping[str, Any] | None = None
    ) -> web.StreamResponse:
        places = await self._client.ask(call, "areas.list")
        listed = [each for each in (await self._client.ask(call, "entities.list"))["entities"] if _is_shown(each)]
        tiles = await self._tiles.of(call, listed)
        by_name: dict[str | None, list[dict[str, Any]]] = {}
        for entity, tile in zip(listed, tiles, strict=True):
            by_name.setdefault(entity["area"], []).append(tile)
        rooms = [
            {**each, "tiles": [_short(tile, each["name"]) for tile in _sorted(by_name.pop(each["name"], []))]}
            for each in places["areas"]
        ]
        data = {
            **places,
            "columns": _columns([each for each in rooms if each["tiles"]]),
            "empty": [each for each in rooms if not each["tiles"]],
            "elsewhere": _sorted([tile for tiles in by_name.values() for tile in tiles]),
            "floor_options": [(each["id"], each["name"]) for each in places["floors"]],
            "adding": "add" in call.request.query or error is not None,
            "error": error.message if error is not None else None,
            "typed": typed or {},
            **self._rights(call),
        }
        status = error.http_status if error is not None else 200
        return await self._renderer.respond(call, RenderedPage("rooms", "Devices", data, PATH, status))

    async def _room(
        self, call: HttpCall, id: str, error: HubError | None = None, typed: Mapping[str, Any] | None = None
    ) -> web.StreamResponse:
        places = await self._client.ask(call, "areas.list")
        room = next((each for each in places["areas"] if each["id"] == id), None)
        if room is None:
            raise NotFound(f"there is no area {id}")
        listed = (await self._client.ask(call, "entities.list", {"area_id": id}))["entities"]
        data = {
            "room": room,
            "tiles": _sorted(await self._tiles.of(call, [each for each in listed if _is_shown(each)])),
            "floor_options": [(each["id"], each["name"]) for each in places["floors"]],
            "devices": [(each["id"], each["shown_name"]) for each in places["devices"]],
            "typed": typed
            or {
                "name": room["name"],
                "floor_id": room["floor_id"] or "",
                "aliases": list(room["aliases"]),
                "devices": [each["id"] for each in places["devices"] if each["area_id"] == id],
            },
            "error": error.message if error is not None else None,
            **self._rights(call),
        }
        status = error.http_status if error is not None else 200
        return await self._renderer.respond(call, RenderedPage("room", room["name"], data, PATH, status))

    def _rights(self, call: HttpCall) -> dict[str, Any]:
        return {
            "may_change": call.known_caller.authority.has(ADMIN),
            "may_do": call.known_caller.authority.has(WRITE),
            "revision": self._pulse.revision,
        }


def _is_shown(entity: Mapping[str, Any]) -> bool:
    is_put_away = entity["hidden"] or entity["disabled"] or entity["entity_category"]
    return not is_put_away and entity["domain"] not in NO_DEVICES


def _columns(rooms: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the rooms in two columns of about the same height, in their order."""
    columns: list[list[dict[str, Any]]] = [[], []]
    heights = [0.0, 0.0]
    for each in rooms:
        at = 0 if heights[0] <= heights[1] else 1
        columns[at].append(each)
        heights[at] += 2 + sum(_height(tile) for tile in each["tiles"])
    return columns


def _height(tile: Mapping[str, Any]) -> float:
    """Return about how high a tile is, in tiles of two lines."""
    return 1.7 if _is_tall(tile) else 1


def _is_tall(tile: Mapping[str, Any]) -> bool:
    """Whether a control or a line of its past is below the name."""
    is_high = bool(tile["points"] or tile["picture"])
    return is_high or (tile["kind"] in ("player", "slider", "thermostat", "cover", "weather") and not tile["gone"])


def _short(tile: dict[str, Any], room: str) -> dict[str, Any]:
    """Return a tile whose name does not say its room again: *Heating* in the living room."""
    rest = tile["name"][len(room) :].strip() if tile["name"].casefold().startswith(room.casefold()) else ""
    return {**tile, "name": rest[:1].upper() + rest[1:]} if len(rest) > 1 else tile


def _sorted(tiles: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tiles of the same height side by side, in each what can be touched first, then by name."""
    return sorted(
        tiles,
        key=lambda each: (not _is_tall(each), ORDER.index(each["kind"]), each["gone"], each["name"].casefold()),
    )
