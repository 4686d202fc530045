"""`event`: an event was fired on the bus."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import dynamic, event_types
from hub.automation.definition.phrases import join_words, quote, value_text
from hub.automation.triggers.arming import render_limited, report_errors
from hub.automation.triggers.provenance import is_tainted
from hub.core.context import Context
from hub.core.errors import InvalidRequest
from hub.core.events import ANY, Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Described, Invalid, Optional, Required, as_list, show

NOT_ANY = "a trigger on every event would set itself off; name the event types"
_SAME = {
    "homeassistant_start": "hub_started",
    "homeassistant_started": "hub_started",
    "homeassistant_stop": "hub_stopping",
}
"""Events of Home Assistant that mean one of ours."""
_SCALARS = (str, int, float, bool, type(None))
_CONTEXT_KEYS = ("id", "parent_id", "user_id", "person", "principal")


def _mapping(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(phrase("expected keys and the values they must have, got {value}", value=show(value)))
    checked: dict[str, Any] = dynamic(value)
    return checked


def _types(value: Any) -> list[str]:
    found: list[str] = [_SAME.get(each, each) for each in event_types(value)]
    if ANY in found:
        raise Invalid(NOT_ANY)
    return found


def _context(value: Any) -> dict[str, Any]:
    found = _mapping(value)
    for key in found:
        if key not in _CONTEXT_KEYS:
            raise Invalid(
                phrase("expected one of {names}, got {value}", names=", ".join(_CONTEXT_KEYS), value=show(key)),
                path=[key],
            )
    return found


def matches(wanted: Any, found: Any) -> bool:
    """Whether data matches an expectation: mappings by their keys, lists if each item is among the expected ones."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(key in found and matches(wanted[key], found[key]) for key in wanted)
    if isinstance(wanted, (list, tuple)):
        return isinstance(found, (list, tuple)) and all(any(matches(each, item) for each in wanted) for item in found)
    return bool(wanted == found)


def _who(context: Context, key: str) -> tuple[Any, ...]:
    """Return the values that match one key of a context."""
    authority = context.authority
    match key:
        case "id":
            return (context.id,)
        case "parent_id":
            return (context.parent_id,)
        case "person":
            return (authority.person,)
        case "principal":
            return (authority.principal,)
        case _:
            return (authority.person, authority.principal)


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    data: Mapping[str, Any] = render_limited(config.get("event_data") or {}, host)
    context: Mapping[str, Any] = render_limited(config.get("context") or {}, host)
    where = {key: value for key, value in data.items() if isinstance(value, _SCALARS)}
    nested = {key: value for key, value in data.items() if key not in where}
    persons = {key: tuple(as_list(value)) for key, value in context.items() if as_list(value)}
    fire = host.fire

    def happened(event: Event) -> None:
        if nested and not matches(nested, event.data):
            return
        for key, wanted in persons.items():
            if not any(each is not None and each in wanted for each in _who(event.context, key)):
                return
        fire(
            {"event": event_data(event), "description": f"event '{event.type}'"},
            event.context,
            tainted=is_tainted(event),
        )

    bus, put_off = host.parts.bus, host.parts.firings.decide
    types: list[str] = list(dict.fromkeys(as_list(render_limited(config["event_type"], host))))
    if len(types) == 1 and types[0] != ANY:
        return bus.listen(types[0], happened, where or None, put_off=put_off)
    if ANY in types:
        raise InvalidRequest(NOT_ANY)
    listening = [bus.listen(type, happened, where or None, put_off=put_off) for type in types]

    def end() -> None:
        for each in listening:
            each()

    return end


def event_data(event: Event) -> dict[str, Any]:
    """Return an event as templates see it; its data is shared and must not be changed."""
    authority = event.context.authority
    return {
        "event_type": event.type,
        "data": event.data,
        "time_fired": datetime.fromtimestamp(event.time_fired, UTC),
        "origin": "LOCAL",
        "context": {
            "id": event.context.id,
            "parent_id": event.context.parent_id,
            "user_id": authority.person or authority.principal,
        },
    }


def _explain(config: Mapping[str, Any]) -> str:
    said = phrase("when the event {event} happens", event=join_words(map(quote, config["event_type"]), "or"))
    if data := config.get("event_data"):
        values = join_words(f"{key} {value_text(value)}" for key, value in data.items())
        said = phrase("{said} with {values}", said=said, values=values)
    if context := config.get("context"):
        who = join_words((value_text(each) for value in context.values() for each in as_list(value)), "or")
        said = phrase("{said} because of {who}", said=said, who=who)
    return said


KIND = TriggerKind(
    name="event",
    fields={
        Required("event_type", description="Event type, or a list of types."): Described(
            _types, event_types.json_schema, "event types"
        ),
        Optional("event_data", description="Keys and values that the event data must contain."): Described(
            _mapping, {"type": ["object", "null"]}, "event data"
        ),
        Optional("context", description="Who it must come from: user_id, person, principal, id, parent_id."): (
            Described(_context, {"type": ["object", "null"]}, "context")
        ),
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="An event was fired on the event bus.",
)
