"""Front matter: facts at the head of a memory file that hold for all of it. Pure.

---
trusted: false
source: openclaw
---
"""

from __future__ import annotations

from msgspec import Struct

from hub.core.lazy_pattern import LazyPattern
from hub.memory.contract import UNTRUSTED_MARK

LINES_LIMIT = 30
"""Lines that front matter may have; a file that never closes it has none."""

_MARK = UNTRUSTED_MARK.strip(" _")
_FIELD = LazyPattern(r"([a-z][a-z0-9_-]{0,40}):[ \t]*(.*)")
_ANY_FIELD = LazyPattern(r"[^\W\d][\w .-]{0,60}:(?:\s|$)")
_CONTROL = LazyPattern(r"[\x00-\x1f\x7f\u2028\u2029\x85\ud800-\udfff]+")


class FrontMatter(Struct, frozen=True):
    """The front matter of a file, which applies to all its entries.

    Attributes:
        trusted: False when it came from outside; a file can take trust away and never give it.
        source: Where it came from: `openclaw`, `conversation`, …
        title, person, session: Its subject, and its origin.
    """

    trusted: bool = True
    source: str | None = None
    title: str | None = None
    person: str | None = None
    session: str | None = None


NO_FRONT_MATTER = FrontMatter()


def front_matter(text: str) -> tuple[FrontMatter, int]:
    """Return the front matter of a file, and the number of the first line after it, from 1."""
    if not text.startswith(("---", "\ufeff---")):
        return NO_FRONT_MATTER, 1
    first, *lines = text.split("\n", LINES_LIMIT + 1)
    if first.removeprefix("\ufeff").rstrip() != "---":
        return NO_FRONT_MATTER, 1
    said: dict[str, str] = {}
    is_prose = True  # what is between two rules, unless some line of it is a field
    for number, line in enumerate(lines[:LINES_LIMIT], start=2):
        if line.rstrip() in ("---", "..."):
            return (NO_FRONT_MATTER, 1) if is_prose else (_read(said), number + 1)
        is_prose = is_prose and not _ANY_FIELD.match(line)
        if field := _FIELD.match(line.rstrip()):
            said.setdefault(field[1], field[2].strip().strip("\"'"))
    # It has none, but whoever meant to take trust away did not mean it less for a missing line.
    return FrontMatter(trusted=_read(said).trusted), 1


def with_front_matter(front: FrontMatter, text: str) -> str:
    """Return a file with front matter at its head; nothing in the text can add to it."""
    said = {
        "title": front.title,
        "source": front.source,
        "person": front.person,
        "session": front.session,
        "trusted": "true" if front.trusted else "false",
    }
    lines = [f"{name}: {on_one_line(value).strip()}" for name, value in said.items() if value]
    return "\n".join(["---", *lines, "---", "", text.lstrip("\n")])


def holds_outside_words(text: str) -> bool:
    """Whether words from outside are in a memory file, or in lines of one as `Memory.get` returns them.

    A memory file says so itself: of one entry in the line that tells its source, of all of it in front matter.
    """
    return is_marked_untrusted(text) or not front_matter(text)[0].trusted


def is_marked_untrusted(text: str) -> bool:
    """Whether a text marks words from outside, in whatever form a formatter or a person left that line."""
    return _MARK in text


def on_one_line(text: str) -> str:
    """Return text without line ends and control characters."""
    return _CONTROL.sub(" ", text)


def _read(said: dict[str, str]) -> FrontMatter:
    # Whoever writes `trusted: no` means it: only a plain yes is one.
    trusted = said.get("trusted", "true").casefold() in ("true", "yes")
    texts = (said.get(name) or None for name in ("source", "title", "person", "session"))
    return FrontMatter(trusted, *texts)
