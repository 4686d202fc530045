"""The tools of the home: get_state, home, call_service. Agents see and control the entities exposed to them."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import orjson

from hub.core.context import Authority
from hub.core.errors import Forbidden, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.plain_words import is_plain
from hub.core.schema import All, In, Length, Match, Optional, Range, Required, Schema, integer, string
from hub.core.services import TAINTED, AgentRule, Service, ServiceRegistry
from hub.core.states import EntityState, StateMachine
from hub.entities.entities import HomeEntities
from hub.entities.entries import EntityEntry
from hub.entities.services import IS_NEW
from hub.tools.contract import READS_HOME, Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.home.verbs import LOOK, VERBS, Doing, doing

if TYPE_CHECKING:
    from integrations.tools.home.finding import NamedEntity  # with its vocabulary, which a start does not need
    from integrations.tools.home.looking import Keep

GROUP = "home"
STATES_LIMIT = 100
WHOLE_LIMIT = 5
"""Entities that are shown with all their attributes; of more, only those that tell what is going on."""
CHARS_LIMIT = 16_000
"""Of all entities in one answer; what goes beyond it is counted."""
TEXT_LIMIT = 300
IDS_SHOWN = 30
SERVICES_SHOWN = 30
AREAS_SHOWN = 40
CALL_TIMEOUT_S = 630.0
"""Room for the owner's answer where a service asks for it, and for the service behind it."""

_TELLING = frozenset(
    {
        *(
            "unit_of_measurement",
            "device_class",
            "brightness",
            "current_position",
            "current_temperature",
            "temperature",
        ),
        *("humidity", "current_humidity", "volume_level", "media_title", "media_artist", "source", "percentage"),
        *("remaining", "finishes_at", "next_event", "next_rising", "next_setting", "message", "start_time", "end_time"),
        "kept_by",
    }
)
_FOR_PAGES = frozenset({"entity_picture", "supported_features"})
"""Attributes that agents have no use for."""
_HERE = re.compile(r"\b(?<!down )(?<!up )here\b|这里|这儿|这边", re.IGNORECASE)

_NAME = All(string, Match(r"^[a-z0-9_]{1,64}$", msg="expected a name of a-z, 0-9 and _"))

GET_STATE = Schema(
    {
        Optional("entity_id", description="One entity, such as light.kitchen."): All(string, Length(min=1, max=200)),
        Optional("domain", description="All of one, such as light."): _NAME,
        Optional("search", description="What they are called, such as kitchen lights or 客厅的灯."): All(
            string, Length(min=1, max=200)
        ),
        Optional("area", description="All of an area, a floor or a label; upstairs."): All(
            string, Length(min=1, max=100)
        ),
        Optional("state", description="Only those on, off, open, locked, home, playing, low, …"): All(
            string, Length(min=1, max=60)
        ),
        Optional("limit", default=30): All(integer, Range(min=1, max=STATES_LIMIT)),
        Optional("until", description="Weather, calendars: what comes until this day."): string,
    }
)
CALL_SERVICE = Schema(
    {
        Required("domain", description="For example light."): _NAME,
        Required("service", description="For example turn_on."): _NAME,
        Optional("data", default=dict, description="What it takes, such as entity_id."): dict,
    }
)


HOME = Schema(
    {
        Required("do", description="set takes values."): In(VERBS),
        Required(
            "name",
            description="What it is called: desk lamp, kitchen lights, 客厅的灯, everything except the fridge, "
            "or an entity id.",
        ): All(string, Length(min=1, max=200)),
        Optional("area", description="The area or floor it is in; upstairs."): All(string, Length(min=1, max=100)),
        Optional(
            "values",
            description="What is set: value (50%, 21, red, an option), brightness_pct, duration (look: film), …",
        ): dict,
    }
)


