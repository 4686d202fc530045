"""`security.audit|fix`: what of this home is open to whom, and mending it. What they tell names weaknesses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hub.core.schema import All, Length, Optional, Schema, boolean, string
from hub.core.surfaces import ADMIN, Method, MethodCall

if TYPE_CHECKING:
    from hub.doctor.audit.audit import AuditReport
    from hub.doctor.audit.mending import Mended

OWNER = "gateway"
IDS_LIMIT = 500


class MakeAudit(Protocol):
    """Audits the home."""

    async def __call__(self, *, deep: bool) -> AuditReport:
        """Return the report."""
        ...


class AuditMethods:
    """The methods of the audit.

    Args:
        audit: Audits the home.
        mend: Mends the findings with these ids, or all above a note.
    """

    def __init__(self, audit: MakeAudit, mend: Callable[[frozenset[str]], Awaitable[Mended]]) -> None:
        self._audit = audit
        self._mend = mend

    def methods(self) -> list[Method]:
        """Return the methods."""
        audit = Schema(
            {
                Optional(
                    "deep",
                    default=False,
                    description="Try the listeners too, and ask about known weaknesses of the installed packages.",
                ): boolean
            }
        )
        fix = Schema(
            {
                Optional("only", default=list, description="Ids of findings; without any, all above a note."): All(
                    [All(string, Length(min=1, max=2_048))], Length(max=IDS_LIMIT)
                )
            }
        )
        return [
            Method("security.audit", self._look, OWNER, audit, ADMIN),
            Method("security.fix", self._fix, OWNER, fix, ADMIN, acts=True),
        ]

    async def _look(self, call: MethodCall) -> Mapping[str, Any]:
        return (await self._audit(deep=call.params["deep"])).as_dict()

    async def _fix(self, call: MethodCall) -> Mapping[str, Any]:
        return (await self._mend(frozenset(call.params["only"]))).as_dict()
