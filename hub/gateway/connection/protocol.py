"""Frames of the WebSocket protocol: read from a client, encoded for one or for many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hub.core.errors import HubError, InvalidRequest

PROTOCOLS = (3, 4)
MAX_PAYLOAD_BYTES = 26_214_400
TICK_S = 30.0
ID_LIMIT = 256
METHOD_LIMIT = 128
CLOSE_PROTOCOL = 1002
CLOSE_POLICY = 1008
CLOSE_RESTART = 1012


@dataclass(frozen=True, slots=True)
class Request:
    """A request frame; `params` are not validated yet."""

    id: str
    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Cancel:
    """A frame that aborts the request with this id."""

    id: str


def decode(data: str | bytes) -> Request | Cancel | None:
    """Read a client's frame; a frame of an unknown type is None and to be ignored.

    Raises:
        InvalidRequest: It is not a JSON object, or a request without id or method. `details.id` is the id when there
            is one to answer to.
    """
    try:
        frame = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the frame is not JSON: {error}") from None
    if type(frame) is not dict:
        raise InvalidRequest("a frame is a JSON object")
    kind = frame.get("type")
    if kind == "req":
        id, method = frame.get("id"), frame.get("method")
        if type(id) is not str or not 0 < len(id) <= ID_LIMIT:
            raise InvalidRequest(f"id: a request has an id, a text of 1 to {ID_LIMIT} characters")
        if type(method) is not str or not 0 < len(method) <= METHOD_LIMIT:
            raise InvalidRequest("method: a request names a method", details={"id": id})
        return Request(id, method, frame.get("params"))
    if kind == "cancel":
        id = frame.get("id")
        if type(id) is not str or not 0 < len(id) <= ID_LIMIT:
            raise InvalidRequest("id: a cancel frame names the request to abort")
        return Cancel(id)
    return None


def encode_result(id: str, payload: Any) -> bytes:
    """Encode the answer to a request."""
    return orjson.dumps({"type": "res", "id": id, "ok": True, "payload": payload}, default=_plain)


def encode_error(id: str, error: HubError) -> bytes:
    """Encode an error as the answer to a request."""
    return orjson.dumps({"type": "res", "id": id, "ok": False, "error": error.as_dict()}, default=_plain)


def encode_event(event: str, payload: Any, state_version: Mapping[str, int] | None = None) -> bytes:
    """Encode an event for all clients at once: all but the sequence number and the closing brace."""
    frame: dict[str, Any] = {"type": "event", "event": event, "payload": payload}
    if state_version is not None:
        frame["stateVersion"] = dict(state_version)
    return orjson.dumps(frame, default=_plain)[:-1]


def with_sequence(encoded: bytes, sequence: int) -> bytes:
    """Complete an encoded event for one client."""
    return b'%b,"seq":%d}' % (encoded, sequence)


def text_frame(payload: bytes) -> bytes:
    """Return the header of an unmasked, final WebSocket text frame for this payload."""
    size = len(payload)
    if size < 126:
        return bytes((0x81, size))
    if size < 65536:
        return b"\x81\x7e" + size.to_bytes(2, "big")
    return b"\x81\x7f" + size.to_bytes(8, "big")


def _plain(value: Any) -> Any:
    """Encode what orjson does not know: mappings, sets and tuples of our dataclasses' fields."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not plain data")
