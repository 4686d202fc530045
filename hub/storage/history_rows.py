"""Converts history records to rows: any data as bounded JSON without secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from hub.core.secret import MASK, SHOWN_AS_MASK

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS
_PLAIN_TYPES: tuple[Any, ...] = (str, int, float, dict, list, tuple)
DATA_BYTES_LIMIT = 16_384
RUN_BYTES_LIMIT = 131_072
"""Of the trace of one agent's run."""
PREVIEW_CHARACTERS = 1_000

EVENT_INSERT = "INSERT INTO events(time_ms, type, context_id, parent_id, noted, data) VALUES(?, ?, ?, ?, ?, ?)"
STATE_INSERT = (
    "INSERT INTO states(time_ms, entity_id, state, context_id, noted, before, parent_id, principal, person, attributes)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
USAGE_INSERT = (
    "INSERT INTO usage(time_ms, agent_id, session_key, run_id, model, input_tokens, output_tokens, cache_read_tokens, "
    "cache_write_tokens, cost_usd) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
RUN_INSERT = "INSERT OR REPLACE INTO run_traces(time_ms, run_id, data) VALUES(?, ?, ?)"
PIECE_INSERT = (
    "INSERT INTO run_pieces(time_ms, name, data) VALUES(?, ?, ?)"
    " ON CONFLICT(name) DO UPDATE SET time_ms = excluded.time_ms"
)
PIECE_CHARS_LIMIT = 262_144


def encode(row: tuple[Any, ...], redact: Callable[[str], str] | None, limit: int = DATA_BYTES_LIMIT) -> tuple[Any, ...]:
    """Return a row whose last field, any data, became JSON text of at most `limit` bytes."""
    return (*row[:-1], to_json(row[-1], redact, limit))


def to_json(data: Any, redact: Callable[[str], str] | None, limit: int = DATA_BYTES_LIMIT) -> str:
    """Return data as JSON of at most `limit` bytes; non-plain values become text."""
    try:
        encoded = orjson.dumps(data, default=_plain, option=_OPTIONS)
    except (TypeError, ValueError, RecursionError):
        encoded = orjson.dumps({"shown": _text(data)})
    text = encoded.decode()
    clean = redact(text) if redact is not None else text
    if len(encoded) > limit:
        return orjson.dumps({"truncated": True, "begins": clean[:PREVIEW_CHARACTERS]}).decode()
    if clean is not text and not _is_json(clean):
        return orjson.dumps({"shown": clean[:PREVIEW_CHARACTERS]}).decode()
    return clean


def _plain(value: Any) -> Any:
    if isinstance(value, SHOWN_AS_MASK):
        return MASK
    for kind in _PLAIN_TYPES:
        if isinstance(value, kind):
            return kind(value)
    as_dict = getattr(value, "as_dict", None)
    if callable(as_dict):
        return as_dict()
    if isinstance(value, Struct):
        return asdict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return _text(value)


def _text(value: Any) -> str:
    return repr(value)[:PREVIEW_CHARACTERS].encode("utf-8", "replace").decode()


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
