"""Reads and writes configuration files for people and programs: checked, conflict-free, with history."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from hub.config import edit
from hub.config.bounds import FILE_SIZE_LIMIT_BYTES
from hub.config.checked import Checked, Config
from hub.config.errors import ConfigError, ConfigInvalid
from hub.config.files import (
    ROOT_FILE,
    SECRETS_FILE,
    YAML_SUFFIXES,
    FileProblem,
    HomeFiles,
    content_hash,
    decode,
    resolve_name,
)
from hub.config.history import ConfigHistory, ConfigVersion
from hub.config.locate import locate
from hub.config.marks import ConfigList, ConfigMapping, value_at
from hub.config.paths import KeyPath
from hub.config.spans import SpanKind, read_spans
from hub.core.errors import Conflict, HubError, InvalidRequest, LimitExceeded, NotFound
from hub.security.root import Root

HIDDEN_VALUE = "__hidden__"
"""The placeholder for hidden values of secrets.yaml."""

_NAMED = re.compile(r"!secret[ \t]+[\"']?([\w.-]+)")

REMOVED: Any = object()
"""Stands in an edit for what is taken away."""

Check = Callable[[Mapping[str, str] | None], Checked]


class Saved(Struct, frozen=True):
    """A saved file.

    Attributes:
        file: Its name.
        hash: The hash of its new content.
        errors, warnings: Properties of the whole configuration with it.
        version: The previous version, in the history.
    """

    file: str
    hash: str
    errors: list[ConfigError]
    warnings: list[ConfigError]
    version: ConfigVersion | None = None

    def as_dict(self) -> dict[str, Any]:
        """The result as the gateway and the editor show it."""
        return {
            "file": self.file,
            "hash": self.hash,
            "errors": [error.as_dict() for error in self.errors],
            "warnings": [warning.as_dict() for warning in self.warnings],
            "version": self.version.as_dict() if self.version else None,
        }


class EditPlace(Struct, frozen=True):
    """The place where a value is written.

    Attributes:
        file: Its name.
        keys: The path to the value within this file.
        text: The text of the whole file.
        hash: The hash of the whole file, to be passed to `write_file`; None when there is no file yet.
    """

    file: str
    keys: KeyPath
    text: str
    hash: str | None


class FilesEditor:
    """Reads, checks and writes the configuration files.

    Args:
        root: The home directory.
        check: Checks the configuration with texts in place of files.
        current: Returns the current configuration.
        now: Seconds since the epoch.
    """

    def __init__(self, root: Root, check: Check, current: Callable[[], Config], now: Callable[[], float]) -> None:
        self._root = root
        self._files = HomeFiles(root)
        self._check = check
        self._current = current
        self.history = ConfigHistory(root, now)
        self.written: dict[str, str] = {}
        """The hash of each file as the hub wrote it last."""

    def names(self) -> list[str]:
        """Return the files that may be edited: those in use, the root file and the file of secrets first."""
        used = set(self._current().files)
        found = [name for name in (ROOT_FILE, SECRETS_FILE) if name in used or self._root.is_file(name)]
        return [*found, *sorted(used - set(found))]

    def read_file(self, name: str, *, admin: bool = False) -> tuple[str, str]:
        """Return the text of a file and the hash for `write_file`.

        Args:
            name: A YAML file relative to the home directory.
            admin: Whether the caller may see secrets; else their values are hidden.

        Raises:
            InvalidRequest: The file may not be edited.
            NotFound: It does not exist.
        """
        data = self._data(_allowed(name))
        try:
            text = decode(data, name)
        except FileProblem:
            text = data.decode("utf-8", "replace")
        if name == SECRETS_FILE and not admin:
            text = _hidden(text)
        return text, content_hash(data)

    def write_file(self, name: str, text: str, base_hash: str | None, *, must_be_valid: bool = False) -> Saved:
        """Replace a file, keeping its old version in the history.

        Args:
            base_hash: Hash of the edited version; None when the file is new.
            must_be_valid: Whether a text with which the configuration has errors it has not now is refused.

        Raises:
            Conflict: The file changed since, or exists; `details` has its hash now.
            ConfigInvalid: The text is refused; nothing was written.
            InvalidRequest: The name or the text is not allowed.
            LimitExceeded: The text is too large.
        """
        name = _allowed(name)
        data = _encoded(name, text)
        old = self._data(name, missing=None)
        found = content_hash(old) if old is not None else None
        if found != base_hash:
            raise _changed(name, found)
        checked = self._check({name: text})
        if must_be_valid:
            self._refuse_new_errors(name, checked.errors)
        version = self.history.keep(name, old) if old is not None and old != data else None
        self.written[name] = content_hash(data)
        # All this takes its time, in which a person may have saved the file.
        self._root.write_bytes(name, data, parents=True, before_replacing=lambda: self._refuse_changed(name, old))
        return Saved(name, content_hash(data), checked.errors, checked.warnings, version)

    def check_text(self, files: Mapping[str, str]) -> list[ConfigError]:
        """Return the errors of a configuration with these texts in place of the files; nothing is written.

        Raises:
            InvalidRequest: A name or a text is not allowed.
            LimitExceeded: A text is too large.
        """
        for name, text in files.items():
            _encoded(_allowed(name), text)
        return self._check(files).errors

    def where(self, find: Callable[[Mapping[str, Any]], KeyPath]) -> EditPlace:
        """Return the place where a value is written, or would be, in the present files.

        Args:
            find: Gets the content of the files, packages merged in, and returns the path of the value in it.

        Raises:
            EditRefused: No single place can be edited.
        """
        raw = self._fresh().config.raw
        file, inner = locate(raw, find(raw), self._text)
        data = self._data(file, missing=None)
        return EditPlace(file, inner, (data or b"").decode(), content_hash(data) if data is not None else None)

    def get_value(self, keys: KeyPath) -> Any:
        """Return a value as written, with its tags; see `hub.config.edit.get_value`."""
        file, inner = locate(self._fresh().config.raw, keys, self._text)
        return edit.get_value(self._text(file), inner)

    def set_value(self, keys: KeyPath, value: Any, *, must_be_valid: bool = True) -> Saved:
        """Set a value wherever it is written, an included file for instance, and keep comments.

        Args:
            keys: The path of keys.
            value: The new value.
            must_be_valid: Whether it is refused when the configuration would have errors it has not now.

        Raises:
            EditRefused: It is written in a way that only a person should change.
            ConfigInvalid: The configuration would have errors it has not now; nothing was written.
        """
        return self._edited(keys, lambda text, inner: edit.set_value(text, inner, value), must_be_valid)

    def change(self, edits: Mapping[KeyPath, Any]) -> list[Saved]:
        """Set several values at once, in one file or several, and keep comments; see `set_value`.

        Args:
            edits: The values by their place, in the order in which they are made; `REMOVED` takes away what is there.

        Raises:
            EditRefused: One is written in a way that only a person should change; nothing was written.
            ConfigInvalid: The configuration would have errors it has not now; nothing was written.
        """
        raw = self._fresh().config.raw
        before: dict[str, str | None] = {}
        texts: dict[str, str] = {}
        hashes: dict[str, str | None] = {}
        for keys, value in edits.items():
            file, inner = self._located(raw, keys)
            if file not in texts:
                data = self._data(file, missing=None)
                before[file] = texts[file] = data.decode() if data is not None else ""
                hashes[file] = content_hash(data) if data is not None else None
            with edit.prefix_errors(file):
                text = texts[file]
                texts[file] = edit.remove(text, inner) if value is REMOVED else edit.set_value(text, inner, value)
        texts = {file: text for file, text in texts.items() if text != before[file]}
        self._refuse_new_errors(", ".join(texts), self._check(texts).errors)
        saved: list[Saved] = []
        try:
            for file, text in texts.items():
                saved.append(self.write_file(file, text, hashes[file]))
        except HubError:
            for each in saved:
                self.write_file(each.file, before[each.file] or "", each.hash)
            raise
        return saved

    def remove_value(self, keys: KeyPath) -> Saved:
        """Remove a key or list item; see `set_value`."""
        return self._edited(keys, edit.remove)

    def restore(self, name: str, version_id: str) -> Saved:
        """Restore a version of the history; the present one is kept in the history.

        Raises:
            NotFound: There is no such version.
        """
        data = self.history.read(_allowed(name), version_id)
        old = self._data(name, missing=None)
        return self.write_file(name, data.decode("utf-8", "replace"), content_hash(old) if old is not None else None)

    def diff(self, name: str, version_id: str) -> str:
        """Return what changed in a file since a version; see `ConfigHistory.diff`."""
        return self.history.diff(_allowed(name), version_id, self._data(name, missing=b"") or b"")

    def set_secrets(self, secrets: Mapping[str, str]) -> str:
        """Set values of secrets.yaml, by name; return the file's text before, for `put_back_secrets`."""
        try:
            text, base = self.read_file(SECRETS_FILE, admin=True)
        except NotFound:
            text, base = "", None
        changed = text
        for name, value in secrets.items():
            changed = edit.set_value(changed, (name,), value)
        self.write_file(SECRETS_FILE, changed, base)
        return text

    def put_back_secrets(self, text: str) -> None:
        """Restore the former text of secrets.yaml."""
        self.write_file(SECRETS_FILE, text, self.read_file(SECRETS_FILE, admin=True)[1])

    def remove_secret(self, name: str) -> None:
        """Remove a value of secrets.yaml that no file uses any more; a missing one is no error."""
        if name not in self.secret_names():
            return
        if any(name in _NAMED.findall(self._text(file)) for file in self.names() if file != SECRETS_FILE):
            return
        text, base = self.read_file(SECRETS_FILE, admin=True)
        self.write_file(SECRETS_FILE, edit.remove(text, (name,)), base)

    def secret_names(self) -> list[str]:
        """Return the names in secrets.yaml, without values."""
        try:
            root = read_spans(self._text(SECRETS_FILE))
        except (InvalidRequest, NotFound):
            return []
        return [str(key.data) for key, _ in root.entries] if root is not None else []

    def same_files(self, files: Mapping[str, str], folders: Iterable[str]) -> bool:
        """Whether files still have these hashes, and the folders hold no other YAML file."""
        try:
            if any(content_hash(self._files.read(name)) != digest for name, digest in files.items()):
                return False
            return all(name in files for folder in folders for name in self._files.yaml_files(folder)[0])
        except FileProblem:
            return False

    def _located(self, raw: ConfigMapping, keys: KeyPath) -> tuple[str, KeyPath]:
        """Return where a value is, or would be, of which several may be added to one list."""
        holder = value_at(raw, keys[:-1])
        if not isinstance(holder, ConfigList) or not isinstance(keys[-1], int) or keys[-1] < len(holder):
            return locate(raw, keys, self._text)
        file, inner = locate(raw, (*keys[:-1], len(holder)), self._text)
        return file, (*inner[:-1], int(inner[-1]) + keys[-1] - len(holder))

    def _edited(self, keys: KeyPath, change: Callable[[str, KeyPath], str], must_be_valid: bool = True) -> Saved:
        file, inner = locate(self._fresh().config.raw, keys, self._text)
        data = self._data(file, missing=None)
        text = data.decode() if data is not None else ""
        base = content_hash(data) if data is not None else None
        with edit.prefix_errors(file):
            changed = change(text, inner)
        return self.write_file(file, changed, base, must_be_valid=must_be_valid)

    def _fresh(self) -> Checked:
        """Return the present files; the current configuration holds them unless they were changed."""
        current = self._current()
        if current.files and self.same_files(current.files, current.folders):
            return Checked(current, list(current.errors), [])
        return self._check({})

    def _refuse_changed(self, name: str, old: bytes | None) -> None:
        now = self._data(name, missing=None)
        if now != old:
            raise _changed(name, content_hash(now) if now is not None else None)

    def _refuse_new_errors(self, name: str, errors: list[ConfigError]) -> None:
        known = {(error.path, error.message) for error in self._fresh().errors}
        new = [error for error in errors if (error.path, error.message) not in known]
        if new:
            raise ConfigInvalid(f"{name} was not changed, because it would not be valid: {new[0]}", new)

    def _text(self, name: str) -> str:
        return decode(self._data(name), name)

    def _data(self, name: str, *, missing: Any = ...) -> Any:
        try:
            return self._files.read(name)
        except FileProblem as problem:
            if not problem.missing:
                raise InvalidRequest(problem.message) from problem
            if missing is ...:
                raise NotFound(problem.message) from problem
            return missing


