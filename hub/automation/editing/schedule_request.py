"""A request to do something at a time, and the automation made from it. Pure; nothing in it is a template."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from hub.automation.editing.scheduled_form import TRIGGERS
from hub.automation.schedule.cron import check_cron
from hub.automation.schedule.fixed import parse_at
from hub.core.errors import InvalidRequest
from hub.core.schema import SchemaError, describe_error, positive_seconds, time_zone

TEXT_LIMIT = 8_000
NAME_LIMIT = 100
MIN_INTERVAL_S = 60.0
MAX_INTERVAL_S = 366 * 86_400.0
LATEST_S = 10 * 366 * 86_400.0
"""How far ahead something may be set, so that a typing error in a year is found."""

_SIZES = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


class ScheduledAction(StrEnum):
    """The action of a schedule."""

    REMIND = "remind"
    """The text is sent as it is."""
    RUN = "run"
    """The agent gets the text, and its answer is sent."""
    EVENT = "event"
    """The text waits for the agent as a system event."""


class ScheduleRequest(Struct, frozen=True):
    """A request to schedule something.

    Attributes:
        trigger: One trigger: `{"trigger": "at", "at": …}`, `every` or `cron`, with absolute times.
        do: The action.
        text: The words.
        agent_id: The agent that does it.
        name: Its name.
        session: For `run` and `event`: isolated, main, or a session key.
        address: The destination of text or answer: `{"channel", "to", …}`, `last` or `none`.
        model, thinking, timeout_s: For `run`.
        wake: For `event`: whether the agent looks at once.
        once: Whether it removes itself once it ran.
        enabled: Whether it is in force.
        description: The description shown to people.
        retry: How a failed run is tried again, as an automation has it; None for the automation's default.
        notify: Where results are posted, as an automation has it; None for nowhere.
    """

    trigger: Mapping[str, Any]
    do: ScheduledAction
    text: str
    agent_id: str
    name: str = ""
    session: str = "isolated"
    address: Mapping[str, Any] | str = "last"
    model: str | None = None
    thinking: str | None = None
    timeout_s: float | None = None
    wake: bool = False
    once: bool = False
    enabled: bool = True
    description: str = ""
    retry: Mapping[str, Any] | None = None
    notify: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Refuse what is out of bounds.

        Raises:
            InvalidRequest: It says which.
        """
        if not self.text.strip() or len(self.text) > TEXT_LIMIT:
            raise InvalidRequest(f"text: expected 1 to {TEXT_LIMIT} characters to send")
        if len(self.name) > NAME_LIMIT:
            raise InvalidRequest(f"name: expected at most {NAME_LIMIT} characters")


def at_trigger(text: object, now: float, zone: tzinfo) -> dict[str, Any]:
    """Return the trigger of one future instant.

    Raises:
        InvalidRequest: It is not an instant, or is in the past.
    """
    when = math.ceil(parse_at(text, now, zone))
    moment = datetime.fromtimestamp(when, zone)
    if when <= now:
        raise InvalidRequest(f"at: {moment:%Y-%m-%d %H:%M} is in the past; give a future time, or a delay such as 20m")
    if when > now + LATEST_S:
        raise InvalidRequest(f"at: {moment:%Y-%m-%d} is too far ahead; expected at most ten years from now")
    return {"trigger": "at", "at": moment.isoformat(timespec="seconds")}


def every_trigger(interval: object, now: float, zone: tzinfo, anchor: float | None = None) -> dict[str, Any]:
    """Return the trigger of an interval, counted from now or from `anchor`.

    Raises:
        InvalidRequest: It is not an interval, or out of bounds.
    """
    try:
        seconds = float(positive_seconds(interval))
    except SchemaError as error:
        raise InvalidRequest(f"every: {describe_error(error)}") from error
    if not MIN_INTERVAL_S <= seconds <= MAX_INTERVAL_S:
        raise InvalidRequest(f"every: expected {MIN_INTERVAL_S:g} s to a year, got {seconds:g} s")
    from_s = datetime.fromtimestamp(int(now) if anchor is None else anchor, zone)
    return {"trigger": "every", "every": _compact(seconds), "anchor": from_s.isoformat(timespec="seconds")}


def cron_trigger(expression: object, zone: str | None, stagger_s: float | None = None) -> dict[str, Any]:
    """Return the trigger of a cron expression.

    Raises:
        InvalidRequest: It is not a cron expression, or there is no such time zone.
    """
    if not isinstance(expression, str) or len(expression) > 200:
        raise InvalidRequest("cron: expected an expression such as `30 7 * * 1-5`")
    check_cron(expression)
    found: dict[str, Any] = {"trigger": "cron", "expression": " ".join(expression.split())}
    if zone is not None:
        found["time_zone"] = zone_name(zone)
    if stagger_s:
        found["stagger"] = _compact(stagger_s)
    return found


def zone_name(zone: str) -> str:
    """Return the name of a time zone.

    Raises:
        InvalidRequest: There is none of that name.
    """
    try:
        return str(time_zone(zone))
    except SchemaError as error:
        raise InvalidRequest(f"time_zone: {describe_error(error)}") from error


