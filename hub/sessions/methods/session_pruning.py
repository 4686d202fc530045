"""`sessions.prune`: deletes old transcripts and those above the budget, or lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, Optional, Range, Schema, boolean, integer
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.sessions.pruning import Pruning
from hub.sessions.schema import PRUNE_DAYS_LIMIT
from hub.sessions.transcript_store import StoredFile

OWNER = "gateway"


class SessionPruneMethods:
    """The method that prunes.

    Args:
        pruning: Deletes what is too old.
    """

    def __init__(self, pruning: Pruning) -> None:
        self._pruning = pruning

    def methods(self) -> list[Method]:
        """Return the method."""
        schema = Schema(
            {
                Optional("dryRun", default=False): boolean,
                Optional("olderThanDays", description="In place of session.prune_after."): All(
                    integer, Range(min=1, max=PRUNE_DAYS_LIMIT)
                ),
            }
        )
        return [Method("sessions.prune", self._prune, OWNER, schema, ADMIN, acts=True)]

    async def _prune(self, call: MethodCall) -> Mapping[str, Any]:
        dry_run, limits = call.params["dryRun"], self._pruning.limits()
        days = call.params.get("olderThanDays")
        done = await self._pruning.prune(after_days=days, dry_run=dry_run)
        return {
            "dryRun": dry_run,
            "count": len(done.files),
            "bytes": done.size_bytes,
            "keptBytes": done.kept_bytes,
            "budgetBytes": limits.budget_bytes,
            "afterDays": limits.after_days if days is None else days,
            "files": [_shown(each) for each in done.files],
        }


def _shown(each: StoredFile) -> dict[str, Any]:
    return {
        "kind": each.kind.value,
        "key": each.key or None,
        "file": each.path.name,
        "bytes": each.size_bytes,
        "changedAt": each.changed_ms,
    }
