"""The tools of the home: get_state, home, call_service. Agents see and control the entities exposed to them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from hub.core.errors import Forbidden, NotFound
from hub.core.plain_words import is_plain
from hub.core.schema import All, In, Length, Match, Optional, Range, Required, Schema, integer, string
from hub.core.services import TAINTED, AgentRule, Service, ServiceRegistry
from hub.core.states import EntityState, StateMachine
from hub.entities.entities import HomeEntities
from hub.entities.services import IS_NEW
from hub.tools.contract import READS_HOME, Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.home.finding import NamedEntity, find, find_named, is_clear, words_of
from integrations.tools.home.verbs import VERBS, service_for

GROUP = "home"
STATES_LIMIT = 100
SERVICES_SHOWN = 30
CALL_TIMEOUT_S = 630.0
"""Room for the owner's answer where a service asks for it, and for the service behind it."""

_NAME = All(string, Match(r"^[a-z0-9_]{1,64}$", msg="expected a name of a-z, 0-9 and _"))

GET_STATE = Schema(
    {
        Optional("entity_id", description="One entity, such as light.kitchen."): All(string, Length(min=1, max=200)),
        Optional("domain", description="All of one domain, for example light."): _NAME,
        Optional("search", description="What they are called, such as kitchen lights or 客厅的灯."): All(
            string, Length(min=1, max=200)
        ),
        Optional("area", description="All of an area or a floor."): All(string, Length(min=1, max=100)),
        Optional("limit", default=30): All(integer, Range(min=1, max=STATES_LIMIT)),
    }
)
CALL_SERVICE = Schema(
    {
        Required("domain", description="For example light."): _NAME,
        Required("service", description="For example turn_on."): _NAME,
        Optional("data", default=dict, description="What the service takes, for example entity_id."): dict,
    }
)


HOME = Schema(
    {
        Required("do", description="turn_on, open, lock, …; set takes values."): In(VERBS),
        Required("name", description="What it is called: desk lamp, kitchen lights, 客厅的灯, or an entity id."): All(
            string, Length(min=1, max=200)
        ),
        Optional("area", description="The area or floor it is in."): All(string, Length(min=1, max=100)),
        Optional("values", description="What is set: brightness_pct, temperature, position, option, value, …"): dict,
    }
)


def home_tools(states: StateMachine, services: ServiceRegistry, entities: HomeEntities) -> list[Tool]:
    """Return the tools over the states, services and entities of this home."""
    tools = _HomeTools(states, services, entities)
    return [
        Tool(
            "get_state",
            "Look at devices and sensors of this home: one entity, a domain, or a search; without any, all.",
            from_schema(GET_STATE),
            tools.get_state,
            GROUP,
            READS_HOME,
        ),
        Tool(
            "home",
            "Control lights, switches, blinds, locks, heating and other things of this home by name and area.",
            from_schema(HOME),
            tools.home,
            GROUP,
            Annotations(open_world=False, owner_only=False, egress=True),
            timeout_s=CALL_TIMEOUT_S,
        ),
        Tool(
            "call_service",
            "Call a service of this home with its data. An unknown service answers with those there are.",
            from_schema(CALL_SERVICE),
            tools.call_service,
            GROUP,
            Annotations(open_world=False, owner_only=False, egress=True),
            timeout_s=CALL_TIMEOUT_S,
        ),
    ]


