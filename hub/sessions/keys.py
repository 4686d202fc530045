"""Session keys: the one name of a conversation, `agent:<agent>:…`, parsed and formatted.

Ids from outside may hold anything; every character that is not plainly harmless is written `%XX`, so that a key has one
spelling, splits at its colons, and can be used in a log, a URL fragment or a command line. A key is never a file name.

A client of the gateway may also name a conversation by a text of its own, `agent:<agent>:<text>`, which is kept as it
is. Such a text says nothing about people: whose the conversation is depends on who began it.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from hub.core.errors import InvalidRequest

ID_LIMIT_BYTES = 512
KEY_LIMIT = 2_048
DEFAULT_AGENT = "main"

_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_HARMLESS = "@+!$=~"
_PLAIN_NAME = re.compile(
    r"(?!(?:agent|cron|hook|node|direct|group|channel|subagent)\Z|node-)[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"
)
"""Beside letters, digits and `_.-~`: what platforms put into ids and what no shell, URL path or log line minds."""


INCOGNITO = "incognito-"
"""How the ids of conversations begin of which nothing is kept."""


MAIN_ALIASES = frozenset({"global", "unknown"})
"""What clients of OpenClaw call the main conversation where they know of no other."""


class SessionKind(StrEnum):
    """The kind of a session's conversation."""

    MAIN = "main"
    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"
    SUBAGENT = "subagent"
    CRON = "cron"
    HOOK = "hook"
    NODE = "node"


class ThreadKind(StrEnum):
    """The platforms' words for a conversation inside a group."""

    THREAD = "thread"
    TOPIC = "topic"


ROOMS = frozenset({SessionKind.GROUP, SessionKind.CHANNEL})
"""Kinds of conversation in which several people take part."""

_RESERVED = frozenset(kind.value for kind in SessionKind)


class SessionKey(Struct, frozen=True):
    """A parsed session key; `str()` formats it.

    Attributes:
        agent: The agent whose conversation it is.
        kind: The kind of conversation.
        id: Peer, room, automation, hook, node or subagent, as the outside names it; None for `main`.
        channel: The channel of a direct conversation (when it separates sessions) or of a room.
        account: The account, when sessions are separate by account.
        thread: Thread or topic inside a room.
        thread_kind: Which of the two.
        within: The subagents that a subagent is nested in, outermost first.
        named: Whether it is a direct conversation that a client named, and `id` the text after the agent.

    Raises:
        InvalidRequest: A part is missing, too long, or where it does not belong.
    """

    agent: str
    kind: SessionKind
    id: str | None = None
    channel: str | None = None
    account: str | None = None
    thread: str | None = None
    thread_kind: ThreadKind = ThreadKind.THREAD
    within: tuple[str, ...] = ()
    named: bool = False

    def __post_init__(self) -> None:
        _check_slug("agent", self.agent)
        if self.channel is not None:
            _check_slug("channel", self.channel)
            if self.channel in _RESERVED:
                raise InvalidRequest(f"a channel cannot be called {self.channel!r}: session keys use the word")
        for name, value in (("id", self.id), ("account", self.account), ("thread", self.thread)):
            if value is not None:
                _check_id(name, value)
        if self.named and (self.kind is not SessionKind.DIRECT or self.channel or not _is_name(self.id or "")):
            told = "printable, without spaces at its ends, empty parts or the words of session keys"
            raise InvalidRequest(f"{self.id!r:.80} is not a name for a conversation; expected one that is {told}")
        for outer in self.within:
            _check_id("id", outer)
        if self.within and self.kind is not SessionKind.SUBAGENT:
            raise InvalidRequest("only subagents are nested in subagents")
        if (self.id is None) is not (self.kind is SessionKind.MAIN):
            raise InvalidRequest(f"a session key of kind {self.kind} has {'no' if self.id else 'an'} id")
        if self.channel is None and self.kind in ROOMS:
            raise InvalidRequest(f"a session key of kind {self.kind} needs a channel")
        if self.channel is not None and self.kind not in (*ROOMS, SessionKind.DIRECT):
            raise InvalidRequest(f"a session key of kind {self.kind} takes no channel")
        if self.account is not None and (self.kind is not SessionKind.DIRECT or self.channel is None):
            raise InvalidRequest("an account belongs to a direct conversation on a channel")
        if self.thread is not None and self.kind not in ROOMS:
            raise InvalidRequest("a thread belongs to a group or a channel")
        if self.thread is None and self.thread_kind is not ThreadKind.THREAD:
            raise InvalidRequest("a kind of thread needs a thread")

    def __str__(self) -> str:
        if self.named:
            return f"agent:{self.agent}:{self.id}"
        parts = ["agent", self.agent]
        if self.channel is not None:
            parts.append(self.channel)
        if self.account is not None:
            parts.append(escape_id(self.account))
        for outer in self.within:
            parts += [SessionKind.SUBAGENT.value, escape_id(outer)]
        parts.append(self.kind.value)
        if self.id is not None:
            parts.append(escape_id(self.id))
        if self.thread is not None:
            parts += [self.thread_kind.value, escape_id(self.thread)]
        return ":".join(parts)

    @classmethod
    @lru_cache(maxsize=1_024)
    def parse(cls, text: str, default_agent: str = DEFAULT_AGENT) -> SessionKey:
        """Read a key.

        Args:
            text: A key as `str()` writes it, or a short form: `main` (also `global`, `unknown`), `cron:<id>`,
                `hook:<id>`, `node-<id>`, or a plain name of letters and digits, which is a direct conversation with a
                peer called so.
            default_agent: The agent that short forms mean.

        Raises:
            InvalidRequest: It is not a key, or not in its one spelling; the message says what was expected.
        """
        if not text or len(text) > KEY_LIMIT:
            raise InvalidRequest(f"a session key is a text of 1 to {KEY_LIMIT} characters")
        full = _expand(text, default_agent)
        parts = full.split(":")
        if len(parts) < 3 or parts[0] != "agent":
            raise _malformed(text)
        key = _assemble(text, parts[1], parts[2:])
        if str(key) != full:
            raise InvalidRequest(f"the session key {text!r} must be spelled {str(key)!r}")
        return key


