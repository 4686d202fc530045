"""The tools of the home: get_state, call_service."""

from __future__ import annotations

import difflib
from typing import Any

import orjson

from hub.core.errors import NotFound
from hub.core.schema import All, Length, Match, Optional, Range, Required, Schema, integer, string
from hub.core.services import TAINTED, AgentRule, Service, ServiceRegistry
from hub.core.states import EntityState, StateMachine
from hub.tools.contract import READS_HOME, Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

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
        Optional("search", description="All whose id or name has these words."): All(string, Length(min=1, max=200)),
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


def home_tools(states: StateMachine, services: ServiceRegistry) -> list[Tool]:
    """Return the tools over the states and services of this home."""
    tools = _HomeTools(states, services)
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
            "call_service",
            "Do something in this home, for example turn a light on. An unknown service answers with those there are.",
            from_schema(CALL_SERVICE),
            tools.call_service,
            GROUP,
            Annotations(open_world=False, owner_only=False, egress=True),
            timeout_s=CALL_TIMEOUT_S,
        ),
    ]


class _HomeTools:
    def __init__(self, states: StateMachine, services: ServiceRegistry) -> None:
        self._states = states
        self._services = services

    async def get_state(self, call: ToolCall) -> ToolResult:
        wanted = call.arguments.get("entity_id")
        if wanted is not None:
            state = self._states.get(wanted)
            if state is None:
                raise NotFound(f"there is no entity {wanted!r}{self._neighbours(wanted)}")
            return _result([state], 1)
        found = self._states.all(call.arguments.get("domain"))
        words = call.arguments.get("search", "").casefold().split()
        found = [each for each in found if all(word in f"{each.entity_id} {each.name}".casefold() for word in words)]
        return _result(found[: call.arguments["limit"]], len(found))

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
        ids = [state.entity_id for state in self._states.all()]
        close = difflib.get_close_matches(wanted, ids, n=3)
        if close:
            return f"; did you mean {' or '.join(close)}?"
        return "; look with search or domain" if ids else "; this home has no entities yet"


def _result(states: list[EntityState], total: int) -> ToolResult:
    shown = [_shown(state) for state in states]
    data: dict[str, Any] = {"states": shown}
    if total > len(states):
        data["more"] = total - len(states)
    return ToolResult(_json(data), details={"count": total, "states": shown}, trusted=all(map(_is_ours, states)))


def _is_ours(state: EntityState) -> bool:
    """Whether a state was set only by this hub and its owner."""
    authority = state.context.authority
    return authority.owner and not authority.tainted


def _shown(state: EntityState) -> dict[str, Any]:
    return {"entity_id": state.entity_id, "name": state.name, "state": state.state} | (
        {"attributes": dict(state.attributes)} if state.attributes else {}
    )


def _described(service: Service) -> str:
    return f"{service.id} ({service.description})" if service.description else service.id


def _json(data: dict[str, Any]) -> str:
    return orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
