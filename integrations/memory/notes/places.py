"""Which file a memory belongs in and who may see which file: pure rules over scopes and paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from hub.core.errors import Forbidden
from hub.memory.contract import Kind, Scope
from hub.security.jail_path import Hidden, PathRefused, components

CURATED = "MEMORY.md"
FOLDER = "memory"
PEOPLE = f"{FOLDER}/people"
CURATED_LIMIT_BYTES = 16_000
"""Beyond this, `MEMORY.md` takes no more by itself: it stands in every prompt of the owner's private sessions."""

_OTHERS = Hidden([PEOPLE])
_PERSON = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_DAY = re.compile(rf"{FOLDER}/(\d{{4}}-\d\d-\d\d)(?:-[^/]*)?\.md")
_SECTIONS = {Kind.PREFERENCE: "Preferences", Kind.DECISION: "Decisions", Kind.PERSON: "People"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry goes: a file, the first line of that file when it is new, and a section in it."""

    path: str
    title: str
    section: str | None = None


def place_for(kind: Kind, scope: Scope, today: date, *, trusted: bool, curated_bytes: int) -> Place:
    """Return where an entry belongs.

    What lasts (preferences, decisions, people) goes into the curated file of the owner, what happened into the day.
    What was not said by people of this home never gets into the curated file.

    Args:
        kind: What sort of thing it is.
        scope: Whose memory.
        today: The day in this home.
        trusted: Whether it comes from people of this home alone.
        curated_bytes: Size of the curated file now.

    Raises:
        Forbidden: The session belongs to nobody who could have a memory.
    """
    if scope.private:
        if trusted and kind in _SECTIONS and curated_bytes < CURATED_LIMIT_BYTES:
            return Place(CURATED, "# Memory", _SECTIONS[kind])
        return Place(f"{FOLDER}/{today:%Y-%m-%d}.md", f"# {today:%Y-%m-%d}")
    return Place(person_file(scope), f"# {scope.person}")


def person_file(scope: Scope) -> str:
    """Return the file of the person a session belongs to.

    Raises:
        Forbidden: It belongs to nobody who could have one.
    """
    if scope.person is None or not _PERSON.fullmatch(scope.person):
        raise Forbidden(
            "nothing is remembered here: others read along, or it is not known who is speaking. "
            "Each person of this home has a memory of their own, in a conversation of their own."
        )
    return f"{PEOPLE}/{scope.person}.md"


def may_see(path: str, scope: Scope) -> bool:
    """Whether a memory file may be seen in a session: one's own, and for an owner in private the home's too.

    A path has one spelling here: `memory//people/x.md` names a file that `memory/people/x.md` names too.
    """
    try:
        names = components(path)
    except PathRefused:
        return False
    if "/".join(names) != path:
        return False
    if scope.person is not None and _PERSON.fullmatch(scope.person) and path == f"{PEOPLE}/{scope.person}.md":
        return True
    if not scope.private or not path.endswith(".md"):
        return False
    return path == CURATED or (path.startswith(f"{FOLDER}/") and not _OTHERS.covers(names))


def day_of(path: str) -> date | None:
    """Return the day a file is about, when its name is one."""
    match = _DAY.fullmatch(path)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None
