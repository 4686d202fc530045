"""Check that scheduled backups are made, that copies elsewhere are encrypted, and that no restore was left half way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec

from hub.backup.swap import pending
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, error, warning

DAY_S = 86_400
PERIODS_S = {"day": DAY_S, "week": 7 * DAY_S}
NAME = "backup.json"


def _look(context: CheckContext) -> Iterator[Finding]:
    home, section = context.home, context.config.or_default("backup")
    if context.running is None and pending(home):
        yield error(
            "A restored home has not taken its place yet: the next start carries on with it.",
            str(home.storage / "restore"),
            context.command("start"),
        )
    if not section:
        return
    to = section["to"]
    if "passphrase" not in section and ("webdav" in to or "s3" in to):
        yield warning(
            "Copies of the backups are kept elsewhere with all keys and tokens in the clear. Set backup.passphrase.",
            "backup.passphrase",
        )
    kept = _kept(context)
    last = kept.get("last") or {}
    create = context.command("backup create")
    if last.get("error"):
        yield warning(f"The last backup failed, wholly or in part: {last['error']}", str(home.storage / NAME), create)
    period_s = PERIODS_S.get(section["schedule"]["every"])
    if period_s is not None and time.time() - kept.get("good_ms", 0) / 1000 > 2 * period_s + DAY_S:
        told = "Backups are scheduled, and the last good one is too old." if last else "No backup was made yet."
        yield warning(told, "backup.schedule", create)


def _kept(context: CheckContext) -> dict[str, Any]:
    try:
        return msgspec.json.decode((context.home.storage / NAME).read_bytes(), type=dict[str, Any])
    except (OSError, ValueError):
        return {}


BACKUPS = Check("backups", "Backups", _look)
