"""What the memory answers, as plain data: one shape for programs at the gateway, services and templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hub.memory.contract import Added, Hit, SearchAnswer, Synced, Verified
from hub.memory.notebook import Change, MemoryFile

FORGOTTEN_SHOWN = 500


def hit_data(hit: Hit) -> dict[str, Any]:
    """Return a passage."""
    return {
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "score": hit.score,
        "vector_score": hit.vector_score,
        "text_score": hit.text_score,
        "text": hit.text,
        "before": hit.before,
        "after": hit.after,
        "trusted": hit.trusted,
        "kind": hit.kind,
        "person": hit.person,
        "session": hit.session,
        "day": hit.day,
        "why": None if hit.why is None else dict(hit.why),
    }


def answer_data(answer: SearchAnswer) -> dict[str, Any]:
    """Return what a search found."""
    return {
        "hits": [hit_data(hit) for hit in answer.hits],
        "engines": list(answer.engines),
        "took_ms": round(answer.took_ms, 3),
        "degraded": answer.degraded,
    }


def added_data(added: Added) -> dict[str, Any]:
    """Return an entry as it was written: the keys of a passage, whether it was known, and what was struck for it."""
    return {**hit_data(added.hit), "known": added.known, "struck": [hit_data(hit) for hit in added.struck]}


def forgotten_data(hits: Sequence[Hit]) -> dict[str, Any]:
    """Return what was, or would be, forgotten: the first of it, and how many there are."""
    return {"forgotten": [hit_data(hit) for hit in hits[:FORGOTTEN_SHOWN]], "count": len(hits)}


def synced_data(synced: Synced) -> dict[str, Any]:
    """Return what bringing an index up to date took."""
    return {
        "files": synced.files,
        "chunks": synced.chunks,
        "embedded": synced.embedded,
        "requests": synced.requests,
        "seconds": round(synced.seconds, 3),
        "waiting": synced.waiting,
        "problem": synced.problem,
    }


def verified_data(verified: Verified) -> dict[str, Any]:
    """Return how files and index agree."""
    return {
        "ok": not verified.problems,
        "files": verified.files,
        "chunks": verified.chunks,
        "problems": list(verified.problems),
        "repaired": verified.repaired,
    }


def file_data(file: MemoryFile) -> dict[str, Any]:
    """Return facts of a memory file."""
    return {
        "path": file.path,
        "area": file.area,
        "size_bytes": file.size_bytes,
        "changed_ms": file.changed_ms,
        "day": file.day,
        "writable": file.writable,
    }


def change_data(change: Change) -> dict[str, Any]:
    """Return a change, its diff whole."""
    return {
        "id": change.id,
        "time_ms": change.time_ms,
        "reason": change.reason,
        "who": change.who,
        "summary": change.summary,
        "diff": change.diff,
        "undone": change.undone,
        "can_undo": change.can_undo,
    }
