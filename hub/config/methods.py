"""`config.get|schema|schema.lookup|set|apply|patch`: the configuration; a base hash prevents overwriting a change.

Callers who may only read see the values in force, without secrets and without the text of the files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import orjson

from hub import __version__
from hub.config import edit
from hub.config.paths import KeyPath, parse_path
from hub.config.schema_walk import keys_at, schemas_at
from hub.config.store import ConfigStore
from hub.config.suggest import WORD_LIMIT
from hub.core.errors import Forbidden, InvalidRequest, NotFound
from hub.core.schema import All, AnyOf, Length, Match, Optional, Range, Required, Schema, integer
from hub.core.secret import Secret
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, READ, Method, MethodCall
from hub.gateway.calls.json_data import read_json
from hub.gateway.calls.plain_data import as_json
from hub.security.redaction import Redactor

OWNER = "gateway"
ROOT_FILE = "configuration.yaml"
TEXT_LIMIT = 4_194_304
PATCH_LIMIT = 500
"""Keys that one patch sets or removes."""
REDACTED = "__OPENCLAW_REDACTED__"
"""What the protocol shows in place of a secret; it is never written to a file."""
OF_OTHERS = frozenset({"automation", "people", "script"})
"""Sections whose own methods judge who sees what of them."""

_WORD = All(str, Length(min=1, max=WORD_LIMIT), Match(r"^[\w./-]+$", msg="expected one word"))
_FILE = All(str, Length(min=1, max=512))
_RAW = All(str, Length(max=TEXT_LIMIT))
_HASH = AnyOf(None, All(str, Length(max=128)))


class ConfigMethods:
    """The methods for the configuration.

    Args:
        config: The configuration in force, and its files.
        redactor: Removes secrets from what was parsed.
    """

    def __init__(self, config: ConfigStore, redactor: Redactor) -> None:
        self._config = config
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        get = Schema({Optional("file", default=ROOT_FILE): _FILE})
        lookup = Schema({Required("path", description="Such as http.port; . is the whole."): _FILE})
        written = {Required("raw"): _RAW, Optional("file", default=ROOT_FILE): _FILE}
        set_ = Schema({**written, Required("baseHash"): _HASH})
        patch = Schema({Required("raw", description="A JSON merge patch."): _RAW, Required("baseHash"): _HASH})
        correct = Schema(
            {
                Required("file"): _FILE,
                Required("line"): All(integer, Range(min=1)),
                Required("old", description="A word of that line."): _WORD,
                Required("new"): _WORD,
            }
        )
        changing = (
            ("config.set", self._set, set_),
            ("config.apply", self._set, set_),
            ("config.patch", self._patch, patch),
        )
        return [
            Method("config.get", self._get, OWNER, get, READ),
            Method("config.schema", self._schema, OWNER, Schema({}), READ),
            Method("config.schema.lookup", self._lookup, OWNER, lookup, READ),
            *(
                Method(name, handler, OWNER, schema, ADMIN, acts=True, frame_limit=LARGE_FRAME_BYTES)
                for name, handler, schema in changing
            ),
            Method("config.correct", self._correct, OWNER, correct, ADMIN, acts=True),
        ]

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        name = call.params["file"]
        shown = {
            "path": str(self._config.home / name),
            "file": name,
            "exists": True,
            "valid": not self._config.errors,
            "issues": [error.as_dict() for error in self._config.errors],
            "warnings": [warning.as_dict() for warning in self._config.warnings],
            "legacyIssues": [],
        }
        if not call.caller.authority.has(ADMIN):
            if name != ROOT_FILE:
                raise Forbidden("config.get: file: only callers who may change the configuration see its files")
            current = self._config.current
            visible = {name: current[name] for name in sorted(current.present - OF_OTHERS) if name in current.sections}
            parsed = self._redactor.redact_data(_without_secrets(visible))
            hash = sha256(orjson.dumps(parsed, option=orjson.OPT_NON_STR_KEYS)).hexdigest()
            return {**shown, "raw": None, "parsed": parsed, "config": parsed, "hash": hash}
        text, hash = await asyncio.to_thread(self._config.read_file, name, admin=True)
        parsed = self._redactor.redact_data(self._config.current.raw)
        return {**shown, "raw": text, "parsed": parsed, "config": parsed, "hash": hash}

    async def _schema(self, call: MethodCall) -> Mapping[str, Any]:
        schema = await asyncio.to_thread(self._config.schema)
        made = datetime.now(UTC).isoformat()
        return {"schema": schema, "uiHints": {}, "version": __version__, "generatedAt": made}

    async def _lookup(self, call: MethodCall) -> Mapping[str, Any]:
        path = call.params["path"]
        keys = () if path == "." else parse_path(path)
        whole = await asyncio.to_thread(self._config.schema)
        found = schemas_at(whole, keys)
        if not found:
            raise NotFound(f"config.schema.lookup: path: there is no {path!r} in the configuration")
        required = {name for each in found for name in each.get("required", ())}
        children = [
            {
                "key": name,
                "path": name if path == "." else f"{path}.{name}",
                "required": name in required,
                "hasChildren": bool(keys_at(whole, (*keys, name))),
                **({"type": inner["type"]} if "type" in inner else {}),
            }
            for name, inner in keys_at(whole, keys).items()
        ]
        return {"path": path, "schema": found[0], "children": children}

    async def _set(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        return await self._written(params["file"], params["raw"], params["baseHash"])

    async def _patch(self, call: MethodCall) -> Mapping[str, Any]:
        wanted = read_json(call.params["raw"].encode(), "config.patch: raw")
        if not isinstance(wanted, dict):
            raise InvalidRequest("config.patch: raw: expected a JSON object with the keys to change")
        text, _ = await asyncio.to_thread(self._config.read_file, ROOT_FILE, admin=True)
        changes = list(_leaves(wanted, ()))
        if len(changes) > PATCH_LIMIT:
            raise InvalidRequest(f"config.patch: raw: at most {PATCH_LIMIT} keys are changed at once")
        for keys, value in changes:
            if value is not None:
                text = edit.set_value(text, keys, value)
            elif _is_there(text, keys):
                text = edit.remove(text, keys)
        return await self._written(ROOT_FILE, text, call.params["baseHash"])

    async def _correct(self, call: MethodCall) -> Mapping[str, Any]:
        """Replace one word, such as a key that was misspelt."""
        params = call.params
        text, hash = await asyncio.to_thread(self._config.read_file, params["file"], admin=True)
        text = edit.replace_word(text, params["line"], params["old"], params["new"])
        return await self._written(params["file"], text, hash)

    async def _written(self, file: str, text: str, base_hash: str | None) -> Mapping[str, Any]:
        if REDACTED in text:
            raise InvalidRequest(f"raw: {REDACTED} is not a secret: leave the hidden value out, or use !secret")
        saved = await asyncio.to_thread(self._config.write_file, file, text, base_hash, must_be_valid=True)
        return {"ok": True, "path": str(self._config.home / file), **saved.as_dict()}


def _without_secrets(value: Any) -> Any:
    """Return a validated configuration as plain data, without its secrets."""
    if isinstance(value, Secret):
        return REDACTED
    if isinstance(value, Mapping):
        return {str(key): _without_secrets(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_without_secrets(each) for each in value]
    return as_json(value)


def _leaves(patch: Mapping[str, Any], above: KeyPath) -> Any:
    """Yield the keys that a JSON merge patch sets, or removes by null."""
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _is_there(text: str, keys: KeyPath) -> bool:
    try:
        edit.get_value(text, keys)
    except NotFound:
        return False
    return True
