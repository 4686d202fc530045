"""What a vector must be before an engine takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from integrations.memory.notes.index.contract import Vector


def checked(vector: Vector, dimensions: int) -> Vector:
    """Return it as the engines want it.

    Raises:
        ValueError: It has another length, or numbers that are none.
    """
    found: Vector = np.ascontiguousarray(vector, dtype=np.float32)
    if found.shape != (dimensions,):
        raise ValueError(f"a vector has the shape {found.shape}; it should have {dimensions} numbers.")
    if not np.isfinite(found).all():
        raise ValueError("a vector holds numbers that are not finite.")
    return found
