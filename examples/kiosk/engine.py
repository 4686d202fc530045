"""An engine of the memory's index: it finds passages by word. This one looks for substrings.

The memory's index is kept by an engine for words (`keywords`) and one for meaning (`vectors`); the process of the index
opens it, not the hub. The manifest says which it is: `"engine": "keywords"`. An engine for vectors says `"vectors"` and
has `open_vectors(directory, dimensions, settings)`. `settings` is the integration's section. One that cannot be opened
gives way to the hub's own; `homarus memory status` says why.

In `configuration.yaml`: `kiosk: {}` and `memory: {keywords: kiosk}`.

The contract: `hub/memory/engine_contract.py`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from hub.memory.engine_contract import KeywordDocument


def open_keywords(directory: Path, settings: Mapping[str, Any]) -> Substrings:
    """Open the engine in a directory, or begin an empty one."""
    return Substrings(directory)


class Substrings:
    """Keeps all passages in one file, and reads them all at each search."""

    name = "substrings"

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._file = directory / "passages.json"
        self._passages: dict[str, tuple[str, str]] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def apply(self, removed: Collection[int], added: Sequence[KeywordDocument]) -> None:
        """Take passages out and put others in, durably."""
        for id in removed:
            self._passages.pop(str(id), None)
        for each in added:
            self._passages[str(each.id)] = (each.area, f"{each.title} {each.text}".lower())
        self._save()

    def search(
        self, query: str, areas: Sequence[str], limit: int, allowed: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and scores, best first."""
        words = query.lower().split()
        found = [
            (int(id), float(sum(text.count(word) for word in words)))
            for id, (area, text) in self._passages.items()
            if area in areas and (allowed is None or int(id) in allowed)
        ]
        return sorted((each for each in found if each[1] > 0), key=lambda each: -each[1])[:limit]

    def ids(self) -> set[int]:
        """Return the passages in it."""
        return {int(id) for id in self._passages}

    def purge(self) -> None:
        """Leave nothing of passages that were taken out."""
        self._save()

    def close(self) -> None:
        """Close its files; it has none open."""

    def _save(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._passages))
        new.replace(self._file)
