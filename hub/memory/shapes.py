"""The memory's answers as plain data: one shape for the gateway, services and templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, to_builtins

from hub.memory.contract import Added, Hit, SearchAnswer, Synced, Verified

FORGOTTEN_SHOWN = 500


def answer_data(answer: SearchAnswer) -> dict[str, Any]:
    """Return a search result."""
    return {
        "hits": [plain(hit) for hit in answer.hits],
        "engines": list(answer.engines),
        "took_ms": round(answer.took_ms, 3),
        "degraded": answer.degraded,
    }


def added_data(added: Added) -> dict[str, Any]:
    """Return a written entry: the keys of a passage, whether it existed, and the entry it replaced."""
    return {**plain(added.hit), "known": added.known, "struck": [plain(hit) for hit in added.struck]}


def forgotten_data(hits: Sequence[Hit]) -> dict[str, Any]:
    """Return forgotten entries, or those that would be: the first few, and their number."""
    return {"forgotten": [plain(hit) for hit in hits[:FORGOTTEN_SHOWN]], "count": len(hits)}


def synced_data(synced: Synced) -> dict[str, Any]:
    """Return the result of an index update."""
    return {**plain(synced), "seconds": round(synced.seconds, 3)}


def verified_data(verified: Verified) -> dict[str, Any]:
    """Return the result of comparing files and index."""
    return {"ok": not verified.problems, **plain(verified)}


def plain(value: Struct) -> dict[str, Any]:
    """Return a passage, a file or a change as plain data."""
    data: dict[str, Any] = to_builtins(value)
    return data