def agent_of(key: str) -> str | None:
    """Return the agent of a full key; None for any other text."""
    return key.split(":", 2)[1] if key.startswith("agent:") else None


@lru_cache(maxsize=256)
def main_key(agent: str) -> str:
    """Return the key of an agent's main session."""
    return str(SessionKey(agent, SessionKind.MAIN))


def direct_key(agent: str, peer: str, *, channel: str | None = None, account: str | None = None) -> str:
    """Return the key of a direct conversation: per peer, per channel and peer, or per account too."""
    return str(SessionKey(agent, SessionKind.DIRECT, peer, channel=channel, account=account))


def named_key(agent: str, name: str) -> str:
    """Return the key of a conversation that a client names: any form of a key, or a text of its own for a new one."""
    key = SessionKey.parse(name, default_agent=agent)
    if key.kind is SessionKind.DIRECT and key.id == name:
        key = SessionKey(agent, SessionKind.DIRECT, name, named=True)
    return str(key)


def incognito_key(agent: str, id: str, channel: str) -> str:
    """Return the key of a conversation that is deleted when it ends."""
    return direct_key(agent, f"{INCOGNITO}{id}", channel=channel)


@lru_cache(maxsize=1_024)
def is_incognito(key: str) -> bool:
    """Whether a key is that of an incognito conversation; decided by the key alone."""
    try:
        parsed = SessionKey.parse(key)
    except InvalidRequest:
        return False
    return parsed.kind is SessionKind.DIRECT and (parsed.id or "").startswith(INCOGNITO)


def group_key(
    agent: str, channel: str, id: str, *, thread: str | None = None, thread_kind: ThreadKind = ThreadKind.THREAD
) -> str:
    """Return the key of a group, or of a thread or topic in it."""
    return _room_key(SessionKind.GROUP, agent, channel, id, thread, thread_kind)


def channel_key(
    agent: str, channel: str, id: str, *, thread: str | None = None, thread_kind: ThreadKind = ThreadKind.THREAD
) -> str:
    """Return the key of a broadcast channel on a platform, or of a thread or topic in it."""
    return _room_key(SessionKind.CHANNEL, agent, channel, id, thread, thread_kind)


