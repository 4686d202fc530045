"""Home: what needs the viewer, the latest answers, their favourite devices, what comes next, and how it goes."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import HubError, InvalidRequest
from hub.core.repairs import Repair
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, WRITE, HttpCall
from hub.messaging.schema import TEXT_LIMIT
from web.chat.box import box_choices
from web.core.form import read_fields, read_lists
from web.core.i18n import Catalogue, catalogue
from web.core.method_client import MethodClient
from web.core.moments import weekday
from web.core.preferences import local_path
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.repair_rows import repair_row
from web.core.texts import GREETINGS, OFFLINE_MODEL
from web.entities.home_tiles import HomeTiles
from web.home import cards
from web.home.choices import CARDS, MOVES, ChoiceStore, HomeChoices
from web.home.first_steps import STARTER_NAME

CUSTOMISE = "/customise"
FAVOURITES_LIMIT = 12
PEOPLE_WATCHED = 20
SESSIONS = 12
OF_EVERY_HOME = frozenset({"person", "sun", "todo", "zone"})
"""Domains of entities that are there without a device."""
SHARED = ("title", "text", "url")
"""What another app hands over, when it shares with the dashboard as an app."""
PREVIEW = {"limit": 40, "maxChars": 160}
HEIGHTS = {"approvals": 4, "pairing": 6, "repairs": 3}
"""What may need the viewer, in this order, and how high each is on the page beside the others."""
MOVE = Schema({Required("card"): In(CARDS), Required("move"): In(MOVES), Optional("back", default=CUSTOMISE): string})
ORDER = Schema({Required("left"): All(string, Length(max=200)), Required("right"): All(string, Length(max=200))})
REMINDER = Schema({Required("id"): All(string, Length(min=1, max=128)), Required("do"): In(["done", "later"])})
LATER_S = 3_600

Inbox = Callable[[HttpCall], Awaitable[Sequence[Mapping[str, Any]] | None]]
"""Returns what waits for a person's word, or None to those who may not say it."""


class HomeSources(Struct, frozen=True):
    """The sources of Home beside the gateway's methods.

    Attributes:
        repairs: Returns the open repairs, without secrets.
        approvals: The data of `fragments/approval.html`.
        pairing: The pending requests to write.
        home_channel: Whether a channel is the dashboard's own.
        recovery: Whether the hub is in recovery mode.
    """

    repairs: Callable[[], Sequence[Repair]]
    approvals: Inbox
    pairing: Inbox
    home_channel: Callable[[str], bool]
    recovery: bool


