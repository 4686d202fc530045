"""`hooks.status|info|update`: the hooks of the home, and what integrations handle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.hooks.contract import HOOKS
from hub.hooks.home_hooks import HomeHook, HomeHooks
from hub.hooks.hook_file import HANDLER_FILE, HOOK_FILE
from hub.hooks.registry import Hooks

OWNER = "gateway"

_NAME = All(string, Length(min=1, max=255))
_ONE = Schema({Required("name", description="The folder of the hook."): _NAME})
_UPDATE = Schema(
    {
        Required("name", description="The folder of the hook."): _NAME,
        Required("enabled"): boolean,
        Optional("digest", description="Of what was looked at, from hooks.info."): All(string, Length(max=64)),
    }
)


class HookMethods:
    """The methods about hooks.

    Args:
        now_ms: Returns the time in milliseconds since the epoch.
    """

    def __init__(self, home: HomeHooks, hooks: Hooks, now_ms: Callable[[], int]) -> None:
        self._home = home
        self._hooks = hooks
        self._now_ms = now_ms

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("hooks.status", self._status, OWNER, Schema({}), READ),
            Method("hooks.info", self._info, OWNER, _ONE, ADMIN),
            Method("hooks.update", self._update, OWNER, _UPDATE, ADMIN, acts=True),
        ]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        await self._home.refresh()
        handlers = [
            {"hook": each.name, "kind": HOOKS[each.name].kind.value, "source": each.source, "priority": each.priority}
            for each in self._hooks.all()
        ]
        return {
            "hooksDir": str(self._home.folder),
            "hooks": [_shown(each) for each in self._home.all()],
            "handlers": handlers,
        }

    async def _info(self, call: MethodCall) -> Mapping[str, Any]:
        hook = await self._home.get(call.params["name"])
        files = [{"path": path, "bytes": len(hook.files[path])} for path in sorted(hook.files)]
        texts = {
            path: hook.files[path].decode("utf-8", "replace")
            for path in (HOOK_FILE, HANDLER_FILE)
            if path in hook.files
        }
        return {"hook": _shown(hook), "digest": hook.digest, "files": files, "texts": texts}

    async def _update(self, call: MethodCall) -> Mapping[str, Any]:
        given = call.params
        if not given["enabled"]:
            return {"hook": _shown(await self._home.disable(given["name"]))}
        if "digest" not in given:
            raise InvalidRequest("inspect the hook first: enabling it needs the digest from hooks.info")
        return {"hook": _shown(await self._home.enable(given["name"], given["digest"], self._now_ms()))}


def _shown(hook: HomeHook) -> dict[str, Any]:
    file = hook.file
    return {
        "name": hook.name,
        "state": hook.state.value,
        "reason": hook.error,
        "bundled": hook.bundled,
        "description": file.description if file is not None else "",
        "events": list(file.events) if file is not None else [],
        "priority": file.priority if file is not None else 0,
    }
