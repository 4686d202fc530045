"""The configured calendars: read by GET or by CalDAV's REPORT, written by PUT (RFC 4791), through the egress client."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.ids import new_id
from hub.security.egress import Egress, Fetched
from integrations.tools.calendar.events import EVENTS_LIMIT, CalendarEvent, new_event, read_events

BODY_LIMIT_BYTES = 5_000_000
_REPORT = """<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><C:calendar-data/></D:prop>
<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:time-range start="{since}" end="{until}"/>
</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"""


class CalendarAccounts:
    """The calendars of this home.

    Args:
        egress: Calls their servers.
        clock: Dates new events.
        config: The validated section `calendar:`.
    """

    def __init__(self, egress: Egress, clock: Clock, config: Mapping[str, Any]) -> None:
        self._egress = egress
        self._clock = clock
        self._calendars: Mapping[str, Mapping[str, Any]] = config["calendars"]
        self._timeout_s = config["timeout"]

    @property
    def names(self) -> list[str]:
        """All calendars."""
        return sorted(self._calendars)

    @property
    def writable(self) -> list[str]:
        """Those that events can be added to."""
        return [name for name in self.names if "username" in self._calendars[name]]

    async def events(
        self, names: Iterable[str], since: datetime, until: datetime
    ) -> tuple[list[dict[str, str]], dict[str, str]]:
        """Return the events of a range, in their order, each with the calendar it is in; and why others are missing.

        Raises:
            HubError: No calendar can be read; the message names one.
        """
        found: dict[str, list[CalendarEvent]] = {}
        failed: dict[str, HubError] = {}

        async def read(name: str) -> None:
            try:
                found[name] = await self._read(name, since, until)
            except HubError as error:
                failed[name] = error

        await asyncio.gather(*map(read, names))
        if failed and not found:
            raise next(iter(failed.values()))
        events = [
            {"calendar": name} | {field: getattr(event, field) for field in CalendarEvent.__struct_fields__}
            for name, some in sorted(found.items())
            for event in some
        ]
        shown = sorted(events, key=lambda each: each["start"])[:EVENTS_LIMIT]
        return shown, {name: failed[name].message for name in sorted(failed)}

    async def add(self, name: str, event: CalendarEvent) -> None:
        """Add an event to a CalDAV calendar.

        Raises:
            HubError: It cannot be added.
        """
        uid = new_id()
        url = f"{self._calendars[name]['url'].reveal().rstrip('/')}/{uid}.ics"
        headers = {"Content-Type": "text/calendar; charset=utf-8", "If-None-Match": "*"}
        await self._call(name, "PUT", url, headers, new_event(uid, event, self._clock.now()))

    async def _read(self, name: str, since: datetime, until: datetime) -> list[CalendarEvent]:
        url = self._calendars[name]["url"].reveal().replace("webcal://", "https://", 1)
        if name in self.writable:
            times = {
                key: f"{when.astimezone(UTC):%Y%m%dT%H%M%SZ}" for key, when in (("since", since), ("until", until))
            }
            headers = {"Content-Type": "application/xml; charset=utf-8", "Depth": "1"}
            answer = await self._call(name, "REPORT", url, headers, _REPORT.format(**times).encode())
        else:
            answer = await self._call(name, "GET", url, {"Accept": "text/calendar"}, None)
        arguments = answer.body, since.isoformat(), until.isoformat(), str(since.tzinfo)
        read = self._egress.reader.read(f"the calendar {name}", read_events, *arguments, returns=list[CalendarEvent])
        return await read

    async def _call(self, name: str, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Fetched:
        account = self._calendars[name]
        if "username" in account:
            pair = f"{account['username']}:{account['password'].reveal()}"
            headers = {**headers, "Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        try:
            answer = await self._egress.fetch(
                url, method=method, headers=headers, body=body, limit_bytes=BODY_LIMIT_BYTES, timeout_s=self._timeout_s
            )
        except HubError as error:
            error.message = f"the calendar {name}: {error.message}"
            raise
        if answer.status in (401, 403):
            raise Unavailable(f"the server of the calendar {name} refuses username or password")
        if not 200 <= answer.status < 300:
            raise Unavailable(f"the server of the calendar {name} answered with the status {answer.status}")
        return answer
