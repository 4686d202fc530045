"""Shared by all time triggers: firing on a schedule, and durations that may be negative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from hub.automation.contract import TriggerHost
from hub.automation.definition.fields import duration
from hub.automation.definition.phrases import span
from hub.automation.schedule.contract import CatchUp, Due, Schedule
from hub.automation.schedule.timetable import ScheduledEntry
from hub.automation.triggers.arming import local_time
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import Described, Invalid

_READ = Callable[[Any], Any]


class Shifted(Struct, frozen=True):
    """A schedule, each of whose occurrences comes `offset_s` seconds later (earlier when negative)."""

    schedule: Schedule
    offset_s: float

    def next_after(self, after: float) -> float | None:
        """Return the first due time strictly after `after`, or None."""
        due = self.schedule.next_after(after - self.offset_s)
        return None if due is None else due + self.offset_s


def shift(schedule: Schedule, offset_s: float) -> Schedule:
    """Return the schedule moved by an offset; itself when there is none."""
    return Shifted(schedule, offset_s) if offset_s else schedule


def watch(
    host: TriggerHost,
    schedule: Schedule,
    facts: Mapping[str, Any],
    *,
    after: float | None,
    wanted: Callable[[Due], bool] | None = None,
) -> ScheduledEntry:
    """Fire whenever a schedule comes due, as `catch_up` says; skipped occurrences are reported once a gap.

    Args:
        facts: What templates see of it, beside now, planned, missed and caught_up.
        after: The last occurrence that was handled; None: now.
        wanted: Returns whether an occurrence counts.

    Raises:
        InvalidRequest: The schedule cannot be read.
    """

    def told(due: Due, skipped: bool) -> None:
        if wanted is not None and not wanted(due):
            return
        trigger = {
            **facts,
            "now": local_time(host, due.now),
            "planned": local_time(host, due.planned),
            "missed": due.missed,
            "caught_up": due.caught_up,
        }
        host.fire(trigger, planned=due.planned, missed=due.missed, skipped=skipped)

    return host.parts.timetable.add(
        schedule,
        lambda due: told(due, False),
        after=after,
        catch_up=CatchUp(host.catch_up.get("mode", CatchUp.NONE)),
        within_s=host.catch_up.get("within"),
        on_skipped=lambda due: told(due, True),
    )


def validator(read: _READ, json: Mapping[str, Any], name: str) -> Described:
    """Return a validator that returns a value as written, after checking it with `read`."""

    def check(value: Any) -> Any:
        try:
            read(value)
        except InvalidRequest as error:
            raise Invalid(error.message) from error
        return value

    return Described(check, json, name)


def _offset(value: Any) -> float:
    """Accept a duration with an optional sign, and a mapping whose amounts may be negative."""
    if isinstance(value, str) and value.strip()[:1] in ("-", "+"):
        sign = -1.0 if value.strip()[0] == "-" else 1.0
        return sign * float(duration(value.strip()[1:]))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return -float(duration(-value))
    if isinstance(value, dict) and value and all(_is_negative(each) for each in value.values()):
        return -float(duration({key: -float(each) for key, each in value.items()}))
    return float(duration(value))


def _is_negative(amount: Any) -> bool:
    try:
        return float(amount) <= 0
    except (TypeError, ValueError):
        return False


offset = Described(_offset, duration.json_schema, "duration that may be negative")


def explain_offset(event: str, offset_s: float) -> str:
    """Return an instant that lies a span before or after an event."""
    if offset_s < 0:
        return phrase("{span} before {event}", span=span(-offset_s), event=event)
    return phrase("{span} after {event}", span=span(offset_s), event=event)
