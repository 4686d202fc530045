"""Which model answers now, where the one that is meant does not."""

from __future__ import annotations

from typing import Any

from hub.models.registry import ModelRegistry


def answering(models: ModelRegistry, ref: str | None) -> dict[str, Any]:
    """Return the description of what answers for a reference: its own, or that of a fallback while it is set aside."""
    meant = models.describe(ref)
    others = (models.describe(each) for each in models.status()["fallbacks"]) if meant.get("aside") else ()
    instead = next((each for each in others if each["ref"] and not each.get("aside")), None)
    return meant if instead is None else {**instead, "reason": f"{meant['ref']} does not answer"}
