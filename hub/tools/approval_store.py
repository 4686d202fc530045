"""The storage of approvals: the table `approvals` of the hub database."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hub.core.context import Authority
from hub.core.phrases import phrase
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.tools.approval import QUESTION, Approval, ApprovalState, restored_texts, stored_phrases

_log = logging.getLogger(__name__)

KEPT = 1_000
"""Approvals that were decided and are remembered; the oldest are forgotten beyond it."""
LISTED_LIMIT = 200
_COLUMNS = (
    "id, code, kind, title, text, details, binding, requested_by, session_key, run_id, context_id, state, created_ms,"
    " expires_ms, survives, decided_ms, decided_by, reason, phrases"
)
RESTARTED = phrase("the hub was restarted before anyone answered")


class ApprovalStore:
    """Reads and writes approvals.

    Args:
        db: The hub database.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    async def reopen(self, now_ms: int) -> list[Approval]:
        """End what an earlier process left pending, except approvals that survive a restart; return those."""

        def write(connection: SqlConnection) -> list[Approval]:
            connection.execute(
                "UPDATE approvals SET state = 'expired', decided_ms = ?, reason = ?"
                " WHERE state = 'pending' AND survives = 0",
                (now_ms, RESTARTED),
            )
            return _select(connection, "state = 'pending' ORDER BY created_ms, position")

        return await self._db.write(write)

    async def insert(self, approval: Approval) -> None:
        """Insert a new approval; on disk when this returns.

        Raises:
            QueryFailed: There is one of that id.
        """
        values = _values(approval)

        def write(connection: SqlConnection) -> None:
            connection.execute(f"INSERT INTO approvals({_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608  constants
            connection.execute(
                "DELETE FROM approvals WHERE state != 'pending' AND id NOT IN"
                " (SELECT id FROM approvals WHERE state != 'pending' ORDER BY created_ms DESC, position DESC LIMIT ?)",
                (KEPT,),
            )

        await self._db.write(write)

    async def settle(self, approval: Approval) -> bool:
        """Store the end of a pending approval; return False, changing nothing, when it is no longer pending."""
        return await self._db.write(lambda connection: _settle(connection, approval))

    def settle_later(self, approval: Approval) -> None:
        """Record a refusal of a pending approval without waiting for the disk."""
        self._db.post(lambda connection: _settle(connection, approval))

    async def get(self, id: str) -> Approval | None:
        """Return the approval of this id, or None."""
        found = await self._db.read(lambda connection: _select(connection, "id = ?", id))
        return found[0] if found else None

    async def latest(self, limit: int) -> list[Approval]:
        """Return the latest approvals in any state, newest first, without questions; at most 200."""
        wanted = max(0, min(limit, LISTED_LIMIT))
        where = "kind != ? ORDER BY created_ms DESC, position DESC LIMIT ?"
        return await self._db.read(lambda connection: _select(connection, where, QUESTION, wanted))

    async def of_session(self, key: str) -> list[Approval]:
        """Return the latest approvals and questions of a conversation, oldest first; at most 200."""
        where = "session_key = ? ORDER BY created_ms DESC, position DESC LIMIT ?"
        return (await self._db.read(lambda connection: _select(connection, where, key, LISTED_LIMIT)))[::-1]


def settled_approval(approval: Approval, state: ApprovalState, now_ms: int, by: str | None, reason: str) -> Approval:
    """Return a pending approval as it ended."""
    return replace(approval, state=state, decided_ms=now_ms, decided_by=by, reason=reason)


def _settle(connection: SqlConnection, approval: Approval) -> bool:
    cursor = connection.execute(
        "UPDATE approvals SET state = ?, decided_ms = ?, decided_by = ?, reason = ?, phrases = ?"
        " WHERE id = ? AND state = 'pending' AND binding = ?",
        (
            approval.state.value,
            approval.decided_ms,
            approval.decided_by,
            approval.reason,
            _phrases(approval),
            approval.id,
            approval.binding,
        ),
    )
    return cursor.rowcount == 1


def _values(approval: Approval) -> tuple[Any, ...]:
    return (
        approval.id,
        approval.code,
        approval.kind,
        approval.title,
        approval.text,
        json.dumps(approval.details, ensure_ascii=False, default=str),
        approval.binding,
        json.dumps(approval.requested_by.as_dict()),
        approval.session_key,
        approval.run_id,
        approval.context_id,
        approval.state.value,
        approval.created_ms,
        approval.expires_ms,
        int(approval.survives),
        approval.decided_ms,
        approval.decided_by,
        approval.reason,
        _phrases(approval),
    )


def _phrases(approval: Approval) -> str | None:
    return stored_phrases(text=approval.text, reason=approval.reason)


def _select(connection: SqlConnection, where: str, *values: Any) -> list[Approval]:
    cursor = connection.execute(f"SELECT {_COLUMNS} FROM approvals WHERE {where}", values)  # noqa: S608  constants
    names = [column[0] for column in cursor.description]
    rows = (_approval(dict(zip(names, row, strict=True))) for row in cursor.fetchall())
    return [row for row in rows if row is not None]


def _approval(row: Mapping[str, Any]) -> Approval | None:
    try:
        texts = restored_texts(row["phrases"], text=row["text"], reason=row["reason"])
        return Approval(
            **{
                **{name: value for name, value in row.items() if name != "phrases"},
                **texts,
                "details": json.loads(row["details"]),
                "requested_by": Authority.from_dict(json.loads(row["requested_by"])),
                "state": ApprovalState(row["state"]),
                "survives": bool(row["survives"]),
            }
        )
    except (ValueError, KeyError, TypeError) as error:
        _log.warning("the approval %s cannot be read and counts as not given: %s", row["id"], error)
        return None
