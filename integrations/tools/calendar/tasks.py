"""Lists of tasks on CalDAV servers (VTODO, RFC 5545) as entities `todo.<name>`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from hub.core.context import Context
from hub.core.errors import Conflict, HubError
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.entities.description import EntityDescription
from hub.entities.todo import DUE_AND_DESCRIPTION, FEATURES, MOVE, TodoItem, TodoStatus, commands, open_items
from integrations.tools.calendar.dav import Dav, address_of, at_server, read_objects
from integrations.tools.calendar.events import TEXT_CHARS

if TYPE_CHECKING:
    from hub.host import IntegrationHost

TASKS_LIMIT = 500
SORT_ORDER = "X-APPLE-SORT-ORDER"
"""Where apps keep the place of a task: Reminders, Nextcloud, Tasks.org."""
_EPOCH = datetime(2001, 1, 1, tzinfo=UTC)
"""Places without it are the seconds since then, as those apps reckon."""
RETRY_S = 60.0
STALE_LOOKS = 4
_REPORT = """<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag/><C:calendar-data/></D:prop>
<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VTODO"/></C:comp-filter></C:filter></C:calendar-query>"""
_TYPE = "text/calendar; charset=utf-8"


class Task(Struct, frozen=True):
    """A task with where it is on the server, and all that the server has of it."""

    item: TodoItem
    href: str
    etag: str
    source: str
    place: int = 0


