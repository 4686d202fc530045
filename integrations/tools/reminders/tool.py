"""The tool `schedule`: reminders, and work that an agent does later or again and again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hub.automation.editing.schedule_authority import Asker
from hub.automation.editing.schedule_editor import Scheduled, ScheduleService
from hub.automation.editing.schedule_job import apply_patch, new_request
from hub.automation.editing.schedule_request import (
    NAME_LIMIT,
    TEXT_LIMIT,
    ScheduledAction,
    ScheduleRequest,
    describe,
    in_words,
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

_KINDS = {ScheduledAction.REMIND: "message", ScheduledAction.RUN: "agentTurn", ScheduledAction.EVENT: "systemEvent"}
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
            description="remind (default): text is sent as it is. run: you get text then and your answer is sent. "
            "event: you see text at your next heartbeat.",
        ): In([each.value for each in ScheduledAction]),
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


def schedule_tool(schedules: ScheduleService) -> Tool:
    """Return the tool, which writes through this service."""
    handler = _ScheduleTool(schedules)
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
    def __init__(self, schedules: ScheduleService) -> None:
        self._schedules = schedules

    async def run(self, call: ToolCall) -> ToolResult:
        # In a turn with words from outside the owner approved exactly this call.
        asker = Asker(call.context, call.agent_id, call.session_key, approved=True)
        arguments = call.arguments
        match arguments["action"]:
            case "add":
                return self._told("added", await self._schedules.add(self._new(arguments, call), asker))
            case "list":
                return self._list(await self._schedules.list(asker))
            case "update":
                changed = await self._schedules.update(
                    _id(arguments), lambda old: self._changed(old, arguments, call), asker
                )
                return self._told("updated", changed)
            case "remove":
                return self._told("removed", await self._schedules.remove(_id(arguments), asker))
            case _:
                found = await self._schedules.get(_id(arguments), asker)
                begun = await self._schedules.run(found.id, asker)
                if begun.not_run is not None:
                    return ToolResult(f"error: it did not run: {begun.text}", is_error=True)
                return self._told("started", found)

    def _new(self, arguments: Mapping[str, Any], call: ToolCall) -> ScheduleRequest:
        job = _job(arguments, call, None)
        if "schedule" not in job:
            raise InvalidRequest("the time is missing: give one of at, every, cron")
        if "text" not in arguments:
            raise InvalidRequest("text: expected what to say or do")
        return new_request(job, call.agent_id, self._schedules.now(), self._schedules.zone())

    def _changed(self, old: ScheduleRequest, arguments: Mapping[str, Any], call: ToolCall) -> ScheduleRequest:
        return apply_patch(old, _job(arguments, call, old), self._schedules.now(), self._schedules.zone())

    def _list(self, found: list[Scheduled]) -> ToolResult:
        entries = [self._entry(each) for each in found[:LISTED_LIMIT]]
        told: dict[str, Any] = {"schedules": entries}
        if len(found) > LISTED_LIMIT:
            told["more"] = len(found) - LISTED_LIMIT
        return ToolResult.of(told)

    def _told(self, what: str, found: Scheduled) -> ToolResult:
        return ToolResult.of({what: self._entry(found)})

    def _entry(self, found: Scheduled) -> dict[str, Any]:
        request, due = found.request, found.next_due
        entry: dict[str, Any] = {"id": found.id, "name": request.name, "do": request.do.value, "text": request.text}
        entry["schedule"] = describe(request.trigger)
        if due is None:
            entry["next"] = None
        else:
            zone = zone_of(request.trigger, self._schedules.zone())
            entry["next"] = datetime.fromtimestamp(due, zone).isoformat(timespec="seconds")
            entry["next_in_words"] = in_words(due, self._schedules.now(), zone)
        if not request.enabled:
            entry["enabled"] = False
        if found.status is not None and found.status.error:
            entry["error"] = found.status.error
        if found.by_hand:
            entry["changed_by_a_person"] = True
        return entry


def _job(arguments: Mapping[str, Any], call: ToolCall, old: ScheduleRequest | None) -> dict[str, Any]:
    """Return the job that arguments ask for: all of a new one, or what changes in an old one."""
    named = {"name": "name", "enabled": "enabled", "delete_after_run": "deleteAfterRun"}
    job = {key: arguments[name] for name, key in named.items() if name in arguments}
    if schedule := _schedule(arguments):
        job["schedule"] = schedule
    before = old.do if old is not None else ScheduledAction.REMIND
    do = ScheduledAction(arguments.get("do", before))
    if old is None or arguments.keys() & {"do", "text", "model"}:
        text, model = ({key: arguments[key]} if key in arguments else {} for key in ("text", "model"))
        job["payload"] = {"kind": _KINDS[do], **text, **model}
    session = arguments.get(
        "session", "current" if do is ScheduledAction.EVENT and (old is None or old.do is not do) else None
    )
    if session is not None:
        job |= {"sessionTarget": session, "sessionKey": call.session_key}
    if "announce" in arguments and do is not ScheduledAction.EVENT:
        job["delivery"] = {"mode": "announce" if arguments["announce"] else "none"}
    return job


def _schedule(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    given = [kind for kind in ("at", "every", "cron") if kind in arguments]
    if len(given) > 1:
        raise InvalidRequest(f"give one of {' and '.join(given)}, not both")
    zone = {"tz": arguments["time_zone"]} if "time_zone" in arguments else {}
    if zone and given not in (["at"], ["cron"]):
        raise InvalidRequest("time_zone: give at or cron with it")
    match given:
        case ["at"]:
            return {"kind": "at", "at": arguments["at"], **zone}
        case ["every"]:
            return {"kind": "every", "every": arguments["every"]}
        case ["cron"]:
            return {"kind": "cron", "expr": arguments["cron"], **zone}
        case _:
            return None


def _id(arguments: Mapping[str, Any]) -> str:
    if "id" not in arguments:
        raise InvalidRequest("id: expected the id of a schedule; `list` shows them")
    return str(arguments["id"])
