"""The page of the security audit: who can reach what, and what is too open, each with the change that mends it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import web

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Schema, string
from hub.core.surfaces import HttpCall
from hub.security.people import People
from web.core.form import read_fields
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, wants_json

PATH = "/settings/security"
MEND = Schema({Optional("id", default=""): All(string, Length(max=2_048))})
GROUPS = {
    "critical": (phrase("Critical"), "danger"),
    "warning": (phrase("Warnings"), "warn"),
    "note": (phrase("Good to know"), ""),
}
AUDIT_LINES = 20
DONE = {
    "agents": phrase("Agents"),
    "approval": phrase("Approval"),
    "approval_resolved": phrase("Approval"),
    "areas": phrase("Rooms"),
    "automation": phrase("Automation"),
    "backup": phrase("Backup"),
    "blueprint": phrase("Blueprints"),
    "channels": phrase("Channels"),
    "command_received": phrase("Command in a chat"),
    "config": phrase("Configuration"),
    "config_changed": phrase("Configuration"),
    "cron": phrase("Reminders"),
    "dashboard": phrase("Link to sign in with"),
    "device": phrase("Devices"),
    "entities": phrase("Devices"),
    "exec": phrase("Approval"),
    "home": phrase("The home was restored from a backup"),
    "integration": phrase("Integrations"),
    "memory": phrase("Memory"),
    "migrate": phrase("Moving in"),
    "models": phrase("Models"),
    "node": phrase("Devices"),
    "outbox": phrase("Unsent"),
    "pairing": phrase("Who may write"),
    "pairing_decided": phrase("Who may write"),
    "repairs": phrase("Repairs"),
    "secrets": phrase("Secrets"),
    "security": phrase("Security"),
    "sessions": phrase("Conversations"),
    "signed_in": phrase("Sign-in"),
    "signed_out": phrase("Signed out"),
    "skills": phrase("Skills"),
    "token": phrase("Tokens"),
    "update": phrase("Update"),
}
"""What an entry of the audit log is about, by the beginning of its name; others are shown by their name alone."""
VERBS = {
    "add": phrase("added"),
    "approve": phrase("approved"),
    "approved": phrase("approved"),
    "code": phrase("with a code"),
    "create": phrase("added"),
    "delete": phrase("removed"),
    "denied": phrase("denied"),
    "deny": phrase("denied"),
    "fix": phrase("mended"),
    "link": "",
    "password": phrase("with a password"),
    "remove": phrase("removed"),
    "revoke": phrase("removed"),
    "run": phrase("run"),
    "save": phrase("changed"),
    "set": phrase("changed"),
    "token": phrase("with a token"),
    "update": phrase("changed"),
}
"""How an entry says what was done, by the end of its name, and how; others are shown as they are."""
OPAQUE = re.compile(r"[0-9a-f-]{16,}|")
"""What says nothing to people: ids."""


class SecurityPage:
    """The page and its form; only administrators reach them.

    Args:
        client: Calls the methods of the audit.
        people: Returns the people of this home.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, people: Callable[[], People]) -> None:
        self._renderer = renderer
        self._client = client
        self._people = people

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/security`; with `deep` the hub's ports are tried, too."""
        return await self._show(call, deep=bool(call.request.query.get("deep")))

    async def mend(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/security/mend`: mend one finding, or all above a note that can be."""
        id = read_fields(call, MEND)["id"]
        try:
            done = await self._client.ask(call, "security.fix", {"only": [id] if id else []})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, problem=error.message, status=error.http_status)
        return json_response(done) if wants_json(call.request) else await self._show(call, done=done)

    async def _show(
        self,
        call: HttpCall,
        *,
        deep: bool = False,
        problem: str = "",
        done: Mapping[str, Any] | None = None,
        status: int = 200,
    ) -> web.StreamResponse:
        found = await self._client.ask(call, "security.audit", {"deep": deep})
        entries = (await self._client.ask(call, "audit.log", {"limit": AUDIT_LINES}))["entries"]
        rows = [_row(each) for each in found["findings"]]
        data = {
            "problem": problem,
            "done": None if done is None else _done(done),
            "counts": found["counts"],
            "groups": [
                {"name": name, "title": title, "tone": tone, "rows": _of(rows, name)}
                for name, (title, tone) in GROUPS.items()
                if _of(rows, name)
            ],
            "fixable": [each for each in rows if each["fix"] and each["severity"] != "note"],
            "reach": found["reach"],
            "checks": found["checks"],
            "tried": deep,
            "audit": {
                "rows": [self._entry(each) for each in entries],
                **(await self._client.ask(call, "audit.verify", {})),
            },
        }
        page = RenderedPage("security", phrase("Security"), data, PATH, status, secret=True)
        return await self._renderer.respond(call, page)

    def _entry(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        about = [
            ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            for value in entry["about"].values()
            if value not in (None, "", [], True, False)
        ]
        subject, _, done = entry["what"].partition(".")
        who = entry.get("name") or self._people().name_of(str(entry.get("person") or entry["who"]))
        words = [VERBS.get(each, each) for each in (done.rpartition(".")[2], *about) if not OPAQUE.fullmatch(each)]
        at = dt.datetime.fromisoformat(entry["at"])
        return {
            "title": DONE.get(subject, entry["what"]),
            "what": entry["what"],
            "sub": [each for each in (who, *words, entry.get("from")) if each],
            "failed": entry["outcome"] != "ok",
            "when": self._renderer.when(int(at.timestamp() * 1000)),
        }


def _of(rows: Sequence[dict[str, Any]], severity: str) -> list[dict[str, Any]]:
    return [each for each in rows if each["severity"] == severity]


def _row(finding: Mapping[str, Any]) -> dict[str, Any]:
    place = finding["location"] or {}
    file, line = place.get("file"), place.get("line")
    editable = bool(file) and str(file).endswith((".yaml", ".yml")) and place.get("column") is not None
    return {
        **finding,
        "place": f"{file}:{line}" if line else file or "",
        "file_path": f"/settings/files?file={quote(str(file), safe='')}#L{line or 1}" if editable else "",
    }


def _done(done: Mapping[str, Any]) -> dict[str, Any]:
    files = [str(each["file"]) for each in done["versions"]]
    return {
        "fixed": [each["what"] for each in done["fixed"]],
        "failed": done["failed"],
        "before": [
            {"file": file, "path": f"/settings/files/history?file={quote(file, safe='')}"}
            for file in dict.fromkeys(files)
        ],
    }
