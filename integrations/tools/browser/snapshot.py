"""Snapshots of a page for a model: what Playwright sees of its accessibility tree, with short refs, cut to size."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

CHARACTERS_DEFAULT = 20_000
CHARACTERS_LIMIT = 100_000
INTERACTIVE = frozenset(
    {
        *("link", "button", "textbox", "searchbox", "combobox", "listbox", "option", "checkbox", "radio", "switch"),
        *("slider", "spinbutton", "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "treeitem"),
    }
)
_REF = re.compile(r" \[ref=((?:f\d+)?e\d+)\]")
_BOX = re.compile(r" \[box=(-?\d+),(-?\d+),(\d+),(\d+)\]")
_LINE = re.compile(r"^(?P<indent> *)- (?P<body>.*)$")
_BODY = re.compile(r'^\'?(?P<role>[a-z]+)(?: "(?P<name>(?:[^"\\]|\\.)*)")?')
_WRAPPER = re.compile(r"^generic(?: \[(?!active|cursor)[^\]]*\])*:$")
_URL = "/url: "


class Element(Struct, frozen=True):
    """An element of a snapshot.

    Attributes:
        ref: Playwright's name of it.
        role: Its role.
        name: The page's name for it.
        box: Its place in the window: x, y, width, height.
    """

    ref: str
    role: str
    name: str
    box: tuple[int, int, int, int] | None = None

    @property
    def label(self) -> str:
        """Its description, for people."""
        return f'{self.role} "{self.name[:80]}"'


class SnapshotForm(Struct, frozen=True):
    """How a snapshot is written.

    Attributes:
        role_refs: Whether refs are written `e12` instead of `12`.
        interactive: Only what can be acted on, without the tree.
        compact: Without elements that only hold others.
    """

    role_refs: bool = False
    interactive: bool = False
    compact: bool = False


def read_snapshot(text: str, number: Callable[[str], int], form: SnapshotForm) -> tuple[str, dict[int, Element]]:
    """Return a snapshot as a model reads it, and its elements by number.

    Args:
        text: Playwright's, with its refs.
        number: Returns the number of one of these refs.
    """
    lines: list[str] = []
    found: dict[int, Element] = {}
    dropped: list[int] = []
    last: int | None = None
    for line in text.splitlines():
        matched = _LINE.match(line)
        if matched is None:
            lines.append(line)
            continue
        indent, body = len(matched["indent"]), matched["body"]
        if last is not None and body.startswith(_URL) and form.interactive:
            lines[-1] += " " + body.removeprefix(_URL).strip("\"'")
            continue
        shown = last = None
        if ref := _REF.search(body):
            last = number(ref[1])
            element = _element(ref[1], body)
            found[last] = element
            shown = element.role in INTERACTIVE or "[cursor=pointer]" in body
            body = _REF.sub(f" [ref={'e' if form.role_refs else ''}{last}]", _BOX.sub("", body), count=1)
        if form.interactive:
            if shown:
                lines.append(f"- {body.removesuffix(':').replace(' [cursor=pointer]', '')}")
            else:
                last = None
            continue
        while dropped and dropped[-1] >= indent:
            dropped.pop()
        if form.compact and _WRAPPER.match(body):
            dropped.append(indent)
            continue
        lines.append(f"{' ' * (indent - 2 * len(dropped))}- {body}")
    return "\n".join(lines), found


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, at the end of a line, that says when it was cut."""
    if len(text) <= limit:
        return text
    end = text.rfind("\n", 0, limit)
    shown = text[: end if end > 0 else limit]
    return f"{shown}\n[cut: {limit} of {len(text)} characters; interactive, compact or depth show less]"


def _element(ref: str, body: str) -> Element:
    matched, box = _BODY.match(body), _BOX.search(body)
    role, name = (matched["role"], matched["name"] or "") if matched else ("element", "")
    where = (int(box[1]), int(box[2]), int(box[3]), int(box[4])) if box else None
    return Element(ref, role, name.replace('\\"', '"'), box=where)
