"""Edits automations in the user's files: appended, changed and removed in place, comments kept.

Everything here blocks; call it in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from hub.config import edit
from hub.config.files import ROOT_FILE
from hub.config.files_editor import FilesEditor
from hub.config.paths import KeyPath
from hub.config.render import block
from hub.config.spans import SpanKind, Tagged, read_spans
from hub.config.store import ConfigStore
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.slugs import slugify

SECTION = "automation"
FILE = "automations.yaml"
_END = 1_000_000_000
"""An index behind the last item of any list."""
AGAIN_S = (0.02, 0.1, 0.3)
"""An editor that saves a file empties it first, so that what is read then is not what it says."""


class AutomationsFile:
    """The section `automation`, in whichever files it is written."""

    def __init__(self, config: ConfigStore) -> None:
        self._config = config

    def append(self, item: Mapping[str, Any]) -> None:
        """Append an automation; creates `automations.yaml` if there is no section yet.

        Raises:
            EditRefused: The section is written in a way that only a person should change.
            ConfigInvalid: The automation is not valid; nothing was written.
        """
        _again(lambda: self._append(item))

    def change(self, id: str, changes: Mapping[str, Any]) -> None:
        """Set keys of an automation; None removes a key.

        Raises:
            NotFound: There is none with this id.
            EditRefused: It is written in a way that only a person should change.
        """

        def edited(text: str, item: KeyPath) -> str:
            for key, value in changes.items():
                text = edit.remove(text, (*item, key)) if value is None else edit.set_value(text, (*item, key), value)
            return text

        self._edit(id, edited, inside=True)

    def remove(self, id: str) -> None:
        """Remove an automation.

        Raises:
            NotFound: There is none with this id.
            EditRefused: It is written in a way that only a person should change.
        """
        self._edit(id, edit.remove)

    def items(self) -> list[Any]:
        """Return the automations as they are written, from the configuration in force."""
        raw = self._config.current.raw.get(SECTION)
        return raw if isinstance(raw, list) else [raw] if isinstance(raw, Mapping) else []

    # --- inside ---

    def _append(self, item: Mapping[str, Any]) -> None:
        raw = self._config.current.raw.get(SECTION)
        if isinstance(raw, list) and raw:
            self._editor.set_value((SECTION, _END), dict(item))
            return
        text, hash = self._text(ROOT_FILE)
        root = read_spans(text) if text else None
        pair = root.entry(SECTION) if root is not None else None
        if pair is None:
            self._begin(item)
            return
        value = pair[1].data
        if isinstance(value, Tagged) and value.tag == "!include":
            self._append_to(str(value.value), item)
            return
        if isinstance(value, Tagged):
            raise edit.EditRefused(f"{SECTION} is {value.tag} {value.value}; an automation cannot be added to it here")
        self._editor.write_file(ROOT_FILE, edit.set_value(text, (SECTION,), [dict(item)]), hash, must_be_valid=True)

    def _edit(self, id: str, change: Callable[[str, KeyPath], str], *, inside: bool = False) -> None:
        """Edit an automation in place.

        Args:
            change: Given the text of its file and its place in it, returns the new text.
            inside: Whether only what is in it changes; then it may be in a file of its own.
        """

        def once() -> None:
            place = self._editor.where(lambda raw: _place(raw, id, inside=inside))
            item = place.keys[:-1] if inside else place.keys
            if _id_of(edit.get_value(place.text, item)) != id:
                raise Conflict(f"{place.file} was changed meanwhile; repeat the change")
            with edit.prefix_errors(place.file):
                changed = change(place.text, item)
            self._editor.write_file(place.file, changed, place.hash, must_be_valid=True)

        _again(once)

    @property
    def _editor(self) -> FilesEditor:
        return self._config.editor

    def _begin(self, item: Mapping[str, Any]) -> None:
        """Write the first automation of a home into `automations.yaml`."""
        text, _ = self._text(FILE)
        if text.strip() and read_spans(text) is not None:
            raise Conflict(
                f"{FILE} exists but is not used; add `{SECTION}: !include {FILE}` to {ROOT_FILE}, or remove it"
            )
        self._append_to(FILE, item)
        try:
            self._editor.set_value((SECTION,), Tagged("!include", FILE))
        except Exception:
            self._editor.write_file(FILE, text, self._text(FILE)[1])
            raise

    def _append_to(self, name: str, item: Mapping[str, Any]) -> None:
        """Add an automation to a file that holds none yet."""
        text, hash = self._text(name)
        root = read_spans(text.removeprefix(edit.BYTE_ORDER_MARK)) if text else None
        lines = "\n".join(block([dict(item)], 0)) + "\n"
        if root is None:
            gap = "" if not text or text.endswith("\n") else "\n"
            self._editor.write_file(name, f"{text}{gap}{lines}", hash, must_be_valid=True)
            return
        if root.kind is not SpanKind.LIST or root.items:
            fresh = edit.set_value(text, (len(root.items),), dict(item))
            self._editor.write_file(name, fresh, hash, must_be_valid=True)
            return
        behind = text[root.end :].lstrip("\n")
        self._editor.write_file(name, text[: root.start] + lines + behind, hash, must_be_valid=True)

    def _text(self, name: str) -> tuple[str, str | None]:
        try:
            return self._editor.read_file(name, admin=True)
        except NotFound:
            return "", None


def _again(write: Callable[[], None]) -> None:
    """Write, and start over if a person saves the file meanwhile."""
    for wait_s in AGAIN_S:
        try:
            write()
        except (Conflict, InvalidRequest, NotFound):
            time.sleep(wait_s)
        else:
            return
    write()


def _place(raw: Mapping[str, Any], id: str, *, inside: bool) -> KeyPath:
    """Return the path of an automation in the files, or of its first key."""
    items = raw.get(SECTION)
    found = [(index, item) for index, item in enumerate(items if isinstance(items, list) else []) if _id_of(item) == id]
    if not found:
        raise NotFound(f"there is no automation {id!r} in the files")
    index, item = next(((index, item) for index, item in found if "id" in item), found[0])
    return (SECTION, index, next(iter(item))) if inside else (SECTION, index)


def _id_of(item: Any) -> str | None:
    """Return the id of an automation as written; without one, its alias."""
    if not isinstance(item, Mapping):
        return None
    return str(item["id"]) if item.get("id") else slugify(str(item.get("alias") or ""))
