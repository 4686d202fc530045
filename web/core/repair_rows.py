"""Repairs as pages show them: what is wrong, the change that mends it, and where to look. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from hub.core.repairs import Repair

LOOK: Mapping[str, str] = {
    "agents": "/agents",
    "automation": "/automations",
    "entities": "/devices/found",
    "models": "/agents/models",
    "outbox": "/channels/unsent",
    "script": "/scripts",
    "security": "/settings/security",
}
"""The page that shows more of what a source reports."""


def repair_row(repair: Repair, *, ignored: bool = False) -> dict[str, Any]:
    """Return a repair as plain data with its places: `fix` (a label), `file_path` and `look_path`."""
    file, line = ((repair.location or {}).get(each) for each in ("file", "line"))
    return repair.as_dict() | {
        "key": re.sub(r"[^A-Za-z0-9_-]", "_", f"{repair.source}-{repair.id}"),
        "place": f"{file}:{line}" if line else file,
        "file_path": f"/settings/files?file={quote(str(file), safe='')}#L{line or 1}" if file else "",
        "look_path": _look(repair.source, repair.id),
        "ignored": ignored,
    }


def _look(source: str, id: str) -> str:
    if source == "skills":
        return f"/tools/skills?{urlencode({'skill': id})}"
    if source == "channels":
        channel, _, account = id.partition(":")
        return f"/channels/account?{urlencode({'channel': channel, 'account': account})}"
    return LOOK.get(source, "")