def to_item(request: ScheduleRequest, id: str, made_by: str | None) -> dict[str, Any]:
    """Return the automation as it is written to the file."""
    item: dict[str, Any] = {"id": id, "alias": request.name or _first_line(request.text)}
    if request.description:
        item["description"] = request.description
    if not request.enabled:
        item["enabled"] = False
    item |= {
        "triggers": [dict(request.trigger)],
        "actions": [_action(request, id)],
        "mode": "queued" if request.do is ScheduledAction.REMIND else "single",
    }
    item |= {key: dict(value) for key in ("retry", "notify") if (value := getattr(request, key)) is not None}
    if request.once:
        item["delete_after_run"] = True
    if made_by is not None:
        item["made_by"] = made_by
    return {**item, "templates": False}


def from_item(item: Mapping[str, Any], default_agent: str) -> ScheduleRequest | None:
    """Return the request that an automation was made from; None if it is more than a schedule and our action."""
    triggers = item.get("triggers", item.get("trigger"))
    actions = item.get("actions", item.get("action"))
    if any(item.get(key) for key in ("conditions", "condition", "variables", "trigger_variables", "use_blueprint")):
        return None
    trigger, action = _only(triggers), _only(actions)
    if trigger is None or action is None or trigger.get("trigger", trigger.get("platform")) not in TRIGGERS:
        return None
    service, data = action.get("action", action.get("service")), action.get("data") or {}
    if not isinstance(data, Mapping):
        return None
    match service:
        case "message.send":
            do, text = ScheduledAction.REMIND, data.get("text", data.get("message"))
            address: Any = {key: str(data[key]) for key in ("channel", "to", "account", "thread") if key in data}
        case "agent.run":
            do, text, address = ScheduledAction.RUN, data.get("message"), data.get("announce", "none")
        case "agent.system_event":
            do, text, address = ScheduledAction.EVENT, data.get("text"), "none"
        case _:
            return None
    if not isinstance(text, str) or not isinstance(address, (str, Mapping)):
        return None
    timeout = data.get("timeout")
    return ScheduleRequest(
        trigger=_plain(trigger),
        do=do,
        text=text,
        agent_id=str(data.get("agent", default_agent)),
        name=str(item.get("alias") or ""),
        session=str(data.get("session", "main" if do is ScheduledAction.EVENT else "isolated")),
        address=(_plain(address) or "last") if isinstance(address, Mapping) else address,
        model=data.get("model"),
        thinking=data.get("thinking"),
        timeout_s=float(positive_seconds(timeout)) if timeout is not None else None,
        wake=data.get("mode") == "now",
        once=bool(item.get("delete_after_run", False)),
        enabled=item.get("enabled", True) is not False,
        description=str(item.get("description") or ""),
        retry=_stated(item.get("retry")),
        notify=_stated(item.get("notify")),
    )


def describe(trigger: Mapping[str, Any]) -> str:
    """Return when a trigger fires, in a few words."""
    kind = trigger.get("trigger", trigger.get("platform"))
    if kind == "at":
        return f"once, at {trigger.get('at')}"
    if kind == "every":
        return f"every {trigger.get('every')}"
    zone = f" ({trigger['time_zone']})" if "time_zone" in trigger else ""
    return f"cron {trigger.get('expression')}{zone}"


def in_words(due: float, now: float, zone: tzinfo) -> str:
    """Return when something is due, in words: `tomorrow at 09:00, in 17 h 40 min`."""
    moment, today = datetime.fromtimestamp(due, zone), datetime.fromtimestamp(now, zone)
    days = (moment.date() - today.date()).days
    day = {0: "today", 1: "tomorrow"}.get(days, f"on {moment:%A}, {moment.day} {moment:%B %Y}")
    minutes = max(0, round((due - now) / 60))
    parts = [f"{count} {unit}" for count, unit in _counted(minutes) if count][:2]
    left = f", in {' '.join(parts)}" if parts else ", in less than a minute"
    return f"{day} at {moment:%H:%M}{left}"


def zone_of(trigger: Mapping[str, Any], home: tzinfo) -> tzinfo:
    """Return the time zone of a trigger."""
    return ZoneInfo(trigger["time_zone"]) if "time_zone" in trigger else home


def _counted(minutes: int) -> list[tuple[int, str]]:
    return [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min")]


def _action(request: ScheduleRequest, id: str) -> dict[str, Any]:
    if request.do is ScheduledAction.REMIND:
        address = dict(request.address) if isinstance(request.address, Mapping) else {"agent": request.agent_id}
        return {"action": "message.send", "data": {"text": request.text, **address}}
    if request.do is ScheduledAction.EVENT:
        mode = {"mode": "now"} if request.wake else {}
        data = {"text": request.text, "agent": request.agent_id, "session": request.session, **mode}
        return {"action": "agent.system_event", "data": data}
    data = {"message": request.text, "agent": request.agent_id, "session": request.session}
    if request.session == "isolated":
        data["name"] = id
    announce = dict(request.address) if isinstance(request.address, Mapping) else request.address
    chosen = {"model": request.model, "thinking": request.thinking, "timeout": request.timeout_s, "announce": announce}
    return {"action": "agent.run", "data": data | {key: value for key, value in chosen.items() if value is not None}}


def _only(value: Any) -> Mapping[str, Any] | None:
    found = value if isinstance(value, list) else [value]
    return found[0] if len(found) == 1 and isinstance(found[0], Mapping) else None


def _stated(value: Any) -> dict[str, Any] | None:
    return _plain(value) if isinstance(value, Mapping) else None


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): each for key, each in value.items()}


def _first_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _compact(seconds: float) -> str:
    """Return a duration as the configuration writes it: `1h 30m`."""
    left, parts = round(seconds), []
    for size, unit in _SIZES:
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return " ".join(parts) or "0s"
