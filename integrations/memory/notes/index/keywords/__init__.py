"""Engines that find passages by word, and the choice among them; each file is one, and imports its library itself.

What a word is stands in `hub/memory/words.py`, the contract in `index/contract.py`; ranking is not known here.
"""

from __future__ import annotations

from pathlib import Path

from integrations.memory.notes.index.contract import KeywordIndex
from integrations.memory.notes.index.packages import loaded

ENGINES = ("fts5", "whoosh")


def open_keywords(engine: str, directory: Path) -> KeywordIndex:
    """Open an engine for words, or begin an empty one; it blocks.

    Args:
        engine: One of `ENGINES`.
        directory: Where its files are; made when it is missing.

    Raises:
        EngineMissing: Its package is not installed; the text names the command that installs it.
        IndexDamaged: What is there cannot be read.
        OSError: Nothing can be written there.
        ValueError: There is no such engine.
    """
    match engine:
        case "fts5":
            from integrations.memory.notes.index.keywords.fts5 import Fts5Index

            return Fts5Index(directory)
        case "whoosh":
            with loaded("whoosh", "whoosh", "keywords: fts5"):
                from integrations.memory.notes.index.keywords.whoosh_index import WhooshIndex
            return WhooshIndex(directory)
    raise ValueError(f"there is no engine for words called {engine!r}; there are: {', '.join(ENGINES)}")
