"""When a conversation is stale, so that the next message begins a new one: pure rules over times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hub.sessions.keys import ROOMS, SessionKey, SessionKind

AT_HOUR = 4
_PRIVATE = frozenset({SessionKind.MAIN, SessionKind.DIRECT})


class ResetMode(StrEnum):
    """The values of `session.reset.mode`."""

    NONE = "none"
    DAILY = "daily"
    IDLE = "idle"


class ResetPolicy(Struct, frozen=True):
    """When a conversation is stale; with both fields set, whichever comes first.

    Attributes:
        at_hour: The hour of the day at which it becomes stale; None for no hour.
        idle_minutes: The minutes without a message after which it is stale; None for no limit.
    """

    at_hour: int | None = None
    idle_minutes: int | None = None

    @classmethod
    def from_config(cls, section: Mapping[str, Any]) -> ResetPolicy:
        """Read a validated `session.reset`."""
        daily = section["mode"] == ResetMode.DAILY
        return cls(section.get("at_hour", AT_HOUR) if daily else None, section.get("idle_minutes"))

    def is_stale(self, last_ms: int, now_ms: int, zone: tzinfo) -> bool:
        """Return whether a conversation whose last message came at `last_ms` is stale."""
        if self.idle_minutes is not None and now_ms - last_ms > self.idle_minutes * 60_000:
            return True
        return self.at_hour is not None and last_ms < _latest(self.at_hour, now_ms, zone)


class ResetRules(Struct, frozen=True):
    """The policies of `session:`; the channel's comes before that of the type, and both before the general one."""

    policy: ResetPolicy = ResetPolicy()
    by_type: Mapping[str, ResetPolicy] = {}
    by_channel: Mapping[str, ResetPolicy] = {}
    zone: tzinfo = UTC

    @classmethod
    def from_config(cls, section: Mapping[str, Any], zone: tzinfo) -> ResetRules:
        """Read the validated section `session:`."""
        by_type, by_channel = (
            {name: ResetPolicy.from_config(each) for name, each in section[part].items()}
            for part in ("reset_by_type", "reset_by_channel")
        )
        return cls(ResetPolicy.from_config(section["reset"]), by_type, by_channel, zone)

    def of(self, key: str, channel: str | None) -> ResetPolicy:
        """Return the policy of a conversation, for a message from a channel; work of the hub has none."""
        parsed = SessionKey.parse(key)
        if parsed.kind not in _PRIVATE | ROOMS:
            return ResetPolicy()
        chat_type = "thread" if parsed.thread is not None else "group" if parsed.kind in ROOMS else "direct"
        return self.by_channel.get(channel or "") or self.by_type.get(chat_type) or self.policy


def _latest(hour: int, now_ms: int, zone: tzinfo) -> int:
    """Return the last time, at or before now, when the zone's clock showed the hour.

    An hour that the clocks skip is the moment of the change; of one that they show twice, the first counts.
    """
    today = datetime.fromtimestamp(now_ms / 1_000, zone).replace(hour=hour, minute=0, second=0, microsecond=0, fold=0)
    moments = (int((today - timedelta(days=days)).timestamp() * 1_000) for days in (0, 1))
    return next((each for each in moments if each <= now_ms), 0)