def _changed(name: str, found: str | None) -> Conflict:
    return Conflict(
        f"{name} was changed meanwhile; load it again and repeat the change", details={"file": name, "hash": found}
    )


def _allowed(name: str) -> str:
    """Return the name of a file that may be edited."""
    try:
        resolved = resolve_name("", name)
    except FileProblem as problem:
        raise InvalidRequest(problem.message) from problem
    hidden = any(part.startswith(".") for part in resolved.split("/"))
    if resolved != name or hidden or not name.endswith(YAML_SUFFIXES):
        raise InvalidRequest(f"{name} is not a configuration file; those are YAML files below the home directory")
    return name


def _encoded(name: str, text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("the text contains half a surrogate pair; write the character whole") from error
    if len(data) > FILE_SIZE_LIMIT_BYTES:
        raise LimitExceeded(f"{name} would be larger than {FILE_SIZE_LIMIT_BYTES // 1024 // 1024} MB")
    if name == SECRETS_FILE and HIDDEN_VALUE in text:
        raise InvalidRequest("the hidden values of secrets.yaml cannot be saved; only an administrator edits this file")
    return data


def _hidden(text: str) -> str:
    """Return the text of secrets.yaml with every value hidden."""
    try:
        root = read_spans(text)
    except InvalidRequest:
        return HIDDEN_VALUE
    if root is None:
        return text
    if root.kind is not SpanKind.MAPPING:
        return HIDDEN_VALUE
    return "".join(f"{key.data}: {HIDDEN_VALUE}\n" for key, _ in root.entries)
