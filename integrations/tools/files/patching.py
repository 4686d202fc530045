"""Patches of several files, as coding models write them.

The grammar, after the one published with the Codex command line:

    *** Begin Patch
    *** Add File: PATH              then lines with `+`
    *** Delete File: PATH
    *** Update File: PATH           then `*** Move to: PATH` or not, and hunks
    @@ [a line that the hunk follows]
     context, -removed, +added      then `*** End of File` or not
    *** End Patch
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import accumulate

from msgspec import Struct, field

from hub.core.errors import InvalidRequest
from hub.security.jail_path import components
from integrations.tools.files.editing import FOLDED_LIMIT, fold, nearest

BEGIN, END, END_OF_FILE, MOVE = "*** Begin Patch", "*** End Patch", "*** End of File", "*** Move to: "
SECTIONS_LIMIT = 100
HUNKS_LIMIT = 500
"""In one file."""

_NUMBERS = re.compile(r"-\d+(,\d+)? \+\d+(,\d+)? @@ ?")


class PatchAction(StrEnum):
    """The action of a section."""

    ADD = "Add"
    UPDATE = "Update"
    DELETE = "Delete"


_HEADS = {f"*** {action} File: ": action for action in PatchAction}


class PatchHunk(Struct):
    """Replaced lines.

    Attributes:
        after: The line it follows; empty when that is not said.
        lines: Each with its sign: ` `, `-` or `+`.
        at_end: Whether it is at the end of the file.
    """

    after: str = ""
    lines: list[str] = field(default_factory=list)
    at_end: bool = False


class PatchSection(Struct):
    """The patch of one file."""

    action: PatchAction
    path: str
    target: str
    hunks: list[PatchHunk] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The contents of a new file."""
        return "".join(f"{line}\n" for line in self.added)


def parse_patch(text: str) -> list[PatchSection]:
    """Parse a patch, file by file.

    Raises:
        InvalidRequest: It is not a patch, or names a file twice.
        PathRefused: A path leads out of the workspace.
    """
    lines = text.strip("\r\n").split("\n")
    if lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise InvalidRequest(f"a patch begins with a line `{BEGIN}` and ends with a line `{END}`")
    sections: list[PatchSection] = []
    for number, line in enumerate(lines[1:-1], start=2):
        head = next((each for each in _HEADS if line.startswith(each)), None)
        if head is not None:
            path = line.removeprefix(head).strip()
            sections.append(PatchSection(_HEADS[head], path, path))
        elif sections:
            _take(sections[-1], line.removesuffix("\r"), number)
        elif line.strip():
            raise InvalidRequest(f"line {number} of the patch belongs to no file; expected `*** Update File: PATH`")
    _check(sections)
    return sections


def _take(section: PatchSection, line: str, number: int) -> None:
    if section.action is PatchAction.ADD and line.startswith("+"):
        section.added.append(line[1:])
    elif section.action is PatchAction.UPDATE and line.startswith(MOVE) and not section.hunks:
        section.target = line.removeprefix(MOVE).strip()
    elif section.action is PatchAction.UPDATE and line.startswith("@@"):
        section.hunks.append(PatchHunk(_NUMBERS.sub("", line[2:].strip(), count=1)))
    elif section.action is PatchAction.UPDATE and line.strip() == END_OF_FILE and section.hunks:
        section.hunks[-1].at_end = True
    elif section.action is PatchAction.UPDATE and (not line or line[0] in " +-"):
        if not section.hunks:
            section.hunks.append(PatchHunk())
        section.hunks[-1].lines.append(line)
    elif line.strip():
        expected = "lines with +" if section.action is PatchAction.ADD else "`@@`, or a line with a space, - or +"
        if section.action is PatchAction.DELETE:
            expected = "the next file"
        raise InvalidRequest(f"line {number} of the patch is {line[:100]!r}; expected {expected}")


