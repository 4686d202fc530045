"""Words from outside, as they stand in a conversation: whose they are, and how they are quoted. Pure rules."""

from __future__ import annotations

import secrets

from hub.core.context import Authority
from hub.tools.policy import belongs_here
from hub.tools.quoting import NOTE, harmless

MARKER_BYTES = 6


def speaks_from_outside(authority: Authority) -> bool:
    """Whether what is said under this authority is data rather than a wish: nobody of this home says it."""
    return not belongs_here(authority)


def new_marker() -> str:
    """Return a marker that nobody can guess; it is stored with the block, so that it is shown the same each time."""
    return secrets.token_hex(MARKER_BYTES)


def quote(text: str, *, source: str, marker: str) -> str:
    """Return `text` between markers that name its source, with whatever looks like a marker made harmless.

    Args:
        text: What came from outside.
        source: Where it came from; a name of ours, never one that the outside chose.
        marker: What nobody outside could have guessed.
    """
    return f"<<<outside {marker} from {source}: {NOTE}\n{harmless(text)}\n>>>outside {marker}"
