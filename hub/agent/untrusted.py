"""Whose words count as words from outside. A pure rule; how they are quoted is in `hub.tools.quoting`."""

from __future__ import annotations

from hub.core.context import Authority
from hub.tools.policy import belongs_here


def speaks_from_outside(authority: Authority) -> bool:
    """Whether what is said under this authority is data rather than a wish: nobody of this home says it."""
    return not belongs_here(authority)
