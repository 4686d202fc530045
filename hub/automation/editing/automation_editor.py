"""Edits automations in place, as data or as YAML: checked first, and only differences are written."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct, field

from hub.automation.definition.grammar import automation as grammar
from hub.automation.definition.kinds import OUR_KINDS, Kinds
from hub.automation.editing.automations_file import SECTION, AutomationsFile
from hub.config import edit
from hub.config.errors import ConfigError
from hub.config.files_editor import EditPlace
from hub.config.item_changes import with_changes
from hub.config.item_text import ItemText, item_text, mapping_in
from hub.config.paths import KeyPath
from hub.config.spans import Tagged, as_written, read_spans
from hub.config.store import ConfigStore
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.schema import SchemaError, describe_error
from hub.core.slugs import slugify

COPY = " (copy)"
TEXT_LIMIT = 262_144
USE = "use_blueprint"
_SECRET = re.compile(r"!secret [A-Za-z0-9_.-]{1,128}")
_OLD_WORDS = (
    ("trigger", "triggers"),
    ("condition", "conditions"),
    ("action", "actions"),
    ("service", "action"),
    ("platform", "trigger"),
)
"""Old word and new: one that is written stays as it is written when only what is below it changes."""


class AutomationText(Struct, frozen=True):
    """An automation as written in its file.

    Attributes:
        text: Its YAML, with its comments, at the left margin.
        hash: To be passed to `save`, so that nobody overwrites another's change.
        file, line: Its place.
        data: The same as plain data; a tag is the text `!secret name`.
    """

    id: str
    text: str
    hash: str
    file: str
    line: int
    data: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The automation in the gateway's shape."""
        return {
            "id": self.id,
            "yaml": self.text,
            "hash": self.hash,
            "file": self.file,
            "line": self.line,
            "automation": dict(self.data),
        }


class SavedAutomation(Struct, frozen=True):
    """A saved automation, and the resulting errors of the whole configuration."""

    written: AutomationText
    errors: list[ConfigError] = field(default_factory=list)
    warnings: list[ConfigError] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The result in the gateway's shape."""
        return {
            **self.written.as_dict(),
            "errors": [error.as_dict() for error in self.errors],
            "warnings": [warning.as_dict() for warning in self.warnings],
        }


