"""`config.get|schema|set`: the configuration files, with a base hash that prevents overwriting another change."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.config.store import ConfigStore
from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema
from hub.gateway.calls.contract import ADMIN, LARGE_FRAME_BYTES, READ, Method, MethodCall
from hub.security.redaction import Redactor

OWNER = "gateway"
ROOT_FILE = "configuration.yaml"
TEXT_LIMIT = 4_194_304

_FILE = All(str, Length(min=1, max=512))


class ConfigMethods:
    """The methods about the configuration.

    Args:
        config: The configuration in force, and its files.
        redactor: Takes secrets out of what was parsed.
    """

    def __init__(self, config: ConfigStore, redactor: Redactor) -> None:
        self._config = config
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        get = Schema({Optional("file", default=ROOT_FILE): _FILE})
        set_ = Schema(
            {
                Required("raw"): All(str, Length(max=TEXT_LIMIT)),
                Required("baseHash"): AnyOf(None, All(str, Length(max=128))),
                Optional("file", default=ROOT_FILE): _FILE,
            }
        )
        return [
            Method("config.get", self._get, OWNER, get, ADMIN),
            Method("config.schema", self._schema, OWNER, Schema({}), READ),
            Method("config.set", self._set, OWNER, set_, ADMIN, acts=True, frame_limit=LARGE_FRAME_BYTES),
        ]

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        name = call.params["file"]
        text, hash = await asyncio.to_thread(self._config.read_file, name, admin=True)
        return {
            "path": str(self._config.home / name),
            "file": name,
            "raw": text,
            "parsed": self._redactor.redact_data(self._config.current.raw),
            "hash": hash,
            "valid": not self._config.errors,
            "issues": [error.as_dict() for error in self._config.errors],
        }

    async def _schema(self, call: MethodCall) -> Mapping[str, Any]:
        return {"schema": await asyncio.to_thread(self._config.schema)}

    async def _set(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        saved = await asyncio.to_thread(
            self._config.write_file, params["file"], params["raw"], params["baseHash"], must_be_valid=True
        )
        return saved.as_dict()
