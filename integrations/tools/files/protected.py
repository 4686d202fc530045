"""Files that steer the assistant: only the owner changes them, and not while words from outside are around."""

from __future__ import annotations

from hub.agent.workspace import PROTECTED
from hub.core.context import Authority
from hub.core.errors import Forbidden
from hub.security.jail_path import Hidden, components

_PROTECTED = Hidden((*PROTECTED, "skills", "hooks"))
"""Relative to the workspace; a folder stands for all that is in it."""


def check_may_change(path: str, authority: Authority) -> None:
    """Check that somebody may change a file now.

    Raises:
        Forbidden: It is protected, and this would need an approval that nobody can give.
        PathRefused: It leads out of the workspace.
    """
    if not _PROTECTED.covers(components(path)):
        return
    if not authority.owner:
        raise Forbidden(f"{path} steers the assistant; only the owner may change it", details={"path": path})
    if authority.tainted:
        raise Forbidden(
            f"{path} steers the assistant, and words from outside are in this conversation: changing it needs the "
            "owner's approval, and there is nobody to ask. Tell the owner what you wanted to change; they can do it "
            "in a new conversation (/new).",
            details={"path": path},
        )