def _check(sections: Sequence[PatchSection]) -> None:
    if not 0 < len(sections) <= SECTIONS_LIMIT:
        raise InvalidRequest(f"the patch names {len(sections)} files; expected 1 to {SECTIONS_LIMIT}")
    seen: set[tuple[str, ...]] = set()
    for section in sections:
        if not section.path or not section.target:
            raise InvalidRequest("a file of the patch has no path")
        for names in {components(section.path), components(section.target)}:
            if names in seen:
                raise InvalidRequest(f"the patch names {'/'.join(names)} twice; put all its hunks below one heading")
            seen.add(names)
        if section.action is PatchAction.UPDATE and not section.hunks and section.target == section.path:
            raise InvalidRequest(f"the patch changes nothing in {section.path}")
        if len(section.hunks) > HUNKS_LIMIT:
            raise InvalidRequest(f"{section.path} has {len(section.hunks)} hunks; expected at most {HUNKS_LIMIT}")
        for hunk in section.hunks:
            while hunk.lines and not hunk.lines[-1]:  # blank lines between two headings
                hunk.lines.pop()
            hunk.lines = [line or " " for line in hunk.lines]


def apply_hunks(text: str, section: PatchSection, *, quoting: bool = True) -> str:
    """Return a file's text with the hunks of a section applied, each after the one before.

    Args:
        quoting: Whether an error may quote the text.

    Raises:
        InvalidRequest: A hunk does not fit.
    """
    breaks = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
    lines = text.split(breaks)
    last = lines.pop() if lines[-1] == "" else None
    forms = [_SearchedLines(lines, str)]
    if len(text) <= FOLDED_LIMIT:
        forms.append(_SearchedLines(lines, _folded))
    fresh: list[str] = []
    at = 0
    for number, hunk in enumerate(section.hunks, start=1):
        old = [line[1:] for line in hunk.lines if line[0] != "+"]
        start = _find(forms, [hunk.after], at) + 1 if hunk.after else at
        if hunk.after and not start:
            raise _misfit(section, number, text, hunk.after, quoting=quoting)
        if old:
            start = _find(forms, old, max(start, len(lines) - len(old)) if hunk.at_end else start)
        elif hunk.at_end or not hunk.after:
            start = len(lines)
        if start < 0:
            raise _misfit(section, number, text, "\n".join(old), quoting=quoting)
        fresh += lines[at:start]
        at = start
        for line in hunk.lines:
            if line[0] == "+":
                fresh.append(line[1:])
                continue
            if line[0] == " ":
                fresh.append(lines[at])
            at += 1
    fresh += lines[at:]
    return breaks.join(fresh if last is None else [*fresh, last])


class _SearchedLines:
    """Lines among which others are looked for, in one form; a search takes no longer than reading them once.

    Args:
        form: Returns the form in which a line is compared.
    """

    def __init__(self, lines: Sequence[str], form: Callable[[str], str]) -> None:
        self._lines, self._form = lines, form

    @cached_property
    def _text(self) -> str:
        """All lines, with a line break before each and after the last."""
        return "\n" + "".join(f"{self._form(line)}\n" for line in self._lines)

    def find(self, wanted: Sequence[str], start: int) -> int:
        """Return the position of lines; -1 if they do not occur after `start`."""
        at = self._text.find("\n" + "".join(f"{self._form(line)}\n" for line in wanted), self._place(start))
        return bisect_left(self._places, at) if at >= 0 else -1

    @cached_property
    def _places(self) -> array[int]:
        """Where the line break before each line is in the text."""
        return array("L", accumulate((len(line) + 1 for line in self._text[1:-1].split("\n")), initial=0))

    def _place(self, line: int) -> int:
        return self._places[min(line, len(self._lines))]


def _find(forms: Sequence[_SearchedLines], wanted: Sequence[str], start: int) -> int:
    """Return the position of lines, first exactly, then with other spaces and quotes; -1 if they do not occur."""
    return next((at for form in forms if (at := form.find(wanted, start)) >= 0), -1)


def _folded(line: str) -> str:
    return fold(line.rstrip()).text


def _misfit(section: PatchSection, number: int, text: str, wanted: str, *, quoting: bool) -> InvalidRequest:
    shown = next((line for line in wanted.split("\n") if line.strip()), "")[:100]
    return InvalidRequest(
        f"hunk {number} of {section.path}: its lines, beginning with {shown!r}, were not found, or not after the hunk "
        f"before it{nearest(text, wanted, quoting=quoting)}"
    )