def subagent_key(agent: str, id: str, *, within: tuple[str, ...] = ()) -> str:
    """Return the key of a subagent's session; `within` are the subagents that it is nested in, outermost first."""
    return str(SessionKey(agent, SessionKind.SUBAGENT, id, within=within))


def cron_key(agent: str, automation_id: str) -> str:
    """Return the key of an automation's session."""
    return str(SessionKey(agent, SessionKind.CRON, automation_id))


def escape_id(id: str) -> str:
    """Return an id as one part of a key."""
    return quote(id, safe=_HARMLESS)


def unescape_id(part: str) -> str:
    """Return the id in one part of a key.

    Raises:
        InvalidRequest: It is not UTF-8 inside.
    """
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{part!r} in a session key is not UTF-8") from error


def _room_key(kind: SessionKind, agent: str, channel: str, id: str, thread: str | None, thread_kind: ThreadKind) -> str:
    if thread is None:
        return str(SessionKey(agent, kind, id, channel=channel))
    return str(SessionKey(agent, kind, id, channel=channel, thread=thread, thread_kind=thread_kind))


def _expand(text: str, default_agent: str) -> str:
    if text == SessionKind.MAIN or text in MAIN_ALIASES:
        return f"agent:{default_agent}:main"
    if text.startswith("node-"):
        return f"agent:{default_agent}:node:{text.removeprefix('node-')}"
    if text.split(":", 1)[0] in (SessionKind.CRON, SessionKind.HOOK, SessionKind.NODE):
        return f"agent:{default_agent}:{text}"
    if _PLAIN_NAME.fullmatch(text):
        return f"agent:{default_agent}:direct:{text}"
    return text


def _assemble(text: str, agent: str, rest: list[str]) -> SessionKey:
    match rest:
        case ["main"]:
            return SessionKey(agent, SessionKind.MAIN)
        case [("direct" | "subagent" | "cron" | "hook" | "node") as kind, id]:
            return SessionKey(agent, SessionKind(kind), unescape_id(id))
        case ["subagent", *ids] if len(ids) % 2 and set(ids[1::2]) == {"subagent"}:
            *within, id = [unescape_id(each) for each in ids[::2]]
            return SessionKey(agent, SessionKind.SUBAGENT, id, within=tuple(within))
        case [channel, ("direct" | "group" | "channel") as kind, id]:
            return SessionKey(agent, SessionKind(kind), unescape_id(id), channel=channel)
        case [channel, account, "direct", id]:
            return SessionKey(agent, SessionKind.DIRECT, unescape_id(id), channel=channel, account=unescape_id(account))
        case [channel, ("group" | "channel") as kind, id, ("thread" | "topic") as thread_kind, thread]:
            return SessionKey(
                agent,
                SessionKind(kind),
                unescape_id(id),
                channel=channel,
                thread=unescape_id(thread),
                thread_kind=ThreadKind(thread_kind),
            )
    if _is_name(name := ":".join(rest)):
        return SessionKey(agent, SessionKind.DIRECT, name, named=True)
    raise _malformed(text)


def _is_name(text: str) -> bool:
    """Whether a client may use this name for a conversation: printable, without reserved words of our keys."""
    parts = text.split(":")
    return (
        text.isprintable()
        and text == text.strip()
        and all(parts)
        and _RESERVED.isdisjoint(parts)
        and not parts[0].startswith("node-")
    )


def _malformed(text: str) -> InvalidRequest:
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return InvalidRequest(
        f"{shown!r} is not a session key; expected for example agent:main:main, agent:main:telegram:direct:123 "
        "or agent:main:telegram:group:-100:topic:7, with any colon inside an id written %3A"
    )


def _check_slug(name: str, value: str) -> None:
    if not _SLUG.fullmatch(value):
        raise InvalidRequest(f"the {name} in a session key is of a-z, 0-9, _ and - (at most 64), not {value!r:.80}")


def _check_id(name: str, value: str) -> None:
    if not value:
        raise InvalidRequest(f"the {name} in a session key is a text that is not empty")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"the {name} in a session key is not valid Unicode") from error
    if size > ID_LIMIT_BYTES or len(escape_id(value)) > ID_LIMIT_BYTES:
        raise InvalidRequest(f"the {name} in a session key is longer than {ID_LIMIT_BYTES} bytes")
