"""The configuration: files, an editor whose errors and completions come from the schemas, history with diff and restore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from aiohttp import web

from hub.config.errors import ConfigError
from hub.core.errors import Conflict, HubError, InvalidRequest
from hub.core.schema import All, Length, Range, Required, Schema, integer, string
from hub.gateway.contract import HttpCall
from web.diff import diff_lines
from web.form import read_fields
from web.i18n import Catalogue, catalogue
from web.render import Page, Renderer, json_response, see_other, wants_json

if TYPE_CHECKING:
    from hub.config.store import ConfigStore

ROOT_FILE = "configuration.yaml"
TEXT_LIMIT = 2_000_000
COMPLETION_LIMIT = 200

FILE = All(string, Length(min=1, max=300))
TEXT = All(string, Length(max=TEXT_LIMIT))
CHECK = Schema({Required("file"): FILE, Required("text"): TEXT})
COMPLETE = Schema(
    {
        Required("file"): FILE,
        Required("text"): TEXT,
        Required("line"): All(integer, Range(min=1)),
        Required("column"): All(integer, Range(min=1)),
    }
)
HASH = All(string, Length(max=128))
SAVE = Schema({Required("file"): FILE, Required("text"): TEXT, Required("base_hash"): HASH, "save": string})
RESTORE = Schema({Required("file"): FILE, Required("version"): All(string, Length(max=200)), Required("base_hash"): HASH})


class ConfigurationPage:
    """Pages and forms of the configuration.

    Args:
        config: The files, their checks and their history.
        recovery: Returns whether the hub is in recovery mode.
    """

    def __init__(self, renderer: Renderer, config: ConfigStore, recovery: Callable[[], bool]) -> None:
        self._renderer = renderer
        self._config = config
        self._recovery = recovery

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /config[?file=NAME]`: the files, and one of them in the editor."""
        name = call.request.query.get("file", ROOT_FILE)
        text, base_hash = await self._read(name)
        return self._respond(call, name, text, base_hash)

    async def history(self, call: HttpCall) -> web.StreamResponse:
        """`GET /config/history?file=NAME[&version=ID]`: earlier versions, and what changed since one of them."""
        name = call.request.query.get("file", ROOT_FILE)
        text, base_hash = await self._read(name)
        versions = self._config.history.list(name)
        wanted = call.request.query.get("version")
        chosen = next((each for each in versions if each.id == wanted), None)
        if wanted is not None and chosen is None:
            raise NotFound(f"{name} has no version {wanted[:80]!r}; it may have been cleared away")
        diff = [] if chosen is None else diff_lines(self._config.history.read(name, chosen.id), text)
        data = {
            "file": {"name": name, "hash": base_hash, "path": _path(name)},
            "versions": [self._version(name, each) for each in versions],
            "version": None if chosen is None else self._version(name, chosen),
            "diff": [line.as_dict() for line in diff],
        }
        return self._renderer.respond(call, Page("history", "History", data, "/config"))

    async def check(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/check`: what is wrong when one file is as posted; nothing is written."""
        fields = read_fields(call, CHECK)
        return json_response({"problems": await self._problems({fields["file"]: fields["text"]})})

    async def complete(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/complete`: what may stand at a place."""
        fields = read_fields(call, COMPLETE)
        found = self._config.completions(fields["file"], fields["text"], fields["line"], fields["column"])
        return json_response({"options": list(found)[:COMPLETION_LIMIT]})

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/save`: write one file, if nobody changed it since it was read."""
        fields = read_fields(call, SAVE)
        text = fields["text"].replace("\r\n", "\n")
        return await self._write(call, fields["file"], text, fields["base_hash"])

    async def restore(self, call: HttpCall) -> web.StreamResponse:
        """`POST /config/restore`: write an earlier version; the one it replaces is kept in the history."""
        fields = read_fields(call, RESTORE)
        text = self._config.history.read(fields["file"], fields["version"])
        return await self._write(call, fields["file"], text, fields["base_hash"])

    # -- what the templates read ---------------------------------------------------------------------------------------

    async def _write(self, call: HttpCall, name: str, text: str, base_hash: str) -> web.StreamResponse:
        words = catalogue(self._renderer.preferences(call).language)
        try:
            saved = await self._config.write_file(name, text, base_hash)
        except Conflict as conflict:
            if wants_json(call.request):
                raise
            told = words.gettext("The file changed meanwhile. Nothing was saved; your text is still here.")
            return self._respond(call, name, text, str(conflict.details.get("hash", "")), _bad(told), status=409)
        if wants_json(call.request):
            return json_response({"hash": saved.hash, "valid": saved.valid, "message": _told(saved, words)})
        return see_other(_path(name))


def _bad(text: str) -> dict[str, str]:
    return {"kind": "bad", "text": text}


def _path(name: str) -> str:
    return f"/config?file={quote(name, safe='')}"
