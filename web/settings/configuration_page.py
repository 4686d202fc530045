"""The configuration: files, an editor whose errors and completions come from the schemas, and a history."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from aiohttp import web

from hub.config.errors import ConfigError, ConfigInvalid
from hub.config.files import SECRETS_FILE
from hub.config.history import APP, COMMAND, FILE as BY_HAND, PAGE
from hub.core.errors import Conflict, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, string
from hub.core.surfaces import HttpCall
from web.core.form import read_fields
from web.core.i18n import Catalogue, catalogue
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.settings.diff import DiffLine, diff_lines

if TYPE_CHECKING:
    from hub.config.files_editor import Saved
    from hub.config.history import ConfigVersion
    from hub.config.store import ConfigStore, ReloadResult

PATH = "/settings/files"
ROOT_FILE = "configuration.yaml"
TEXT_LIMIT = 2_000_000

FILE = All(string, Length(min=1, max=300))
TEXT = All(string, Length(max=TEXT_LIMIT))
HASH = All(string, Length(max=128))
CHECK = Schema({Required("file"): FILE, Required("text"): TEXT})
COMPLETE = Schema(
    {
        Required("file"): FILE,
        Required("text"): TEXT,
        Required("line"): All(integer, Range(min=1)),
        Required("column"): All(integer, Range(min=1)),
    }
)
SAVE = Schema(
    {
        Required("file"): FILE,
        Required("text"): TEXT,
        Required("base_hash"): HASH,
        Optional("save"): string,
        Optional("anyway"): string,
    }
)
RESTORE = Schema(
    {Required("file"): FILE, Required("version"): All(string, Length(max=200)), Required("base_hash"): HASH}
)

HOW = {
    PAGE: phrase("on a page"),
    COMMAND: phrase("on the command line"),
    BY_HAND: phrase("in the file"),
    APP: phrase("by an app"),
    "": phrase("by the hub itself"),
}
"""How a file was changed."""

PutIntoForce = Callable[[], Awaitable["ReloadResult | None"]]


class ConfigurationPage:
    """Pages and forms of the configuration; only administrators reach them.

    Args:
        config: The files, their checks and their history.
        put_into_force: Reads and applies the saved files; returns None when the hub does not reload by itself.
        people: Returns the name of a person by their id.
    """

    def __init__(
        self, renderer: Renderer, config: ConfigStore, put_into_force: PutIntoForce, people: Callable[[str], str]
    ) -> None:
        self._renderer = renderer
        self._people = people
        self._config = config
        self._put_into_force = put_into_force
        self._writing = asyncio.Lock()

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/files[?file=NAME]`: the files, and one of them in the editor."""
        name = call.request.query.get("file", ROOT_FILE)
        text, base_hash = self._read(name)
        return await self._editor(call, name, text, base_hash)

    async def history(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/files/history?file=NAME[&version=ID]`: earlier versions, and the changes since one."""
        name = call.request.query.get("file", ROOT_FILE)
        _, base_hash = self._read(name)
        versions = self._config.editor.history.versions(name)
        wanted = call.request.query.get("version")
        chosen = next((each for each in versions if each.id == wanted), None)
        if wanted is not None and chosen is None:
            raise NotFound(f"{name} has no version {wanted[:80]!r}; it may have been cleared away")
        diff = [] if chosen is None else diff_lines(self._config.editor.diff(name, chosen.id))
        words = catalogue(self._renderer.preferences(call).language)
        changes = await asyncio.to_thread(self._changes, name, versions)
        data = {
            "file": {"name": name, "hash": base_hash, "path": _path(name)},
            "versions": [
                self._version(each) | _told(change, words) | {"who": self._who(each.by, words)}
                for each, change in zip(versions, changes, strict=True)
            ],
            "version": None if chosen is None else self._version(chosen),
            "diff": [line.as_dict() for line in diff],
        }
        return await self._renderer.respond(call, RenderedPage("history", "History", data, PATH, secret=True))

    async def check(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/check`: the errors with one file as posted; nothing is written."""
        fields = read_fields(call, CHECK)
        errors = await asyncio.to_thread(self._config.check_text, {fields["file"]: fields["text"]})
        words = catalogue(self._renderer.preferences(call).language)
        problems = [_problem(error, "error") for error in errors]
        texts = ("message", "hint")
        return json_response(
            {"problems": [each | {key: words.gettext(each[key]) for key in texts} for each in problems]}
        )

    async def complete(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/complete`: completions at a place."""
        fields = read_fields(call, COMPLETE)
        place = (fields["file"], fields["text"], fields["line"], fields["column"])
        return json_response({"options": await asyncio.to_thread(self._config.completions, *place)})

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/save`: save a file unless it changed since it was read or, without `anyway`, has new errors."""
        fields = read_fields(call, SAVE)
        text = fields["text"].replace("\r\n", "\n")
        return await self._write(call, fields["file"], text, fields["base_hash"], anyway="anyway" in fields)

    async def restore(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/restore`: write an earlier version; the one it replaces is kept in the history."""
        fields = read_fields(call, RESTORE)
        text = self._config.editor.history.read(fields["file"], fields["version"]).decode("utf-8", "replace")
        return await self._write(call, fields["file"], text, fields["base_hash"], anyway=True)

    async def reload(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/reload`: read the files again and apply what changed."""
        result = await self._put_into_force()
        if wants_json(call.request):
            return json_response({"applied": result is not None and result.applied})
        return see_other(PATH)

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _write(self, call: HttpCall, name: str, text: str, base_hash: str, *, anyway: bool) -> web.StreamResponse:
        words = catalogue(self._renderer.preferences(call).language)
        try:
            async with self._writing:
                saved = await asyncio.to_thread(
                    self._config.write_file, name, text, base_hash or None, must_be_valid=not anyway
                )
        except Conflict as conflict:
            if wants_json(call.request):
                raise
            told = words.gettext("The file changed meanwhile. Nothing was saved; your text is still here.")
            found = str(conflict.details.get("hash") or "")
            return await self._editor(call, name, text, found, {"kind": "danger", "text": told}, status=409)
        except ConfigInvalid as refused:
            told = words.gettext("Nothing was saved, because there are problems; your text is still here.")
            if wants_json(call.request):
                return json_response({"message": told, "refused": True}, status=422)
            notice = {"kind": "danger", "text": told}
            return await self._editor(call, name, text, base_hash, notice, refused=refused.errors, status=422)
        told = _outcome(saved, await self._put_into_force(), words)
        if wants_json(call.request):
            return json_response({"hash": saved.hash, "valid": not saved.errors, "message": told})
        return see_other(_path(name))

    def _read(self, name: str) -> tuple[str, str]:
        try:
            return self._config.read_file(name, admin=True)
        except NotFound:
            if name != ROOT_FILE:
                raise
            return "", ""

    async def _editor(
        self,
        call: HttpCall,
        name: str,
        text: str,
        base_hash: str,
        notice: dict[str, str] | None = None,
        *,
        refused: Sequence[ConfigError] = (),
        status: int = 200,
    ) -> web.Response:
        problems = [
            *(_problem(error, "error") for error in refused or self._config.errors),
            *(_problem(warning, "warning") for warning in self._config.warnings),
        ]
        names = self._config.editor.names()
        data = {
            "recovery": self._config.current.recovery,
            "files": [
                {"name": each, "path": _path(each), "problems": sum(problem["file"] == each for problem in problems)}
                for each in (names if name in names else [*names, name])
            ],
            "file": {
                "name": name,
                "text": text,
                "hash": base_hash,
                "history_path": f"{PATH}/history?file={quote(name, safe='')}",
            },
            "problems": problems,
            "notice": notice,
            "refused": bool(refused),
        }
        shown = RenderedPage("config", "Configuration", data, PATH, status, secret=True)
        return await self._renderer.respond(call, shown)

    def _version(self, version: ConfigVersion) -> dict[str, Any]:
        iso = self._renderer.iso(int(datetime.fromisoformat(version.time).timestamp() * 1000))
        file, id = quote(version.file, safe=""), quote(version.id, safe="")
        return version.as_dict() | {
            "path": f"{PATH}/history?file={file}&version={id}",
            "iso": iso,
            "date": iso[:10],
            "clock": iso[11:19],
        }

    def _who(self, by: str, words: Catalogue) -> str:
        """Return in words how a file was changed, and by whom where that is known."""
        how, _, person = by.partition(".")
        text = words.gettext(HOW.get(how, HOW[""]))
        return f"{self._people(person)}, {text}" if person else text

    def _changes(self, name: str, versions: Sequence[ConfigVersion]) -> list[list[DiffLine]]:
        """Return what each version, the newest first, was replaced by; secrets are not compared."""
        if name == SECRETS_FILE:
            return [[] for _ in versions]
        history = self._config.editor.history
        text = self._read(name)[0]
        found = []
        for version in versions:
            older = history.read(name, version.id).decode("utf-8", "replace")
            pair = (older.splitlines(), text.splitlines())
            found.append(diff_lines("\n".join(difflib.unified_diff(*pair, n=0, lineterm=""))))
            text = older
        return found


def _outcome(saved: Saved, result: ReloadResult | None, words: Catalogue) -> str:
    """Return the effect of a save in words."""
    if result is None:
        return words.gettext("Saved. It takes effect when the hub is started again.")
    if not result.applied:
        return words.gettext(
            "Saved, but there are problems; until they are fixed, the last good configuration stays in force."
        )
    if result.restarting:
        return words.gettext("Saved. The hub restarts by itself for the change to take effect.")
    if result.needs_restart:
        names = ", ".join(sorted(result.needs_restart))
        return words.gettext("Saved. Restart the hub for these to take effect: {names}.", names=names)
    if saved.errors:
        return words.gettext("Saved and in force, except for the parts with problems.")
    return words.gettext("Saved. The change is in force.")


def _told(change: Sequence[DiffLine], words: Catalogue) -> dict[str, str]:
    """Return in words how much a save changed, and its first line."""
    added = [line.text for line in change if line.kind == "add"]
    removed = [line.text for line in change if line.kind == "remove"]
    parts = [
        words.ngettext("{count} line added", "{count} lines added", len(added)) if added else "",
        words.ngettext("{count} line removed", "{count} lines removed", len(removed)) if removed else "",
    ]
    return {
        "what": ", ".join(filter(None, parts)) or words.gettext("Changed"),
        "line": next(iter([*added, *removed]), "").strip(),
    }


def _problem(error: ConfigError, severity: str) -> dict[str, Any]:
    return error.as_dict() | {"severity": severity}


def _path(name: str) -> str:
    return f"{PATH}?file={quote(name, safe='')}"
