"""Edits scripts in place, as YAML: checked first, comments kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from hub.automation.definition.grammar import script as grammar
from hub.automation.definition.kinds import OUR_KINDS, Kinds
from hub.automation.engine.scripts import SECTION
from hub.config import edit
from hub.config.files import ROOT_FILE
from hub.config.files_editor import EditPlace
from hub.config.item_text import ItemText, entry_text
from hub.config.paths import KeyPath
from hub.config.render import block
from hub.config.spans import SpanKind, Tagged, as_written, read_spans
from hub.config.store import ConfigStore
from hub.core.errors import Conflict, InvalidRequest, LimitExceeded, NotFound
from hub.core.schema import SchemaError, describe_error
from hub.core.slugs import slugify

FILE = "scripts.yaml"
TEXT_LIMIT = 262_144
USE = "use_blueprint"


class WrittenScript(Struct, frozen=True):
    """A script as it is written.

    Attributes:
        text: Its YAML, with its comments, at the left margin.
        hash: To be passed to `save`.
        file, line: Its place.
    """

    key: str
    text: str
    hash: str
    file: str
    line: int


class ScriptEditor:
    """Writes scripts. Also raises `ConfigInvalid` and `EditRefused`; nothing is written then.

    Args:
        config: The files.
        expand: Fills a blueprint in; raises `Invalid`.
        reload: Puts the files into force.
    """

    def __init__(
        self,
        config: ConfigStore,
        expand: Callable[[Mapping[str, Any]], Any],
        reload: Callable[[], Awaitable[Any]],
        kinds: Kinds = OUR_KINDS,
    ) -> None:
        self._config = config
        self._expand = expand
        self._reload = reload
        self.kinds = kinds
        """The kinds of triggers, conditions and actions that a script may use."""
        self._saving = asyncio.Lock()

    async def read(self, key: str) -> WrittenScript:
        """Return a script as it is written.

        Raises:
            NotFound: It does not exist.
        """
        item, place = await asyncio.to_thread(self._read, key)
        return WrittenScript(key, item.text, item.hash, place.file, item.first_line)

    async def save(self, key: str | None, text: str, base_hash: str | None, new_key: str = "") -> str:
        """Write a script.

        Args:
            key: Which; None makes a new one.
            text: The whole script but its key.
            base_hash: The hash of the edited version; without it, the present one is replaced unchecked.
            new_key: The key of a new one; without it, it follows from the alias.

        Returns:
            Its key.

        Raises:
            Conflict: It was changed meanwhile, or a new one is there already.
            InvalidRequest: It is not a script.
        """
        if len(text) > TEXT_LIMIT:
            raise LimitExceeded(f"the script is longer than {TEXT_LIMIT // 1024} KiB")
        data = _data_of(text)
        async with self._saving:
            written = await asyncio.to_thread(self._save, key, text, data, base_hash, new_key)
        await self._reload()
        return written

    async def delete(self, key: str) -> None:
        """Remove a script from its file; the configuration's history keeps it.

        Raises:
            NotFound: It does not exist.
        """
        async with self._saving:
            await asyncio.to_thread(self._delete, key)
        await self._reload()

    # --- what follows blocks ---

    def judge(self, data: Mapping[str, Any]) -> None:
        """Refuse an invalid script, or one whose blueprint cannot be filled in.

        Args:
            data: Plain data; a tag is the text it is written as.

        Raises:
            Invalid: With the path of what is wrong.
        """
        with self.kinds.in_use():
            found = grammar(data)
        if USE in data:
            self._expand(found)

    def _save(self, key: str | None, text: str, data: dict[str, Any], base_hash: str | None, new_key: str) -> str:
        self._check(data)
        if key is None:
            key = new_key or self._free_key(str(data.get("alias") or "script"))
            if key in self._keys():
                raise Conflict(f"there is a script {key} already")
            self._add(key, data)
        item, place = self._read(key)
        if base_hash is not None and base_hash != item.hash:
            raise Conflict(f"the script {key} was changed meanwhile; load it again and repeat the change")
        self._config.write_file(place.file, item.put_back(place.text, text), place.hash, must_be_valid=True)
        return key

    def _delete(self, key: str) -> None:
        self._read(key)
        self._config.editor.remove_value((SECTION, key))

    def _read(self, key: str) -> tuple[ItemText, EditPlace]:
        def find(raw: Mapping[str, Any]) -> KeyPath:
            if key not in _scripts(raw):
                raise NotFound(f"there is no script {key} in the files", details={"script": key})
            return (SECTION, key)

        place = self._config.editor.where(find)
        return entry_text(place.text, place.keys), place

    def _keys(self) -> set[str]:
        return {str(key) for key in _scripts(self._config.current.raw)}

    def _free_key(self, alias: str) -> str:
        wanted = slugify(alias) or "script"
        taken, key, count = self._keys(), wanted, 1
        while key in taken:
            count += 1
            key = f"{wanted}_{count}"
        return key

    def _check(self, data: Mapping[str, Any]) -> None:
        try:
            self.judge(as_written(data))
        except SchemaError as error:
            raise InvalidRequest(describe_error(error)) from error

    def _add(self, key: str, data: dict[str, Any]) -> None:
        """Append a script; creates `scripts.yaml` if there is no section yet."""
        if self._keys():
            self._config.editor.set_value((SECTION, key), data)
            return
        text, hash = self._text(ROOT_FILE)
        root = read_spans(text) if text else None
        pair = root.entry(SECTION) if root is not None else None
        if pair is None:
            self._begin(key, data)
        elif isinstance(pair[1].data, Tagged) and pair[1].data.tag == "!include":
            self._add_to(str(pair[1].data.value), key, data)
        elif isinstance(pair[1].data, Tagged):
            raise edit.EditRefused(f"{SECTION} is {pair[1].data.tag}; a script cannot be added to it here")
        else:
            fresh = edit.set_value(text, (SECTION,), {key: data})
            self._config.write_file(ROOT_FILE, fresh, hash, must_be_valid=True)

    def _begin(self, key: str, data: dict[str, Any]) -> None:
        text, _ = self._text(FILE)
        if text.strip() and read_spans(text) is not None:
            raise Conflict(
                f"{FILE} exists but is not used; add `{SECTION}: !include {FILE}` to {ROOT_FILE}, or remove it"
            )
        self._add_to(FILE, key, data)
        try:
            self._config.editor.set_value((SECTION,), Tagged("!include", FILE))
        except Exception:
            self._config.write_file(FILE, text, self._text(FILE)[1])
            raise

    def _add_to(self, name: str, key: str, data: dict[str, Any]) -> None:
        """Add a script to a file that holds none yet."""
        text, hash = self._text(name)
        root = read_spans(text) if text else None
        lines = "\n".join(block({key: data}, 0)) + "\n"
        if root is None:
            gap = "" if not text or text.endswith("\n") else "\n"
            fresh = f"{text}{gap}{lines}"
        elif root.kind is SpanKind.MAPPING and root.entries:
            fresh = edit.set_value(text, (key,), data)
        else:
            fresh = text[: root.start] + lines + text[root.end :].lstrip("\n")
        self._config.write_file(name, fresh, hash, must_be_valid=True)

    def _text(self, name: str) -> tuple[str, str | None]:
        try:
            return self._config.read_file(name, admin=True)
        except NotFound:
            return "", None


def _scripts(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    found = raw.get(SECTION)
    return found if isinstance(found, Mapping) else {}


def _data_of(text: str) -> dict[str, Any]:
    node = read_spans(text)
    if node is None or not isinstance(node.data, dict):
        raise InvalidRequest("a script is a mapping: keys such as alias, fields and sequence")
    return node.data