class HomePage:
    """The page and its forms.

    Args:
        client: Calls methods for the cards, in the name of the viewer.
        choices: Each person's choices.
        tiles: Makes those of the favourite devices.
        pulse: Counts changes of its content.
        now: Returns the time in the home's zone.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        sources: HomeSources,
        choices: ChoiceStore,
        tiles: HomeTiles,
        pulse: PagePulse,
        *,
        now: Callable[[], dt.datetime],
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._sources = sources
        self._choices = choices
        self._tiles = tiles
        self._pulse = pulse
        self._watched: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._now = now

    def shows(self, entity_id: str) -> bool:
        """Whether the Home of a recent viewer has a tile of this entity."""
        return any(entity_id in ids for ids in self._watched.values())

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /`; `?customise` shows its cards with grips, by which they are put in order."""
        texts = catalogue(self._renderer.preferences(call).language)
        revision = self._pulse.revision
        repairs = [repair_row(each) for each in self._sources.repairs()]
        data: dict[str, Any] = {
            "recovery": self._sources.recovery,
            "repairs": repairs,
            "may_fix": not self._sources.recovery and call.known_caller.authority.has(ADMIN),
            "revision": revision,
            "arranging": "customise" in call.request.query and not self._sources.recovery,
            "approvals": [],
            "pairing": [],
            "pending_count": 0,
            "columns": [[], []],
            "cards": {},
            "box": None,
            "shared": "\n".join(filter(None, (call.request.query.get(name, "") for name in SHARED)))[:TEXT_LIMIT],
        }
        if not self._sources.recovery:
            data |= await self._cards(call, texts) | {"box": await self._box(call)}
        data["needs"] = _side_by_side(data)
        return await self._renderer.respond(call, RenderedPage("home", "Home", data | self._greeting(call, texts), "/"))

    async def customise(self, call: HttpCall) -> web.StreamResponse:
        """`GET /customise`: the cards of Home in their order, and the favourite devices."""
        choices = await self._choices.of(_person(call))
        found = await self._try(call, "entities.list")
        names = {each["entity_id"]: each["shown_name"] for each in (found or {"entities": []})["entities"]}
        data = {
            "columns": choices.columns,
            "hidden": sorted(choices.hidden),
            "favourites": [{"value": id, "text": names.get(id, id)} for id in choices.favourites],
            "entities": sorted(names.items(), key=lambda each: each[1].casefold()),
        }
        return await self._renderer.respond(call, RenderedPage("customise", "Customise Home", data, CUSTOMISE))

    async def move(self, call: HttpCall) -> web.StreamResponse:
        """`POST /customise/move`: move, hide or show a card."""
        fields = read_fields(call, MOVE)
        choices = await self._choices.of(_person(call))
        return await self._keep(call, choices.move_card(fields["card"], fields["move"]), local_path(fields["back"]))

    async def order(self, call: HttpCall) -> web.StreamResponse:
        """`POST /customise/order`: put the cards in order; `left` and `right` are names with commas.

        Raises:
            InvalidRequest: A name is none of a card, or stands there twice.
        """
        fields = read_fields(call, ORDER)
        columns = [[card for card in fields[side].split(",") if card] for side in ("left", "right")]
        named = [card for column in columns for card in column]
        if len({*named}) < len(named) or not {*named} <= {*CARDS}:
            raise InvalidRequest(f"expected each of {', '.join(CARDS)} at most once, got {', '.join(named)}")
        return await self._keep(call, (await self._choices.of(_person(call))).reorder(columns))

    async def favourites(self, call: HttpCall) -> web.StreamResponse:
        """`POST /customise/favourites`: choose the devices; none for those that the hub picks."""
        ids = [id for text in read_lists(call).get("favourites", ()) for id in re.split(r"[,\s]+", text) if id]
        choices = await self._choices.of(_person(call))
        chosen = tuple(dict.fromkeys(ids))[:FAVOURITES_LIMIT]
        return await self._keep(call, replace(choices, favourites=chosen))

    async def remind(self, call: HttpCall) -> web.StreamResponse:
        """`POST /reminder`: a reminder is done, or comes an hour later."""
        fields = read_fields(call, REMINDER)
        if fields["do"] == "done":
            await self._client.ask(call, "cron.remove", {"id": fields["id"]})
        else:
            job = await self._client.ask(call, "cron.get", {"id": fields["id"]})
            at = dt.datetime.fromtimestamp(job["state"]["nextRunAtMs"] / 1000, dt.UTC) + dt.timedelta(seconds=LATER_S)
            patch = {"schedule": {"kind": "at", "at": at.isoformat()}}
            await self._client.ask(call, "cron.update", {"id": fields["id"], "patch": patch})
        self._pulse.beat()
        return json_response({"ok": True}) if wants_json(call.request) else see_other("/")

    async def _keep(self, call: HttpCall, choices: HomeChoices, back: str = CUSTOMISE) -> web.StreamResponse:
        await self._choices.put(_person(call), choices)
        return json_response({"ok": True}) if wants_json(call.request) else see_other(back)

    def _greeting(self, call: HttpCall, texts: Catalogue) -> dict[str, str]:
        now, name = self._now(), self._renderer.person_name(call)
        hello = texts.gettext(GREETINGS[max((hour for hour in GREETINGS if hour <= now.hour), default=max(GREETINGS))])
        greeting = texts.gettext("{greeting}, {name}", greeting=hello, name=name) if name else hello
        return {"greeting": greeting, "date": weekday(now.date(), now.date())}

    async def _box(self, call: HttpCall) -> dict[str, Any] | None:
        try:
            return await box_choices(self._client, call)
        except HubError:
            return None

    async def _cards(self, call: HttpCall, texts: Catalogue) -> dict[str, Any]:
        choices = await self._choices.of(_person(call))
        wanted = {card for column in choices.columns for card in column} - choices.hidden
        makers = {
            "start": self._start,
            "answers": self._answers,
            "devices": self._devices,
            "next": self._next_up,
            "assistant": self._assistant,
            "week": self._week,
        }
        approvals, pairing, *made = await asyncio.gather(
            self._sources.approvals(call),
            self._sources.pairing(call),
            *(self._part(call, texts, make, shown=card in wanted) for card, make in makers.items()),
        )
        shown = dict(zip(makers, made, strict=True))
        pending = [each for each in approvals or () if each["state"] == "pending"]
        return {
            "approvals": approvals or [],
            "pairing": pairing or [],
            "pending_count": len(pending) + len(pairing or ()),
            "columns": [[card for card in column if shown.get(card) is not None] for column in choices.columns],
            "cards": shown,
        }

    async def _part(
        self,
        call: HttpCall,
        texts: Catalogue,
        make: Callable[[HttpCall, Catalogue], Awaitable[dict[str, Any] | None]],
        *,
        shown: bool,
    ) -> dict[str, Any] | None:
        """Return a card; a failed one shows its error, and the rest of the page is there."""
        if not shown:
            return None
        try:
            return await make(call, texts)
        except HubError as error:
            return {"error": error.message}

    async def _answers(self, call: HttpCall, texts: Catalogue) -> dict[str, Any] | None:
        listed = (await self._client.ask(call, "sessions.list", {"limit": SESSIONS}))["sessions"]
        keys = [each["key"] for each in listed]
        previews = await self._client.ask(call, "sessions.preview", {"keys": keys, **PREVIEW}) if keys else None
        names = {each["id"]: each["alias"] for each in await self._list(call, "automation.list", "automations")}
        rows = cards.answers(
            listed, (previews or {"previews": ()})["previews"], names, self._renderer.spoken, self._sources.home_channel
        )
        return {"rows": rows} if rows else None

    async def _devices(self, call: HttpCall, texts: Catalogue) -> dict[str, Any] | None:
        listed = (await self._client.ask(call, "entities.list"))["entities"]
        favourites = (await self._choices.of(_person(call))).favourites
        chosen = cards.favourites(listed, favourites)
        person = _person(call)
        self._watched[person] = frozenset(each["entity_id"] for each in chosen)
        self._watched.move_to_end(person)
        if len(self._watched) > PEOPLE_WATCHED:
            self._watched.popitem(last=False)
        if not chosen:
            return None
        may_do = call.known_caller.authority.has(WRITE)
        return {"tiles": await self._tiles.of(call, chosen, sparks=False), "may_do": may_do}

    async def _start(self, call: HttpCall, texts: Catalogue) -> dict[str, Any] | None:
        """Return the first steps, until all are done."""
        if not call.known_caller.authority.has(ADMIN):
            return None
        models = await self._client.ask(call, "models.status")
        status, phones, entities = await asyncio.gather(
            self._client.ask(call, "channels.status"),
            self._list(call, "device.pair.list", "paired"),
            self._list(call, "entities.list", "entities"),
        )
        done = {
            "you": self._renderer.person_name(call) != STARTER_NAME,
            "model": cards.model(models, {})["name"] not in ("", OFFLINE_MODEL),
            "chat": bool(status["channelAccounts"]),
            "phone": bool(phones),
            "home": any(each["domain"] not in OF_EVERY_HOME for each in entities),
        }
        return None if all(done.values()) else {"done": done}

    async def _next_up(self, call: HttpCall, texts: Catalogue) -> dict[str, Any] | None:
        jobs, automations = await asyncio.gather(
            self._list(call, "cron.list", "jobs", {"limit": 200}), self._list(call, "automation.list", "automations")
        )
        rows = cards.next_up(jobs, automations, self._now().timestamp() * 1000, self._renderer.spoken)
        return {"rows": rows} if rows else None

    async def _assistant(self, call: HttpCall, texts: Catalogue) -> dict[str, Any] | None:
        models = await self._client.ask(call, "models.status")
        status, known, asking, parts = await asyncio.gather(
            self._client.ask(call, "channels.status"),
            self._list(call, "models.list", "models"),
            self._list(call, "pairing.list", "requests"),
            self._list(call, "integration.list", "integrations"),
        )
        failed = [each for each in parts if each["state"] in ("failed", "retrying")]
        names = {f"{each['provider']}/{each['id']}": each.get("name") or "" for each in known}
        return {"model": cards.model(models, names), "channels": cards.channels(status, asking), "failed": failed}

    async def _week(self, call: HttpCall, texts: Catalogue) -> dict[str, Any] | None:
        rows = await self._list(call, "models.usage", "rows", {"days": cards.WEEK})
        status = await self._client.ask(call, "models.status")
        shown = cards.week(rows, status["budgets"], self._now().date())
        if not shown["used"]:
            return None
        return {**shown, "days": [texts.gettext(weekday(day, self._now().date())) for day in shown["days"]]}

    async def _list(
        self, call: HttpCall, method: str, key: str, params: Mapping[str, Any] | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Return the list of a method; nothing to those who may not call it."""
        answer = await self._try(call, method, params)
        return () if answer is None else answer[key]

    async def _try(self, call: HttpCall, method: str, params: Mapping[str, Any] | None = None) -> Any:
        try:
            return await self._client.ask(call, method, params)
        except HubError:
            return None


def _side_by_side(data: Mapping[str, Any]) -> list[list[tuple[str, int]]]:
    """Return what needs the viewer in two columns of about one height, each by its list and its place in that."""
    columns: list[list[tuple[str, int]]] = [[], []]
    heights = [0, 0]
    for name, height in HEIGHTS.items():
        count = len(data[name])
        # Those who ask to write are one part of the page, which is redrawn whole.
        parts = [(0, height * count)] if name == "pairing" and count else [(at, height) for at in range(count)]
        for at, of in parts:
            side = heights.index(min(heights))
            columns[side].append((name, at))
            heights[side] += of
    return columns


def _person(call: HttpCall) -> str:
    """Return whose Home it is; all who are not known by name share one."""
    return call.known_caller.authority.person or ""