class TaskList:
    """One list, as `hub.entities.todo.TodoList`, and its entity.

    Args:
        account: Its item of `calendar: lists:`.
        every_s: How often it is read.
    """

    def __init__(self, host: IntegrationHost, dav: Dav, name: str, account: Mapping[str, Any], every_s: float) -> None:
        self._host, self._dav, self._name, self._account, self._every_s = host, dav, name, account, every_s
        self._tasks: list[Task] = []
        self._failures = 0
        self._reading = asyncio.Lock()
        title = account.get("name") or name.replace("_", " ")
        attributes = {"supported_features": FEATURES | DUE_AND_DESCRIPTION | MOVE}
        description = EntityDescription("todo", name, title, object_id=name, attributes=attributes)
        made = commands(self, lambda: host.time_zone, lambda: self._handle.cause, self.move)
        self._handle = host.entities.add(description, made)

    async def live(self) -> None:
        """Read it as long as the hub runs; the last known items stay for a while when that fails."""
        while True:
            try:
                await self.look()
            except HubError:
                self._failures += 1
                if self._failures in (1, STALE_LOOKS):
                    self._handle.available(bool(self._tasks) and self._failures < STALE_LOOKS)
                wait_s = min(self._every_s, RETRY_S * 2 ** min(self._failures - 1, 10))
            else:
                wait_s = self._every_s
            # Apart, so that many homes do not ask again at the same moment.
            await self._host.clock.sleep(wait_s * random.uniform(1.0, 1.25))  # noqa: S311

    async def look(self) -> None:
        """Read it now.

        Raises:
            HubError: It cannot be read.
        """
        async with self._reading:
            what = f"the list {self._name}"
            body = await self._dav.report(what, self._account, _REPORT)
            self._tasks = await self._dav.reader.read(
                what, read_tasks, body, str(self._host.time_zone), returns=list[Task]
            )
            self._failures = 0
        self._handle.set(open_items(each.item for each in self._tasks))
        self._handle.available(True)

    async def items(self) -> Sequence[TodoItem]:
        await self.look()
        return [each.item for each in self._tasks]

    async def add(self, item: TodoItem, cause: Context) -> None:
        uid = new_id()
        url = f"{address_of(self._account).rstrip('/')}/{uid}.ics"
        await self._put(url, {"If-None-Match": "*"}, write_task("", item.as_payload(), uid, self._now()))

    async def update(self, item: TodoItem, cause: Context) -> None:
        await self._rewrite(self._task(item), item, None)
        await self.look()

    async def move(self, item: TodoItem, after: TodoItem | None, cause: Context) -> None:
        tasks = list(self._tasks)
        index = tasks.index(self._task(item))
        others = [each.item.uid for each in tasks if each.item.uid != item.uid]
        to = 0 if after is None else others.index(after.uid) + 1
        for each, place in places_after_move([task.place for task in tasks], index, to).items():
            await self._rewrite(tasks[each], tasks[each].item, place)
        await self.look()

    async def _rewrite(self, task: Task, item: TodoItem, place: int | None) -> None:
        arguments = task.source, item.as_payload(), item.uid, self._now(), place
        fresh = await self._dav.reader.read(f"the list {self._name}", write_task, *arguments, returns=str)
        tag = {"If-Match": task.etag} if task.etag else {}
        await self._call("PUT", self._url(task), {"Content-Type": _TYPE, **tag}, fresh.encode())

    async def remove(self, items: Sequence[TodoItem], cause: Context) -> None:
        for each in items:
            task = self._task(each)
            headers = {"If-Match": task.etag} if task.etag else {}
            await self._call("DELETE", self._url(task), headers, None)
        await self.look()

    async def _put(self, url: str, headers: Mapping[str, str], text: str) -> None:
        await self._call("PUT", url, {"Content-Type": _TYPE, **headers}, text.encode())
        await self.look()

    async def _call(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> None:
        await self._dav.call(f"the list {self._name}", self._account, method, url, headers, body)

    def _now(self) -> str:
        return self._host.clock.now().isoformat()

    def _task(self, item: TodoItem) -> Task:
        found = next((each for each in self._tasks if each.item.uid == item.uid), None)
        if found is None:
            raise Conflict(phrase("there is no item {item} on the list", item=item.summary))
        return found

    def _url(self, task: Task) -> str:
        """Return the address of a task: on the server of the list, wherever it says that it is."""
        return at_server(address_of(self._account), task.href)


def read_tasks(body: bytes, zone: str) -> list[Task]:
    """Return the tasks in an answer, in the order in which they were made.

    Args:
        zone: The home's time zone, also for moments without one.
    """
    import icalendar

    found: list[Task] = []
    for each in read_objects(body):
        todos: list[Any] = icalendar.Calendar.from_ical(each.source).walk("VTODO")
        found += [Task(_item(todo, ZoneInfo(zone)), each.href, each.etag, each.source, _place(todo)) for todo in todos]
    return sorted(found, key=lambda each: each.place)[:TASKS_LIMIT]


def _place(todo: Any) -> int:
    """Return where a task is in its list: as apps sort it, else by when it was made."""
    with suppress(ValueError):
        return int(todo.get(SORT_ORDER, ""))
    made = next((todo[name].dt for name in ("CREATED", "DTSTAMP") if name in todo), _EPOCH)
    return int((made - _EPOCH).total_seconds()) if isinstance(made, datetime) and made.tzinfo is not None else 0


def places_after_move(places: Sequence[int], index: int, to: int) -> dict[int, int]:
    """Return the new places, by their index, of those that have to change when one is moved.

    Args:
        places: Of all, in their order.
        index: Which is moved.
        to: Behind how many of the others it is then.
    """
    order = [each for each in range(len(places)) if each != index]
    order.insert(to, index)
    fresh: dict[int, int] = {}
    last = places[order[1]] - 2 if to == 0 and len(order) > 1 else None
    for each in order:
        wanted = places[each]
        if each == index or (last is not None and wanted <= last):
            wanted = last + 1 if last is not None else wanted
        if wanted != places[each]:
            fresh[each] = wanted
        last = wanted
    return fresh


def write_task(source: str, said: Mapping[str, str], uid: str, at: str, place: int | None = None) -> str:
    """Return a calendar with a task; what else the server has of it stays.

    Args:
        source: What the server has; empty for a new task.
        said: What the task is from now on, as services tell it.
        at: Now, in ISO 8601.
        place: Where it is in its list from now on.
    """
    import icalendar

    now = datetime.fromisoformat(at)

    if source:
        calendar = icalendar.Calendar.from_ical(source)
        todo = next(each for each in calendar.walk("VTODO") if str(each.get("UID", "")) == uid)
    else:
        calendar, todo = icalendar.Calendar(), icalendar.Todo()
        calendar.add("PRODID", "-//Homarus//EN")
        calendar.add("VERSION", "2.0")
        calendar.add_component(todo)
        todo.add("UID", uid)
        todo.add("CREATED", now)
    for name in (
        "DTSTAMP",
        "LAST-MODIFIED",
        "SUMMARY",
        "DESCRIPTION",
        "DUE",
        "STATUS",
        "COMPLETED",
        "PERCENT-COMPLETE",
    ):
        if name in todo:
            del todo[name]
    if place is not None:
        todo.pop(SORT_ORDER, None)
        todo.add(SORT_ORDER, str(place))
    is_done = said["status"] == TodoStatus.COMPLETED
    todo.add("DTSTAMP", now)
    todo.add("LAST-MODIFIED", now)
    todo.add("SUMMARY", said["summary"])
    todo.add("STATUS", "COMPLETED" if is_done else "NEEDS-ACTION")
    if is_done:
        todo.add("COMPLETED", now)
        todo.add("PERCENT-COMPLETE", 100)
    if more := said.get("description"):
        todo.add("DESCRIPTION", more)
    if due := said.get("due"):
        todo.pop("DURATION", None)
        todo.add("DUE", datetime.fromisoformat(due).astimezone(UTC) if "T" in due else date.fromisoformat(due))
    return bytes(calendar.to_ical()).decode()


def _item(todo: Any, zone: tzinfo) -> TodoItem:
    due = todo["DUE"].dt if "DUE" in todo else None
    if isinstance(due, datetime):
        due = due.replace(tzinfo=zone) if due.tzinfo is None else due.astimezone(zone)
    is_done = str(todo.get("STATUS", "")).upper() in ("COMPLETED", "CANCELLED") or "COMPLETED" in todo
    return TodoItem(
        str(todo.get("SUMMARY", ""))[:TEXT_CHARS],
        str(todo.get("UID", ""))[:TEXT_CHARS],
        TodoStatus.COMPLETED if is_done else TodoStatus.NEEDS_ACTION,
        due.isoformat() if due is not None else None,
        str(todo.get("DESCRIPTION", ""))[:TEXT_CHARS] or None,
    )
