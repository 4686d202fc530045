"""Backups: made, listed, checked, downloaded and restored in the browser, with their schedule and places as a form."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from hub.backup.manifest import parse_name
from hub.backup.swap import RESTORE
from hub.core.errors import Forbidden, HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.storage.homedir import Home
from web.core.form import read_fields
from web.core.formats import size_text
from web.core.i18n import Catalogue, catalogue
from web.core.lazy_pages import LazyPages
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.upload import receive_form
from web.settings.settings_page import DONE, SettingsPage

PATH = "/settings/backup"
UPLOAD = "upload"
UPLOAD_LIMIT_BYTES = 64 * 1024**3
"""The most that is uploaded; what fits on the disk is looked at meanwhile."""
PASSPHRASE = "passphrase"  # noqa: S105  the name of a field
SAID = {
    "checked": phrase("The backup is sound: each file in it is as it was backed up."),
    "deleted": phrase("The backup is deleted."),
    "forgotten": phrase("The earlier home is deleted."),
}
WHERE = {"folder": phrase("In the folder"), "webdav": phrase("On WebDAV"), "s3": phrase("In the bucket")}
WORK = {
    "create": phrase("Backing up"),
    "verify": phrase("Checking a backup"),
    "restore": phrase("Unpacking the backup"),
}
PROBLEMS = {
    "WRONG_PASSPHRASE": phrase("This is not the passphrase of the backup."),
    "NEWER_BACKUP": phrase("A newer Homarus made this backup. Update Homarus, then restore it."),
    "BACKUP_DAMAGED": phrase("The backup is damaged: parts of it changed or are missing."),
    "BACKUP_REFUSED": phrase("This is not a backup of Homarus, or it holds what no backup holds."),
    "DISK_FULL": phrase("There is no room on the disk of the hub. Make room, and try again."),
    "NOT_FOUND": phrase("There is no such backup any more."),
}
"""What the errors mean that people meet here; the message says where and what exactly."""
COUNTS = {
    "conversations": phrase("Conversations"),
    "messages": phrase("Messages"),
    "workspace": phrase("Files in the workspace"),
    "devices": phrase("Devices that may connect"),
    "tokens": phrase("Access tokens"),
    "unsent": phrase("Messages that waited to be sent"),
}
_NAME = All(string, Length(min=1, max=300))
_ONE = Schema({Required("name"): _NAME})
_SOURCE = Schema({Required("source"): _NAME})
_OPEN = Schema({Required("source"): _NAME, Optional("passphrase", default=""): All(string, Length(max=1_024))})


class BackupPage:
    """The page and its forms; only owners reach them.

    Args:
        client: Where backups are made and read.
        settings: Shows and writes the section `backup`.
        pulse: Counts what changes.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        settings: LazyPages[SettingsPage],
        home: Home,
        pulse: PagePulse,
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._settings = settings
        self._home = home
        self._pulse = pulse
        self._typed: dict[str, str] = {}
        """The passphrases that were typed for a backup that is looked at, by its name; never shown."""

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/backup`: the last one, what there is, and the settings."""
        return await self._show(call)

    async def create(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/backup/create`: begin one; the page shows how far it is."""
        try:
            await self._client.ask(call, "backup.create")
        except HubError as error:
            return await self._failed(call, error)
        return json_response({"started": True}) if wants_json(call.request) else see_other(PATH)

    async def verify(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/backup/verify`: compare each file of a backup with its hash."""
        name = read_fields(call, _ONE)["name"]
        try:
            found = await self._client.ask(call, "backup.verify", {"source": name})
        except HubError as error:
            return await self._failed(call, error)
        return json_response(found) if wants_json(call.request) else see_other(f"{PATH}?said=checked")

    async def delete(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/backup/delete`: delete a backup everywhere."""
        try:
            found = await self._client.ask(call, "backup.delete", read_fields(call, _ONE))
        except HubError as error:
            return await self._failed(call, error)
        return json_response(found) if wants_json(call.request) else see_other(f"{PATH}?said=deleted")

    async def download(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/backup/download?name=`: the file itself."""
        name = call.request.query.get("name", "")
        folder = Path((await self._client.ask(call, "backup.status"))["folder"])
        if parse_name(name) is None or not await asyncio.to_thread((folder / name).is_file):
            raise NotFound(phrase("There is no such backup in the folder."))
        headers = {
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Type": "application/octet-stream",
            "Cache-Control": "no-store",
        }
        return web.FileResponse(folder / name, headers=headers)

    async def upload(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/backup/upload`: receive a file as a stream, and show its content."""
        if not call.known_caller.authority.owner:
            raise Forbidden(phrase("Backups hold all of a home; only an owner may make, read and restore them."))
        try:
            path = self._home.storage / RESTORE / UPLOAD
            texts, size_bytes = await receive_form(call.request, path, (PASSPHRASE,), UPLOAD_LIMIT_BYTES)
            if not size_bytes:
                raise InvalidRequest(phrase("Choose a file."))
        except HubError as error:
            return await self._failed(call, error)
        self._typed = {UPLOAD: texts[PASSPHRASE]}
        if wants_json(call.request):
            return json_response({"sizeBytes": size_bytes})
        return see_other(_preview_path(UPLOAD))

    async def preview(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/backup/restore?source=`: the content of a backup, and what it replaces."""
        return await self._preview(call, call.request.query.get("source", ""))

    async def open(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/backup/open`: look into an encrypted backup with its passphrase."""
        fields = read_fields(call, _OPEN)
        self._typed = {fields["source"]: fields["passphrase"]}
        return see_other(_preview_path(fields["source"]))

    async def restore(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/backup/restore`: replace this home with a backup; the hub restarts on it."""
        source = read_fields(call, _SOURCE)["source"]
        params = {"source": source, "passphrase": self._typed.get(source, "")}
        try:
            done = await self._client.ask(call, "backup.restore", params)
        except HubError as error:
            return await self._preview(call, source, error)
        self._typed = {}
        data = {"restored": True, "files": done["files"], "home": done["head"]["home"]}
        return await self._renderer.respond(call, RenderedPage("backup_restore", phrase("Restored"), data, PATH))

    async def go_back(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/backup/back`: go back to the home that the last restore replaced."""
        await self._client.ask(call, "backup.goBack")
        data = {"restored": True, "files": 0, "home": ""}
        return await self._renderer.respond(call, RenderedPage("backup_restore", phrase("Restored"), data, PATH))

    async def forget(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/backup/forget`: delete the home that the last restore replaced."""
        await self._client.ask(call, "backup.forgetReplaced")
        return json_response({"ok": True}) if wants_json(call.request) else see_other(f"{PATH}?said=forgotten")

    # --- below ---

    async def _failed(self, call: HttpCall, error: HubError) -> web.StreamResponse:
        if wants_json(call.request):
            raise error
        return await self._show(call, error, status=error.http_status)

    async def _show(self, call: HttpCall, problem: HubError | None = None, *, status: int = 200) -> web.StreamResponse:
        words = catalogue(self._renderer.preferences(call).language)
        told, listed = await asyncio.gather(
            self._client.ask(call, "backup.status"), self._client.ask(call, "backup.list")
        )
        query = call.request.query
        settings = await self._settings.get()
        replaced = told["replaced"]
        data = {
            "topic": self._pulse.topic,
            "revision": self._pulse.revision,
            **_told(problem, words),
            "said": words.gettext(SAID.get(query.get("said", ""), "")),
            "done": words.gettext(DONE.get(query.get("done", ""), "")),
            "working": self._working(told["working"], words),
            "last": self._last(told["last"]),
            "next": None if told["nextMs"] is None else self._time(told["nextMs"]),
            "encrypted": told["encrypted"],
            "folder": told["folder"],
            "replaced": None if replaced is None else self._time(replaced["untilMs"]),
            "failed": [{"place": words.gettext(WHERE[kind]), "why": why} for kind, why in listed["failed"].items()],
            "backups": [self._row(each) for each in listed["backups"]],
            "cards": settings.cards("backup", settings.fields("backup"), words),
        }
        return await self._renderer.respond(call, RenderedPage("backup", phrase("Backup"), data, PATH, status))

    def _row(self, each: Mapping[str, Any]) -> dict[str, Any]:
        name = each["name"]
        return {
            **self._time(each["madeMs"]),
            "name": name,
            "size": size_text(each["sizeBytes"]),
            "encrypted": each["encrypted"],
            "own": each["own"],
            "places": [WHERE[kind] for kind in each["places"]],
            "restore": _preview_path(name),
            "download": f"{PATH}/download?name={quote(name)}" if "folder" in each["places"] else "",
        }

    def _last(self, run: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if run is None:
            return None
        return {
            **self._time(run["at_ms"]),
            "made": bool(run["name"]),
            "error": run["error"],
            "size": size_text(run["size_bytes"]),
            "files": run["files"],
        }

    def _working(self, work: Mapping[str, Any] | None, words: Catalogue) -> dict[str, Any] | None:
        if work is None or work["what"] not in (*WORK, "copy"):
            return None
        copying = phrase("Copying to {place}", place=work["place"])
        return {"text": words.gettext(WORK.get(work["what"], copying)), "done": work["done"], "total": work["total"]}

    def _time(self, ms: int) -> dict[str, Any]:
        return {"when": self._renderer.when(ms), "iso": self._renderer.iso(ms)}

    async def _preview(self, call: HttpCall, source: str, problem: HubError | None = None) -> web.StreamResponse:
        words = catalogue(self._renderer.preferences(call).language)
        data: dict[str, Any] = {"source": source, "restored": False, "found": None, "asks": False}
        status = 200
        try:
            params = {"source": source, "passphrase": self._typed.get(source, "")}
            found = await self._client.ask(call, "backup.preview", params)
            data["found"] = self._found(found, words)
        except HubError as error:
            problem = problem or error
        data["asks"] = problem is not None and problem.code == "WRONG_PASSPHRASE"
        if data["asks"] and not self._typed.get(source):
            problem = None  # a passphrase that was never typed is asked for without a reproach
        if problem is not None:
            status = problem.http_status
        data |= _told(problem, words)
        page = RenderedPage("backup_restore", phrase("Restore a backup"), data, PATH, status)
        return await self._renderer.respond(call, page)

    def _found(self, found: Mapping[str, Any], words: Catalogue) -> dict[str, Any]:
        head = found["head"]
        return {
            **self._time(head["made_ms"]),
            "home": head["home"],
            "program": head["program"],
            "files": head["files"],
            "size": size_text(head["size_bytes"]),
            "packed": size_text(found["size_bytes"]),
            "encrypted": found["encrypted"],
            "counts": [
                {"name": words.gettext(text), "count": head["counts"][name]}
                for name, text in COUNTS.items()
                if head["counts"].get(name)
            ],
            "replaces": [{"name": name, "count": count} for name, count in sorted(found["replaces"].items())],
        }


def _told(problem: HubError | None, words: Catalogue) -> dict[str, str]:
    """Return a problem in the reader's words, and what the hub said exactly."""
    if problem is None:
        return {"problem": "", "detail": ""}
    meaning = PROBLEMS.get(problem.code)
    if meaning is None:
        return {"problem": words.gettext(problem.message), "detail": ""}
    return {"problem": words.gettext(meaning), "detail": problem.message}


def _preview_path(source: str) -> str:
    return f"{PATH}/restore?source={quote(source)}"
