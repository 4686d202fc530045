"""`audit.log|verify`: the audit log, and whether anybody changed it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, Optional, Range, Schema, integer
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.gateway.access.audit import Audit
from hub.security.tokens import TokenStore

OWNER = "gateway"


class AuditMethods:
    """The methods of the audit log.

    Args:
        audit: The log.
        tokens: Know the names of tokens.
    """

    def __init__(self, audit: Audit, tokens: TokenStore) -> None:
        self._audit = audit
        self._tokens = tokens

    def methods(self) -> list[Method]:
        """Return the methods."""
        listed = Schema(
            {
                Optional("limit", default=50): All(integer, Range(min=1, max=1_000)),
                Optional("before"): All(integer, Range(min=1)),
            }
        )
        return [
            Method("audit.log", self._list, OWNER, listed, ADMIN),
            Method("audit.verify", self._verify, OWNER, Schema({}), ADMIN),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        found = await self._audit.latest(call.params["limit"], call.params.get("before"))
        names = {token.credential_id: token.name for token in self._tokens.list()}
        return {"entries": [each | {"name": names.get(each.get("credential", ""))} for each in found]}

    async def _verify(self, call: MethodCall) -> Mapping[str, Any]:
        found = await self._audit.verify()
        return {
            "ok": not found.problems,
            "entries": found.entries,
            "problems": found.problems,
            "unfinished": found.unfinished,
        }
