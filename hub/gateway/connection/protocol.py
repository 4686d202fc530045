"""Frames of the WebSocket protocol: read from a client, encoded for one or for many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import orjson
from msgspec import Struct
from msgspec.structs import asdict

from hub.core.errors import HubError, InvalidRequest

PROTOCOLS = (3, 4)
TICK_S = 30.0
ID_LIMIT = 256
METHOD_LIMIT = 128
TYPE_LIMIT = 32
CLOSE_PROTOCOL = 1002
CLOSE_POLICY = 1008
CLOSE_TOO_LARGE = 1009
CLOSE_RESTART = 1012


class Request(Struct, frozen=True):
    """A request frame; `params` are still encoded."""

    id: str
    method: str
    params: msgspec.Raw


class Cancel(Struct, frozen=True):
    """A frame that aborts the request with this id."""

    id: str


_NULL = msgspec.Raw(b"null")


class _Frame(msgspec.Struct):
    """A frame with its parts still encoded: only what is needed is decoded, and only if it is short."""

    type: msgspec.Raw = _NULL
    id: msgspec.Raw = _NULL
    method: msgspec.Raw = _NULL
    params: msgspec.Raw = _NULL


_FRAMES = msgspec.json.Decoder(_Frame)
_TEXTS = msgspec.json.Decoder(str)
_LONGEST_ESCAPE = 6


def decode(data: bytes) -> Request | Cancel | None:
    """Read a client's frame; return None for a frame of an unknown type, which is ignored.

    Raises:
        InvalidRequest: It is not a JSON object, or a request without id or method. `details.id` is the id when there
            is one to answer to.
    """
    try:
        frame = _FRAMES.decode(data)
    except msgspec.ValidationError:
        raise InvalidRequest("a frame must be a JSON object") from None
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the frame is not JSON: {error}") from None
    kind = _text(frame.type, TYPE_LIMIT)
    if kind == "req":
        id, method = _text(frame.id, ID_LIMIT), _text(frame.method, METHOD_LIMIT)
        if not id:
            raise InvalidRequest(f"id: expected a text of 1 to {ID_LIMIT} characters")
        if not method:
            raise InvalidRequest("method: expected the name of a method", details={"id": id})
        return Request(id, method, frame.params)
    if kind == "cancel":
        id = _text(frame.id, ID_LIMIT)
        if not id:
            raise InvalidRequest("id: expected the id of the request to cancel")
        return Cancel(id)
    return None


def _text(raw: msgspec.Raw, limit: int) -> str | None:
    """Return a text of at most `limit` characters, or None for anything else."""
    data = memoryview(raw)
    if len(data) > limit * _LONGEST_ESCAPE + 2:
        return None
    try:
        text = _TEXTS.decode(data)
    except ValueError:
        return None
    return text if len(text) <= limit else None


def encode_result(id: str, payload: Any) -> bytes:
    """Encode the answer to a request."""
    return orjson.dumps({"type": "res", "id": id, "ok": True, "payload": payload}, default=plain)


def encode_error(id: str, error: HubError) -> bytes:
    """Encode an error as the answer to a request."""
    return orjson.dumps({"type": "res", "id": id, "ok": False, "error": error.as_dict()}, default=plain)


def encode_event(
    event: str, payload: Any, state_version: Mapping[str, int] | None = None, *, plain_only: bool = False
) -> bytes:
    """Encode an event once for all clients: all but the sequence number and the closing brace.

    Args:
        event, payload, state_version: The event.
        plain_only: Whether text and numbers that are more than that, such as a secret's, are refused.

    Raises:
        TypeError: The payload is no plain data.
    """
    frame: dict[str, Any] = {"type": "event", "event": event, "payload": payload}
    if state_version is not None:
        frame["stateVersion"] = dict(state_version)
    return orjson.dumps(frame, plain, orjson.OPT_PASSTHROUGH_SUBCLASS if plain_only else 0)[:-1]


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


def plain(value: Any) -> Any:
    """Encode types that orjson does not know: our structs, mappings and sets.

    Raises:
        TypeError: It is not plain data.
    """
    if isinstance(value, Struct):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not plain data")
