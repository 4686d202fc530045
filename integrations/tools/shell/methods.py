"""`exec.rules.list`, `exec.rules.remove`, `exec.log`: the permanent rules, and the commands that ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, string
from hub.core.surfaces import ADMIN, Method, MethodCall
from integrations.tools.shell.allowed import AllowedCommands
from integrations.tools.shell.log import LISTED_LIMIT, CommandLog


def exec_methods(owner: str, allowed: AllowedCommands, log: CommandLog) -> list[Method]:
    """Return the methods.

    Args:
        owner: The integration.
    """

    async def rules(call: MethodCall) -> Mapping[str, Any]:
        return {"rules": allowed.all()}

    async def remove(call: MethodCall) -> Mapping[str, Any]:
        return {"removed": await allowed.remove(call.params["id"])}

    async def latest(call: MethodCall) -> Mapping[str, Any]:
        return {"commands": await log.latest(call.params["limit"])}

    one = Schema({Required("id"): All(string, Length(min=1, max=40))})
    limit = Schema({Optional("limit", default=50): All(integer, Range(min=1, max=LISTED_LIMIT))})
    return [
        Method("exec.rules.list", rules, owner, Schema({}), ADMIN),
        Method("exec.rules.remove", remove, owner, one, ADMIN, acts=True),
        Method("exec.log", latest, owner, limit, ADMIN),
    ]
