"""An embedding model: the memory finds by meaning with vectors, and this makes them, of the letters in a text.

In `configuration.yaml`: `letter_vectors: {}` and `memory: {embeddings: {provider: letter_vectors}}`; the manifest says
`"engine": "embeddings"`.

Vectors are kept by the model's name: another model needs another `model`. `query` says whether a text is searched for
or found, for models that tell the two apart. When the model does not answer, raise `EngineUnavailable`: it is asked
again, and until then search goes by words.

The contract: `hub/memory/engine_contract.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any


def open_embeddings(settings: Mapping[str, Any]) -> Letters:
    """Open the model; `settings` is the integration's section."""
    return Letters()


class Letters:
    """Counts the letters of a text."""

    model = "letters"
    dimensions = len(ascii_lowercase)

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]:
        """Return one vector for each text."""
        return [[1.0 + text.lower().count(letter) for letter in ascii_lowercase] for text in texts]

    async def close(self) -> None:
        """Close its connections; it has none."""
