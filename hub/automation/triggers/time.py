"""`time`: a time of day, or the time that an entity holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import dynamic_text, time_of_day, weekdays
from hub.automation.definition.phrases import days, join_words, value_text
from hub.automation.definition.values import is_template
from hub.automation.schedule.contract import Due, Schedule
from hub.automation.schedule.daily import EVERY_DAY, Daily, parse_time_of_day, parse_weekdays
from hub.automation.schedule.fixed import At, parse_at
from hub.automation.schedule.timetable import ScheduledEntry
from hub.automation.triggers.arming import local_time, render_limited, report_errors
from hub.automation.triggers.scheduled import explain_offset, offset, shift, watch
from hub.automation.triggers.state import listen_to_states
from hub.core.errors import InvalidRequest
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Described, Invalid, MultipleInvalid, Optional, Required, Schema, as_list, entity_id, show

_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?(\.\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NO_VALUE = ("unknown", "unavailable", "")
_WITH_OFFSET = Schema(
    {
        Required("entity_id", description="Whose state says when."): entity_id,
        Optional("offset", default=0, description="So much later; earlier with a minus."): offset,
    }
)


def _one(value: Any) -> Any:
    if isinstance(value, dict):
        return _WITH_OFFSET(value)
    if is_template(value):
        return dynamic_text(value)
    if isinstance(value, str) and "." in value and ":" not in value:
        return {"entity_id": entity_id(value), "offset": 0.0}
    try:
        time_of_day(value)
    except Invalid:
        raise Invalid(
            phrase("expected a time of day such as 07:30, or an entity that says it, got {value}", value=show(value))
        ) from None
    return value


def _at(value: Any) -> list[Any]:
    found: list[Any] = []
    errors: list[Invalid] = []
    for index, each in enumerate(as_list(value)):
        try:
            found.append(_one(each))
        except Invalid as error:
            if isinstance(value, list):
                error.prepend([index])
            errors.append(error)
    if errors:
        raise MultipleInvalid(errors)
    if not found:
        raise Invalid(phrase("expected a time of day such as 07:30, got nothing"))
    return found


_AT_JSON = {"anyOf": [{"type": ["string", "object"]}, {"type": "array", "items": {"type": ["string", "object"]}}]}


def _schedule(said: str, on: frozenset[int], host: TriggerHost) -> Schedule | None:
    """Return the schedule of a written time or an entity's time; None if the entity has none.

    Raises:
        InvalidRequest: It is neither a time of day nor a date.
    """
    text = said.strip()
    if text in _NO_VALUE:
        return None
    zone = host.parts.zone()
    if _TIME.fullmatch(text):
        return Daily(parse_time_of_day(text.partition(".")[0]), zone, on)
    if _DATE.fullmatch(text):
        text += " 00:00:00"
    return At(parse_at(text, host.parts.clock.time(), zone))


class _Watched:
    """One entity that holds a time; its entry in the timetable follows its state."""

    def __init__(self, entity: str, offset_s: float, on: frozenset[int], host: TriggerHost) -> None:
        self._entity = entity
        self._offset_s = offset_s
        self._on = on
        self._host = host
        self._entry: ScheduledEntry | None = None
        state = host.parts.states.get(entity)
        if state is not None:
            self._follow(state.state, host.handled())
        self._unlisten = listen_to_states(host.parts.bus, [entity], self._changed)

    def close(self) -> None:
        """Stop following it."""
        self._unlisten()
        if self._entry is not None:
            self._entry()

    def _changed(self, event: Event) -> None:
        old, new = event.data["old_state"], event.data["new_state"]
        if old is not None and new is not None and old.state == new.state:
            return
        self._follow(new.state if new is not None else "", None)

    def _follow(self, said: str, after: float | None) -> None:
        if self._entry is not None:
            self._entry()
            self._entry = None
        try:
            schedule = _schedule(said, EVERY_DAY, self._host)
        except InvalidRequest:
            self._host.fail(f"{self._entity} says neither a time of day nor a date: {value_text(said)}")
            return
        if schedule is None:
            return
        facts = {"entity_id": self._entity, "description": f"time set in {self._entity}"}
        self._entry = watch(
            self._host, shift(schedule, self._offset_s), facts, after=after, wanted=_on_days(self._on, self._host)
        )


def _on_days(on: frozenset[int], host: TriggerHost) -> Callable[[Due], bool] | None:
    """Filter occurrences by their own day, which with an offset differs from that of the entity's time."""
    if on == EVERY_DAY:
        return None
    return lambda due: local_time(host, due.planned).weekday() in on


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    on = parse_weekdays(config.get("weekday"))
    ends: list[Unsubscribe] = []
    for each in config["at"]:
        one = _one(render_limited(each, host)) if is_template(each) and host.templates else each
        if isinstance(one, dict):
            ends.append(_Watched(one["entity_id"], one["offset"], on, host).close)
            continue
        schedule = Daily(parse_time_of_day(one), host.parts.zone(), on)
        ends.append(watch(host, schedule, {"entity_id": None, "description": "time"}, after=host.handled()))

    def end() -> None:
        for each in ends:
            each()

    return end


def _next_due(config: Mapping[str, Any], host: TriggerHost) -> float | None:
    on = parse_weekdays(config.get("weekday"))
    found: list[float] = []
    for each in config["at"]:
        one = _one(render_limited(each, host)) if is_template(each) and host.templates else each
        said, offset_s = one, 0.0
        if isinstance(one, dict):
            state = host.parts.states.get(one["entity_id"])
            said, offset_s = (state.state if state is not None else ""), one["offset"]
        try:
            schedule = _schedule(said, EVERY_DAY, host)
        except InvalidRequest:
            continue
        if schedule is not None and (due := _first_on(on, shift(schedule, offset_s), host)) is not None:
            found.append(due)
    return min(found, default=None)


def _first_on(on: frozenset[int], schedule: Schedule, host: TriggerHost) -> float | None:
    """Return the next due time on one of these days; a week has no more than seven to look at."""
    due: float | None = host.parts.clock.time()
    for _ in range(len(EVERY_DAY) + 1):
        if due is None or (due := schedule.next_after(due)) is None:
            return None
        if local_time(host, due).weekday() in on:
            return due
    return None


def _explain(config: Mapping[str, Any]) -> str:
    times: list[str] = []
    for each in config["at"]:
        if not isinstance(each, dict):
            text = value_text(each)
            times.append(phrase("at {time}", time=text.removesuffix(":00") if text.count(":") == 2 else text))
        elif each["offset"]:
            of_entity = phrase("the time of {entity}", entity=each["entity_id"])
            times.append(explain_offset(of_entity, each["offset"]))
        else:
            times.append(phrase("at the time of {entity}", entity=each["entity_id"]))
    said = join_words(times, "or")
    return phrase("{said} on {days}", said=said, days=days(config["weekday"])) if config.get("weekday") else said


KIND = TriggerKind(
    name="time",
    fields={
        Required(
            "at", description="A time of day, an entity that holds a time, {entity_id, offset}, or a list of them."
        ): Described(_at, _AT_JSON, "times"),
        Optional("weekday", description="Only on these days: mon to sun, or a list."): weekdays,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="A time of day.",
    next_due=_next_due,
)
