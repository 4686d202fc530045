"""The configured calendars: files at home, or read by GET or CalDAV's REPORT, written by PUT (RFC 4791)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from hub.core.clock import Clock
from hub.core.errors import HubError, NotFound, Unavailable
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.storage.files import read_bounded, write_atomic
from integrations.tools.calendar.dav import (
    BODY_LIMIT_BYTES,
    CalendarObject,
    Dav,
    Refused,
    address_of,
    at_server,
    read_objects,
)
from integrations.tools.calendar.editing import EventChange, Stamp, Which, edited, edited_apart
from integrations.tools.calendar.events import (
    CalendarEvent,
    by_minutes,
    new_event,
    read_events,
    with_event,
)

SHOWN_LIMIT = 200
"""How many events are told at once."""
_ONE = """<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag/><C:calendar-data/></D:prop>
<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:prop-filter name="UID">
<C:text-match collation="i;octet">{uid}</C:text-match></C:prop-filter></C:comp-filter></C:comp-filter></C:filter>
</C:calendar-query>"""
_REPORT = """<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><C:calendar-data/></D:prop>
<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:time-range start="{since}" end="{until}"/>
</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"""


class CalendarAccounts:
    """The calendars of this home.

    Args:
        dav: Calls their servers.
        clock: Dates new events.
        calendars: The validated calendars by name; those that are found later are put in.
        folder: Where the calendars are that have no address, each in a file.
    """

    def __init__(self, dav: Dav, clock: Clock, calendars: dict[str, Mapping[str, Any]], folder: Path) -> None:
        self._dav = dav
        self._clock = clock
        self._calendars = calendars
        self._folder = folder
        self._writing = asyncio.Lock()
        self.changed: Callable[[str], Awaitable[None]] | None = None
        """Called with the name of a calendar that an event was added to."""

    @property
    def names(self) -> list[str]:
        """All calendars."""
        return sorted(self._calendars)

    @property
    def writable(self) -> list[str]:
        """Those that events can be added to."""
        return [name for name in self.names if self.is_local(name) or self._takes(self._calendars[name])]

    def _takes(self, account: Mapping[str, Any]) -> bool:
        return "username" in account and "search" not in account

    def settings(self, name: str) -> Mapping[str, Any]:
        """Return what is configured of a calendar."""
        return self._calendars[name]

    def is_local(self, name: str) -> bool:
        """Whether a calendar is a file at home."""
        return "url" not in self._calendars[name]

    def title(self, name: str) -> str:
        """Return what people call a calendar."""
        return str(self._calendars[name].get("name") or name.replace("_", " "))

    async def events(
        self, names: Iterable[str], since: datetime, until: datetime
    ) -> tuple[list[dict[str, str]], dict[str, str], int]:
        """Return the first events of a range, each with the calendar it is in.

        Returns:
            The events, why those of some calendars are missing, and how many more there are.

        Raises:
            HubError: No calendar can be read; the message names one.
        """
        found: dict[str, list[CalendarEvent]] = {}
        failed: dict[str, HubError] = {}

        async def read(name: str) -> None:
            try:
                found[name] = await self.read(name, since, until)
            except HubError as error:
                failed[name] = error

        await asyncio.gather(*map(read, names))
        if failed and not found:
            raise next(iter(failed.values()))
        events = [
            {"calendar": name, "start": by_minutes(event.start), "end": by_minutes(event.end)}
            | {field: getattr(event, field) for field in ("title", "location", "description")}
            for name, some in sorted(found.items())
            for event in some
        ]
        shown = sorted(events, key=lambda each: each["start"])[:SHOWN_LIMIT]
        return shown, {name: failed[name].message for name in sorted(failed)}, len(events) - len(shown)

    async def add(self, name: str, event: CalendarEvent, zone: str = "UTC") -> None:
        """Add an event to a calendar with an account, or to one at home.

        Args:
            zone: On whose clocks a repeated one stays at its time.

        Raises:
            HubError: It cannot be added.
        """
        uid, now = new_id(), self._clock.now()
        if self.is_local(name):
            async with self._writing:
                await asyncio.to_thread(self._write, name, lambda body: with_event(body, uid, event, now, zone))
        else:
            account = self._calendars[name]
            url = f"{address_of(account).rstrip('/')}/{uid}.ics"
            headers = {"Content-Type": "text/calendar; charset=utf-8", "If-None-Match": "*"}
            await self._dav.call(f"the calendar {name}", account, "PUT", url, headers, new_event(uid, event, now, zone))
        if self.changed is not None:
            await self.changed(name)

    async def edit(self, name: str, which: Which, change: EventChange | None, zone: str) -> None:
        """Change an event of a calendar that events can be added to; without a change, remove it.

        Raises:
            HubError: It cannot be changed, or there is none.
        """
        stamp = Stamp(self._clock.now().isoformat(), zone, new_id())
        if self.is_local(name):
            async with self._writing:
                body = await asyncio.to_thread(self._body, name)
                what, asked = f"the calendar {name}", _plain(which, change, stamp)
                source = body.decode(errors="replace")
                fresh = await self._dav.reader.read(what, edited, source, *asked, returns=str)
                await asyncio.to_thread(self._write, name, lambda _: fresh.encode())
        else:
            await self._edit_at_server(name, which, change, stamp)
        if self.changed is not None:
            await self.changed(name)

    async def _edit_at_server(self, name: str, which: Which, change: EventChange | None, stamp: Stamp) -> None:
        account, what = self._calendars[name], f"the calendar {name}"
        body = await self._dav.report(what, account, _ONE.format(uid=escape(which.uid)))
        found = await self._dav.reader.read(what, read_objects, body, returns=list[CalendarObject])
        if not found:
            raise NotFound(phrase("there is no event {uid} in this calendar", uid=which.uid))
        known, asked = found[0], _plain(which, change, stamp)
        kept, begun = await self._dav.reader.read(what, edited_apart, known.source, *asked, returns=list[str])
        url, tag = at_server(address_of(account), known.href), {"If-Match": known.etag} if known.etag else {}
        written = {"Content-Type": "text/calendar; charset=utf-8"}
        further = f"{url.rpartition('/')[0]}/{stamp.new_uid}.ics"
        if begun:  # first, so that a line that breaks in between shows events twice and loses none
            await self._dav.call(what, account, "PUT", further, {**written, "If-None-Match": "*"}, begun.encode())
        try:
            if kept:
                await self._dav.call(what, account, "PUT", url, {**written, **tag}, kept.encode())
            else:
                await self._dav.call(what, account, "DELETE", url, tag)
        except Refused:  # somebody changed it meanwhile
            if begun:
                with suppress(HubError):
                    await self._dav.call(what, account, "DELETE", further, {})
            raise

    async def read(self, name: str, since: datetime, until: datetime, first: int | None = None) -> list[CalendarEvent]:
        """Return the events of one calendar in a range, in their order.

        Args:
            first: How many are wanted; all without it.

        Raises:
            HubError: It cannot be read, or has too many.
        """
        account, what = self._calendars[name], f"the calendar {name}"
        if self.is_local(name):
            body = await asyncio.to_thread(self._body, name)
        elif "username" in account or "days" in account:
            times = {
                key: f"{when.astimezone(UTC):%Y%m%dT%H%M%SZ}" for key, when in (("since", since), ("until", until))
            }
            body = await self._dav.report(what, account, _REPORT.format(**times))
        else:
            body = (await self._dav.call(what, account, "GET", address_of(account), {"Accept": "text/calendar"})).body
        if not body.strip() and self.is_local(name):
            return []
        arguments = body, since.isoformat(), until.isoformat(), str(since.tzinfo), first, account.get("search", "")
        return await self._dav.reader.read(what, read_events, *arguments, returns=list[CalendarEvent])

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.ics"

    def _body(self, name: str) -> bytes:
        try:
            return read_bounded(self._file(name), BODY_LIMIT_BYTES)
        except FileNotFoundError:
            return b""

    def _write(self, name: str, change: Callable[[bytes], bytes]) -> None:
        try:
            fresh = change(self._body(name))
        except ValueError as error:
            raise Unavailable(f"the calendar {name}: {self._file(name)} is damaged: {error}") from error
        self._folder.mkdir(mode=0o700, exist_ok=True)
        write_atomic(self._file(name), fresh)


def _plain(which: Which, change: EventChange | None, stamp: Stamp) -> tuple[Any, Any, Any]:
    """Return what another process is asked."""
    return to_builtins(which), None if change is None else to_builtins(change), to_builtins(stamp)
