"""`automation.yaml|save|duplicate|delete`: automations edited in place, comments kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.editing.automation_editor import TEXT_LIMIT, AutomationEditor
from hub.automation.methods.automations import NAME, ONE
from hub.core.errors import InvalidRequest
from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, Method, MethodCall
from hub.gateway.calls.plain_data import as_json, plain_mapping

OWNER = "gateway"
_HASH = AnyOf(None, All(str, Length(max=128)))


class AutomationEdits:
    """The methods that write automations.

    Args:
        editor: Writes.
    """

    def __init__(self, editor: AutomationEditor) -> None:
        self._editor = editor

    def methods(self) -> list[Method]:
        """Return the methods."""
        save = Schema(
            {
                Optional("id", description="Which; a new one without it."): AnyOf(None, NAME),
                Optional("automation", description="All of it, as data."): AnyOf(None, plain_mapping),
                Optional("yaml", description="All of it, as YAML; its comments are kept."): AnyOf(
                    None, All(str, Length(min=1, max=TEXT_LIMIT))
                ),
                Optional("base_hash", description="Of what it was made from."): _HASH,
            }
        )
        delete = Schema({Required("id"): NAME, Optional("base_hash"): _HASH})
        return [
            Method("automation.yaml", self._yaml, OWNER, ONE, ADMIN),
            Method("automation.save", self._save, OWNER, save, ADMIN, acts=True, frame_limit=LARGE_FRAME_BYTES),
            Method("automation.duplicate", self._duplicate, OWNER, ONE, ADMIN, acts=True),
            Method("automation.delete", self._delete, OWNER, delete, ADMIN, acts=True),
        ]

    async def _yaml(self, call: MethodCall) -> Mapping[str, Any]:
        return (await self._editor.read_yaml(call.params["id"])).as_dict()

    async def _save(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        id, base_hash = params.get("id"), params.get("base_hash")
        automation, text = params.get("automation"), params.get("yaml")
        if (automation is None) == (text is None):
            raise InvalidRequest("automation.save: give either automation or yaml")
        if text is not None:
            saved = await self._editor.save_yaml(id, text, base_hash)
        else:
            saved = await self._editor.save(id, automation or {}, base_hash)
        return _shown(saved.as_dict())

    async def _duplicate(self, call: MethodCall) -> Mapping[str, Any]:
        return _shown((await self._editor.duplicate(call.params["id"])).as_dict())

    async def _delete(self, call: MethodCall) -> Mapping[str, Any]:
        await self._editor.delete(call.params["id"], call.params.get("base_hash"))
        return {"id": call.params["id"], "deleted": True}


def _shown(data: Mapping[str, Any]) -> Mapping[str, Any]:
    shown: dict[str, Any] = as_json(data)
    return shown
