"""The page of the hub's state: what runs, its resources, the last errors, and repairs with their solutions."""

from __future__ import annotations

import asyncio
import platform
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from hub.core.errors import HubError, NotFound
from hub.core.phrases import phrase
from hub.core.repairs import Repair
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.doctor.disk import room_findings
from web.agents.model_names import ModelNames
from web.core.form import read_fields
from web.core.formats import size_text, title_of
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.page_parts import page_part
from web.core.preferences import local_path
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.repair_rows import repair_row
from web.core.texts import CHANNEL_STATES, INTEGRATION_STATES
from web.settings.logs_page import LEVELS, log_records

PATH = "/settings/status"
ERRORS_LIMIT = 5
LINES = 1_000
_ONE = {
    Required("source"): All(string, Length(min=1, max=128)),
    Required("id"): All(string, Length(min=1, max=1_024)),
    Optional("back", default=PATH): All(string, Length(max=500)),
}
FIX = Schema(_ONE)
IGNORE = Schema({**_ONE, Optional("ignored", default=""): string})
WORKS, UNUSABLE = "set_up", "unusable"
TONES = {"set_up": "good", "failed": "danger", "retrying": "warn", "installing": "warn"}
CHANNEL_TONES = {"connected": "good", "failed": "danger"}

Repairs = Callable[[], Sequence[tuple[Repair, bool]]]
"""Returns the open repairs without secrets, each with whether it is ignored."""


class StatusPage:
    """The page and its forms; only administrators reach them.

    Args:
        client: Calls the methods for the state and for repairs.
        repairs: The open ones.
        home: The home directory, whose disk is shown.
        put_into_force: Reads and applies the files, which a fix may have changed.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        repairs: Repairs,
        home: Path,
        put_into_force: Callable[[], Awaitable[Any]],
    ) -> None:
        self._put_into_force = put_into_force
        self._renderer = renderer
        self._client = client
        self._repairs = repairs
        self._home = home

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/status`: each part separately; a failed one shows its error, and the others are shown."""
        return await self._show(call)

    async def diagnostics(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/status/diagnostics`: the file for a report of a fault."""
        found = await self._client.ask(call, "diagnostics.bundle")
        headers = {
            "Content-Disposition": 'attachment; filename="homarus-diagnostics.json"',
            "Cache-Control": "no-store",
        }
        body = orjson.dumps(found, option=orjson.OPT_INDENT_2)
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def fix(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/status/fix`: make the known change that solves a repair."""
        fields = read_fields(call, FIX)
        return await self._act(call, "repairs.fix", {"source": fields["source"], "id": fields["id"]}, fields["back"])

    async def ignore(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/status/ignore`: do not show a repair any more, or show it again."""
        fields = read_fields(call, IGNORE)
        params = {"source": fields["source"], "id": fields["id"], "ignored": bool(fields["ignored"])}
        return await self._act(call, "repairs.ignore", params, fields["back"])

    # --- below ---

    async def _act(self, call: HttpCall, method: str, params: Mapping[str, Any], back: str) -> web.StreamResponse:
        try:
            answer = await self._client.ask(call, method, params)
            await self._put_into_force()
        except NotFound:  # it is mended already
            answer = {"ok": True}
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, error.message, error.http_status)
        return json_response(answer) if wants_json(call.request) else see_other(local_path(back))

    async def _show(self, call: HttpCall, problem: str = "", status: int = 200) -> web.StreamResponse:
        rows = [repair_row(repair, ignored=ignored) for repair, ignored in self._repairs()]
        health, state, models, channels, disk, errors = await asyncio.gather(
            page_part(self._health(call)),
            page_part(self._integrations(call)),
            page_part(self._models(call)),
            page_part(self._channels(call)),
            page_part(asyncio.to_thread(self._disk)),
            page_part(self._errors(call)),
        )
        data = {
            "problem": problem,
            "repairs": [each for each in rows if not each["ignored"]],
            "ignored": [each for each in rows if each["ignored"]],
            "health": health,
            "integrations": state,
            "models": models,
            "channels": channels,
            "disk": disk,
            "errors": errors,
        }
        return await self._renderer.respond(call, RenderedPage("status", "Status", data, PATH, status, secret=True))

    async def _health(self, call: HttpCall) -> dict[str, Any]:
        found = await self._client.ask(call, "status")
        started_ms = self._renderer.now_ms() - int(found["uptime_s"] * 1000)
        return {
            "version": found["version"],
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
            "address": found["address"],
            "started": self._renderer.when(started_ms),
            "started_iso": self._renderer.iso(started_ms),
            "connections": found["connections"],
            "conversations": found["sessions"]["count"],
            "waiting": sum(each["count"] for each in found["waiting"]),
        }

    async def _integrations(self, call: HttpCall) -> dict[str, Any]:
        listed = (await self._client.ask(call, "integration.list"))["integrations"]
        engines = (await self._client.ask(call, "sandbox.explain"))["engines"]
        # An engine whose server is not there was set up all the same: it is looked for with the first sandbox.
        idle = {each["name"] for each in engines if each["problem"]}
        found = [
            {**each, "state": UNUSABLE, "reason": phrase("What it needs is not on this computer.")}
            if each["state"] == WORKS and each["domain"] in idle
            else each
            for each in listed
        ]
        shown = [
            {
                "name": each.get("name") or title_of(each["domain"]),
                "state": each["state"],
                "state_text": INTEGRATION_STATES[each["state"]],
                "tone": TONES.get(each["state"], ""),
                "reason": each.get("reason") or "",
            }
            for each in found
            if each["state"] in INTEGRATION_STATES
        ]
        return {
            "others": sorted((each for each in shown if each["state"] != WORKS), key=lambda each: each["name"].lower()),
            "working": sorted(each["name"] for each in shown if each["state"] == WORKS),
        }

    async def _models(self, call: HttpCall) -> dict[str, Any]:
        state = await self._client.ask(call, "models.status")
        words = catalogue(self._renderer.preferences(call).language)
        names = await ModelNames.of(self._client, call, words.gettext)
        resolved = state["resolved"]["ref"]
        return {
            "default": names.title_of(resolved) if resolved else "",
            "reason": state["resolved"]["reason"],
            "fallbacks": [names.title_of(each) for each in state["fallbacks"]],
        }

    async def _channels(self, call: HttpCall) -> list[dict[str, Any]]:
        found = await self._client.ask(call, "channels.status")
        return [
            {
                "name": each["label"],
                "account": "" if each["accountId"] == "default" else each["accountId"],
                "state_text": CHANNEL_STATES[each["state"]],
                "tone": CHANNEL_TONES.get(each["state"], "warn"),
                "error": each["lastError"] or "",
            }
            for channel in found["channelOrder"]
            for each in found["channelAccounts"][channel]
        ]

    def _disk(self) -> dict[str, Any]:
        usage = shutil.disk_usage(self._home)
        storage = self._home / ".storage"
        return {
            "free": size_text(usage.free),
            "total": size_text(usage.total),
            "share": usage.used / usage.total if usage.total else 0.0,
            "low": any(True for _ in room_findings(usage.free, str(self._home))),
            "databases": [(each.name, size_text(each.stat().st_size)) for each in sorted(storage.glob("*.db"))],
            "path": str(self._home),
        }

    async def _errors(self, call: HttpCall) -> list[dict[str, str]]:
        tail = await self._client.ask(call, "logs.tail", {"limit": LINES})
        grave = LEVELS[LEVELS.index("ERROR") :]
        return [each for each in log_records(tail["lines"]) if each["level"] in grave][::-1][:ERRORS_LIMIT]
