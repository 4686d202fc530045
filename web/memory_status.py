"""What the memory tells of itself, for people: files, index, engines, who makes vectors, and what that cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

COSTS_LIMIT = 60
"""Rows of costs that are shown; the sum is of all."""


class IndexStatus:
    """Reads the answer of `memory.status`; what a memory does not tell is left out.

    Args:
        moment: Returns a time, ms since the epoch, as pages show it.
    """

    def __init__(self, moment: Callable[[int | None], dict[str, str]]) -> None:
        self._moment = moment

    def shown(self, status: Mapping[str, Any]) -> dict[str, Any]:
        """Return the status as the page of the index shows it."""
        return {"status": status, "costs": costs_shown(status.get("costs") or ())}


def costs_shown(costs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what making vectors took, the latest day first, and its sum; None when nothing was made."""
    if not costs:
        return None
    ordered = sorted(costs, key=lambda each: (str(each["day"]), str(each["model"])), reverse=True)
    priced = [each["usd"] for each in costs if each["usd"] is not None]
    return {
        "rows": [{**each, "usd_text": usd_text(each["usd"])} for each in ordered[:COSTS_LIMIT]],
        "more": max(len(ordered) - COSTS_LIMIT, 0),
        "requests": sum(each["requests"] for each in costs),
        "tokens": sum(each["tokens"] for each in costs),
        "usd_text": usd_text(sum(priced) if priced else None),
    }


def usd_text(usd: float | None) -> str | None:
    """Return dollars for people; None when the price is not known."""
    if usd is None:
        return None
    return f"${usd:.2f}" if usd >= 0.995 or usd == 0 else f"${usd:.4f}"
