"""The tool `calendar`, as agents see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import All, In, Invalid, Length, Optional, Required, Schema, string
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.calendar.calendars import CalendarAccounts
from integrations.tools.calendar.events import TEXT_CHARS, CalendarEvent, is_day

NAME = "calendar"
GROUP = "home"
DAYS_DEFAULT = 7
DAYS_LIMIT = 400
CALL_S = 150.0
YEARS = range(1900, 2200)
"""So that no sum with a time is out of what can be reckoned with."""
KEEPS_EVENTS = Annotations(destructive=False, open_world=False, owner_only=False, egress=True)
"""Of what it gives back, only events are words from outside, and are marked as such."""


def _when(value: str) -> str:
    try:
        if datetime.fromisoformat(value).year not in YEARS:
            raise ValueError
    except ValueError:
        raise Invalid("expected a day such as 2026-05-12, or a time such as 2026-05-12T18:00") from None
    return value


WHEN = All(string, Length(max=40), _when)
_TEXT = All(string, Length(max=TEXT_CHARS))


class CalendarTool:
    """Lists and adds events.

    Args:
        accounts: The calendars.
        zone: Returns the home's time zone.
        now: Gives the time.
    """

    def __init__(self, accounts: CalendarAccounts, zone: Callable[[], ZoneInfo], now: Callable[[], datetime]) -> None:
        self._accounts = accounts
        self._zone = zone
        self._now = now
        name = In(accounts.names)
        self.listing = {
            Optional("calendar", description="All of them without it."): name,
            Optional("start", description="Day or time; now without it."): WHEN,
            Optional("end", description=f"{DAYS_DEFAULT} days later without it."): WHEN,
        }
        self.adding = {
            Required("calendar"): name,
            Required("title"): All(_TEXT, Length(min=1)),
            Required("start"): WHEN,
            Optional("end", description="An hour or a day later without it."): WHEN,
            Optional("location", default=""): _TEXT,
            Optional("description", default=""): _TEXT,
        }

    def tool(self) -> Tool:
        """Return the tool."""
        fields: dict[str, Any] = {"title": _TEXT, "location": _TEXT, "description": _TEXT}
        schema: dict[Any, Any] = {
            Required("action"): In(("events", "add")),
            **self.listing,
            **{Optional(name, description="For add."): check for name, check in fields.items()},
        }
        return Tool(
            NAME,
            f"Look at the events of calendars ({', '.join(self._accounts.names)}), or add one.",
            from_schema(Schema(schema)),
            self._run,
            GROUP,
            KEEPS_EVENTS,
            approval=why_ask,
            preview=self._preview,
            timeout_s=CALL_S,
        )

    async def _run(self, call: ToolCall) -> ToolResult:
        given = {name: value for name, value in call.arguments.items() if name != "action"}
        if call.arguments["action"] == "add":
            event = await self.add(self._given(call))
            return ToolResult(f"added {event.title} to {given['calendar']}: {event.start} to {event.end}")
        events, missing, more = await self.events(given)
        lines = [
            f"{each['start']} – {each['end']} {each['title']} [{each['calendar']}]"
            + "".join(f"\n  {each[name]}" for name in ("location", "description") if each[name])
            for each in events
        ] or ["There are no events."]
        lines += [f"The events of {name} are missing: {why}" for name, why in missing.items()]
        lines += [f"{more} more events are not shown; ask for a shorter time."] if more else []
        return ToolResult("\n".join(lines), {"events": events, "missing": missing}, trusted=False)

    async def events(self, given: Mapping[str, Any]) -> tuple[list[dict[str, str]], dict[str, str], int]:
        """Return the requested events, at most of `DAYS_LIMIT` days; see `CalendarAccounts.events`."""
        since = self._at(given["start"]) if "start" in given else self._now().astimezone(self._zone())
        until = self._at(given["end"]) if "end" in given else since + timedelta(days=DAYS_DEFAULT)
        if not since < until <= since + timedelta(days=DAYS_LIMIT):
            raise InvalidRequest(f"end is to be after start, at most {DAYS_LIMIT} days")
        names = [given["calendar"]] if "calendar" in given else self._accounts.names
        return await self._accounts.events(names, since, until)

    async def add(self, given: Mapping[str, Any]) -> CalendarEvent:
        """Add an event and return it."""
        event = self._event(given)
        await self._accounts.add(given["calendar"], event)
        return event

    async def _preview(self, call: ToolCall) -> str:
        """Return when an event would be; nobody is asked about one that cannot be added."""
        if call.arguments["action"] != "add":
            return ""
        event = self._event(self._given(call))
        return f"{event.start} – {event.end}"

    def _given(self, call: ToolCall) -> Mapping[str, Any]:
        given = {name: value for name, value in call.arguments.items() if name != "action"}
        return from_schema(Schema(self.adding)).validate(given)

    def _event(self, given: Mapping[str, Any]) -> CalendarEvent:
        if given["calendar"] not in self._accounts.writable:
            with_accounts = ", ".join(self._accounts.writable) or "none"
            raise InvalidRequest(
                f"nothing can be added to {given['calendar']}; calendars that take events: {with_accounts}"
            )
        start, begins = given["start"], self._at(given["start"])
        if is_day(start):
            later = (begins + timedelta(days=1)).date().isoformat()
        else:
            later = (begins.astimezone(UTC) + timedelta(hours=1)).isoformat()
        end = given.get("end") or later
        if is_day(start) is not is_day(end) or not begins.timestamp() < self._at(end).timestamp():
            raise InvalidRequest("start and end must both be days, or both times, and end must be later")
        if not is_day(start):
            start, end = (self._at(each).isoformat(timespec="minutes") for each in (start, end))
        return CalendarEvent(start, end, given["title"], given["location"], given["description"])

    def _at(self, text: str) -> datetime:
        """Return a moment; one without a time zone is in the home's, where the clock may skip it."""
        moment = datetime.fromisoformat(text)
        there = moment.replace(tzinfo=self._zone()) if moment.tzinfo is None else moment
        return there.astimezone(UTC).astimezone(self._zone())


def why_ask(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why the owner has to approve a call: everyone who sees the calendar sees what is added.

    Looking at events sends two dates to the owner's own server, and nothing else.
    """
    if arguments.get("action") == "events":
        return None
    when = f"{arguments.get('start')} – {arguments.get('end', '…')}"
    event = f"{arguments.get('title')}, {when}"
    return phrase("it adds to the calendar {calendar}: {event}", calendar=str(arguments.get("calendar")), event=event)
