"""The engines an index is made with: those that are configured, or ours where their package is missing."""

from __future__ import annotations

from pathlib import Path

from hub.memory.chunking import CUT_VERSION
from integrations.memory.notes.index.contract import EngineMissing, KeywordIndex, VectorIndex
from integrations.memory.notes.index.keywords import open_keywords
from integrations.memory.notes.index.settings import LibrarySettings
from integrations.memory.notes.index.vectors import ChromaSettings, discard_vectors, open_vectors

KEYWORDS_ALWAYS_THERE = "fts5"
VECTORS_ALWAYS_THERE = "exact"
FORMAT = 4
"""Goes up when conversations are cut, or passages indexed, in another way than before; every index is then built anew.
How files are cut has a version of its own, `hub.memory.chunking.CUT_VERSION`."""


class Engines:
    """Opens engines for one agent's index; blocks.

    Args:
        settings: Which are wanted.
    """

    def __init__(self, settings: LibrarySettings) -> None:
        self._settings = settings
        url = settings.chroma.get("url")
        self._chroma = (
            ChromaSettings(url=str(url), token=settings.chroma.get("token")) if url is not None else ChromaSettings()
        )
        self.notes: dict[str, str] = {}
        """Why an engine that is wanted is not used, by what it is for."""

    @property
    def fingerprint(self) -> str:
        """What an index depends on, beside who makes its vectors."""
        wanted = self._settings
        server = self._chroma.url or "" if wanted.vectors == "chroma" else ""
        rules = f"{FORMAT}|{CUT_VERSION}"
        return f"{rules}|{wanted.keywords}|{wanted.vectors}|{server}|{wanted.tokens}|{wanted.overlap}"

    def keywords(self, directory: Path) -> KeywordIndex:
        """Open the engine for words.

        Raises:
            IndexDamaged, OSError: See `open_keywords`.
        """
        try:
            return open_keywords(self._settings.keywords, directory)
        except EngineMissing as error:
            if self._settings.keywords == KEYWORDS_ALWAYS_THERE:
                raise
            self.notes["keywords"] = error.text
            return open_keywords(KEYWORDS_ALWAYS_THERE, directory)

    def vectors(self, directory: Path, dimensions: int) -> VectorIndex:
        """Open the engine for vectors.

        Raises:
            EngineUnavailable, IndexDamaged, OSError: See `open_vectors`.
            EngineMissing: There is none at all.
        """
        try:
            return open_vectors(self._settings.vectors, directory, dimensions, self._chroma)
        except EngineMissing as error:
            if self._settings.vectors == VECTORS_ALWAYS_THERE:
                raise
            self.notes["vectors"] = error.text
            return open_vectors(VECTORS_ALWAYS_THERE, directory, dimensions, None)

    def discard(self, directory: Path) -> None:
        """Delete what is kept elsewhere for a directory of vectors that is given up.

        Raises:
            EngineMissing, EngineUnavailable: It cannot be had now.
        """
        if self._chroma.url is not None:
            discard_vectors("chroma", directory, self._chroma)
