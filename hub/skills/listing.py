"""The list of skills in a prompt: bounded, and stable while the skills are. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hub.skills.skill_file import SkillFile

DESCRIPTION_SHOWN = 240

_HEAD = """## Skills
Instructions for particular tasks. When one fits what you are asked, read it first with `skill`, then follow it."""
_MORE = "- … and {count} more: `skill` without a name lists all"


def skill_listing(files: Sequence[SkillFile], limit: int) -> str:
    """Return the list, by name: with descriptions, or without if they do not fit, or only the first names.

    Args:
        files: What a model may choose of.
        limit: Characters of all lines together.
    """
    files = sorted(files, key=lambda file: file.name)
    if not files:
        return ""
    full = [f"- {file.name}: {_cut(file.description)}" for file in files]
    for lines in (full, [f"- {file.name}" for file in files]):
        if sum(len(line) + 1 for line in lines) <= limit:
            return "\n".join([_HEAD, *lines])
    kept: list[str] = []
    left = limit - len(_MORE)
    for file in files:
        left -= len(file.name) + 3
        if left < 0:
            break
        kept.append(f"- {file.name}")
    return "\n".join([_HEAD, *kept, _MORE.format(count=len(files) - len(kept))])


def _cut(text: str) -> str:
    return text if len(text) <= DESCRIPTION_SHOWN else f"{text[: DESCRIPTION_SHOWN - 1].rstrip()}…"
