"""`blueprint.*`: list, import, update and use blueprints."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.config.store import ConfigStore
from hub.core.errors import InvalidRequest
from hub.core.schema import All, AnyOf, In, Length, Optional, Required, Schema, boolean, string, url
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, READ, Method, MethodCall
from hub.gateway.calls.plain_data import as_json, plain_mapping
from hub.security.redaction import Redactor

if TYPE_CHECKING:
    from hub.automation.assembly import AutomationEngine

OWNER = "gateway"
TEXT_LIMIT = 262_144
_PATH = All(string, Length(min=1, max=255))
_DOMAIN: Mapping[Any, Any] = {Optional("domain", default="automation"): In(["automation", "script", "template"])}


class BlueprintMethods:
    """The methods about blueprints.

    Args:
        engine: The engine.
        config: Tells who uses which.
        redactor: Removes secrets from displayed text.
    """

    def __init__(self, engine: AutomationEngine, config: ConfigStore, redactor: Redactor) -> None:
        self._engine = engine
        self._config = config
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        one = Schema({Required("path", description="Below blueprints/<domain>."): _PATH, **_DOMAIN})
        import_ = Schema(
            {
                Optional("url", description="Where it is fetched from."): AnyOf(None, All(Length(max=2048), url)),
                Optional("text", description="The blueprint itself."): AnyOf(None, All(str, Length(max=TEXT_LIMIT))),
                Optional("path", description="Where it is put."): AnyOf(None, _PATH),
                Optional("overwrite", default=False, description="Replace what lies there."): boolean,
                Optional("preview", default=False, description="Only show what it is."): boolean,
            }
        )
        update = Schema(
            {
                **one.schema,
                Optional("confirm", description="The hash of the update that was shown."): AnyOf(
                    None, All(str, Length(max=128))
                ),
            }
        )
        use = Schema(
            {
                Required("path"): _PATH,
                Optional("input", default=dict, description="Values of its inputs."): plain_mapping,
                Optional("alias", description="What the automation is called."): AnyOf(
                    None, All(string, Length(min=1, max=200))
                ),
            }
        )
        return [
            Method("blueprint.list", self._list, OWNER, Schema({}), READ),
            Method("blueprint.get", self._get, OWNER, one, READ),
            Method("blueprint.import", self._import, OWNER, import_, ADMIN, acts=True, frame_limit=LARGE_FRAME_BYTES),
            Method("blueprint.update", self._update, OWNER, update, ADMIN, acts=True),
            Method("blueprint.remove", self._remove, OWNER, one, ADMIN, acts=True),
            Method("blueprint.use", self._use, OWNER, use, ADMIN, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        found = await asyncio.to_thread(self._engine.blueprints.list, self._config.current)
        return {"blueprints": self._clean(found)}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        path, domain = call.params["path"], call.params["domain"]
        shown = await asyncio.to_thread(self._engine.blueprints.show, path, domain, self._config.current)
        found: Mapping[str, Any] = self._clean(shown)
        return found

    async def _import(self, call: MethodCall) -> Mapping[str, Any]:
        params, blueprints = call.params, self._engine.blueprints
        url, text, path = params.get("url"), params.get("text"), params.get("path")
        overwrite, preview = params["overwrite"], params["preview"]
        match url, text:
            case str(), None if preview:
                return self._drafted(await blueprints.draft_from_url(url, path))
            case None, str() if preview:
                return self._drafted(await blueprints.draft(text, path))
            case str(), None:
                draft = await blueprints.import_url(url, path, overwrite=overwrite)
            case None, str():
                draft = await blueprints.import_text(text, path, overwrite=overwrite)
            case _:
                raise InvalidRequest("blueprint.import: give either url or text")
        if draft.exists:
            await self._engine.reload()
        return self._drafted(draft)

    async def _update(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        update = await self._engine.blueprints.update(params["path"], params["domain"], confirm=params.get("confirm"))
        if update.written:
            await self._engine.reload()
        found: Mapping[str, Any] = self._clean(update.as_dict())
        return found

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        path, domain = call.params["path"], call.params["domain"]
        await asyncio.to_thread(self._engine.blueprints.remove, path, self._config.current, domain)
        return {"path": path, "removed": True}

    async def _use(self, call: MethodCall) -> Mapping[str, Any]:
        path, alias = call.params["path"], call.params.get("alias")
        blueprint = await asyncio.to_thread(self._engine.blueprints.find, path)
        item = {
            "alias": alias or blueprint.metadata.name,
            "use_blueprint": {"path": path, "input": dict(call.params["input"])},
        }
        saved = await self._engine.editor.save(None, item)
        return saved.as_dict()

    def _drafted(self, draft: Any) -> Mapping[str, Any]:
        shown: Mapping[str, Any] = self._clean(draft.as_dict())
        return shown

    def _clean(self, data: Any) -> Any:
        return as_json(self._redactor.redact_data(data))
