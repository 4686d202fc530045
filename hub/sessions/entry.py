"""One line of a transcript: a message or an event, its position in the tree, and its provenance."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import Meta, Struct, field

from hub.core.ids import new_id
from hub.models.contract import Message, Usage

FORMAT_VERSION = 1
DEPTH_LIMIT = 100
OWNER = "owner"
"""The value of `Provenance.who` for an owner of this home, with an owner's rights."""


class EntryType(StrEnum):
    """The kinds of lines beside the header."""

    MESSAGE = "message"
    EVENT = "event"


class Provenance(Struct, frozen=True, gc=False):
    """Where an entry's words came from.

    Attributes:
        trusted: False when any of them came from outside this home.
        who: Who said them: `owner`, `person:<id>` or another principal (`token:<id>`, `peer:<identity>`); else `model`,
            or the name of the tool or part of the hub that added them.
        derived: Whether a model, or what runs in the hub, made them of words from outside.
    """

    trusted: bool = True
    who: str = ""
    derived: bool = False


class TranscriptEntry(Struct, frozen=True, gc=False):
    """One entry of a transcript.

    Attributes:
        type: A message, or an event that the model does not see.
        ts_ms: Milliseconds since the epoch.
        message: The message, if it is one.
        data: The event's data, if it is one.
        id: Unique in the transcript; appending the same id twice writes it once.
        parent_id: The entry before it. None lets the writer attach it to the current leaf; on disk only the first
            entry of a tree has none.
        run_id: The run that wrote it.
        inbox_id: The inbox row it answers or holds.
        usage: The cost of the model call that made it.
        model: `provider/id` of the model that made it.
        provenance: The origin of its words.
    """

    type: EntryType
    ts_ms: int
    message: Message | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=new_id)
    parent_id: str | None = None
    run_id: str | None = None
    inbox_id: str | None = None
    usage: Usage | None = None
    model: str | None = None
    provenance: Provenance = Provenance()

    def as_dict(self) -> dict[str, Any]:
        """The entry as stored and shown."""
        stored: dict[str, Any] = {
            "id": self.id,
            "parent_id": self.parent_id,
            "type": self.type.value,
            "ts_ms": self.ts_ms,
            "run_id": self.run_id,
            "inbox_id": self.inbox_id,
        }
        if self.message is not None:
            stored["message"] = self.message.as_dict()
        if self.data:
            stored["data"] = dict(self.data)
        if self.usage is not None:
            stored["usage"] = self.usage.as_dict()
        if self.model is not None:
            stored["model"] = self.model
        came = self.provenance
        stored["provenance"] = {"trusted": came.trusted, "who": came.who, "derived": came.derived}
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TranscriptEntry:
        """Read the result of `as_dict`.

        Raises:
            ValueError, KeyError, TypeError: It is not an entry.
        """
        type = EntryType(stored["type"])
        message = Message.from_dict(stored["message"]) if type is EntryType.MESSAGE else None
        provenance = stored.get("provenance") or {}
        return cls(
            type=type,
            ts_ms=_whole(stored["ts_ms"]),
            message=message,
            data=_mapping(stored.get("data") or {}),
            id=_text(stored["id"]),
            parent_id=_text_or_none(stored.get("parent_id")),
            run_id=_text_or_none(stored.get("run_id")),
            inbox_id=_text_or_none(stored.get("inbox_id")),
            usage=_usage(stored.get("usage")),
            model=_text_or_none(stored.get("model")),
            # Whatever does not plainly say that it can be trusted cannot.
            provenance=Provenance(
                provenance.get("trusted") is True, str(provenance.get("who", "")), provenance.get("derived") is True
            ),
        )


_Text = Annotated[str, Meta(min_length=1)]


class _StoredProvenance(Provenance, frozen=True, kw_only=True, forbid_unknown_fields=True):
    trusted: bool
    who: str
    derived: bool


