"""The engine for words that the index worker opens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.memory.engine_contract import KeywordIndex, package


def open_keywords(directory: Path, settings: Mapping[str, Any]) -> KeywordIndex:
    """See `EngineModule.open_keywords`."""
    with package("whoosh", "whoosh", "keywords: fts5"):
        from integrations.memory.whoosh.index import WhooshIndex
    return WhooshIndex(directory)
