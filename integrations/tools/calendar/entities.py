"""The entities of calendars: on during an event, with the present or next one as attributes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from hub.core.errors import HubError
from hub.entities.calendar import (
    CREATE_EVENT,
    DELETE_EVENT,
    EVENT_CHANGED,
    THIS_AND_FUTURE,
    UPDATE_EVENT,
    asked_event,
    asked_span,
)
from hub.entities.description import EntityDescription
from hub.entities.entities import Command
from integrations.tools.calendar.calendars import CalendarAccounts
from integrations.tools.calendar.editing import EventChange, Which
from integrations.tools.calendar.events import CalendarEvent, is_day

if TYPE_CHECKING:
    from hub.host import IntegrationHost

NEAR = timedelta(days=8)
"""The events of this time are kept."""
PAST = timedelta(days=2)
FAR = timedelta(days=366)
"""So far the next event is looked for, when there is none near."""
RETRY_S = 60.0
STALE_LOOKS = 4
"""After so many looks in a row that failed, it is unavailable."""
_STAMP = "%Y-%m-%d %H:%M:%S"


class CalendarEntity:
    """A calendar as an entity, read again every so often.

    Args:
        name: Its key.
        every_s: How often.
    """

    def __init__(self, host: IntegrationHost, accounts: CalendarAccounts, name: str, every_s: float) -> None:
        self._host, self._accounts, self._name, self._every_s = host, accounts, name, every_s
        self._events: list[CalendarEvent] = []
        self._span: tuple[datetime, datetime] | None = None
        self._again = 0.0
        self._failures = 0
        self._reading = asyncio.Lock()
        self._pause: asyncio.Task[None] | None = None
        can_add = name in accounts.writable
        writing: dict[str, Command] = {
            "create_event": self._create_event,
            "update_event": self._update_event,
            "delete_event": self._delete_event,
        }
        commands: dict[str, Command] = {"get_events": self._get_events, **(writing if can_add else {})}
        attributes = {"supported_features": CREATE_EVENT | DELETE_EVENT | UPDATE_EVENT} if can_add else {}
        description = EntityDescription("calendar", name, accounts.title(name), object_id=name, attributes=attributes)
        self._handle = host.entities.add(description, commands)

    async def live(self) -> None:
        """Follow the calendar and the clock."""
        while True:
            now = self._host.clock.time()
            if self._again <= now:
                await self.look(is_due=True)
            due = min([self._again, *(each for each in self._boundaries() if each > self._host.clock.time())])
            # Not the host's: what it ends first at an unload must not wake this to wait once more.
            self._pause = asyncio.create_task(self._host.clock.sleep_until(due), name=f"calendar {self._name}: wait")
            try:
                await asyncio.wait([self._pause])
            finally:
                self._pause.cancel()
            self._show()

    async def look(self, *, is_due: bool = False) -> None:
        """Read the events that are near, and the next one when none is; the last known ones stay if it fails.

        Args:
            is_due: Whether that is not necessary when it was just done.
        """
        async with self._reading:
            now = self._now()
            if is_due and self._again > now.timestamp():
                return
            span = now - PAST, now + NEAR
            try:
                found = await self._accounts.read(self._name, *span)
                if not any(each.times(self._host.time_zone)[1] > now.timestamp() for each in found):
                    found += await self._accounts.read(self._name, span[1], now + FAR, 1)
            except HubError:
                self._failures += 1
                # Apart, so that many homes do not ask again at the same moment.
                wait_s = min(self._every_s, RETRY_S * 2 ** min(self._failures - 1, 10)) * random.uniform(1.0, 1.25)  # noqa: S311
                self._again = now.timestamp() + wait_s
                if self._span is None or self._failures >= STALE_LOOKS:
                    self._handle.available(False)
                return
            self._failures, self._again = 0, now.timestamp() + self._every_s
            is_new = self._span is None or found != self._events
            self._events, self._span = found, span
        self._handle.available(True)
        self._show()
        if is_new:
            self._host.bus.fire(EVENT_CHANGED, {"entity_id": self._handle.entity_id})
        if self._pause is not None:
            self._pause.cancel()

    def _boundaries(self) -> list[float]:
        return [when for each in self._events for when in each.times(self._host.time_zone)]

    def _show(self) -> None:
        if self._span is None:
            return
        zone, now = self._host.time_zone, self._host.clock.time()
        left = [(each.times(zone), each) for each in self._events if each.times(zone)[1] > now and self._counts(each)]
        if not left:
            self._handle.set("off")
            return
        (start, end), event = min(left, key=lambda each: each[0])
        begins, ends = (datetime.fromtimestamp(each, UTC).astimezone(zone) for each in (start, end))
        attributes = {
            "message": event.title,
            "all_day": is_day(event.start),
            "start_time": begins.strftime(_STAMP),
            "end_time": ends.strftime(_STAMP),
            "location": event.location,
            "description": event.description,
        }
        self._handle.set("on" if start <= now else "off", attributes)

    def _counts(self, event: CalendarEvent) -> bool:
        """Whether the state is about such an event."""
        settings, zone = self._accounts.settings(self._name), self._host.time_zone
        if is_day(event.start) and not settings.get("all_day", True):
            return False
        if "days" not in settings:
            return True
        midnight = datetime.combine(self._now().date() + timedelta(days=settings["days"]), time(), zone)
        return event.times(zone)[0] < midnight.timestamp()

    def _now(self) -> datetime:
        return self._host.clock.now().astimezone(self._host.time_zone)

    async def _get_events(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        since, until = asked_span(data, self._now())
        found = await self._between(since, until)
        return {"events": [as_payload(each) for each in found]}

    async def _between(self, since: datetime, until: datetime) -> list[CalendarEvent]:
        """Return the events of a time, from those that are kept when they cover it."""
        if self._span is None:
            await self.look(is_due=True)
        if self._span is not None and self._failures < STALE_LOOKS:
            first, last = self._span
            if first <= since and until <= last:
                times = [(each.times(self._host.time_zone), each) for each in self._events]
                wanted = since.timestamp(), until.timestamp()
                return [each for (start, end), each in times if start < wanted[1] and max(end, start + 1) > wanted[0]]
        return await self._accounts.read(self._name, since, until)

    async def _create_event(self, data: Mapping[str, Any]) -> None:
        start, end = asked_event(data, self._now())
        texts = data["summary"], data.get("location", ""), data["description"]
        event = CalendarEvent(start, end, *texts, rrule=data.get("rrule", ""))
        await self._accounts.add(self._name, event, str(self._host.time_zone))

    async def _update_event(self, data: Mapping[str, Any]) -> None:
        start, end = None, None
        if any(key.startswith(("start_", "end_")) for key in data):
            start, end = asked_event(data, self._now())
        texts = {key: data.get(key) for key in ("summary", "location", "description", "rrule")}
        await self._edit(data, EventChange(start, end, **texts))

    async def _delete_event(self, data: Mapping[str, Any]) -> None:
        await self._edit(data, None)

    async def _edit(self, data: Mapping[str, Any], change: EventChange | None) -> None:
        is_future = data.get("recurrence_range") == THIS_AND_FUTURE
        which = Which(data["uid"], data.get("recurrence_id") or "", is_future)
        await self._accounts.edit(self._name, which, change, str(self._host.time_zone))


def as_payload(event: CalendarEvent) -> dict[str, str]:
    """Return an event as services and triggers tell it; what it does not have is left out."""
    more = {
        name: said
        for name in ("description", "location", "uid", "recurrence_id", "rrule")
        if (said := getattr(event, name))
    }
    return {"start": event.start, "end": event.end, "summary": event.title, **more}
