"""Policies for messages that arrive while the agent is busy, and for debouncing text: settings, pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.errors import InvalidRequest
from hub.core.schema import All, AnyOf, Described, In, Invalid, Optional, Range, Schema, integer, slug

QUEUE_DEBOUNCE_MS = 1_000
QUEUE_CAP = 20
INBOUND_DEBOUNCE_MS = 2_000
LONGEST_DEBOUNCE_MS = 60_000
MOST_WAITING = 1_000


class QueueMode(StrEnum):
    """The handling of messages that arrive while the agent is busy."""

    COLLECT = "collect"
    """They are answered together, in one turn."""
    STEER = "steer"
    """The running turn hears them before its next step."""
    FOLLOWUP = "followup"
    """Each is answered in a turn of its own."""
    STEER_BACKLOG = "steer_backlog"
    """The running turn hears them, and each is answered in a turn of its own too."""
    INTERRUPT = "interrupt"
    """The running turn is stopped, and the newest is answered."""


class DropPolicy(StrEnum):
    """Which messages are dropped when too many wait."""

    OLD = "old"
    NEW = "new"
    SUMMARIZE = "summarize"


class QueuePolicy(Struct, frozen=True):
    """The policy of one conversation.

    Attributes:
        debounce_ms: How long it has been quiet before messages that waited are answered.
        cap: How many messages of a conversation may wait.
        drop: What is dropped beyond that.
    """

    mode: QueueMode = QueueMode.COLLECT
    debounce_ms: int = QUEUE_DEBOUNCE_MS
    cap: int = QUEUE_CAP
    drop: DropPolicy = DropPolicy.SUMMARIZE

    def with_changes(self, stated: Mapping[str, Any]) -> QueuePolicy:
        """Return the policy with stated, checked values replaced."""
        read: Mapping[str, Any] = {"mode": QueueMode, "debounce_ms": int, "cap": int, "drop": DropPolicy}
        return replace(self, **{name: read[name](value) for name, value in stated.items() if name in read})


class QueueSettings(Struct, frozen=True):
    """`messages.queue` and `messages.inbound`.

    Attributes:
        policy: For channels and sessions without their own.
        by_channel: The policies of channels that have their own.
        inbound_ms: How long text of a sender waits for more of it.
        inbound_by_channel: The same, by channel.
    """

    policy: QueuePolicy = QueuePolicy()
    by_channel: Mapping[str, QueuePolicy] = field(default_factory=dict)
    inbound_ms: int = INBOUND_DEBOUNCE_MS
    inbound_by_channel: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_config(cls, messages: Mapping[str, Any]) -> QueueSettings:
        """Read them from a valid section `messages`."""
        queue, inbound = messages["queue"], messages["inbound"]
        policy = QueuePolicy().with_changes(queue)
        by_channel = {
            name: policy.with_changes(stated if isinstance(stated, Mapping) else {"mode": stated})
            for name, stated in queue["by_channel"].items()
        }
        return cls(policy, by_channel, inbound["debounce_ms"], inbound["by_channel"])

    def of(self, channel: str, said: str | None = None) -> QueuePolicy:
        """Return the policy of a channel's conversation.

        Args:
            channel: Its name.
            said: The setting of `/queue` there (`Session.queue`).
        """
        policy = self.by_channel.get(channel, self.policy)
        return policy.with_changes(parse_queue_directive(said) or {}) if said else policy

    def debounce_ms(self, channel: str) -> int:
        """Return how long text waits for more from the same sender, in milliseconds."""
        return self.inbound_by_channel.get(channel, self.inbound_ms)


_ALIASES = {"queue": "steer", "steer-backlog": "steer_backlog", "steer+backlog": "steer_backlog"}
_MODES = tuple(each.value for each in QueueMode)
_DROPS = tuple(each.value for each in DropPolicy)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)?")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000}


@lru_cache(maxsize=64)
def parse_queue_directive(text: str) -> dict[str, Any] | None:
    """Return the settings in a `/queue` directive; None for `default` and `reset`.

    Args:
        text: A mode and options, such as `collect debounce:2s cap:25 drop:summarize`.

    Raises:
        InvalidRequest: A word of it is not understood.
    """
    words = text.lower().split()
    if not words:
        raise InvalidRequest(f"expected a queue mode: {', '.join(_MODES)}, or default")
    if words in (["default"], ["reset"]):
        return None
    stated: dict[str, Any] = {}
    for word in words:
        name, option, value = word.partition(":")
        if not option and "mode" not in stated:
            stated["mode"] = _one_of("mode", _ALIASES.get(name, name), _MODES)
        elif name == "debounce" and option:
            stated["debounce_ms"] = _milliseconds(value)
        elif name == "cap" and option:
            stated["cap"] = _count(value)
        elif name == "drop" and option:
            stated["drop"] = _one_of("drop", value, _DROPS)
        else:
            raise InvalidRequest(f"{word!r:.60} is not understood; there are a mode, debounce:2s, cap:25 and drop:old")
    return stated


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InvalidRequest(f"{value!r:.60} is no {name}; there are {', '.join(allowed)}")
    return value


def _milliseconds(value: str) -> int:
    match = _SPAN.fullmatch(value)
    span = int(float(match[1]) * _UNIT_MS[match[2] or "ms"]) if match else -1
    if not 0 <= span <= LONGEST_DEBOUNCE_MS:
        raise InvalidRequest(
            f"{value!r:.60} is not a time from 0 to {LONGEST_DEBOUNCE_MS // 1_000} s, such as 500ms or 2s"
        )
    return span


def _count(value: str) -> int:
    if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= MOST_WAITING):
        raise InvalidRequest(f"{value!r:.60} is not a whole number from 1 to {MOST_WAITING}")
    return int(value)


# --- schema ---


def _mode(value: Any) -> str:
    name = _ALIASES.get(value, value) if isinstance(value, str) else value
    if name not in _MODES:
        raise Invalid(f"expected {', '.join(_MODES)} or queue")
    return str(name)


_MODE = Described(_mode, {"enum": [*_MODES, *_ALIASES]}, "mode")
_SPAN_MS = All(integer, Range(min=0, max=LONGEST_DEBOUNCE_MS))
_KEYS: Mapping[Any, Any] = {
    Optional("mode", description="While the agent is busy: collect, steer, followup, steer_backlog, interrupt."): _MODE,
    Optional(
        "debounce_ms", description="Quiet time before messages that waited are answered, in milliseconds."
    ): _SPAN_MS,
    Optional("cap", description="Messages of one conversation that may wait for their turn."): All(
        integer, Range(min=1, max=MOST_WAITING)
    ),
    Optional("drop", description="What gives way beyond the cap: old, new or summarize."): In(list(_DROPS)),
}


def _with_defaults() -> Mapping[Any, Any]:
    defaults = {"mode": "collect", "debounce_ms": QUEUE_DEBOUNCE_MS, "cap": QUEUE_CAP, "drop": "summarize"}
    return {
        Optional(str(key), default=defaults[str(key)], description=key.description): check
        for key, check in _KEYS.items()
    }


QUEUE_SCHEMA = Schema(
    {
        **_with_defaults(),
        Optional("by_channel", default=dict, description="Modes or settings of channels, by name."): {
            slug: AnyOf(_MODE, _KEYS)
        },
    }
)
INBOUND_SCHEMA = Schema(
    {
        Optional(
            "debounce_ms",
            default=INBOUND_DEBOUNCE_MS,
            description="How long text in a chat app waits for more of the same sender, in milliseconds; 0 is off.",
        ): _SPAN_MS,
        Optional("by_channel", default=dict, description="The same for channels, by name."): {slug: _SPAN_MS},
    }
)
