"""What is said in rooms although nobody there asked: announcements, questions, and talks that the hub begins."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from hub.core.context import Context
from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.events import Unsubscribe
from hub.core.phrases import in_series, phrase
from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema, boolean, ensure_list, string
from hub.core.services import AgentRule, ResponseMode, ServiceCall, ServiceRegistry
from hub.core.states import StateMachine
from hub.entities.domains import TARGET_KEYS
from hub.entities.entities import UNAVAILABLE, EntityHandle, HomeEntities
from hub.entities.entries import AreaEntry
from hub.entities.targets import TARGET_FIELDS, Targets
from hub.voice.contract import Satellites, SatelliteView
from hub.voice.media import Recordings

DOMAIN = "assist_satellite"
PLAYER = "media_player"
SPEAK = ("tts", "home_say")
"""The service that speaks at players; there where the integration `media` is set up."""
_SILENT = frozenset({UNAVAILABLE, "unknown", "off", "standby"})
_SLOT = re.compile(r"\{(\w+)")
_RECORDINGS = ("media_id", "start_media_id", "question_media_id", "preannounce_media_id")
_log = logging.getLogger(__name__)

_TEXT = All(string, Length(max=4_000))
_MEDIA = AnyOf(All(string, Length(min=1, max=2_000)), {Required("media_content_id"): string, Optional(str): object})
_CHIME: Mapping[Any, Any] = {
    Optional("preannounce", default=True, description="Whether a chime sounds before it."): boolean,
    Optional("preannounce_media_id", description="A recording that sounds before it instead."): _MEDIA,
}
ANNOUNCE = Schema(
    {
        **TARGET_FIELDS,
        Optional("message", default="", description="What is said."): _TEXT,
        Optional("media_id", description="A recording that is played instead."): _MEDIA,
        **_CHIME,
    }
)
START = Schema(
    {
        **TARGET_FIELDS,
        Optional("start_message", default="", description="What is said; the answer goes to the agent."): _TEXT,
        Optional("start_media_id", description="A recording that is played instead."): _MEDIA,
        Optional("extra_system_prompt", description="What the agent is told for this talk."): _TEXT,
        **_CHIME,
    }
)
ASK = Schema(
    {
        Required("entity_id", description="The satellite."): All(string, Length(min=1, max=255)),
        Optional("question", default="", description="What is asked."): _TEXT,
        Optional("question_media_id", description="A recording that is played instead."): _MEDIA,
        Optional("answers", default=list, description="Answers that are understood, each with its sentences."): All(
            [{Required("id"): All(string, Length(min=1, max=100)), Required("sentences"): All(ensure_list(string))}],
            Length(max=100),
        ),
        **_CHIME,
    }
)
IN_ROOMS = Schema(
    {
        Required("message", description="What is said."): All(_TEXT, Length(min=1)),
        Optional("rooms", description="Names or ids of areas and floors; every room without it."): ensure_list(string),
    }
)


class Announced(Struct, frozen=True):
    """Where something was said.

    Attributes:
        rooms: Names of the rooms, or of the satellites and players there.
        failed: By name, why it was not said there.
    """

    rooms: list[str]
    failed: dict[str, str] = {}


class _Speaker(Struct, frozen=True):
    """A satellite that says a message.

    Attributes:
        room: The room, or the satellite's name where it has none or shares it.
        names: What it is called.
        is_there: Whether it can be reached.
    """

    room: str
    names: tuple[str, ...]
    area_id: str | None
    is_there: bool
    say: Callable[[], Awaitable[Any]]


class Announcements:
    """Speaks in rooms, and offers the services that do.

    Args:
        entities: Have the rooms.
        states: Of the players that speak in rooms without a satellite.
        targets: Finds satellites.
        services: Play at players.
        recordings: Reads recordings.
    """

    def __init__(
        self,
        satellites: Satellites,
        entities: HomeEntities,
        targets: Targets,
        services: ServiceRegistry,
        recordings: Recordings,
    ) -> None:
        self._satellites, self._entities, self._targets = satellites, entities, targets
        self._services, self._recordings = services, recordings
        self._states: StateMachine = entities.states

    def register(self) -> Unsubscribe:
        """Register the services; returns what removes them."""
        only, optional = ResponseMode.ONLY, ResponseMode.OPTIONAL
        told = "Say something on voice satellites", "Begin a talk at voice satellites", "Ask at a voice satellite"
        removers = [
            self._register(DOMAIN, "announce", self._announce, ANNOUNCE, ResponseMode.NONE, description=told[0]),
            self._register(
                DOMAIN,
                "start_conversation",
                self._start_conversation,
                START,
                ResponseMode.NONE,
                description=told[1],
                told=("start_message", "extra_system_prompt"),
            ),
            self._register(DOMAIN, "ask_question", self._ask_question, ASK, only, description=told[2]),
            self._register("voice", "announce", self._in_rooms, IN_ROOMS, optional, description="Say it in rooms"),
        ]

        def remove() -> None:
            for each in removers:
                each()

        return remove

    def _register(
        self,
        domain: str,
        name: str,
        handler: Callable[[ServiceCall], Awaitable[Mapping[str, Any] | None]],
        schema: Schema,
        response: ResponseMode,
        **more: Any,
    ) -> Unsubscribe:
        return self._services.register(
            domain, name, handler, schema, response, AgentRule.ALLOW, prepare=_asks_for_recordings, **more
        )

    async def in_rooms(self, message: str, rooms: Sequence[str] | None, context: Context) -> Announced:
        """Say something in rooms: at their satellites, else at a player; everywhere without names.

        Args:
            message: What is said.
            rooms: Names or ids of areas, floors or satellites.
            context: The cause, and the authority.

        Raises:
            NotFound: There is no such room, or nothing speaks there.
            Unavailable: It could be said nowhere.
        """
        speakers = self._speakers(message)
        areas = set(self._entities.registry.areas) if not rooms else set[str]()
        chosen = [each for each in speakers if each.is_there] if not rooms else []
        for name in rooms or ():
            found = self._areas_called(name)
            here = [each for each in speakers if each.area_id in found or _same(name, *each.names)]
            chosen += [each for each in here if each not in chosen]
            areas |= found
            if not here and not any(self._player(area, is_named=True) for area in found):
                raise NotFound(f"there is nothing that speaks in {name!r}; there is in: {self._known()}")
        players = {
            area: player
            for area in sorted(areas - {each.area_id for each in chosen if each.is_there})
            if (player := self._player(area, is_named=bool(rooms))) is not None
        }
        names = self._entities.registry.areas
        work: list[tuple[str, Awaitable[Any]]] = [
            *((each.room, each.say()) for each in chosen),
            *((names[area].name, self._speak(player, message, context)) for area, player in players.items()),
        ]
        if not work:
            raise NotFound("there is no voice satellite that is connected, and no player in any room")
        return await _each(work)

    async def _in_rooms(self, call: ServiceCall) -> Mapping[str, Any]:
        said = await self.in_rooms(call.data["message"], call.data.get("rooms"), call.context)
        return {"rooms": said.rooms, "failed": said.failed}

    async def _announce(self, call: ServiceCall) -> None:
        data = call.data
        if not data["message"] and "media_id" not in data:
            raise InvalidRequest("expected message or media_id")
        views, others = self._found(call)
        sound = await self._recordings.sound(data["media_id"]) if views and "media_id" in data else None

        async def say(view: SatelliteView) -> None:
            id = view.info.id
            if sound is None:
                await self._before(call, id, data["message"])
                return
            await self._chime(call, id)
            await self._satellites.play(id, sound)

        await self._at_each(call, views, others, say)

    async def _start_conversation(self, call: ServiceCall) -> None:
        data = call.data
        if not data["start_message"] and "start_media_id" not in data:
            raise InvalidRequest("expected start_message or start_media_id")
        views, others = self._found(call)
        sound = await self._recordings.sound(data["start_media_id"]) if views and "start_media_id" in data else None

        async def start(view: SatelliteView) -> None:
            id = view.info.id
            await self._chime(call, id)
            if sound is not None:
                await self._satellites.play(id, sound)
            await self._satellites.converse(
                id, data["start_message"], extra_system_prompt=data.get("extra_system_prompt")
            )

        await self._at_each(call, views, others, start)

    async def _ask_question(self, call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        if not data["question"] and "question_media_id" not in data:
            raise InvalidRequest("expected question or question_media_id")
        views, _ = self._found(call)
        if len(views) != 1:
            raise InvalidRequest("ask_question asks at one satellite")
        id = views[0].info.id
        sound = await self._recordings.sound(data["question_media_id"]) if "question_media_id" in data else None
        await self._chime(call, id)
        if sound is not None:
            await self._satellites.play(id, sound)
        said = await self._satellites.ask(id, data["question"])
        call.taint()  # whoever stood there said it
        found = await asyncio.to_thread(understood, said, data["answers"])
        return found or {"id": None, "sentence": said, "slots": {}}

    async def _before(self, call: ServiceCall, id: str, text: str) -> None:
        own = "preannounce_media_id" in call.data
        if own:
            await self._chime(call, id)
        await self._satellites.say(id, text, chime=call.data["preannounce"] and not own)

    async def _chime(self, call: ServiceCall, id: str) -> None:
        if not call.data["preannounce"]:
            return
        if (media := call.data.get("preannounce_media_id")) is not None:
            await self._satellites.play(id, await self._recordings.sound(media))
            return
        from hub.voice.chimes import Chime, chime

        await self._satellites.play(id, chime(Chime.ANNOUNCE))

    async def _at_each(
        self,
        call: ServiceCall,
        views: Sequence[SatelliteView],
        others: Sequence[EntityHandle],
        do: Callable[[SatelliteView], Awaitable[None]],
    ) -> None:
        """Do something at satellites, and have satellites of another hub do the same in their way.

        Raises:
            NotFound: There is none.
            HubError: At one of them it could not be done.
        """
        data = {key: each for key, each in call.data.items() if key not in TARGET_KEYS}
        work: list[tuple[str, Awaitable[Any]]] = [
            *((self._name_of(each), do(each)) for each in views),
            *((each.entity_id, each.commands[call.service](data)) for each in others),
        ]
        if not work:
            raise NotFound("there is no voice satellite there")
        said = await _each(work)
        if said.failed:
            raise Unavailable(_reasons(said.failed))

    def _found(self, call: ServiceCall) -> tuple[list[SatelliteView], list[EntityHandle]]:
        """Return the satellites of a call's target, and those of another hub that can do it too.

        Raises:
            NotFound: What is named is no satellite.
        """
        target = self._targets.find(call.data, DOMAIN)
        by_id = {f"{DOMAIN}.{each.info.id}": each for each in self._satellites.all()}
        meant = (*target.named, *target.meant)
        handles = [handle for id in meant if id not in by_id and (handle := self._entities.get(id)) is not None]
        others = {each.entity_id: each for each in handles if call.service in each.commands}
        if unknown := [each for each in target.named if each not in by_id and each not in others]:
            raise NotFound(f"{', '.join(unknown)}: not a voice satellite; there are: {', '.join(by_id) or 'none'}")
        return [by_id[each] for each in meant if each in by_id], list(others.values())

    def _speakers(self, message: str) -> list[_Speaker]:
        """Return the satellites of the home, and those of another hub that announce; each says a message."""
        registry = self._entities.registry
        views = self._satellites.all()
        own = {f"{DOMAIN}.{each.info.id}" for each in views}
        found = [
            _Speaker(
                self._name_of(each),
                (each.info.name, each.info.id),
                each.area_id,
                each.is_connected,
                partial(self._satellites.say, each.info.id, message, chime=True),
            )
            for each in views
        ]
        for id, entry in registry.entities.items():
            handle = self._entities.get(id) if id.startswith(f"{DOMAIN}.") and id not in own else None
            if handle is None or (announce := handle.commands.get("announce")) is None:
                continue
            area, state = registry.area_of(entry), self._states.get(id)
            name = str(state.attributes.get("friendly_name", id)) if state is not None else id
            room, is_there = area.name if area is not None else name, handle.is_available
            say = partial(announce, {"message": message}) if is_there else partial(_is_away, name)
            found.append(_Speaker(room, (name, id), area.id if area is not None else None, is_there, say))
        return found

    def _areas_called(self, name: str) -> set[str]:
        """Return the ids of the area of a name, or of all of a floor."""
        registry = self._entities.registry
        floors = {id for id, each in registry.floors.items() if _same(name, id, each.name, *each.aliases)}
        return {
            id
            for id, each in registry.areas.items()
            if _same(name, id, each.name, *each.aliases) or each.floor_id in floors
        }

    def _player(self, area: str, *, is_named: bool) -> str | None:
        """Return the player that speaks in a room without a satellite; one that is off only if the room was named."""
        if self._services.get(*SPEAK) is None:
            return None
        found = []
        for entry in self._targets.of_area(area):
            state = self._states.get(entry.entity_id) if entry.entity_id.startswith(f"{PLAYER}.") else None
            if state is None or state.state == UNAVAILABLE or (state.state in _SILENT and not is_named):
                continue
            found.append((state.attributes.get("device_class") != "speaker", state.state in _SILENT, entry.entity_id))
        return min(found)[2] if found else None

    async def _speak(self, player: str, message: str, context: Context) -> None:
        await self._services.call(*SPEAK, {"entity_id": player, "message": message}, context=context)

    def _name_of(self, view: SatelliteView) -> str:
        area: AreaEntry | None = self._entities.registry.areas.get(view.area_id or "")
        same = [each for each in self._satellites.all() if each.area_id == view.area_id]
        return area.name if area is not None and len(same) == 1 else view.info.name

    def _known(self) -> str:
        names = {each.room for each in self._speakers("")}
        areas = self._entities.registry.areas
        names |= {areas[id].name for id in areas if self._player(id, is_named=True) is not None}
        return ", ".join(sorted(names)) or "no room"


def understood(said: str, answers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return which of the answers was given, as Home Assistant understands them; None for none of them.

    Args:
        said: What was said.
        answers: Each with its `id` and its `sentences`, in which `[or]`, `(this|that)` and `{slot}` have their sense.

    Raises:
        InvalidRequest: A sentence cannot be read.
    """
    if not said or not answers:
        return None
    from hassil import Intents, recognize
    from hassil.errors import HassilError
    from hassil.parser import ParseError

    data = [{"sentences": each["sentences"], "metadata": {"answer_id": each["id"]}} for each in answers]
    names = {name for each in answers for sentence in each["sentences"] for name in _SLOT.findall(sentence)}
    grammar = {"intents": {"answer": {"data": data}}, "lists": {name: {"wildcard": True} for name in names}}
    try:
        found = recognize(said, Intents.from_dict({"language": "*", **grammar}))
    except (HassilError, ParseError, ValueError) as error:
        raise InvalidRequest(phrase("answers: {error}", error=str(error)[:200])) from error
    if found is None:
        return None
    slots = {name: f"{entity.value}".strip() for name, entity in found.entities.items()}
    return {"id": (found.intent_metadata or {})["answer_id"], "sentence": said, "slots": slots}


async def _each(work: Sequence[tuple[str, Awaitable[Any]]]) -> Announced:
    """Do everything at once.

    Raises:
        Unavailable: Nothing of it could be done.
    """
    ended = await asyncio.gather(*(each for _, each in work), return_exceptions=True)
    failed: dict[str, str] = {}
    rooms: list[str] = []
    for (name, _), each in zip(work, ended, strict=True):
        if isinstance(each, HubError):
            failed[name] = each.message
        elif isinstance(each, BaseException):
            raise each
        else:
            rooms.append(name)
    if not rooms:
        raise Unavailable(_reasons(failed))
    return Announced(rooms, failed)


async def _is_away(name: str) -> None:
    raise Unavailable(phrase("{satellite} is away", satellite=name))


def _reasons(failed: Mapping[str, str]) -> str:
    return in_series([phrase("{name}: {error}", name=name, error=why) for name, why in failed.items()])


def _asks_for_recordings(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Ask the owner where a model names a recording, which may be fetched from anywhere."""
    return data, any(key in data for key in _RECORDINGS)


def _same(name: str, *names: str) -> bool:
    return name.strip().casefold().removeprefix("the ") in {each.casefold() for each in names}
