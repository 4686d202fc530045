"""Moving in from another program: a folder or file is named, its plan is shown, carried out, and taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import Forbidden, HubError, InvalidRequest
from hub.core.phrases import Phrase, phrase, phrase_from_data
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.migrate.uploads import FOLDER, UPLOADED, forget_upload, keep_upload, new_upload
from hub.storage.homedir import Home
from web.core.form import read_fields
from web.core.i18n import Catalogue, catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.upload import receive_form

PATH = "/settings/move"
SOURCES: Mapping[str, Phrase] = {
    "home-assistant": phrase("Home Assistant"),
    "openclaw": phrase("OpenClaw"),
    "claude": phrase("Claude"),
    "chatgpt": phrase("ChatGPT"),
}
"""What can be moved from, and its name."""
WHERE: Mapping[str, Phrase] = {
    "home-assistant": phrase("The folder with its configuration.yaml, or a copy of it, on the computer of the hub."),
    "openclaw": phrase("Its folder .openclaw, or a copy of it, on the computer of the hub. Stop OpenClaw first."),
    "claude": phrase("The .zip of your data export, on the computer of the hub. Conversations come archived."),
    "chatgpt": phrase("The .zip of your data export, on the computer of the hub. Conversations come archived."),
}
CHOSEN: Mapping[str, Phrase] = {
    "home-assistant": phrase("A backup that it made, without encryption, or its folder as a .zip or .tar.gz."),
    "openclaw": phrase("Its folder .openclaw as a .zip or .tar.gz. Stop OpenClaw first."),
    "claude": phrase("The .zip of your data export. Conversations come archived."),
    "chatgpt": phrase("The .zip of your data export. Conversations come archived."),
}
"""What is chosen in the browser."""
UPLOAD_LIMIT_BYTES = 2 * 1024**3
KINDS: Mapping[str, Phrase] = {
    "automation": phrase("Automations"),
    "script": phrase("Scripts"),
    "scene": phrase("Scenes"),
    "helper": phrase("Helpers"),
    "command": phrase("Commands"),
    "calendar": phrase("Calendars"),
    "list": phrase("Lists"),
    "blueprint": phrase("Blueprints"),
    "template": phrase("Templates"),
    "area": phrase("Rooms"),
    "floor": phrase("Floors"),
    "label": phrase("Labels"),
    "person": phrase("People"),
    "zone": phrase("Zones"),
    "location": phrase("Name, place and time"),
    "secret": phrase("Secrets"),
    "mqtt": phrase("MQTT"),
    "phone": phrase("Phones"),
    "integration": phrase("Integrations"),
    "section": phrase("Other settings"),
    "dashboard": phrase("Dashboards"),
    "provider": phrase("Providers of models"),
    "model": phrase("Models"),
    "channel": phrase("Channels"),
    "sender": phrase("Who may write"),
    "agent": phrase("Agents"),
    "workspace": phrase("Files of the workspace"),
    "binding": phrase("Bindings"),
    "skill": phrase("Skills"),
    "job": phrase("Scheduled jobs"),
    "heartbeat": phrase("Heartbeat"),
    "webhook": phrase("Webhooks"),
    "device": phrase("Devices"),
    "conversation": phrase("Conversations"),
    "memory": phrase("Memory"),
    "file": phrase("Files that cannot be read"),
}
GROUPS = (
    ("taken", phrase("Comes along"), "good", "check"),
    ("waits", phrase("Comes along, and waits for what is not here"), "warn", "hourglass"),
    ("refused", phrase("Cannot run here as it is written"), "danger", "circle-alert"),
    ("left", phrase("Stays there"), "", "minus"),
    ("there", phrase("Is here already"), "", "check"),
)
SAID = {"done": phrase("It is here. Look around; you can still take it back below.")}
_SENT = phrase("A file from a browser")
_FIELDS = ("source", "path", "secrets", "off")
SHOWN_LIMIT = 300
"""Things of one kind that a page lists."""
_WANTED = {
    Required("source"): In(tuple(SOURCES)),
    Required("path"): All(string, Length(min=1, max=4_096)),
    Optional("secrets", default=""): string,
    Optional("off", default=""): string,
}
_APPLY = Schema({**_WANTED, Required("digest"): All(string, Length(max=64))})
_UNDO = Schema({Optional("force", default=""): string})


class MovePage:
    """The page and its forms; only owners reach what they do.

    Args:
        client: Where plans are made and carried out.
        home: Keeps the file that a browser sends, until it was used.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, home: Home) -> None:
        self._renderer = renderer
        self._client = client
        self._home = home.path

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/move[?source=&path=]`: the form, or the plan of a folder; and what was brought over."""
        query = call.request.query
        wanted = {key: query.get(key, "") for key in _FIELDS}
        if not wanted["path"].strip():
            return await self._show(call, wanted)
        try:
            plan = await self._client.ask(call, "migrate.plan", _params(wanted))
        except HubError as error:
            if wants_json(call.request):
                raise
            if wanted["path"] == UPLOADED:  # another file is to be chosen
                await asyncio.to_thread(forget_upload, self._home)
            return await self._show(call, wanted, problem=error, status=error.http_status)
        return await self._show(call, wanted, plan=plan)

    async def upload(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/move/upload`: take a file, or the name of a folder, and show its plan."""
        if not call.known_caller.authority.owner:
            raise Forbidden(phrase("Moving in changes all of a home; only an owner may do it."))
        path = await asyncio.to_thread(new_upload, self._home)
        wanted = dict.fromkeys(_FIELDS, "")
        try:
            wanted, size_bytes = await receive_form(call.request, path, _FIELDS, UPLOAD_LIMIT_BYTES)
            await asyncio.to_thread(keep_upload if size_bytes else forget_upload, self._home)
            if size_bytes:
                wanted["path"] = UPLOADED
            if not wanted["path"].strip():
                raise InvalidRequest(phrase("Choose a file, or name a folder."))
        except HubError as error:
            await asyncio.to_thread(forget_upload, self._home)
            if wants_json(call.request):
                raise
            return await self._show(call, wanted, problem=error, status=error.http_status)
        if wants_json(call.request):
            return json_response({"path": wanted["path"], "sizeBytes": size_bytes})
        return see_other(f"{PATH}?{urlencode({key: value for key, value in wanted.items() if value})}")

    async def forget(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/move/forget`: delete the file that was sent."""
        await asyncio.to_thread(forget_upload, self._home)
        return json_response({"ok": True}) if wants_json(call.request) else see_other(PATH)

    async def apply(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/move/apply`: carry out the plan that was shown."""
        fields = read_fields(call, _APPLY)
        try:
            done = await self._client.ask(call, "migrate.apply", {**_params(fields), "digest": fields["digest"]})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, fields, problem=error, status=error.http_status)
        return json_response(done) if wants_json(call.request) else see_other(f"{PATH}?said=done")

    async def undo(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/move/undo`: take the newest move back."""
        force = bool(read_fields(call, _UNDO)["force"])
        try:
            done = await self._client.ask(call, "migrate.undo", {"force": force})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, {}, problem=error, status=error.http_status)
        return json_response(done) if wants_json(call.request) else await self._show(call, {}, undone=done)

    # --- below ---

    async def _show(
        self,
        call: HttpCall,
        wanted: Mapping[str, str],
        *,
        plan: Mapping[str, Any] | None = None,
        undone: Mapping[str, Any] | None = None,
        problem: HubError | None = None,
        status: int = 200,
    ) -> web.StreamResponse:
        words = catalogue(self._renderer.preferences(call).language)
        listed = await self._client.ask(call, "migrate.list")
        moves = listed["moves"]
        source = wanted.get("source") if wanted.get("source") in SOURCES else next(iter(SOURCES))
        data = {
            "sources": [(key, words.gettext(name)) for key, name in SOURCES.items()],
            "nearby": [
                {
                    "name": words.gettext(SOURCES[each["source"]]),
                    "path": each["path"],
                    "plan": f"{PATH}?{urlencode(each)}",
                }
                for each in listed["nearby"]
            ],
            "where": words.gettext(WHERE[str(source)]),
            "chosen": words.gettext(CHOSEN[str(source)]),
            "uploaded": wanted.get("path") == UPLOADED,
            "wanted": {**dict.fromkeys(_FIELDS, ""), **wanted, "source": source},
            "problem": words.gettext(problem.message) if problem is not None else "",
            "said": words.gettext(SAID.get(call.request.query.get("said", ""), "")),
            "plan": self._plan(plan, words) if plan is not None else None,
            "undone": undone,
            "moves": [self._move(each, words) for each in moves[:20]],
        }
        return await self._renderer.respond(call, RenderedPage("move", phrase("Moving in"), data, PATH, status))

    def _plan(self, plan: Mapping[str, Any], words: Catalogue) -> dict[str, Any]:
        writes = plan["writes"]
        notes = list(_said(zip(plan["notes"], plan["notePhrases"], strict=True), words))
        return {
            "digest": plan["digest"],
            "nothing": not (writes["files"] or writes["areas"] or writes["sessions"]),
            "groups": [group for group in (_group(plan, each, words) for each in GROUPS) if group["kinds"]],
            "files": writes["files"],
            "notes": notes,
            "errors": plan["errors"],
        }

    def _move(self, move: Mapping[str, Any], words: Catalogue) -> dict[str, Any]:
        return {
            "id": move["id"],
            "title": words.gettext(SOURCES.get(move["source"], move["source"])),
            "path": words.gettext(_SENT) if Path(move["path"]).is_relative_to(self._home / FOLDER) else move["path"],
            "state": move["state"],
            "when": self._renderer.when(move["begun_ms"]),
            "iso": self._renderer.iso(move["begun_ms"]),
            "counts": [(words.gettext(_kind(kind)), count) for kind, count in move["counts"].items()],
        }


def link_to(source: str) -> str:
    """Return the address of the page with a source chosen."""
    return f"{PATH}?{urlencode({'source': source})}"


def _params(wanted: Mapping[str, str]) -> dict[str, Any]:
    return {
        "source": wanted["source"],
        "path": wanted["path"].strip(),
        "secrets": bool(wanted.get("secrets")),
        "off": bool(wanted.get("off")),
    }


def _group(plan: Mapping[str, Any], group: tuple[str, Phrase, str, str], words: Catalogue) -> dict[str, Any]:
    verdict, title, tone, icon = group
    kinds = []
    for kind, counts in plan["counts"].items():
        if not (count := counts.get(verdict, 0)):
            continue
        found = [each for each in plan["items"] if (each["kind"], each["verdict"]) == (kind, verdict)]
        kinds.append(
            {
                "title": words.gettext(_kind(kind)),
                "count": count,
                "things": [_item(each, words) for each in found[:SHOWN_LIMIT]],
                "more": max(0, count - SHOWN_LIMIT),
            }
        )
    return {
        "verdict": verdict,
        "title": words.gettext(title),
        "tone": tone,
        "icon": icon,
        "count": sum(each["count"] for each in kinds),
        "kinds": kinds,
    }


def _item(item: Mapping[str, Any], words: Catalogue) -> dict[str, Any]:
    return {
        "name": item["name"],
        "where": f"{item['file']}:{item['line']}" if item["line"] else item["file"],
        "to": item["to"],
        "reasons": list(_said(zip(item["reasons"], item["phrases"], strict=True), words)),
    }


def _said(told: Iterable[tuple[str, Any]], words: Catalogue) -> Iterable[str]:
    for text, data in told:
        yield words.gettext(phrase_from_data(text, data))


def _kind(kind: str) -> str:
    return KINDS.get(kind, kind)
