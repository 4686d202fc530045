"""A heartbeat in the shape of the protocol. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STATUS = {"alert": "sent", "ok": "ok-token", "duplicate": "skipped", "skipped": "skipped", "failed": "failed"}


def heartbeat_payload(told: Mapping[str, Any], *, preview: bool = True) -> dict[str, Any]:
    """Return a heartbeat in the protocol's shape; without `preview`, no words of it."""
    shown: dict[str, Any] = {
        "ts": told["ts_ms"],
        "agentId": told["agent_id"],
        "status": _STATUS.get(told["status"], told["status"]),
    }
    if "duration_ms" in told:
        shown["durationMs"] = told["duration_ms"]
    reason = "duplicate" if told["status"] == "duplicate" else told.get("reason")
    if reason:
        shown["reason"] = reason
    if preview:
        named = {"preview": told.get("text"), "channel": told.get("channel"), "to": told.get("to")}
        shown |= {key: value for key, value in named.items() if value}
    return shown
