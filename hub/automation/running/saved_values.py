"""Variables of a run as JSON and back: states, times and durations keep their types."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from hub.core.context import Authority, Context
from hub.core.events import Event
from hub.core.secret import SecretFloat, SecretInt, SecretText, by_origin
from hub.core.states import EntityState

_KIND = "\u0001kind"
"""A key that no variable has; what it says was done by `pack`."""
DEPTH_LIMIT = 32
_INTEGER_LIMIT = 2**63
NOBODY = Authority("restored")
"""The data of a state or event that was restored grants nothing."""


def pack(value: Any, depth: int = 0) -> Any:
    """Return any value in a form that JSON can hold; a value that cannot be restored becomes text."""
    if isinstance(value, (SecretText, SecretInt, SecretFloat)):
        return {_KIND: "secret", "value": str(value), **({} if isinstance(value, str) else {"number": +value})}
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if -_INTEGER_LIMIT <= value < _INTEGER_LIMIT else str(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if depth >= DEPTH_LIMIT:
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): pack(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(each, depth + 1) for each in value]
    if isinstance(value, (set, frozenset)):
        return {_KIND: "set", "items": [pack(each, depth + 1) for each in sorted(value, key=str)]}
    return _pack_object(value, depth)


def _pack_object(value: Any, depth: int) -> Any:
    match value:
        case bytes() | bytearray():
            return {_KIND: "bytes", "value": b64encode(value).decode()}
        case datetime():
            return {_KIND: "datetime", "value": value.isoformat()}
        case date():
            return {_KIND: "date", "value": value.isoformat()}
        case time():
            return {_KIND: "time", "value": value.isoformat()}
        case timedelta():
            return {_KIND: "timedelta", "value": value.total_seconds()}
        case EntityState():
            return {
                _KIND: "state",
                "entity_id": value.entity_id,
                "state": value.state,
                "attributes": pack(value.attributes, depth + 1),
                "last_changed": value.last_changed,
                "last_updated": value.last_updated,
                "context": _pack_context(value.context),
            }
        case Event():
            return {
                _KIND: "event",
                "type": value.type,
                "data": pack(value.data, depth + 1),
                "time_fired": value.time_fired,
                "context": _pack_context(value.context),
            }
        case Context():
            return {_KIND: "context", **_pack_context(value)}
        case _:
            return str(value)


def unpack(value: Any) -> Any:
    """Return the value that `pack` was given, as far as it could be kept."""
    if isinstance(value, list):
        return [unpack(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value.get(_KIND):
        case None:
            return {key: unpack(each) for key, each in value.items()}
        case "set":
            return {_hashable(unpack(each)) for each in value["items"]}
        case "secret":
            return by_origin(value["value"], value.get("number"))
        case "bytes":
            return b64decode(value["value"])
        case "datetime":
            return datetime.fromisoformat(value["value"])
        case "date":
            return date.fromisoformat(value["value"])
        case "time":
            return time.fromisoformat(value["value"])
        case "timedelta":
            return timedelta(seconds=value["value"])
        case "state":
            return EntityState(
                value["entity_id"],
                value["state"],
                unpack(value["attributes"]),
                value["last_changed"],
                value["last_updated"],
                _unpack_context(value["context"]),
            )
        case "event":
            return Event(value["type"], unpack(value["data"]), _unpack_context(value["context"]), value["time_fired"])
        case _:
            return _unpack_context(value)


def _pack_context(context: Context) -> dict[str, Any]:
    return {"id": context.id, "parent_id": context.parent_id}


def _unpack_context(stored: Mapping[str, Any]) -> Context:
    return Context(NOBODY, stored["id"], stored["parent_id"])


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
