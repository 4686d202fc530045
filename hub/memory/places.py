"""Which file a memory belongs in, and who may see and change which file: pure rules over scopes and paths."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from msgspec import Struct

from hub.core.errors import Forbidden
from hub.memory.contract import MemoryKind
from hub.memory.markdown import insert_under
from hub.memory.scope import MemoryScope
from hub.security.jail_path import PathRefused, components, folded_name

CURATED = "MEMORY.md"
FOLDER = "memory"
PEOPLE = f"{FOLDER}/people"
GROUPS = f"{FOLDER}/groups"
SHARED = f"{FOLDER}/shared.md"
IMPORTED = f"{FOLDER}/imported"
CURATED_LIMIT_BYTES = 16_000
"""Beyond this, `MEMORY.md` takes no more by itself: it is in every prompt of the owner's private sessions."""
CURATED_TITLE = "# Memory"
SHARED_TITLE = "# Shared"

PRIVATE_AREA = "private"
SHARED_AREA = "shared"
PERSON_AREA = "person-"
GROUP_AREA = "group-"

SET_APART = frozenset({"people", "groups", "shared", "people.md", "groups.md", "shared.md"})
"""Names below `memory/` that hold nothing of the private area."""

_SUFFIX = ".md"
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_OWNED = {"people": PERSON_AREA, "groups": GROUP_AREA}
_DAY = re.compile(r"(?:.*/)?(\d{4}-\d\d-\d\d)(?:-[^/]*)?\.md")
_SECTIONS = {MemoryKind.PREFERENCE: "Preferences", MemoryKind.DECISION: "Decisions", MemoryKind.PERSON: "People"}
_FACTS = "Facts"

LASTING = frozenset(_SECTIONS)
"""Kinds that are kept for good when they are remembered; others are, when they recur."""


class MemoryPlace(Struct, frozen=True):
    """The destination of an entry: a file, the first line of that file when it is new, and a section in it."""

    path: str
    title: str
    section: str | None = None

    def with_item(self, text: str | None, item: str) -> tuple[str, int]:
        """Return the file with an item at the end of its section, and the line at which the item begins.

        Args:
            text: The file as it is; nothing for a new one.
            item: Markdown, ending in a newline.
        """
        if self.section is not None:
            return insert_under(text or f"{self.title}\n", self.section, item)
        before = text or f"{self.title}\n\n"
        before += "" if before.endswith("\n") else "\n"
        return before + item, before.count("\n") + 1


def place_for(
    kind: MemoryKind, scope: MemoryScope, today: date, *, trusted: bool, curated_bytes: int, shared: bool = False
) -> MemoryPlace:
    """Return where an entry belongs.

    What lasts (preferences, decisions, people) goes into the curated file of the owner, what happened into the day.
    What was not said by people of this home alone gets neither into the curated file nor into the shared one.

    Args:
        kind: Its kind.
        scope: The scope of the memory.
        today: The day in this home.
        trusted: Whether it comes only from people of this home.
        curated_bytes: Size of the curated file now.
        shared: Whether everybody in this home may know it.

    Raises:
        Forbidden: The session belongs to nobody who could have a memory, or to nobody who could share one.
    """
    if shared and scope.group is not None:
        raise Forbidden("others read along here; share something with the whole home from a private conversation")
    if shared and trusted and SHARED_AREA in areas_of(scope):
        return MemoryPlace(SHARED, SHARED_TITLE, section_for(kind))
    if scope.private:
        if trusted and kind in LASTING and curated_bytes < CURATED_LIMIT_BYTES:
            return MemoryPlace(CURATED, CURATED_TITLE, section_for(kind))
        return MemoryPlace(f"{FOLDER}/{today:%Y-%m-%d}.md", f"# {today:%Y-%m-%d}")
    own = own_file(scope)
    return MemoryPlace(own, f"# {own.rpartition('/')[2].removesuffix(_SUFFIX)}")


def section_for(kind: MemoryKind | None) -> str:
    """Return the section of a curated file for a kind."""
    return _SECTIONS.get(kind, _FACTS) if kind is not None else _FACTS


def own_file(scope: MemoryScope) -> str:
    """Return the file of the person or group that a session belongs to.

    Raises:
        Forbidden: It belongs to nobody who could have one.
    """
    return f"{own_folder(scope)}{_SUFFIX}"


def own_folder(scope: MemoryScope) -> str:
    """Return the folder of the person or group that a session belongs to; see `own_file`."""
    if scope.group is not None and _ID.fullmatch(scope.group):
        return f"{GROUPS}/{scope.group}"
    if scope.group is None and scope.person is not None and _ID.fullmatch(scope.person):
        return f"{PEOPLE}/{scope.person}"
    raise Forbidden(
        "nothing is remembered here: others read along, or it is not known who is speaking. "
        "Each person of this home has a memory of their own, in a conversation of their own."
    )


def areas_of(scope: MemoryScope) -> tuple[str, ...]:
    """Return the areas that a session sees, its own first; empty for nobody."""
    areas: list[str] = []
    if scope.group is not None:
        if _ID.fullmatch(scope.group):
            areas.append(f"{GROUP_AREA}{scope.group}")
    else:
        if scope.private:
            areas.append(PRIVATE_AREA)
        if scope.person is not None and _ID.fullmatch(scope.person):
            areas.append(f"{PERSON_AREA}{scope.person}")
    if areas and (scope.shared or PRIVATE_AREA in areas):
        areas.append(SHARED_AREA)
    return tuple(areas)


@lru_cache(maxsize=1_024)
def area_of(path: str) -> str | None:
    """Return the area of a workspace file; None for a file that is not a memory, or of an unclear area.

    A path has one spelling here: `memory//people/x.md` and `memory/People/x.md` may name a file that
    `memory/people/x.md` names too, and neither is a memory file. Hidden files are what programs keep for themselves:
    drafts, trash, versions.
    """
    try:
        names = components(path)
    except PathRefused:
        return None
    if "/".join(names) != path or not path.lower().endswith(_SUFFIX) or any(name.startswith(".") for name in names):
        return None
    if path == CURATED:
        return PRIVATE_AREA
    if names[0] != FOLDER or len(names) < 2:
        return None
    first = names[1]
    if path == SHARED or (first == "shared" and len(names) > 2):
        return SHARED_AREA
    if first in _OWNED and len(names) > 2:
        owner = names[2].removesuffix(_SUFFIX) if len(names) == 3 else names[2]
        return f"{_OWNED[first]}{owner}" if _ID.fullmatch(owner) else None
    return None if folded_name(first) in SET_APART else PRIVATE_AREA


def may_see(path: str, scope: MemoryScope) -> bool:
    """Whether a memory file of the workspace may be seen in a session."""
    return area_of(path) in areas_of(scope)


def may_write(path: str, scope: MemoryScope) -> bool:
    """Whether a memory file may be edited as a whole; only the owner edits shared files, others add to them."""
    area = area_of(path)
    return area in areas_of(scope) and (area != SHARED_AREA or scope.private)


def may_strike(path: str, person: str | None, scope: MemoryScope) -> bool:
    """Whether an entry may be struck or forgotten; in shared files, others than the owner only what they said.

    Args:
        path: The file it is in.
        person: Its author, as far as known.
        scope: The session.
    """
    if may_write(path, scope):
        return True
    shared = area_of(path) == SHARED_AREA and SHARED_AREA in areas_of(scope)
    return shared and scope.group is None and person is not None and person == scope.person


def day_of(path: str) -> date | None:
    """Return the day in a file's name, if it begins with one; such files age, others do not."""
    match = _DAY.fullmatch(path)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None
