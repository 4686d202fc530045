"""Closes the open work of a restored hub database: it has long continued where it came from.

The same verdicts as after a crash, but none of them acts: what was to be sent may have been sent since, so a person
decides; what was being answered is not answered again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hub.core.sql import SqlConnection

RESTORED = "restored"
"""The reason of inbox rows and approvals, and the key in `meta` of when the home was restored."""
_UNSURE = "Restored from a backup: it may have been sent after the backup was made."
_ERROR = json.dumps({"code": "INTERRUPTED", "message": "The home was restored from a backup; this was not done again."})


def settle(connection: SqlConnection, now_ms: int) -> dict[str, int]:
    """Close what was open in a restored database; return how many rows of each kind.

    An automation that waits for a time that has not come yet goes on then; one that was past it, or in the middle of a
    step, has gone on already. Missed reminders are caught up as each of them says.

    Args:
        connection: Inside a transaction, with the newest schema.
        now_ms: Milliseconds since the epoch. Messages that were sent before it and come again are not answered.
    """
    steps: dict[str, tuple[tuple[str, Sequence[Any]], ...]] = {
        "messages": (
            (
                "UPDATE outbox SET state = 'unknown', error = ?, updated_ms = ? WHERE state IN ('queued', 'sending')"
                " AND source NOT IN ('preview', 'notice')",
                (_UNSURE, now_ms),
            ),
            ("UPDATE outbox SET state = 'dead', error = ? WHERE state IN ('queued', 'sending')", (_UNSURE,)),
            ("UPDATE outbox SET error = ? WHERE state = 'unknown' AND error IS NULL", (_UNSURE,)),
        ),
        "received": (
            ("UPDATE inbox SET state = 'done', reason = ? WHERE state IN ('received', 'queued', 'event')", (RESTORED,)),
        ),
        "runs": (
            (
                "UPDATE runs SET state = 'interrupted', ended_ms = ?, error = ? WHERE state IN ('queued', 'running')",
                (now_ms, _ERROR),
            ),
            (
                "UPDATE subagents SET state = 'interrupted', ended_ms = ?, announced_ms = ? WHERE state = 'running'",
                (now_ms, now_ms),
            ),
            ("UPDATE subagents SET announced_ms = ? WHERE announced_ms IS NULL", (now_ms,)),
        ),
        "approvals": (
            (
                "UPDATE approvals SET state = 'expired', decided_ms = ?, reason = ? WHERE state = 'pending'",
                (now_ms, RESTORED),
            ),
        ),
        "other": (
            ("UPDATE system_events SET taken_ms = ? WHERE taken_ms IS NULL", (now_ms,)),
            ("DELETE FROM node_work", ()),
            ("DELETE FROM login_codes", ()),
            ("DELETE FROM meta WHERE key = 'audit_head'", ()),
            ("DELETE FROM idempotency WHERE state = 'started'", ()),
        ),
    }
    counts = {
        name: sum(connection.execute(statement, values).rowcount for statement, values in parts)
        for name, parts in steps.items()
    }
    passed = [
        (id,)
        for id, state in connection.execute("SELECT id, state FROM automation_runs").fetchall()
        if not waits_only_for_later(state, now_ms / 1000)
    ]
    connection.executemany("DELETE FROM automation_runs WHERE id = ?", passed)
    connection.execute(
        "INSERT INTO meta(key, value) VALUES('restored_ms', ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (str(now_ms),),
    )
    return {**counts, "automations": len(passed)}


def waits_only_for_later(state: str, now_s: float) -> bool:
    """Return whether a stored run of an automation only waits for times that are still to come."""
    try:
        states = json.loads(state)["states"].values()
        deadlines = [each["deadline"] for each in states if isinstance(each, dict) and "deadline" in each]
        return bool(deadlines) and all(each is not None and float(each) > now_s for each in deadlines)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