def home_tools(
    states: StateMachine, services: ServiceRegistry, entities: HomeEntities, keep: Keep, now: Callable[[], datetime]
) -> list[Tool]:
    """Return the tools over the states, services and entities of this home.

    Args:
        keep: Keeps a camera's picture.
        now: Gives the time on the clocks of the home.
    """
    tools = _HomeTools(states, services, entities, keep, now)
    return [
        Tool(
            "get_state",
            "Look at devices, sensors, people, timers, media, weather: one entity, a domain, or a search. "
            "What is left out is counted.",
            from_schema(GET_STATE),
            tools.get_state,
            GROUP,
            READS_HOME,
        ),
        Tool(
            "home",
            "Control lights, switches, blinds, locks, heating, media, timers, scenes, helpers by name and area; look "
            "through a camera.",
            from_schema(HOME),
            tools.home,
            GROUP,
            Annotations(open_world=False, owner_only=False, egress=True),
            approval=_why_ask,
            preview=tools.preview,
            timeout_s=CALL_TIMEOUT_S,
        ),
        Tool(
            "call_service",
            "Call a service of this home. An unknown one answers with those there are.",
            from_schema(CALL_SERVICE),
            tools.call_service,
            GROUP,
            Annotations(open_world=False, owner_only=False, egress=True),
            timeout_s=CALL_TIMEOUT_S,
        ),
    ]


