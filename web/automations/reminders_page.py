"""Reminders: a list by day; they are added with a date or in words, done, put off, and repeated."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, HttpCall
from web.automations.trace_view import automation_path
from web.core.form import read_fields
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json

PATH = "/automations/reminders"
LISTED_LIMIT = 200
TEXT_LIMIT = 8_000
REPEATS: Mapping[str, str] = {
    "once": "Once",
    "daily": "Every day",
    "weekdays": "Monday to Friday",
    "weekly": "Every week",
}
"""How often a new one comes."""
SNOOZES: Mapping[str, str] = {"10m": "In 10 minutes", "1h": "In an hour", "1d": "Tomorrow at this time"}
DAYS: Mapping[str, str] = {"today": "Today", "tomorrow": "Tomorrow", "later": "Later", "repeating": "Repeating"}

_ID = All(string, Length(min=1, max=128))
ADD = Schema(
    {
        Required("text"): All(string, Length(max=TEXT_LIMIT)),
        Required("at"): All(string, Length(max=40)),
        Optional("repeat", default="once"): In([*REPEATS]),
    }
)
ONE = Schema({Required("id"): _ID})
SNOOZE = Schema({Required("id"): _ID, Required("by"): In([*SNOOZES])})


class RemindersPage:
    """The list and its forms.

    Args:
        client: Calls the methods for schedules.
        session: Returns the conversation that takes reminders in words.
        new_key: Returns a key that makes a message one message.
    """

    def __init__(
        self, renderer: Renderer, client: MethodClient, session: Callable[[], str], new_key: Callable[[], str]
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._session = session
        self._new_key = new_key

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /automations/reminders`."""
        return await self._shown(call)

    async def add(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/reminders/add`: with a date and a time, once or again and again."""
        fields = read_fields(call, ADD)
        errors: dict[str, str] = {}
        if not fields["text"].strip():
            errors["text"] = phrase("Say what you want to be reminded of.")
        try:
            moment = dt.datetime.fromisoformat(fields["at"])
        except ValueError:
            errors["at"] = phrase("Choose a day and a time.")
        if errors:
            return await self._shown(call, fields, errors, 422)
        text = fields["text"].strip()
        job = {"name": text[:100], "schedule": _schedule(moment, fields["repeat"])}
        try:
            added = await self._client.ask(call, "cron.add", job | {"payload": {"kind": "message", "text": text}})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._shown(call, fields, {"at": error.message}, error.http_status)
        return json_response(added) if wants_json(call.request) else see_other(PATH)

    async def done(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/reminders/done`: take one off the list."""
        await self._client.ask(call, "cron.remove", {"id": read_fields(call, ONE)["id"]})
        return json_response({}) if wants_json(call.request) else see_other(PATH)

    async def snooze(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/reminders/snooze`: put one off."""
        fields = read_fields(call, SNOOZE)
        patch = {"schedule": {"kind": "at", "at": fields["by"]}}
        await self._client.ask(call, "cron.update", {"id": fields["id"], "patch": patch})
        return json_response({}) if wants_json(call.request) else see_other(PATH)

    # --- inside ---

    async def _shown(
        self,
        call: HttpCall,
        typed: Mapping[str, str] | None = None,
        errors: Mapping[str, str] | None = None,
        status: int = 200,
    ) -> web.Response:
        found = await self._client.ask(
            call, "cron.list", {"includeDisabled": True, "limit": LISTED_LIMIT, "sortBy": "nextRunAtMs"}
        )
        groups: dict[str, list[dict[str, Any]]] = {day: [] for day in DAYS}
        for job in found["jobs"]:
            if job["payload"]["kind"] == "message":
                groups[self._day(job)].append(self._row(job))
        data = {
            "groups": [{"title": DAYS[day], "rows": rows} for day, rows in groups.items() if rows],
            "typed": {"text": "", "at": "", "repeat": "once", **(typed or {})},
            "errors": {"text": "", "at": "", **(errors or {})},
            "wrong": bool(errors),
            "repeats": REPEATS,
            "snoozes": SNOOZES,
            "session": self._session(),
            "key": self._new_key(),
            "may_change": call.known_caller.authority.has(ADMIN),
        }
        return await self._renderer.respond(call, RenderedPage("reminders", "Reminders", data, PATH, status))

    def _day(self, job: Mapping[str, Any]) -> str:
        if job["schedule"]["kind"] != "at":
            return "repeating"
        due = job["state"].get("nextRunAtMs")
        if due is None:
            return "later"
        days = (self._renderer.local(due).date() - self._renderer.today()).days
        return "today" if days <= 0 else "tomorrow" if days == 1 else "later"

    def _row(self, job: Mapping[str, Any]) -> dict[str, Any]:
        due = job["state"].get("nextRunAtMs")
        return {
            "id": job["id"],
            "text": job["payload"]["text"],
            "path": automation_path(job["id"]),
            "when": self._renderer.spoken(due),
            "iso": self._renderer.iso(due),
            "once": job["schedule"]["kind"] == "at",
            "enabled": job["enabled"],
        }


def _schedule(moment: dt.datetime, repeat: str) -> dict[str, Any]:
    if repeat == "once":
        return {"kind": "at", "at": moment.isoformat(timespec="minutes")}
    days = {"daily": "*", "weekdays": "1-5", "weekly": str(moment.isoweekday() % 7)}[repeat]
    return {"kind": "cron", "expr": f"{moment.minute} {moment.hour} * * {days}"}
