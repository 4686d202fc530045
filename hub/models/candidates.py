"""The order in which models are tried, and why a fallback comes before the intended model; without I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.models.contract import AUTO
from hub.models.cooldowns import Rest
from hub.models.resolved import Resolved


class ModelCandidate(Struct, frozen=True):
    """A model that may be tried: whether it is the intended one, and how long it rests."""

    model: Resolved
    meant: bool
    rest: Rest | None

    @property
    def rest_s(self) -> float:
        """The seconds for which others are tried first."""
        return self.rest.seconds if self.rest is not None else 0.0


def is_named(ref: str | None) -> bool:
    """Whether a reference is an explicit choice, and not left to the hub by the configuration."""
    return ref not in (None, AUTO, "default")


def in_order(found: Iterable[ModelCandidate], ref: str | None, missing: Mapping[str, Any] | None) -> list[Resolved]:
    """Return models in the order of trying; resting ones come last, unless named explicitly.

    Args:
        found: In the order of the configuration; at least one.
        ref: The intended one.
        missing: The notice why it cannot be tried at all, when it cannot.
    """
    order = sorted(found, key=lambda each: (is_named(ref) and not each.meant, each.rest_s))
    rests = [_resting(each.model.name, each.rest) if each.rest is not None else None for each in order]
    if not order[0].meant:
        missing = next((rest for each, rest in zip(order, rests, strict=True) if each.meant), missing)
    return [replace(each.model, rests=rest, instead_of=missing) for each, rest in zip(order, rests, strict=True)]


def _resting(model: str, rest: Rest) -> dict[str, Any]:
    """Return the notice that a model rests; see `RunResult.notices`."""
    return {"kind": "resting", "model": model, "reason": rest.reason, "minutes": max(1, math.ceil(rest.seconds / 60))}
