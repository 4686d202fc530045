"""`calendar`: an event of a calendar begins or ends, or will, or did some time ago."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.schedule.contract import CatchUp, Due
from hub.automation.schedule.every import Every
from hub.automation.schedule.timetable import ScheduledEntry
from hub.automation.triggers.arming import local_time, report_errors
from hub.automation.triggers.scheduled import explain_offset, offset
from hub.automation.triggers.state import listen_to_states
from hub.core.errors import HubError, InvalidRequest
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import In, Optional, Required, entity_id
from hub.entities.calendar import EVENT_CHANGED
from hub.entities.entities import HomeEntities

LOOK_S = 900.0
AHEAD_S = 86_400.0
"""So much of what comes is known, should the calendar not be read for a while."""
PAST_LIMIT_S = 7 * 86_400.0
"""What was missed longer ago is forgotten."""
FAILURES_TOLD = 3


class _Planned:
    """The moments of the events that are known: a schedule."""

    def __init__(self, at: list[float]) -> None:
        self._at = at

    def next_after(self, after: float) -> float | None:
        """Return the first moment strictly after another, or None."""
        index = bisect_right(self._at, after)
        return self._at[index] if index < len(self._at) else None


class _Watcher:
    """Follows the events of one calendar, and fires at the time of each."""

    def __init__(self, config: Mapping[str, Any], host: TriggerHost, entities: HomeEntities) -> None:
        self._config, self._host, self._entities = config, host, entities
        self._entity_id: str = config["entity_id"]
        self._missed_since = host.handled()
        self._done = host.parts.clock.time()
        self._events: dict[float, list[dict[str, Any]]] = {}
        self._entry: ScheduledEntry | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_again = False
        self._failures = 0

    def due(self, _: Due | None = None) -> None:
        """Begin a look at the calendar; one in progress is followed by another."""
        if self._task is not None and not self._task.done():
            self._is_again = True
            return
        self._task = self._host.parts.tasks.spawn(self._look(), name=f"calendar of {self._host.automation_id}")

    def changed(self, event: Event) -> None:
        """Look when the entity appears."""
        if event.data["old_state"] is None and event.data["new_state"] is not None:
            self.due()

    def close(self) -> None:
        """Follow it no longer."""
        if self._task is not None:
            self._task.cancel()
        if self._entry is not None:
            self._entry()

    async def _look(self) -> None:
        while True:
            self._is_again = False
            try:
                await self._read()
            except HubError as error:
                self._failures += 1
                if self._failures == FAILURES_TOLD:
                    self._host.fail(
                        phrase("{entity} cannot be read: {error}", entity=self._entity_id, error=error.message)
                    )
            else:
                self._failures = 0
            if not self._is_again:
                return

    async def _read(self) -> None:
        handle = self._entities.get(self._entity_id)
        if handle is None:
            raise InvalidRequest(phrase("there is no calendar {entity}", entity=self._entity_id))
        if "get_events" not in handle.commands:
            raise InvalidRequest(phrase("{entity} does not tell its events", entity=self._entity_id))
        now, later = self._host.parts.clock.time(), self._config["offset"]
        since = max(now - PAST_LIMIT_S, min(self._done, self._missed_since or now))
        asked = {
            "start_date_time": local_time(self._host, since - later - 1),
            "end_date_time": local_time(self._host, now + AHEAD_S - later),
        }
        answer = await handle.commands["get_events"](asked) or {}
        self._plan(answer.get("events", ()))

    def _plan(self, events: Any) -> None:
        """Take over the events that are known now."""
        now = self._host.parts.clock.time()
        fresh: dict[float, list[dict[str, Any]]] = {}
        for event in events:
            at = self._moment(event[self._config["event"]]) + self._config["offset"]
            fresh.setdefault(at, []).append(event)
        if self._entry is not None:
            self._entry()
            self._done = max(self._done, self._entry.fired)
        # Those of just now that were known, and at the first look those since it was armed.
        late = [at for at in sorted(fresh) if self._done < at <= now and (self._entry is None or at in self._events)]
        self._events = fresh
        for at in late:
            self._fire(Due(at, now))
        self._entry = self._host.parts.timetable.add(
            _Planned([at for at in sorted(fresh) if at not in late]),
            self._fire,
            after=self._missed_since,
            catch_up=CatchUp(self._host.catch_up.get("mode", CatchUp.NONE)),
            within_s=self._host.catch_up.get("within"),
            on_skipped=lambda due: self._fire(due, skipped=True),
        )
        self._done, self._missed_since = now, None

    def _moment(self, said: str) -> float:
        """Return when a moment or a day begins, in seconds since the epoch."""
        found = datetime.fromisoformat(said)
        return (found if found.tzinfo else found.replace(tzinfo=self._host.parts.zone())).timestamp()

    def _fire(self, due: Due, *, skipped: bool = False) -> None:
        for event in self._events.get(due.planned, ()):
            trigger = {
                "event": self._config["event"],
                "offset": timedelta(seconds=self._config["offset"]),
                "entity_id": self._entity_id,
                "calendar_event": {**event, "all_day": "T" not in event["start"]},
                "description": f"event {self._config['event']} of {self._entity_id}",
                "now": datetime.fromtimestamp(due.now, UTC).astimezone(self._host.parts.zone()),
                "planned": local_time(self._host, due.planned),
                "missed": due.missed,
                "caught_up": due.caught_up,
            }
            self._host.fire(trigger, tainted=True, planned=due.planned, missed=due.missed, skipped=skipped)


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    entities = host.parts.source(HomeEntities)
    if entities is None:
        raise InvalidRequest(phrase("calendars are not looked at in a trial"))
    watcher = _Watcher(config, host, entities)
    id = config["entity_id"]
    ends: list[Unsubscribe] = [
        host.parts.timetable.add(Every(LOOK_S, anchor=host.parts.clock.time()), watcher.due),
        host.parts.bus.listen(EVENT_CHANGED, lambda _: watcher.due(), {"entity_id": id}),
        listen_to_states(host.parts.bus, [id], watcher.changed),
        watcher.close,
    ]
    if host.parts.states.get(id) is not None:
        watcher.due()

    def end() -> None:
        for each in ends:
            each()

    return end


def _explain(config: Mapping[str, Any]) -> str:
    about = {"calendar": config["entity_id"]}
    if config["event"] == "start":
        said = phrase("an event of {calendar} begins", **about)
    else:
        said = phrase("an event of {calendar} ends", **about)
    if config["offset"]:
        return explain_offset(said, config["offset"])
    return phrase("when {event}", event=said)


KIND = TriggerKind(
    name="calendar",
    fields={
        Required("entity_id", description="The calendar."): entity_id,
        Optional("event", default="start", description="Whether its start or its end counts."): In(("start", "end")),
        Optional("offset", default=0.0, description="So much later: 00:45:00; earlier with a minus."): offset,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="An event of a calendar begins or ends.",
)