def _why_ask(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    if arguments.get("do") == LOOK:
        return phrase("it looks through a camera of your home, and the picture goes to the model that answers")
    if authority.tainted:
        return phrase("text that others wrote is in this conversation, and {tool} may do what it says", tool="home")
    return None


class _HomeTools:
    def __init__(
        self,
        states: StateMachine,
        services: ServiceRegistry,
        entities: HomeEntities,
        keep: Keep,
        now: Callable[[], datetime],
    ) -> None:
        self._keep, self._now = keep, now
        self._states = states
        self._services = services
        self._entities = entities

    async def get_state(self, call: ToolCall) -> ToolResult:
        wanted = call.arguments.get("entity_id")
        if wanted is not None:
            state = self._states.get(wanted)
            if self._entities.is_new(wanted):
                raise Forbidden(f"{wanted} {IS_NEW}")
            if state is None or not self._entities.is_exposed(wanted):
                raise NotFound(f"there is no entity {wanted!r}{self._neighbours(wanted)}")
            return self._result([state], 1, await self._coming(call, [state]))
        from integrations.tools.home.finding import find, in_state, is_mere_kind, is_several

        arguments = call.arguments
        area = _area(call)
        candidates = self._candidates(arguments.get("domain"), area)
        if "search" in arguments:
            search = _HERE.sub(" ", arguments["search"])
            is_here = _HERE.search(arguments["search"]) is not None
            near = []
            if (
                call.area is not None
                and area is None
                and (is_here or (is_mere_kind(search) and not is_several(search)))
            ):
                near = _found(find, search, self._inside(call.area, candidates))
                if is_here and not near:
                    return ToolResult.of({"states": [], "note": f"there is none in {call.area}"})
            candidates = near or _found(find, search, candidates)
            if not candidates and find(search, self._new_ones()):
                raise Forbidden(f"{search!r} {IS_NEW}")
        chosen, looked_at = candidates, None
        if "state" in arguments:  # how many were looked at tells "none of five" from "there is none"
            about = f"{arguments.get('search', '')} {arguments.get('domain', '')}"
            chosen, looked_at = in_state(about, candidates, arguments["state"]), len(candidates)
        found = [state for each in chosen if (state := self._states.get(each.entity_id)) is not None]
        coming = await self._coming(call, found[: arguments["limit"]])
        return self._result(found, arguments["limit"], coming, looked_at=looked_at)

    async def _coming(self, call: ToolCall, states: Sequence[EntityState]) -> Mapping[str, Mapping[str, Any]]:
        if "until" not in call.arguments:
            return {}
        from integrations.tools.home.coming import what_comes

        try:
            until = date.fromisoformat(call.arguments["until"])
        except ValueError as error:
            raise InvalidRequest(f"until: {error}; expected a day such as 2026-05-12") from None
        return await what_comes(self._services, [each.entity_id for each in states], until, self._now(), call.context)

    async def preview(self, call: ToolCall) -> str:
        """Return the cameras of a call that looks through some; the approval is bound to them."""
        found = self._meant(call) if call.arguments["do"] == LOOK else []
        return ", ".join(self._described(each) for each, _ in found)

    async def home(self, call: ToolCall) -> ToolResult:
        from integrations.tools.home.finding import is_clear

        verb, name = call.arguments["do"], call.arguments["name"]
        found = self._meant(call)
        if not is_clear(_HERE.sub(" ", name), [each for each, _ in found]):
            shown = [self._described(each) for each, _ in found[:SERVICES_SHOWN]]
            output = f"error: {name!r} may be any of {', '.join(shown)}; say which"
            return ToolResult(output, is_error=True, trusted=self._are_plain(each.entity_id for each, _ in found))
        if verb == LOOK:
            from integrations.tools.home.looking import look

            ids = [each.entity_id for each, _ in found]
            return await look(call, self._entities, ids, self._keep, call.arguments.get("values", {}))
        by_service: dict[str, tuple[Doing, list[str]]] = {}
        for each, done in found:
            by_service.setdefault(repr(done), (done, []))[1].append(each.entity_id)
        for done, of_service in by_service.values():
            of_script = done.service in of_service
            await self._call(call, done.service, {} if of_script else {"entity_id": of_service, **done.data})
        ids = [each.entity_id for each, _ in found]
        names = [state.name for id in ids if (state := self._states.get(id)) is not None]
        told: dict[str, Any] = {"done": verb, "entities": ids[:IDS_SHOWN], "names": names[:IDS_SHOWN]}
        if len(ids) > IDS_SHOWN:
            told["more"] = len(ids) - IDS_SHOWN
        trusted = self._are_plain(ids) and is_plain(names)
        return ToolResult(_json(told), details={**told, "entities": ids, "names": names}, trusted=trusted)

    def _meant(self, call: ToolCall) -> list[tuple[NamedEntity, Doing]]:
        """Return the entities that a call means.

        Raises:
            NotFound, Forbidden: There are none, or none that agents may use.
        """
        from integrations.tools.home.finding import is_mere_kind, is_of_whole_home

        verb, name, values = call.arguments["do"], call.arguments["name"], call.arguments.get("values", {})
        area, room = _area(call), call.area
        said, is_here = _HERE.sub(" ", name), area is None and _HERE.search(name) is not None
        if area is not None or (not is_here and is_of_whole_home(said)):
            room = None
        candidates = self._candidates(None, None)
        if room is not None:
            if is_mere_kind(said):  # a plug "All lights" is not the light of its room
                candidates = [each for each in candidates if not any(map(is_of_whole_home, each.names))]
            if near := self._able(verb, said, values, self._inside(room, candidates)):
                return near
            if is_here:
                raise NotFound(f"there is nothing in {room} called {said.strip()!r} that can {verb}; say which room")
        new, found = self._able(verb, said, values, self._new_ones()), []
        try:
            found = self._able(verb, said, values, candidates if area is None else self._candidates(None, area))
        except NotFound:
            if not new:
                raise
        if new and not found:
            raise Forbidden(f"{name!r} {IS_NEW}")
        if not found:
            raise NotFound(
                f"there is nothing called {name!r} that can {verb}{self._called_like(name)}; "
                "get_state with search finds more"
            )
        if room is not None:
            every = self._able(verb, f"all {said}", values, candidates) if is_mere_kind(said) else []
            return self._of_no_other_room(call, found, every)
        return self._only_here(name, verb, found) if is_here else found

    def _of_no_other_room(
        self, call: ToolCall, found: list[tuple[NamedEntity, Doing]], every: list[tuple[NamedEntity, Doing]]
    ) -> list[tuple[NamedEntity, Doing]]:
        """Return what was found beyond the speaker's room, but nothing in another room that only its kind names.

        Args:
            call: The call.
            found: What was found.
            every: All of that kind, if nothing but a kind was named.

        Raises:
            NotFound: It would all be in other rooms.
        """
        from integrations.tools.home.finding import is_of_rooms

        left = [each for each in found if not is_of_rooms(each[0]) or self._area_of(each[0].entity_id) is None]
        if left or not every:
            return left if every else found
        areas = {area for each, _ in every if (area := self._area_of(each.entity_id)) is not None}
        others, said = ", ".join(sorted(areas)[:AREAS_SHOWN]), call.arguments
        raise NotFound(
            f"there is nothing in {call.area} called {said['name']!r} that can {said['do']}, only in: {others}; "
            "say which room"
        )

    def _inside(self, room: str, candidates: Iterable[NamedEntity]) -> list[NamedEntity]:
        """Return those that are in an area."""
        return [each for each in candidates if self._area_of(each.entity_id) == room]

    def _area_of(self, entity_id: str) -> str | None:
        """Return the name of an entity's area."""
        registry = self._entities.registry
        entry = registry.entities.get(entity_id)
        area = registry.area_of(entry) if entry is not None else None
        return area.name if area is not None else None

    def _able(
        self, verb: str, name: str, values: Mapping[str, Any], candidates: Iterable[NamedEntity]
    ) -> list[tuple[NamedEntity, Doing]]:
        """Return the entities of that name that can do it, and how each does it."""
        from integrations.tools.home.finding import find_named

        able: dict[str, tuple[NamedEntity, Doing]] = {}
        for each in candidates:
            state = self._states.get(each.entity_id)
            done = doing(verb, each.entity_id, values, state.attributes if state is not None else {})
            service = self._services.get(*done.service.split(".", 1)) if done is not None else None
            if done is not None and service is not None and service.agent is not AgentRule.NEVER:
                able[each.entity_id] = (each, done)
        if name in able:
            return [able[name]]
        return [able[each.entity_id] for each in _found(find_named, name, [each for each, _ in able.values()])]

    def _only_here(
        self, name: str, verb: str, found: list[tuple[NamedEntity, Doing]]
    ) -> list[tuple[NamedEntity, Doing]]:
        """Return what "here" means where nobody knows the room: the only one, or the only one that plays.

        Raises:
            NotFound: It may be several; the whole home is never meant by it.
        """
        active = [each for each in found if each[0].is_in("paused" if verb == "resume" else "playing")]
        if len(found) > 1 and len(active) != 1:
            raise NotFound(f"where {name!r} is not known: say the room")
        return active if len(found) > 1 else found

    def _described(self, each: NamedEntity) -> str:
        """Return an entity as a person tells it from others of its name."""
        place = f", {each.places[0]}" if each.places else ""
        return f"{each.entity_id} ({each.names[0]}{place})"

    def _called_like(self, name: str) -> str:
        """Return names that are almost the one that was said."""
        known = {
            each.names[0].casefold(): each.names[0]
            for each in self._candidates(None, None)
            if self._are_plain([each.entity_id])
        }
        close = difflib.get_close_matches(name.casefold(), known, n=3)
        return f", did you mean {' or '.join(known[each] for each in close)}" if close else ""

    async def _call(self, call: ToolCall, service: str, data: Mapping[str, Any]) -> None:
        domain, _, name = service.partition(".")
        await self._services.call_for_agent(
            domain, name, data, context=call.context, session_key=call.session_key, run_id=call.run_id
        )

    def _candidates(self, domain: str | None, area: str | None) -> list[NamedEntity]:
        """Return the exposed entities, of a domain, and in a place when one is given.

        Raises:
            NotFound: There is no such place.
        """
        found = [
            self._candidate(each) for each in self._states.all(domain) if self._entities.is_exposed(each.entity_id)
        ]
        if area is None:
            return found
        from integrations.tools.home.finding import words_of

        said = {word for word in words_of(area) if word != "the"}
        inside = [each for each in found if any(said <= set(words_of(place)) for place in each.places)]
        if inside:
            return inside
        areas = sorted(each.name for each in self._entities.registry.areas.values())
        known = ", ".join(
            [*areas[:AREAS_SHOWN], *([f"{len(areas) - AREAS_SHOWN} more"] if areas[AREAS_SHOWN:] else [])]
        )
        raise NotFound(f"nothing is in an area {area!r}; there are the areas: {known or 'none'}")

    def _new_ones(self) -> list[NamedEntity]:
        """Return the entities that agents may not use yet."""
        return [self._candidate(each) for each in self._states.all() if self._entities.is_new(each.entity_id)]

    def _candidate(self, state: EntityState) -> NamedEntity:
        from integrations.tools.home.finding import NamedEntity

        registry = self._entities.registry
        entry = registry.entities.get(state.entity_id)
        object_id = state.entity_id.partition(".")[2].replace("_", " ")
        kind = str(state.attributes.get("device_class") or "")
        if entry is None:
            return NamedEntity(state.entity_id, (state.name, object_id), (), kind, state.state)
        names = (state.name, *((object_id,) if object_id.isascii() else ()), *entry.aliases)
        return NamedEntity(state.entity_id, names, tuple(self._places(entry)), kind, state.state)

    def _places(self, entry: EntityEntry) -> Iterator[str]:
        """Yield the names of an entity's area, floor and labels; the area's own first."""
        from integrations.tools.home.vocabulary import LEVELS

        registry = self._entities.registry
        area, device = registry.area_of(entry), registry.devices.get(entry.device_id or "")
        floor = registry.floors.get(area.floor_id or "") if area is not None else None
        for place in (area, floor):
            if place is not None:
                yield from (place.name, *place.aliases)
        if floor is not None and floor.level is not None:
            yield from (words for is_so, words in LEVELS if is_so(floor.level))
        for id in (*entry.labels, *(device.labels if device else ()), *(area.labels if area else ())):
            if (label := registry.labels.get(id)) is not None:
                yield label.name

    def _result(
        self,
        states: Sequence[EntityState],
        limit: int,
        coming: Mapping[str, Mapping[str, Any]],
        *,
        looked_at: int | None = None,
    ) -> ToolResult:
        """Return states within the limits, with what comes; what is left out is counted by domain."""
        is_brief = min(len(states), limit) > WHOLE_LIMIT
        shown: list[dict[str, Any]] = []
        room = CHARS_LIMIT
        for state in states[:limit]:
            each = {**self._shown(state, is_brief=is_brief), **coming.get(state.entity_id, {})}
            room -= len(_json(each))
            if room < 0 and shown:
                break
            shown.append(each)
        data: dict[str, Any] = {"states": shown}
        if left := states[len(shown) :]:
            data["more"] = len(left)
            data["left_out"] = dict(Counter(each.entity_id.partition(".")[0] for each in left).most_common())
        if looked_at is not None:
            data["looked_at"] = looked_at
        trusted = is_plain(coming) and all(
            _is_ours(state) or self._is_harmless(state) for state in states[: len(shown)]
        )
        return ToolResult(_json(data), details={"count": len(states), "states": shown}, trusted=trusted)

    def _is_harmless(self, state: EntityState) -> bool:
        """Whether a device's description is free of instructions to a model."""
        attributes = {
            key: value for key, value in state.attributes.items() if key not in ("friendly_name", *_FOR_PAGES)
        }
        return self._are_plain([state.entity_id]) and is_plain(state.state) and is_plain(attributes)

    def _are_plain(self, entity_ids: Iterable[str]) -> bool:
        """Whether names are plain, or were given by the owner."""
        for id in entity_ids:
            state, entry = self._states.get(id), self._entities.registry.entities.get(id)
            chosen = entry is not None and entry.name is not None
            if not chosen and not is_plain([id.replace("_", " "), state.name if state is not None else ""]):
                return False
        return True

    def _shown(self, state: EntityState, *, is_brief: bool) -> dict[str, Any]:
        entry = self._entities.registry.entities.get(state.entity_id)
        area = self._entities.registry.area_of(entry) if entry is not None else None
        attributes = {
            key: _short(value)
            for key, value in state.attributes.items()
            if key not in _FOR_PAGES and (not is_brief or key in _TELLING)
        }
        return {
            "entity_id": state.entity_id,
            "name": state.name,
            "state": state.state,
            **({"area": area.name} if area is not None else {}),
            **({"attributes": attributes} if attributes else {}),
        }

    async def call_service(self, call: ToolCall) -> ToolResult:
        domain, name = call.arguments["domain"], call.arguments["service"]
        service = self._services.get(domain, name)
        if service is None or service.agent is AgentRule.NEVER:
            raise NotFound(f"there is no service {domain}.{name} that you may call; {self._offered(domain)}")
        notes: dict[str, Any] = {}
        answer = await self._services.call_for_agent(
            domain,
            name,
            call.arguments["data"],
            context=call.context,
            session_key=call.session_key,
            run_id=call.run_id,
            notes=notes,
        )
        trusted = not (service.open_world or notes.get(TAINTED))
        details: dict[str, Any] = {"service": service.id, "data": call.arguments["data"]}
        if answer is None:
            return ToolResult(f"{service.id} was done", details=details)
        return ToolResult(_json(dict(answer)), details={**details, "response": dict(answer)}, trusted=trusted)

    def _offered(self, domain: str) -> str:
        offered = [each for each in self._services.all(for_agent=True) if each.agent is AgentRule.ALLOW]
        near = [each for each in offered if each.domain == domain] or offered
        if not near:
            return "no service of this home may be called by an agent"
        more = f" and {len(near) - SERVICES_SHOWN} more" if len(near) > SERVICES_SHOWN else ""
        return "there are: " + ", ".join(_described(each) for each in near[:SERVICES_SHOWN]) + more

    def _neighbours(self, wanted: str) -> str:
        exposed = [each.entity_id for each in self._states.all() if self._entities.is_exposed(each.entity_id)]
        ids = [each for each in exposed if self._are_plain([each])]
        close = difflib.get_close_matches(wanted, ids, n=3)
        if close:
            return f"; did you mean {' or '.join(close)}?"
        return "; look with search or domain" if ids else "; this home has no entities yet"


def _area(call: ToolCall) -> str | None:
    """Return the area that a call names; "here" is the room of the speaker."""
    area: str | None = call.arguments.get("area")
    return call.area if area is not None and call.area is not None and _HERE.fullmatch(area.strip()) else area


def _found(
    how: Callable[[str, Iterable[NamedEntity]], list[NamedEntity]], text: str, candidates: Iterable[NamedEntity]
) -> list[NamedEntity]:
    try:
        return how(text, candidates)
    except LookupError as error:
        raise NotFound(
            f"{text!r}: there is nothing called {error.args[0]!r} to leave out, so nothing was done"
        ) from None


def _short(value: Any) -> Any:
    """Return an attribute, cut when it is long: lists of a thousand effects tell a model nothing."""
    text = value if isinstance(value, str) else _json({"": value})
    return value if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}… ({len(text)} characters)"


def _is_ours(state: EntityState) -> bool:
    """Whether a state was set only by this hub and its owner."""
    authority = state.context.authority
    return authority.owner and not authority.tainted


def _described(service: Service) -> str:
    return f"{service.id} ({service.description})" if service.description else service.id


def _json(data: dict[str, Any]) -> str:
    return orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
