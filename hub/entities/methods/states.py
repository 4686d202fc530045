"""`state.list|get|set|remove`: the states of entities."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hub.core.context import Authority
from hub.core.errors import Forbidden, NotFound
from hub.core.schema import All, AnyOf, Length, Match, Optional, Required, Schema, entity_id, string
from hub.core.states import STATE_LENGTH_LIMIT, EntityState, StateMachine
from hub.core.surfaces import READ, WRITE, Method, MethodCall
from hub.gateway.calls.acting import call_context
from hub.gateway.calls.plain_data import as_json, plain_mapping
from hub.security.redaction import Redactor

OWNER = "gateway"
OWN_DOMAINS = frozenset({"automation", "script"})
"""Domains whose states say what the engine does; they are changed with its services."""
PEOPLES_DOMAINS = frozenset({"heartbeat", "person"})
"""Domains whose states are believed of people and agents, whether they stand already or not."""
SET_BY = "set_by"
"""The attribute that says who set a state by hand."""


class StateMethods:
    """The methods about states.

    Args:
        states: The states.
        redactor: Removes secrets from displayed text.
    """

    def __init__(self, states: StateMachine, redactor: Redactor) -> None:
        self._states = states
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        one = Schema({Required("entity_id", description="domain.object_id."): entity_id})
        set_ = Schema(
            {
                Required("entity_id", description="domain.object_id; a new one is made."): entity_id,
                Required("state", description="Its state."): All(string, Length(max=STATE_LENGTH_LIMIT)),
                Optional("attributes", description="All its attributes; without them they stay."): AnyOf(
                    None, plain_mapping
                ),
            }
        )
        domain = Match(r"^[a-z0-9_]{1,64}$", msg="expected a domain, such as light")
        return [
            Method("state.list", self._list, OWNER, Schema({Optional("domain"): All(string, domain)}), READ),
            Method("state.get", self._get, OWNER, one, READ),
            Method("state.set", self._set, OWNER, set_, WRITE, acts=True),
            Method("state.remove", self._remove, OWNER, one, WRITE, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"states": [self._shown(state) for state in self._states.all(call.params.get("domain"))]}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        return self._shown(self._found(call.params["entity_id"]))

    async def _set(self, call: MethodCall) -> Mapping[str, Any]:
        id = call.params["entity_id"]
        self._refuse(id, call.context.authority)
        attributes = call.params.get("attributes")
        if attributes is None:
            old = self._states.get(id)
            attributes = old.attributes if old is not None else {}
        marked = {**attributes, SET_BY: call.context.authority.principal}
        return self._shown(self._states.set(id, call.params["state"], marked, call_context(call)))

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        id = call.params["entity_id"]
        self._refuse(id, call.context.authority)
        self._found(id)
        return {"entity_id": id, "removed": self._states.remove(id, call_context(call))}

    def _refuse(self, id: str, authority: Authority) -> None:
        """Refuse to set a state of the engine and, for anyone but the owner, one that another source maintains.

        Automations with the owner's rights rely on states such as who is at home or whether a door is open.
        """
        domain = id.partition(".")[0]
        if domain in OWN_DOMAINS:
            raise Forbidden(f"{id} shows the state of the engine; use the services of {domain} instead")
        kept = self._states.get(id)
        if not authority.owner and (domain in PEOPLES_DOMAINS or (kept is not None and SET_BY not in kept.attributes)):
            raise Forbidden(f"{id} is set by a part of this hub; only its owner may change it")

    def _found(self, id: str) -> EntityState:
        state = self._states.get(id)
        if state is None:
            raise NotFound(f"there is no entity {id}", details={"entity_id": id})
        return state

    def _shown(self, state: EntityState) -> dict[str, Any]:
        shown: dict[str, Any] = as_json(self._redactor.redact_data(state_data(state)))
        return shown


def state_data(state: EntityState) -> dict[str, Any]:
    """Return a state as the gateway and the CLI show it; times in ISO 8601."""
    return {
        "entity_id": state.entity_id,
        "state": state.state,
        "attributes": dict(state.attributes),
        "last_changed": _iso(state.last_changed),
        "last_updated": _iso(state.last_updated),
        "context": {"id": state.context.id, "parent_id": state.context.parent_id},
    }


def _iso(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds")