class _HomeTools:
    def __init__(self, states: StateMachine, services: ServiceRegistry, entities: HomeEntities) -> None:
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
            return self._result([state], 1)
        candidates = self._candidates(call.arguments.get("domain"), call.arguments.get("area"))
        if "search" in call.arguments:
            candidates = find(call.arguments["search"], candidates)
            if not candidates and find(call.arguments["search"], self._new_ones()):
                raise Forbidden(f"{call.arguments['search']!r} {IS_NEW}")
        found = [state for each in candidates if (state := self._states.get(each.entity_id)) is not None]
        return self._result(found[: call.arguments["limit"]], len(found))

    async def home(self, call: ToolCall) -> ToolResult:
        verb, name, values = call.arguments["do"], call.arguments["name"], call.arguments.get("values", {})
        new, found = self._able(verb, name, values, self._new_ones()), []
        try:
            found = self._able(verb, name, values, self._candidates(None, call.arguments.get("area")))
        except NotFound:
            if not new:
                raise
        if new and not found:
            raise Forbidden(f"{name!r} {IS_NEW}")
        if not found:
            raise NotFound(f"there is nothing called {name!r} that can {verb}; get_state with search finds more")
        if not is_clear(name, found):
            shown = [each.entity_id for each in found[:SERVICES_SHOWN]]
            output = f"error: {name!r} may be any of {', '.join(shown)}; say which"
            return ToolResult(output, is_error=True, trusted=self._are_plain(shown))
        by_service: dict[str, list[str]] = {}
        for each in found:
            by_service.setdefault(str(service_for(verb, each.domain, values)), []).append(each.entity_id)
        for service, of_service in by_service.items():
            await self._call(call, service, {"entity_id": of_service, **values})
        ids = [each.entity_id for each in found]
        names = [state.name for id in ids if (state := self._states.get(id)) is not None]
        told = {"done": verb, "entities": ids, "names": names}
        return ToolResult(_json(told), details=told, trusted=self._are_plain(ids) and is_plain(names))

    def _able(
        self, verb: str, name: str, values: Mapping[str, Any], candidates: Iterable[NamedEntity]
    ) -> list[NamedEntity]:
        """Return the entities of that name that support the service."""
        able = [each for each in candidates if service_for(verb, each.domain, values) is not None]
        return [each for each in able if each.entity_id == name] or find_named(name, able)

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
        said = set(words_of(area)) - {"the"}
        inside = [each for each in found if any(said <= set(words_of(place)) for place in each.places)]
        if inside:
            return inside
        known = ", ".join(sorted(each.name for each in self._entities.registry.areas.values()))
        raise NotFound(f"nothing is in an area {area!r}; there are the areas: {known or 'none'}")

    def _new_ones(self) -> list[NamedEntity]:
        """Return the entities that agents may not use yet."""
        return [self._candidate(each) for each in self._states.all() if self._entities.is_new(each.entity_id)]

    def _candidate(self, state: EntityState) -> NamedEntity:
        registry = self._entities.registry
        entry = registry.entities.get(state.entity_id)
        object_id = state.entity_id.partition(".")[2].replace("_", " ")
        kind = str(state.attributes.get("device_class") or "")
        if entry is None:
            return NamedEntity(state.entity_id, (state.name, object_id), (), kind)
        area = registry.area_of(entry)
        places = (area.name, *area.aliases) if area is not None else ()
        floor = registry.floors.get(area.floor_id or "") if area is not None else None
        return NamedEntity(
            state.entity_id,
            (state.name, object_id, *entry.aliases),
            (*places, *((floor.name, *floor.aliases) if floor is not None else ())),
            kind,
        )

    def _result(self, states: list[EntityState], total: int) -> ToolResult:
        shown = [self._shown(state) for state in states]
        data: dict[str, Any] = {"states": shown}
        if total > len(states):
            data["more"] = total - len(states)
        trusted = all(_is_ours(state) or self._is_harmless(state) for state in states)
        return ToolResult(_json(data), details={"count": total, "states": shown}, trusted=trusted)

    def _is_harmless(self, state: EntityState) -> bool:
        """Whether a device's description is free of instructions to a model."""
        attributes = {key: value for key, value in state.attributes.items() if key != "friendly_name"}
        return self._are_plain([state.entity_id]) and is_plain(state.state) and is_plain(attributes)

    def _are_plain(self, entity_ids: Iterable[str]) -> bool:
        """Whether names are plain, or were given by the owner."""
        for id in entity_ids:
            state, entry = self._states.get(id), self._entities.registry.entities.get(id)
            chosen = entry is not None and entry.name is not None
            if not chosen and not is_plain([id.replace("_", " "), state.name if state is not None else ""]):
                return False
        return True

    def _shown(self, state: EntityState) -> dict[str, Any]:
        entry = self._entities.registry.entities.get(state.entity_id)
        area = self._entities.registry.area_of(entry) if entry is not None else None
        return {
            "entity_id": state.entity_id,
            "name": state.name,
            "state": state.state,
            **({"area": area.name} if area is not None else {}),
            **({"attributes": dict(state.attributes)} if state.attributes else {}),
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


def _is_ours(state: EntityState) -> bool:
    """Whether a state was set only by this hub and its owner."""
    authority = state.context.authority
    return authority.owner and not authority.tainted


def _described(service: Service) -> str:
    return f"{service.id} ({service.description})" if service.description else service.id


def _json(data: dict[str, Any]) -> str:
    return orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
