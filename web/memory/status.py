"""The status of the memory for people: files, index, engines, embedding provider and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from web.core.formats import money, size_text
from web.core.texts import MEMORY_FACTS
from web.memory.view import MemoryView

COSTS_LIMIT = 60
"""Rows of costs that are shown; the sum is of all."""
SKIPPED_LIMIT = 50


class IndexStatus:
    """Formats the answer of `memory.status`; missing facts are left out.

    Args:
        view: Describes engines.
        moment: Returns a time, ms since the epoch, as pages show it.
    """

    def __init__(self, view: MemoryView, moment: Callable[[int | None], dict[str, str]]) -> None:
        self._view = view
        self._moment = moment

    def shown(self, status: Mapping[str, Any]) -> dict[str, Any]:
        """Return the status as the page of the index shows it."""
        index: Mapping[str, Any] = status.get("index") or {}
        embedder: Mapping[str, Any] = index.get("embedder") or {}
        found = {
            "files": status.get("files"),
            "chunks": index.get("chunks", status.get("passages")),
            "waiting": index.get("waiting") if embedder.get("provider") else None,
            "refused": index.get("refused") or None,
            "synced_ms": index.get("synced_ms"),
            "size_bytes": index.get("size_bytes"),
            "rss_bytes": (index.get("worker") or {}).get("rss_bytes"),
            "changes": status.get("changes"),
        }
        skipped = _skipped(status, index)
        return {
            "facts": [
                self._fact(name, found[name], text) for name, text in MEMORY_FACTS.items() if found[name] is not None
            ],
            "engines": self._view.engines(index.get("engines") or ()),
            "embedder": embedder if embedder.get("provider") else None,
            "notes": list(embedder.get("notes") or ()),
            "search": _searched(index, embedder) if "index" in status else "hidden",
            "problems": _problems((status.get("problem"), index.get("problem")), skipped),
            "skipped": skipped,
            "building": index.get("building"),
            "costs": costs_as_text(index.get("costs") or ()),
        }

    def _fact(self, name: str, value: Any, text: str) -> dict[str, Any]:
        if name.endswith("_ms"):
            moment = self._moment(value)
            return {"text": text, "value": moment["when"], "iso": moment["iso"]}
        return {"text": text, "value": size_text(value) if name.endswith("_bytes") else str(value), "iso": ""}


def _searched(index: Mapping[str, Any], embedder: Mapping[str, Any]) -> str:
    """Return the present search mode: by `meaning` and word, by `words` alone, through the `files`, or `unknown`."""
    if not index:
        return "files"
    if embedder.get("provider"):
        return "meaning"
    return "words" if embedder.get("notes") else "unknown"


def _skipped(status: Mapping[str, Any], index: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the unsearchable files, each once, with the reason if known."""
    known = {each["path"]: each["problem"] for each in index.get("skipped") or ()}
    every = dict.fromkeys([*known, *(status.get("skipped") or ())])
    return [{"path": path, "problem": known.get(path, "")} for path in every][:SKIPPED_LIMIT]


def _problems(told: Sequence[str | None], skipped: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the problems, each once; missing files are shown where they are listed."""
    found = dict.fromkeys(each for each in told if each)
    for file in skipped:
        found = dict.fromkeys(each.replace(f"{file['path']} is left out: {file['problem']}.", "") for each in found)
    return [each for each in map(str.strip, found) if each]


def costs_as_text(costs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the cost of embeddings, latest day first, and its sum; None if there is none."""
    if not costs:
        return None
    ordered = sorted(costs, key=lambda each: (str(each["day"]), str(each["model"])), reverse=True)
    priced = [each["usd"] for each in costs if each["usd"] is not None]
    return {
        "rows": [
            {**each, "usd_text": None if each["usd"] is None else money(each["usd"])} for each in ordered[:COSTS_LIMIT]
        ],
        "more": max(len(ordered) - COSTS_LIMIT, 0),
        "requests": sum(each["requests"] for each in costs),
        "tokens": sum(each["tokens"] for each in costs),
        "usd_text": money(sum(priced)) if priced else None,
    }
