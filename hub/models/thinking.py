"""Levels of thinking, and the fallback when a model refuses one. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hub.core.lazy_pattern import LazyPattern

LEVELS = ("off", "minimal", "low", "medium", "high")
WORDS: Mapping[str, str | None] = {
    **{level: level for level in LEVELS},
    **dict.fromkeys(("xhigh", "max", "ultra"), "high"),
    "adaptive": None,
}
"""What people and programs may write for a level, and what is meant: as much as there is, or as the model likes."""

_ABOUT = LazyPattern(r"reasoning|thinking|\beffort\b", re.IGNORECASE)
_REFUSED = LazyPattern(
    r"unsupported|not support|un(?:known|recognized|expected)|extra (?:inputs|fields|keys)|not permitted|not allowed"
    r"|invalid|instead|unavailable|must be one of",
    re.IGNORECASE,
)
_LISTED = LazyPattern(
    r"(?:supported (?:values|levels)|must be one of|expected one of|allowed values)(.{0,200})", re.IGNORECASE
)
_NOT_AT_ALL = LazyPattern(
    r"(?:unsupported|unrecognized|unknown|unexpected) (?:request )?(?:parameter|argument|field)|extra inputs"
    r"|does(?: not|n't) support (?:reasoning|thinking)",
    re.IGNORECASE,
)
_BACK = LazyPattern(r"reasoning_content|thinking block", re.IGNORECASE)
"""Refusals of earlier thinking in the conversation, which are about something else."""


def is_thinking_refusal(message: str) -> bool:
    """Whether a refusal is about the thinking level."""
    return bool(_ABOUT.search(message) and _REFUSED.search(message) and not _BACK.search(message))


def lower_level(level: str, message: str = "") -> str | None:
    """Return the level to try after `level` was refused; None leaves it to the model.

    Args:
        level: The refused level.
        message: The server's message; where it lists levels, the next lower one of them is used, else the lowest.
    """
    if _NOT_AT_ALL.search(message):
        return None
    at = LEVELS.index(level)
    listed = _LISTED.search(message)
    words = listed.group(1).lower() if listed else ""
    offered = [name for name in LEVELS[1:] if name != level and re.search(rf"\b{name}\b", words)]
    if offered:
        lower = [name for name in offered if LEVELS.index(name) < at]
        return lower[-1] if lower else offered[0]
    if level == "off":
        return "minimal"
    return LEVELS[at - 1] if at > 1 else None
