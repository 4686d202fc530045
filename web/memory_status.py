"""What the memory tells of itself, for people: files, index, engines, who makes vectors, and what that cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from web.memory_shelf import size_text
from web.texts import MEMORY_ENGINES, MEMORY_FACTS

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
        return {
            "facts": [fact for name, text in MEMORY_FACTS.items() if (fact := self._fact(status, name, text))],
            "engines": [
                {"text": text, "name": status[kind]} for kind, text in MEMORY_ENGINES.items() if status.get(kind)
            ],
            "embedder": status.get("embedder"),
            "by_words": status.get("embedder") is None and bool(status.get("notes")),
            "notes": list(status.get("notes") or ()),
            "problems": list(status.get("problems") or ()),
            "building": status.get("building"),
            "costs": costs_shown(status.get("costs") or ()),
        }

    def _fact(self, status: Mapping[str, Any], name: str, text: str) -> dict[str, Any] | None:
        value = status.get(name)
        if value is None:
            return None
        if name.endswith("_ms"):
            moment = self._moment(value)
            return {"text": text, "value": moment["when"], "iso": moment["iso"]}
        return {"text": text, "value": size_text(value) if name.endswith("_bytes") else str(value), "iso": ""}


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
