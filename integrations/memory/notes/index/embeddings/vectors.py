"""Converts provider answers to comparable vectors. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from integrations.memory.notes.index.embeddings.provider import Fault, ProviderFailed

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

LENGTH_LIMIT = 8_192
LENGTH_LEAST = 2
_NORM_LEAST = 1e-12


def normalise(rows: Sequence[Any]) -> list[Vector | None]:
    """Return L2-normalised float32 vectors; None for a row that is missing, not finite or zero.

    Args:
        rows: Lists of numbers, arrays, or base64 of little-endian float32; None where there is none.

    Raises:
        ProviderFailed: The rows differ in length, or none of them is a vector.
    """
    import numpy as np

    found: list[Vector | None] = []
    lengths = set()
    for row in rows:
        vector = _numbers(row)
        if vector is None:
            found.append(None)
            continue
        lengths.add(len(vector))
        norm = float(np.linalg.norm(vector)) if np.isfinite(vector).all() else 0.0
        if not norm > _NORM_LEAST:
            found.append(None)
            continue
        found.append((vector / norm).astype(np.float32))
    if len(lengths) > 1:
        raise ProviderFailed(Fault.NONSENSE, f"vectors of different lengths came in one answer: {sorted(lengths)}")
    return found


def _numbers(row: Any) -> Any:
    """Return a row as float64, so that its length cannot overflow; None when it is none."""
    import numpy as np

    if row is None:
        return None
    if isinstance(row, str):
        return _decoded(row)
    if isinstance(row, list) and len(row) == 1 and isinstance(row[0], list):
        row = row[0]  # llama.cpp's own endpoint wraps each vector in a list
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if numbers.ndim == 2:
        raise ProviderFailed(
            Fault.NONSENSE, "it sends a vector for each token instead of one for the text; start it with mean pooling"
        )
    return _checked(numbers) if numbers.ndim == 1 else None


def _decoded(text: str) -> Any:
    import numpy as np

    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(raw) % 4:
        return None
    return _checked(np.frombuffer(raw, dtype="<f4").astype(np.float64))


def _checked(numbers: Any) -> Any:
    if not LENGTH_LEAST <= len(numbers) <= LENGTH_LIMIT:
        raise ProviderFailed(Fault.NONSENSE, f"a vector of {len(numbers)} numbers came, which is not an embedding")
    return numbers
