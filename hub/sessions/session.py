"""A session beside its transcript: names, choices, totals, and its row in the hub database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson
from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import fields

from hub.core.errors import InvalidRequest
from hub.core.sql import SqlConnection
from hub.models.contract import Usage
from hub.sessions.keys import ROOMS, SessionKey, SessionKind

TEXT_LIMIT = 500
"""Characters of a title or a setting."""
SETTINGS = ("model", "thinking", "verbose", "reasoning", "footer", "queue", "send", "activation")
"""What people choose for a conversation; it outlives a reset."""


class SessionOrigin(Struct, frozen=True, omit_defaults=True):
    """Where the last message of a session came from, as its channel tells it; names are others' words, for people only.

    Attributes:
        channel, account, peer, thread, space: The conversation there (`hub.messaging.inbound.Address`).
        sender: Typed identity of who wrote.
        sender_name, group_name, topic_name, space_name: Their names.
    """

    channel: str
    account: str | None = None
    peer: str | None = None
    thread: str | None = None
    space: str | None = None
    sender: str | None = None
    sender_name: str | None = None
    group_name: str | None = None
    topic_name: str | None = None
    space_name: str | None = None


class BoundThread(Struct, frozen=True, omit_defaults=True):
    """A thread in a chat whose messages come to a session.

    Attributes:
        channel, account, peer, thread: The thread, as an address has it.
        label: The name of the session when it was bound.
        bound_ms: Milliseconds since the epoch.
        person: Whose messages come to it, beside an owner's; None for an owner's alone.
        with_task: Whether it ends with the task of a subagent.
    """

    channel: str
    account: str
    peer: str
    thread: str | None
    label: str
    bound_ms: int
    person: str | None = None
    with_task: bool = False


class Session(Struct, frozen=True):
    """One conversation of one agent; replaced as a whole when anything of it changes.

    Attributes:
        key: Its one name (`hub.sessions.keys`).
        session_id: Names its current transcript; a reset gives a new one.
        agent_id: The agent it belongs to.
        created_ms: Milliseconds since the epoch when its current transcript began.
        updated_ms: Milliseconds since the epoch when anything last happened in it.
        title: The title shown to people.
        model: The model chosen for it; None for the agent's.
        thinking: The thinking level chosen for it; None for the agent's.
        verbose: on | full: a line for each tool call is sent to its chat; full: with its result.
        reasoning: on | stream: the model's thinking is sent before its answer, or while it thinks.
        footer: tokens | full: what its answers say about their use.
        queue: The setting of `/queue`, such as `steer debounce:2s`; None for the configured mode.
        send: on | off: whether answers are sent to its chat; None for the configured policy.
        activation: mention | always: the messages that are answered in its group; None for the configured ones.
        tainted: Whether an untrusted block is in its window.
        usage: Tokens and cost since its transcript began.
        context_tokens: Tokens of the last request, if known.
        turns: Model calls since its transcript began.
        person: Id of the person it belongs to, when known.
        heard_ms: Milliseconds since the epoch when its last message came; 0 when that is not known.
        archived: Whether it is left out of lists until something happens in it.
        pinned: Whether it comes first in lists.
        unread: Whether it has an answer in the dashboard that nobody has seen.
        snoozed_ms: Milliseconds since the epoch until which it is left out of lists, unless something happens in it.
        origin: Where its last message came from; None when the hub spoke first.
        aborted: Whether its last run was stopped.
        copy_of: The key of the session that it was copied from.
        threads: The threads in chats whose messages come to it.
    """

    key: str
    session_id: str
    agent_id: str
    created_ms: int
    updated_ms: int
    title: str | None = None
    model: str | None = None
    thinking: str | None = None
    verbose: str | None = None
    reasoning: str | None = None
    footer: str | None = None
    queue: str | None = None
    send: str | None = None
    activation: str | None = None
    tainted: bool = False
    usage: Usage = field(default_factory=Usage)
    context_tokens: int = 0
    turns: int = 0
    person: str | None = None
    heard_ms: int = 0
    archived: bool = False
    pinned: bool = False
    unread: bool = False
    snoozed_ms: int = 0
    origin: SessionOrigin | None = None
    aborted: bool = False
    copy_of: str | None = None
    threads: tuple[BoundThread, ...] = ()

    @property
    def name(self) -> str | None:
        """Its title, else the name of its group, or of the person it is with, as their platform tells it."""
        if self.title or self.origin is None:
            return self.title
        key = SessionKey.parse(self.key)
        if key.kind not in ROOMS and (key.kind is not SessionKind.DIRECT or key.channel is None):
            return None
        told = self.origin.group_name if key.kind in ROOMS else self.origin.sender_name
        plain = _plain(told)
        thread = _plain(self.origin.topic_name) or key.thread
        return " · ".join(filter(None, (plain, thread))) if plain else None

    def as_dict(self) -> dict[str, Any]:
        """The session as plain data."""
        return {"key": self.key, "session_id": self.session_id, "agent_id": self.agent_id} | {
            "created_ms": self.created_ms,
            "updated_ms": self.updated_ms,
            **self.data(),
        }

    def data(self) -> dict[str, Any]:
        """What the database keeps as JSON."""
        return {
            "title": self.title,
            **{name: getattr(self, name) for name in SETTINGS},
            "tainted": self.tainted,
            "usage": self.usage.as_dict(),
            "context_tokens": self.context_tokens,
            "turns": self.turns,
            "person": self.person,
            "heard_ms": self.heard_ms,
            "archived": self.archived,
            "pinned": self.pinned,
            "unread": self.unread,
            "snoozed_ms": self.snoozed_ms,
            "origin": to_builtins(self.origin),
            "aborted": self.aborted,
            "copy_of": self.copy_of,
            "threads": to_builtins(self.threads),
        }

    @classmethod
    def from_row(cls, row: tuple[str, str, str, int, int], data: Mapping[str, Any]) -> Session:
        """Read a row of the database; what a newer program added to `data` is left alone.

        Raises:
            ValueError, KeyError, TypeError: It is not a session.
        """
        key, session_id, agent_id, created_ms, updated_ms = row
        known = {name: data[name] for name in _DATA if name in data and name not in ("usage", "origin", "threads")}
        # Rows of older versions know the channel alone.
        told = data.get("origin") or ({"channel": data["channel"]} if data.get("channel") else None)
        known["origin"] = convert(told, SessionOrigin) if told else None
        known["threads"] = convert(data.get("threads") or (), tuple[BoundThread, ...])
        return cls(key, session_id, agent_id, created_ms, updated_ms, usage=_usage(data.get("usage") or {}), **known)


_DATA = frozenset(each.name for each in fields(Session)) - {
    "key",
    "session_id",
    "agent_id",
    "created_ms",
    "updated_ms",
}
PLACES = frozenset({"archived", "pinned", "unread", "snoozed_ms"})
"""Its place in lists; changing that is nothing that happens in it."""
PATCHABLE = frozenset({"title", *SETTINGS, "tainted", "person", "threads"}) | PLACES
"""What `SessionStore.patch` may change; totals have their own way."""


def check_patch(changes: Mapping[str, Any]) -> None:
    """Refuse what a patch may not change.

    Raises:
        InvalidRequest: A field cannot be patched, or its value does not fit.
    """
    if unknown := sorted(set(changes) - PATCHABLE):
        raise InvalidRequest(f"a session has no field {unknown[0]!r} to change; there are {sorted(PATCHABLE)}")
    for name, value in changes.items():
        if name == "snoozed_ms":
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
                raise InvalidRequest("snoozed_ms: expected milliseconds since the epoch, or 0")
        elif name == "threads":
            if not isinstance(value, tuple):
                raise InvalidRequest("threads: expected the threads bound to the session")
        elif name == "tainted" or name in PLACES:
            if not isinstance(value, bool):
                raise InvalidRequest(f"{name}: expected true or false")
        elif value is not None and (not isinstance(value, str) or not value or len(value) > TEXT_LIMIT):
            raise InvalidRequest(f"{name}: expected a text of 1 to {TEXT_LIMIT} characters, or null")


def _plain(name: str | None) -> str:
    """Return a name in one line."""
    return " ".join("".join(char if char.isprintable() else " " for char in name or "").split())


def _usage(stored: Mapping[str, Any]) -> Usage:
    cost = stored.get("cost_usd")
    return Usage(
        int(stored.get("input_tokens", 0)),
        int(stored.get("output_tokens", 0)),
        int(stored.get("cache_read_tokens", 0)),
        int(stored.get("cache_write_tokens", 0)),
        None if cost is None else float(cost),
    )


def select_rows(connection: SqlConnection) -> list[tuple[Any, ...]]:
    """Return all rows: those of `Session.from_row`, then the JSON columns."""
    return connection.execute("SELECT key, session_id, agent_id, created_ms, updated_ms, data FROM sessions").fetchall()


def upsert_rows(sessions: Iterable[Session]) -> Callable[[SqlConnection], None]:
    """Return the statement that inserts or replaces sessions by key."""
    rows = [
        (each.key, each.session_id, each.agent_id, each.created_ms, each.updated_ms, orjson.dumps(each.data()).decode())
        for each in sessions
    ]

    def write(connection: SqlConnection) -> None:
        connection.executemany(
            "INSERT INTO sessions(key, session_id, agent_id, created_ms, updated_ms, data) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(key) DO UPDATE SET session_id = excluded.session_id, agent_id = excluded.agent_id,"
            " created_ms = excluded.created_ms, updated_ms = excluded.updated_ms, data = excluded.data",
            rows,
        )

    return write


def delete_row(key: str) -> Callable[[SqlConnection], None]:
    """Return the statement that deletes a session's row."""

    def write(connection: SqlConnection) -> None:
        connection.execute("DELETE FROM sessions WHERE key = ?", (key,))

    return write
