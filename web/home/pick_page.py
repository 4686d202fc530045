"""The suggestions of a picker: entities, devices, areas, people, agents, models, channels, chats, services, icons."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from aiohttp import web
from msgspec import Struct
from msgspec.structs import asdict

from hub.core.errors import InvalidRequest
from hub.core.surfaces import HttpCall
from hub.memory.words import fold
from hub.security.people import People
from web.core.formats import title_of
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import Renderer, json_response
from web.entities.tiles import ICONS, icon_of

LIMIT = 50
CHAT_ICONS = {"direct": "user", "group": "users", "channel": "message-circle"}


class Choice(Struct, frozen=True):
    """One suggestion: its value in the configuration, its name, its description or state, and its icon."""

    value: str
    text: str
    sub: str = ""
    icon: str = ""


class PickPage:
    """Answers the pickers of all forms.

    Args:
        client: Searches with the rights of the viewer.
        people: Returns the people of this home.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, people: Callable[[], People]) -> None:
        self._renderer = renderer
        self._client = client
        self._people = people
        self._kinds: Mapping[str, Callable[[HttpCall], Awaitable[Iterable[Choice]]]] = {
            "agent": self._agents,
            "area": self._areas,
            "channel": self._channels,
            "chat": self._chats,
            "device": self._devices,
            "entity": self._entities,
            "icon": self._icons,
            "model": self._models,
            "person": self._persons,
            "service": self._services,
        }

    async def pick(self, call: HttpCall) -> web.StreamResponse:
        """`GET /pick?kind=…&q=…`: JSON, `{items: [{value, text, sub, icon}]}`; `domain` narrows entities.

        Raises:
            InvalidRequest: There is no such kind.
        """
        query = call.request.query
        kind = self._kinds.get(query.get("kind", ""))
        if kind is None:
            raise InvalidRequest(f"kind: expected one of {', '.join(self._kinds)}")
        words = fold(query.get("q", "")[:LIMIT]).split()
        found = [each for each in await kind(call) if all(word in fold(f"{each.text} {each.value}") for word in words)]
        found.sort(key=lambda each: fold(each.text))
        return json_response({"items": [asdict(each) for each in found[:LIMIT]]})

    async def _entities(self, call: HttpCall) -> Iterable[Choice]:
        domain = call.request.query.get("domain")
        narrowed = {"domain": domain} if domain else None
        listed = (await self._client.ask(call, "entities.list", narrowed))["entities"]
        known = {each["entity_id"] for each in listed}
        states = (await self._client.ask(call, "state.list", narrowed))["states"]
        return [*map(_entity, listed), *(_state(each) for each in states if each["entity_id"] not in known)]

    async def _devices(self, call: HttpCall) -> Iterable[Choice]:
        found = await self._client.ask(call, "areas.list")
        return [Choice(each["id"], each["shown_name"], icon="cable") for each in found["devices"]]

    async def _areas(self, call: HttpCall) -> Iterable[Choice]:
        found = await self._client.ask(call, "areas.list")
        return [Choice(each["id"], each["name"], icon="door-open") for each in found["areas"]]

    async def _persons(self, call: HttpCall) -> Iterable[Choice]:
        return [Choice(each.id, each.name, icon="user") for each in self._people().all()]

    async def _agents(self, call: HttpCall) -> Iterable[Choice]:
        found = await self._client.ask(call, "agents.list")
        return [Choice(each["id"], str(each.get("name") or each["id"]), icon="bot") for each in found["agents"]]

    async def _models(self, call: HttpCall) -> Iterable[Choice]:
        found = await self._client.ask(call, "models.list")
        return [_model(each) for each in found["models"]]

    async def _channels(self, call: HttpCall) -> Iterable[Choice]:
        found = await self._client.ask(call, "channels.status")
        return [Choice(id, label, icon="send") for id, label in found["channelLabels"].items()]

    async def _chats(self, call: HttpCall) -> Iterable[Choice]:
        query = call.request.query.get("q", "")[:LIMIT].strip()
        found = await self._client.ask(call, "channels.directory", {"query": query, "platforms": bool(query)})
        return [chat_choice(each) for each in found["chats"]]

    async def _icons(self, call: HttpCall) -> Iterable[Choice]:
        texts = catalogue(self._renderer.preferences(call).language)
        return [Choice(name, texts.gettext(text), icon=icon) for name, (icon, text) in ICONS.items()]

    async def _services(self, call: HttpCall) -> Iterable[Choice]:
        texts = catalogue(self._renderer.preferences(call).language)
        found = await self._client.ask(call, "service.list")
        return [
            Choice(each["service"], texts.gettext(each["description"]) or each["service"], each["service"], "play")
            for each in found["services"]
        ]


def chat_choice(each: Mapping[str, Any]) -> Choice:
    """Return a chat of `channels.directory`; its value says channel, account, kind and id."""
    place = (each["channel"], each["accountId"], each["kind"], each["peer"])
    app = title_of(each["channel"])
    named = " · ".join(part for part in (each.get("space"), each["name"] or each["peer"]) if part)
    return Choice("/".join(quote(part, safe="") for part in place), named, app, CHAT_ICONS[each["kind"]])


def _entity(each: Mapping[str, Any]) -> Choice:
    state = " ".join(str(part) for part in (each["state"], each["unit"]) if part is not None)
    sub = " · ".join(part for part in (each["area"], state) if part)
    return Choice(each["entity_id"], each["shown_name"], sub, icon_of(each))


def _state(each: Mapping[str, Any]) -> Choice:
    """Return an entity that no integration announced, such as a person, an automation or a script."""
    id = each["entity_id"]
    icon = icon_of({"domain": id.partition(".")[0], **each["attributes"]})
    return Choice(id, str(each["attributes"].get("friendly_name") or id), str(each["state"]), icon)


def _model(each: Mapping[str, Any]) -> Choice:
    ref = f"{each['provider']}/{each['id']}"
    return Choice(ref, str(each.get("name") or each["id"]), str(each["provider"]), "sparkles")
