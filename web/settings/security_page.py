"""The page of the security audit: who can reach what, and what is too open, each with the change that mends it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import web

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Schema, string
from hub.core.surfaces import HttpCall
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
    "automation": phrase("Automation"),
    "backup": phrase("Backup"),
    "channels": phrase("Channels"),
    "command_received": phrase("Command in a chat"),
    "config": phrase("Configuration"),
    "config_changed": phrase("Configuration"),
    "device": phrase("Devices"),
    "exec": phrase("Approval"),
    "home": phrase("The home was restored from a backup"),
    "integration": phrase("Integrations"),
    "models": phrase("Models"),
    "node": phrase("Devices"),
    "pairing": phrase("Who may write"),
    "pairing_decided": phrase("Who may write"),
    "secrets": phrase("Secrets"),
    "security": phrase("Security"),
    "signed_in": phrase("Sign-in"),
    "signed_out": phrase("Signed out"),
    "token": phrase("Tokens"),
}
"""What an entry of the audit log is about, by the beginning of its name; others are shown by their name alone."""


class SecurityPage:
    """The page and its form; only administrators reach them.

    Args:
        client: Calls the methods of the audit.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

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
        entries = (await self._client.ask(call, "audit.list", {"limit": AUDIT_LINES}))["entries"]
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
        who = entry.get("name") or entry.get("person") or entry["who"]
        at = dt.datetime.fromisoformat(entry["at"])
        return {
            "title": DONE.get(entry["what"].partition(".")[0], entry["what"]),
            "what": entry["what"],
            "sub": " · ".join([who, *filter(None, [entry.get("from")]), entry["what"], *about]),
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
