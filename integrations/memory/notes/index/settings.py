"""The section `memory:` as the worker uses it, read from plain data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Struct

FTS5, EXACT = "fts5", "exact"
"""Our own engines."""


class IndexSettings(Struct, frozen=True):
    """The settings for making and searching an index; see `hub/memory/schema.py` for each.

    Attributes:
        vectors, keywords: Names of the engines.
        tokens, overlap: Properties of a passage.
        embeddings, search: The sections as they are.
        engines: The engines of other integrations by name: their `module` and their `settings`; of an integration of
            one's own also its `folder`, and when that `changed`.
    """

    vectors: str
    keywords: str
    tokens: int
    overlap: int
    embeddings: Mapping[str, Any]
    engines: Mapping[str, Any]
    search: Mapping[str, Any]

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> IndexSettings:
        """Read the section; the hub checked it, what is missing is as by default."""
        chunks = plain.get("chunks") or {}
        return cls(
            vectors=str(plain.get("vectors", EXACT)),
            keywords=str(plain.get("keywords", FTS5)),
            tokens=int(chunks.get("tokens", 200)),
            overlap=int(chunks.get("overlap", 40)),
            embeddings=dict(plain.get("embeddings") or {}),
            engines=dict(plain.get("engines") or {}),
            search=dict(plain.get("search") or {}),
        )

    @property
    def embeddings_key(self) -> str:
        """The key of equal embedder settings; holds no key in clear."""
        maker = self.engines.get(str(self.embeddings.get("provider")))
        return hashlib.sha256(orjson.dumps([self.embeddings, maker], option=orjson.OPT_SORT_KEYS)).hexdigest()

    @property
    def wants_vectors(self) -> bool:
        """Whether search by meaning is configured."""
        return str(self.embeddings.get("provider", "auto")) != "none"
