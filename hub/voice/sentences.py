"""Cuts an answer that is still being written into what is read out, sentence by sentence. Pure."""

from __future__ import annotations

import re

from hub.messaging.outbox.markup import spoken_words

SHORTEST = 10
"""Letters of a piece that ends with a full stop: what is shorter (`1.`, `Dr.`, `Yes.`) waits for what follows."""
LONGEST = 400
"""Letters after which it is cut between words."""
_END = re.compile(r"[.!?…:]+[\"')\]*_]*(?=\s)|[。！？；]+[」』”’)）*_]*|\n")
_FENCE = re.compile(r"(`{3,}|~{3,})[^\n]*\n")
_CLOSED = {
    "`": re.compile(r"^`{3,}[ \t]*(\n|\Z)", re.MULTILINE),
    "~": re.compile(r"^~{3,}[ \t]*(\n|\Z)", re.MULTILINE),
}
_MARKS = re.compile(r"\*+|`+|(?<!\w)_+|_+(?!\w)|\[\[[^\]\n]*\]\]")


class Sentences:
    """One answer, as it comes: Markdown in, words for the ear out. Code and tables are left out."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> list[str]:
        """Take the next piece of the answer; return the sentences that are whole by now."""
        self._rest += text
        return self._cut(is_end=False)

    def end(self) -> list[str]:
        """Return what is left: nothing follows. The next answer may be fed then."""
        found = self._cut(is_end=True)
        self._rest = ""
        return found

    def _cut(self, *, is_end: bool) -> list[str]:
        found = []
        while self._rest.strip():
            self._rest = self._rest.lstrip("\n")
            size = self._block(is_end=is_end)
            if size is None:
                break
            words = _MARKS.sub("", spoken_words(self._rest[:size])).replace("\n", " ").strip()
            if any(map(str.isalnum, words)):
                found.append(words)
            self._rest = self._rest[size:]
        return found

    def _block(self, *, is_end: bool) -> int | None:
        """Return the length of the next block that is whole; None if it is not whole yet."""
        rest = self._rest
        if not is_end and rest.lstrip()[:3] in ("`", "``", "~", "~~", "|"):
            return None
        if rest.startswith(("```", "~~~")):
            return self._fenced(is_end=is_end)
        if rest.startswith("|"):
            after = re.search(r"\n(?=[^|\n])|\n\n", rest)
            return after.end() if after else len(rest) if is_end else None
        for found in _END.finditer(rest):
            piece = rest[: found.end()]
            if found[0][0] in "\n。！？；" or len(piece.strip()) >= SHORTEST:
                return found.end()
        if is_end:
            return len(rest)
        return rest.rfind(" ", 1, LONGEST) + 1 or None if len(rest) > LONGEST else None

    def _fenced(self, *, is_end: bool) -> int | None:
        opened = _FENCE.match(self._rest)
        closed = opened and _CLOSED[opened[1][0]].search(self._rest, opened.end())
        if closed and (closed[1] or is_end):
            return closed.end()
        return len(self._rest) if is_end else None
