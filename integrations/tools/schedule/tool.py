"""The tool `schedule`: reminders, and work that an agent does later or again and again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from msgspec.structs import replace

from hub.automation.editing.schedule_editor import Asker, Scheduled, ScheduleService
from hub.automation.editing.schedule_request import (
    NAME_LIMIT,
    TEXT_LIMIT,
    Do,
    ScheduleRequest,
    at_trigger,
    cron_trigger,
    describe,
    every_trigger,
    in_words,
    zone_name,
    zone_of,
)
from hub.core.errors import InvalidRequest
from hub.core.schema import All, In, Length, Optional, Required, Schema, boolean, string
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

NAME = "schedule"
GROUP = "schedule"
LISTED_LIMIT = 50
CHANGES_THINGS = Annotations(destructive=False, open_world=False, owner_only=False, egress=False)

_SHORT = All(string, Length(min=1, max=200))

SCHEDULE_SCHEMA = Schema(
    {
        Required("action"): In(("add", "list", "update", "remove", "run")),
        Optional("id", description="Which one, for update, remove, run."): _SHORT,
        Optional("text", description="What to say or do."): All(string, Length(min=1, max=TEXT_LIMIT)),
        Optional("at", description="Once: 20m, 18:00, or 2026-03-01T07:30 (local)."): _SHORT,
        Optional("every", description="Again and again: 2h, 1d."): _SHORT,
        Optional("cron", description="minute hour day month weekday."): _SHORT,
        Optional("time_zone", description="For at and cron, when not the home's."): _SHORT,
        Optional(
            "do",
            description="remind (default): text is sent as it is. run: you are told text then and your answer is sent. "
            "event: you see text at your next heartbeat.",
        ): In([each.value for each in Do]),
        Optional("name"): All(string, Length(min=1, max=NAME_LIMIT)),
        Optional("session", description="For run: isolated (default), current or main."): In(
            ("isolated", "current", "main")
        ),
        Optional("model", description="For run."): _SHORT,
        Optional("announce", description="For run: whether your answer is sent here; default true."): boolean,
        Optional("delete_after_run", description="Default true for at."): boolean,
        Optional("enabled"): boolean,
    }
)


def schedule_tool(door: ScheduleService) -> Tool:
    """Return the tool over the door."""
    handler = _ScheduleTool(door)
    return Tool(
        NAME,
        "Set a reminder or do something later: add (text and one of at, every, cron), list, update, remove, run. "
        "Messages go to this conversation.",
        from_schema(SCHEDULE_SCHEMA),
        handler.run,
        GROUP,
        CHANGES_THINGS,
    )


class _ScheduleTool:
    def __init__(self, door: ScheduleService) -> None:
        self._door = door

    async def run(self, call: ToolCall) -> ToolResult:
        # In a turn with words from outside the owner approved exactly this call.
        asker = Asker(call.context, call.agent_id, call.session_key, approved=True)
        arguments = call.arguments
        match arguments["action"]:
            case "add":
                return self._told("added", await self._door.add(self._new(arguments, call), asker))
            case "list":
                return self._list(await self._door.list(asker))
            case "update":
                changed = await self._door.update(
                    _id(arguments), lambda old: self._changed(old, arguments, call), asker
                )
                return self._told("updated", changed)
            case "remove":
                return self._told("removed", await self._door.remove(_id(arguments), asker))
            case _:
                found = await self._door.get(_id(arguments), asker)
                begun = await self._door.run(found.id, asker)
                if begun.not_run is not None:
                    return ToolResult(f"error: it did not run: {begun.text}", is_error=True)
                return self._told("started", found)

    def _new(self, arguments: Mapping[str, Any], call: ToolCall) -> ScheduleRequest:
        trigger = self._trigger(arguments)
        if trigger is None:
            raise InvalidRequest("say when: give one of at, every, cron")
        if "text" not in arguments:
            raise InvalidRequest("text: say what is to be said or done")
        do = Do(arguments.get("do", Do.REMIND))
        return ScheduleRequest(
            trigger,
            do,
            arguments["text"],
            call.agent_id,
            name=arguments.get("name", ""),
            session=_session(arguments, call, do),
            address="none" if do is Do.EVENT or arguments.get("announce") is False else "last",
            model=arguments.get("model"),
            once=arguments.get("delete_after_run", trigger["trigger"] == "at"),
            enabled=arguments.get("enabled", True),
        )

    def _changed(self, old: ScheduleRequest, arguments: Mapping[str, Any], call: ToolCall) -> ScheduleRequest:
        wish = replace(
            old,
            trigger=self._trigger(arguments) or old.trigger,
            text=arguments.get("text", old.text),
            name=arguments.get("name", old.name),
            do=Do(arguments.get("do", old.do)),
            model=arguments.get("model", old.model),
            once=arguments.get("delete_after_run", old.once),
            enabled=arguments.get("enabled", old.enabled),
        )
        if "session" in arguments or wish.do is not old.do:
            wish = replace(wish, session=_session(arguments, call, wish.do))
        if "announce" in arguments or (wish.do is not old.do and old.do is Do.EVENT):
            wish = replace(wish, address="last" if arguments.get("announce", True) else "none")
        return wish

    def _trigger(self, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        given = [kind for kind in ("at", "every", "cron") if kind in arguments]
        if not given:
            if "time_zone" in arguments:
                raise InvalidRequest("time_zone: give at or cron with it")
            return None
        if len(given) > 1:
            raise InvalidRequest(f"give one of {' and '.join(given)}, not both")
        stated = arguments.get("time_zone")
        zone = ZoneInfo(zone_name(stated)) if stated is not None else self._door.zone()
        now = self._door.now()
        match given[0]:
            case "at":
                return at_trigger(arguments["at"], now, zone)
            case "every":
                return every_trigger(arguments["every"], now, zone)
            case _:
                return cron_trigger(arguments["cron"], stated)

    def _list(self, found: list[Scheduled]) -> ToolResult:
        entries = [self._entry(each) for each in found[:LISTED_LIMIT]]
        told: dict[str, Any] = {"schedules": entries}
        if len(found) > LISTED_LIMIT:
            told["more"] = len(found) - LISTED_LIMIT
        return _result(told)

    def _told(self, what: str, found: Scheduled) -> ToolResult:
        return _result({what: self._entry(found)})

    def _entry(self, found: Scheduled) -> dict[str, Any]:
        wish, due = found.wish, found.next_due
        entry: dict[str, Any] = {"id": found.id, "name": wish.name, "do": wish.do.value, "text": wish.text}
        entry["schedule"] = describe(wish.trigger)
        if due is None:
            entry["next"] = None
        else:
            zone = zone_of(wish.trigger, self._door.zone())
            entry["next"] = datetime.fromtimestamp(due, zone).isoformat(timespec="seconds")
            entry["next_in_words"] = in_words(due, self._door.now(), zone)
        if not wish.enabled:
            entry["enabled"] = False
        if found.status is not None and found.status.error:
            entry["error"] = found.status.error
        if found.by_hand:
            entry["changed_by_a_person"] = True
        return entry


def _session(arguments: Mapping[str, Any], call: ToolCall, do: Do) -> str:
    chosen = arguments.get("session", "current" if do is Do.EVENT else "isolated")
    return call.session_key if chosen == "current" else str(chosen)


def _id(arguments: Mapping[str, Any]) -> str:
    if "id" not in arguments:
        raise InvalidRequest("id: say which one; `list` tells them")
    return str(arguments["id"])


def _result(told: dict[str, Any]) -> ToolResult:
    return ToolResult(orjson.dumps(told).decode(), details=told)
