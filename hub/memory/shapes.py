"""What the memory answers, as plain data: one shape for programs at the gateway, services and templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, to_builtins

from hub.memory.contract import Added, Hit, SearchAnswer, Synced, Verified

FORGOTTEN_SHOWN = 500


def answer_data(answer: SearchAnswer) -> dict[str, Any]:
    """Return what a search found."""
    return {
        "hits": [plain(hit) for hit in answer.hits],
        "engines": list(answer.engines),
        "took_ms": round(answer.took_ms, 3),
        "degraded": answer.degraded,
    }


def added_data(added: Added) -> dict[str, Any]:
    """Return an entry as it was written: the keys of a passage, whether it was known, and what was struck for it."""
    return {**plain(added.hit), "known": added.known, "struck": [plain(hit) for hit in added.struck]}


def forgotten_data(hits: Sequence[Hit]) -> dict[str, Any]:
    """Return what was, or would be, forgotten: the first of it, and how many there are."""
    return {"forgotten": [plain(hit) for hit in hits[:FORGOTTEN_SHOWN]], "count": len(hits)}


def synced_data(synced: Synced) -> dict[str, Any]:
    """Return what bringing an index up to date took."""
    return {**plain(synced), "seconds": round(synced.seconds, 3)}


def verified_data(verified: Verified) -> dict[str, Any]:
    """Return how files and index agree."""
    return {"ok": not verified.problems, **plain(verified)}


def plain(value: Struct) -> dict[str, Any]:
    """Return a passage, a file or a change as it is."""
    data: dict[str, Any] = to_builtins(value)
    return data