class AutomationEditor:
    """Edits automations on behalf of their owner, for the dashboard and the gateway.

    Also raises `ConfigInvalid` with file and line of what is wrong, and `EditRefused` where only a
    person can edit; nothing is written then.

    Args:
        config: The files.
        file: Adds and removes.
        place: The index of an automation in the section, for those that have no id of their own.
        expand: Fills a blueprint in; raises `Invalid`.
        reload: Puts the files into force.
        keep_off: Makes a new automation start turned off.
    """

    def __init__(
        self,
        config: ConfigStore,
        file: AutomationsFile,
        place: Callable[[str], int | None],
        expand: Callable[[Mapping[str, Any]], Any],
        reload: Callable[[], Awaitable[Any]],
        *,
        keep_off: Callable[[str], Awaitable[None]],
        kinds: Kinds = OUR_KINDS,
    ) -> None:
        self._config = config
        self._file = file
        self._place = place
        self._expand = expand
        self._reload = reload
        self._keep_off = keep_off
        self.kinds = kinds
        """The kinds of triggers, conditions and actions that an automation may use."""
        self._saving = asyncio.Lock()

    async def read_yaml(self, id: str) -> AutomationText:
        """Return an automation as written in its file.

        Raises:
            NotFound: There is none with this id.
        """
        return (await asyncio.to_thread(self._read, id))[0]

    async def save(
        self, id: str | None, automation: Mapping[str, Any], base_hash: str | None = None
    ) -> SavedAutomation:
        """Save an automation that was edited as data.

        Args:
            id: The automation to change; None adds one, whose id is made from its alias unless it has one.
            automation: The whole automation; a text `!secret name` names a secret.
            base_hash: The hash of the edited version; without it, the present one is changed unchecked.

        Raises:
            Conflict: It was changed meanwhile.
        """
        return await self._saved(id, dict(automation), None, base_hash)

    async def save_yaml(self, id: str | None, text: str, base_hash: str | None = None) -> SavedAutomation:
        """Save an automation that was edited as YAML, with its comments; see `save`."""
        if len(text) > TEXT_LIMIT:
            raise InvalidRequest(f"the automation is longer than {TEXT_LIMIT // 1024} KiB")
        data: dict[str, Any] = mapping_in(text).data
        return await self._saved(id, data, text, base_hash)

    async def delete(self, id: str, base_hash: str | None = None) -> None:
        """Delete an automation from its file; the old version stays in the history of the configuration."""
        async with self._saving:
            await asyncio.to_thread(self._delete, id, base_hash)
        await self._reload()

    async def duplicate(self, id: str) -> SavedAutomation:
        """Write a copy, with its comments, under another id and name; the copy is off until it is turned on."""
        written = await self.read_yaml(id)
        alias = str(written.data.get("alias") or id)
        text = edit.set_value(written.text, ("alias",), f"{alias}{COPY}")
        copy = self._free_id(f"{alias}{COPY}")
        await self._keep_off(copy)
        return await self.save_yaml(None, edit.set_value(text, ("id",), copy))

    # --- inside; what follows blocks ---

    async def _saved(
        self, id: str | None, data: dict[str, Any], text: str | None, base_hash: str | None
    ) -> SavedAutomation:
        async with self._saving:
            saved = await asyncio.to_thread(self._save, id, data, text, base_hash)
        await self._reload()
        return saved

    def _save(self, id: str | None, data: dict[str, Any], text: str | None, base_hash: str | None) -> SavedAutomation:
        self._check_blueprint(data)
        if id is None:
            return self._add(data, text)
        written, item, place = self._read(id)
        _judge_hash(written, base_hash)
        old = _data_of(item.text)
        if text is None:
            text = with_changes(item.text, old, _as_written(_tagged(data), old))
        return self._write(id, text, item, place)

    def _write(self, id: str, text: str, item: ItemText, place: EditPlace) -> SavedAutomation:
        if "id" not in _data_of(text):
            text = edit.set_value(text, ("id",), id)
        file_text = item.put_back(place.text, text)
        saved = self._config.write_file(place.file, file_text, place.hash, must_be_valid=True)
        written, _ = _written(str(_data_of(text)["id"]), place.file, file_text, item.keys)
        return SavedAutomation(written, saved.errors, saved.warnings)

    def _add(self, data: dict[str, Any], text: str | None) -> SavedAutomation:
        id = str(data.get("id") or self._free_id(str(data.get("alias") or "automation")))
        if id in self._ids():
            raise Conflict(f"there is an automation with the id {id!r} already")
        self._file.append(_tagged({"id": id, **data}))
        written, item, place = self._read(id)
        return SavedAutomation(written) if text is None else self._write(id, text, item, place)

    def _delete(self, id: str, base_hash: str | None) -> None:
        written, item, place = self._read(id)
        _judge_hash(written, base_hash)
        text = edit.remove(place.text, item.keys)
        self._config.write_file(place.file, text, place.hash, must_be_valid=True)

    def _read(self, id: str) -> tuple[AutomationText, ItemText, EditPlace]:
        place = self._config.editor.where(lambda raw: (SECTION, self._index(id, raw)))
        written, item = _written(id, place.file, place.text, place.keys)
        return written, item, place

    def _index(self, id: str, raw: Mapping[str, Any]) -> int:
        """Return the index of an automation in its section."""
        items = raw.get(SECTION)
        items = items if isinstance(items, list) else []
        for index, item in enumerate(items):
            if isinstance(item, Mapping) and str(item.get("id")) == id:
                return index
        place = self._place(id)
        if place is not None and place < len(items) and "id" not in items[place]:
            return place
        raise NotFound(f"there is no automation {id!r} in the files")

    def _ids(self) -> set[str]:
        return {str(each.get("id")) for each in self._file.items() if isinstance(each, Mapping)}

    def _free_id(self, alias: str) -> str:
        taken = self._ids()
        wanted = slugify(alias) or "automation"
        id, count = wanted, 1
        while id in taken:
            count += 1
            id = f"{wanted}_{count}"
        return id

    def _check_blueprint(self, data: Mapping[str, Any]) -> None:
        """Check the inputs by filling the blueprint in, which the check of the files does not do."""
        if USE not in data:
            return
        try:
            with self.kinds.in_use():
                self._expand(grammar(as_written(data)))
        except SchemaError as error:
            raise InvalidRequest(f"{SECTION}: {describe_error(error)}") from error


def _written(id: str, file: str, text: str, keys: KeyPath) -> tuple[AutomationText, ItemText]:
    item = item_text(text, keys)
    return AutomationText(id, item.text, item.hash, file, item.first_line, as_written(_data_of(item.text))), item


def _judge_hash(written: AutomationText, base_hash: str | None) -> None:
    if base_hash is not None and base_hash != written.hash:
        raise Conflict(
            f"the automation {written.id} was changed meanwhile; load it again and repeat the change",
            details={"id": written.id, "hash": written.hash},
        )


def _data_of(text: str) -> dict[str, Any]:
    """Return the mapping in a text; tags are `Tagged`."""
    node = read_spans(text)
    if node is None or not isinstance(node.data, dict):
        raise InvalidRequest("expected one automation: a mapping with `triggers:` and `actions:`")
    return node.data


def _tagged(value: Any) -> Any:
    """Return data in which texts that name a secret are tags again."""
    if isinstance(value, str) and _SECRET.fullmatch(value):
        tag, _, name = value.partition(" ")
        return Tagged(tag, name)
    if isinstance(value, dict):
        return {key: _tagged(each) for key, each in value.items()}
    return [_tagged(each) for each in value] if isinstance(value, list) else value


def _as_written(new: Any, old: Any) -> Any:
    """Return new data in the spelling of the old: with old keys, and tags that were shown as text."""
    if isinstance(old, Tagged) and isinstance(new, str) and new == as_written(old):
        return old
    if isinstance(new, dict) and isinstance(old, dict):
        words = {
            new_word: old_word
            for old_word, new_word in _OLD_WORDS
            if old_word in old and old_word not in new and new_word in new and new_word not in old
        }
        renamed = {words.get(key, key): each for key, each in new.items()}
        return {key: _as_written(each, old.get(key)) for key, each in renamed.items()}
    if isinstance(new, list) and isinstance(old, list):
        return [_as_written(each, old[at] if at < len(old) else None) for at, each in enumerate(new)]
    return new
