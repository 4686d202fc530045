"""Writing automations into the user's files: appended, changed and removed where they stand, comments kept.

Everything here blocks; call it in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.config import edit
from hub.config.files import ROOT_FILE
from hub.config.files_editor import FilesEditor
from hub.config.render import block
from hub.config.spans import Kind, Tagged, read_spans
from hub.config.store import ConfigStore
from hub.core.errors import Conflict, InvalidRequest, NotFound

SECTION = "automation"
FILE = "automations.yaml"
_END = 1_000_000_000
"""An index behind the last item of any list."""


class AutomationsFile:
    """The section `automation`, wherever it is written."""

    def __init__(self, config: ConfigStore) -> None:
        self._config = config

    def append(self, item: Mapping[str, Any]) -> None:
        """Add an automation behind the others; makes `automations.yaml` when there is no place for it yet.

        Raises:
            EditRefused: The section is written in a way that only a person should change.
            ConfigInvalid: The automation is not valid; nothing was written.
        """
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

    def change(self, id: str, changes: Mapping[str, Any]) -> None:
        """Set keys of an automation; None takes a key out.

        Raises:
            NotFound: There is none with this id.
        """
        index = self.index(id)
        for key, value in changes.items():
            keys = (SECTION, index, key)
            if value is not None:
                self._editor.set_value(keys, value)
            else:
                self._editor.remove_value(keys)

    def remove(self, id: str) -> None:
        """Take an automation out.

        Raises:
            NotFound: There is none with this id.
        """
        self._editor.remove_value((SECTION, self.index(id)))

    def index(self, id: str) -> int:
        """Return the place of an automation in the files as they are now.

        Raises:
            NotFound: There is none with this id.
        """
        items = self.items()
        places = [at for at, item in enumerate(items) if isinstance(item, Mapping) and str(item.get("id")) == id]
        # What is in force may be older than the files.
        for at in (*places, *(at for at in range(len(items)) if at not in places)):
            try:
                if str(self._editor.get_value((SECTION, at, "id"))) == id:
                    return at
            except (NotFound, InvalidRequest):
                continue
        raise NotFound(f"there is no automation {id!r} in the files")

    def items(self) -> list[Any]:
        """Return the automations as they are written, from the configuration in force."""
        raw = self._config.current.raw.get(SECTION)
        return raw if isinstance(raw, list) else [raw] if isinstance(raw, Mapping) else []

    # --- inside ---

    @property
    def _editor(self) -> FilesEditor:
        return self._config.editor

    def _begin(self, item: Mapping[str, Any]) -> None:
        """Write the first automation of a home into a file of its own."""
        text, _ = self._text(FILE)
        if text.strip() and read_spans(text) is not None:
            raise Conflict(
                f"{FILE} is there but not in use; add `{SECTION}: !include {FILE}` to {ROOT_FILE}, or take it away"
            )
        self._append_to(FILE, item)
        try:
            self._editor.set_value((SECTION,), Tagged("!include", FILE))
        except Exception:
            self._editor.write_file(FILE, text, self._text(FILE)[1])
            raise

    def _append_to(self, name: str, item: Mapping[str, Any]) -> None:
        """Put an automation into a file that holds none yet."""
        text, hash = self._text(name)
        root = read_spans(text.removeprefix(edit.BYTE_ORDER_MARK)) if text else None
        lines = "\n".join(block([dict(item)], 0)) + "\n"
        if root is None:
            gap = "" if not text or text.endswith("\n") else "\n"
            self._editor.write_file(name, f"{text}{gap}{lines}", hash, must_be_valid=True)
            return
        if root.kind is not Kind.LIST or root.items:
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