class _StoredUsage(Usage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    input_tokens: int
    output_tokens: int
    total_tokens: int


class _StoredEntry(Struct, gc=False, forbid_unknown_fields=True):
    """A line as written by `as_dict`; anything else is read by `TranscriptEntry.from_dict`."""

    id: _Text
    type: EntryType
    ts_ms: int
    provenance: _StoredProvenance
    parent_id: _Text | None = None
    run_id: _Text | None = None
    inbox_id: _Text | None = None
    message: Message | None = None
    data: dict[str, Any] = field(default_factory=dict)
    usage: _StoredUsage | None = None
    model: _Text | None = None


_decode = msgspec.json.Decoder(_StoredEntry).decode


def read_entry(line: bytes) -> TranscriptEntry | None:
    """Read a line as written by `as_dict`, many times as fast as `from_dict`; None for any other line."""
    try:
        stored = _decode(line)
    except (ValueError, RecursionError):
        return None
    if (stored.type is EntryType.MESSAGE) is not (stored.message is not None):
        return None
    came, used = stored.provenance, stored.usage
    return TranscriptEntry(
        *(stored.type, stored.ts_ms, stored.message, stored.data, stored.id, stored.parent_id),
        *(stored.run_id, stored.inbox_id, used and _usage_of(used), stored.model),
        Provenance(came.trusted, came.who, came.derived),
    )


def message_entry(message: Message, ts_ms: int, **fields: Any) -> TranscriptEntry:
    """Return an entry that holds `message`; `fields` are those of `TranscriptEntry`."""
    return TranscriptEntry(EntryType.MESSAGE, ts_ms, message=message, **fields)


def user_entry_id(run_id: str) -> str:
    """Return the id of the entry that holds a run's message.

    It is made from the run, so that a run that is repeated after a crash finds its message instead of adding it twice.
    """
    return f"{run_id}-user"


def event_entry(name: str, ts_ms: int, data: Mapping[str, Any] | None = None, **fields: Any) -> TranscriptEntry:
    """Return an event entry, for people; the model does not see it."""
    return TranscriptEntry(EntryType.EVENT, ts_ms, data={"name": name, **(data or {})}, **fields)


class Header(Struct, frozen=True):
    """The first line of a transcript."""

    session_id: str
    key: str
    version: int = FORMAT_VERSION

    def as_dict(self) -> dict[str, Any]:
        """The header as stored."""
        return {"type": "header", "version": self.version, "session_id": self.session_id, "key": self.key}


def encode_line(stored: Mapping[str, Any]) -> bytes:
    """Return one line of JSON; values that JSON cannot hold (huge numbers, lone surrogates) become text."""
    try:
        return orjson.dumps(stored, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps(_storable(stored), option=orjson.OPT_APPEND_NEWLINE)


def _storable(value: Any, depth: int = DEPTH_LIMIT) -> Any:
    if depth == 0:
        return "[nested too deeply]"
    match value:
        case str():
            return value.encode(errors="backslashreplace").decode()
        case bool() | float() | None:
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else str(value)
        case Mapping():
            return {_storable(str(key)): _storable(item, depth - 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_storable(item, depth - 1) for item in value]
    return _storable(str(value))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("expected a text that is not empty")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("expected a whole number")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("expected a mapping")
    return value


def _usage_of(stored: _StoredUsage) -> Usage:
    return Usage(
        *(stored.input_tokens, stored.output_tokens, stored.cache_read_tokens, stored.cache_write_tokens),
        stored.cost_usd,
    )


def _usage(stored: Any) -> Usage | None:
    if stored is None:
        return None
    cost = stored.get("cost_usd")
    return Usage(
        _whole(stored["input_tokens"]),
        _whole(stored["output_tokens"]),
        _whole(stored.get("cache_read_tokens", 0)),
        _whole(stored.get("cache_write_tokens", 0)),
        None if cost is None else float(cost),
    )
