"""Which model answers now, where the one that is meant does not."""

from __future__ import annotations

from typing import Any

from hub.models.candidates import is_named
from hub.models.registry import ModelRegistry


def answering(models: ModelRegistry, ref: str | None) -> dict[str, Any]:
    """Return the description of what answers for a reference: its own, or that of a fallback while it is set aside.

    Of a fallback `notice` tells why, as `RunResult.notices` does.
    """
    meant = models.describe(ref)
    others = (models.describe(each) for each in models.status()["fallbacks"]) if "rests" in meant else ()
    instead = next((each for each in others if each["ref"] and "rests" not in each), None)
    if instead is None:
        return meant
    kind = {"kind": "asked_first"} if is_named(ref) else {}
    notice = {**meant["rests"], **kind, "instead": instead["ref"]}
    return {**instead, "reason": f"{meant['ref']} does not answer", "notice": notice}
