"""The sections of a changelog that an update brings."""

from __future__ import annotations

import re

from hub.update.record import is_version, version_order

LIMIT = 20_000
_HEADING = re.compile(r"^## (\S+)", re.MULTILINE)


def notes_between(changelog: str, old: str, new: str) -> str:
    """Return the sections of a changelog after one version and up to another, in Markdown, the newest first.

    Args:
        changelog: With a heading `## VERSION (…)` for each.
    """
    found = list(_HEADING.finditer(changelog))
    ends = [each.start() for each in found[1:]] + [len(changelog)]
    wanted = [
        changelog[each.start() : end].strip()
        for each, end in zip(found, ends, strict=True)
        if is_version(each[1]) and version_order(old) < version_order(each[1]) <= version_order(new)
    ]
    return "\n\n".join(wanted)[:LIMIT]
