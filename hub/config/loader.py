"""Reads the configuration of a home directory: the root file, all it includes, its secrets and its packages."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hub.config.bounds import FILE_COUNT_LIMIT, INCLUDE_DEPTH_LIMIT, TOTAL_SIZE_LIMIT_BYTES, Budget
from hub.config.errors import ERROR_LIMIT, ConfigError, TagError
from hub.config.files import ROOT_FILE, FileProblem, HomeFiles, content_hash, decode
from hub.config.labels import join_labelled
from hub.config.marks import BROKEN, ConfigList, ConfigMapping, Mark, MarkOrigin, start_of
from hub.config.packages import merge_packages
from hub.config.paths import KeyPath
from hub.config.secrets_file import SecretsFile
from hub.config.tags import Tags
from hub.config.yaml_reader import YamlReader
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.security.root import Root


class Loaded(Struct, frozen=True):
    """The content of the files, before validation.

    Attributes:
        data: The sections, packages merged in; empty when the root file cannot be read.
        errors, warnings: The findings, in the order of reading.
        files: Hash of the content of every file that was read, by name.
        folders: Folders whose files are included.
        secrets: The content of `secrets.yaml`, to be redacted.
        readable: Whether the root file could be read.
        start: The mark of the root file's beginning.
    """

    data: ConfigMapping
    errors: list[ConfigError]
    warnings: list[ConfigError]
    files: dict[str, str]
    folders: set[str]
    secrets: list[Secret]
    readable: bool
    start: Mark


class ParseCache:
    """A cache of parsed items of long lists, by their text, so that a reload parses only changed items."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, bytes], list[ConfigList]] = {}
        self._next: dict[tuple[str, bytes], list[ConfigList]] = {}

    def take(self, file: str, text: str) -> ConfigList | None:
        """Return the parsed item of a text in this file; each only once, since it knows its own position."""
        found = self._last.get(_key(file, text))
        return found.pop() if found else None

    def keep(self, file: str, text: str, value: ConfigList) -> None:
        """Remember a parsed item, for the next reading."""
        self._next.setdefault(_key(file, text), []).append(value)

    def turn(self) -> None:
        """End a reading: unused entries are forgotten."""
        self._last, self._next = self._next, {}


class _Reading(Struct):
    errors: list[ConfigError] = field(default_factory=list)
    warnings: list[ConfigError] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    budget: Budget = field(default_factory=Budget)
    stack: list[str] = field(default_factory=list)


def load(
    home_dir: str | os.PathLike[str],
    *,
    overrides: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    cache: ParseCache | None = None,
) -> Loaded:
    """Read the configuration of a home directory; never raises for what is in the files.

    Args:
        home_dir: The directory with `configuration.yaml`.
        overrides: Texts that replace files, by name, as an editor shows them.
        environment: For `!env_var`; the process's own without it.
        cache: The cache of the last reading.
    """
    with Root(Path(home_dir)) as root:
        loader = _Loader(HomeFiles(root, overrides), os.environ if environment is None else environment, cache)
        return loader.load()


class _Loader:
    def __init__(self, files: HomeFiles, environment: Mapping[str, str], cache: ParseCache | None) -> None:
        self._files = files
        self._cache = cache
        self._state = _Reading()
        state = self._state
        self._secrets = SecretsFile(files, state.errors, state.warnings, state.hashes)
        self._tags = Tags(self._include, files, self._secrets, environment, state.folders, tell=self._tell)

    def load(self) -> Loaded:
        state = self._state
        start = start_of(ROOT_FILE)
        try:
            read = self._include(ROOT_FILE, (), 0)
        except TagError as error:
            state.errors.append(ConfigError.at(start, (), error.message, error.hint))
            read = BROKEN
        if read is None:
            read = ConfigMapping(start)
        readable = isinstance(read, ConfigMapping)
        if not readable and read is not BROKEN:
            kind = phrase("a list") if isinstance(read, ConfigList) else phrase("a single value")
            state.errors.append(
                ConfigError.at(
                    start,
                    (),
                    phrase("{file} must hold sections such as http:, and it holds {kind}", file=ROOT_FILE, kind=kind),
                )
            )
        data = ConfigMapping(start)
        if isinstance(read, ConfigMapping):
            data = merge_packages(join_labelled(read, (), state.errors), state.errors)
        if self._cache is not None:
            self._cache.turn()
        return Loaded(
            data=data,
            errors=state.errors[:ERROR_LIMIT],
            warnings=state.warnings,
            files=state.hashes,
            folders=state.folders,
            secrets=self._secrets.used(),
            readable=readable,
            start=start,
        )

    def _include(self, name: str, keys: KeyPath, first_index: int) -> Any:
        state = self._state
        if name in state.stack:
            loop = [*state.stack[state.stack.index(name) :], name]
            raise TagError(f"the files include each other in a loop: {' → '.join(loop)}", "remove one of the !include")
        if len(state.stack) >= INCLUDE_DEPTH_LIMIT:
            raise TagError(f"files include each other more than {INCLUDE_DEPTH_LIMIT} deep")
        state.budget.files -= 1
        if state.budget.files < 0:
            raise TagError(f"the configuration has more than {FILE_COUNT_LIMIT} files")
        try:
            data = self._files.read(name)
        except FileProblem as problem:
            hint = "run homarus init" if name == ROOT_FILE and problem.missing else problem.hint
            raise TagError(problem.message, hint) from problem
        state.hashes[name] = content_hash(data)
        state.budget.bytes -= len(data)
        if state.budget.bytes < 0:
            raise TagError(f"all files together are larger than {TOTAL_SIZE_LIMIT_BYTES // 1024 // 1024} MB")
        try:
            text = decode(data, name)
        except FileProblem as problem:
            self._tell((MarkOrigin(name), problem.line, problem.column), keys, problem.message, problem.hint)
            return BROKEN
        state.stack.append(name)
        try:
            return self._read(name, text, keys, first_index)
        finally:
            state.stack.pop()

    def _read(self, name: str, text: str, keys: KeyPath, first_index: int) -> Any:
        parts = split_items(text)
        if parts is not None:
            found = self._read_parts(name, parts, keys, first_index)
            if found is not None:
                return found
        return self._reader(MarkOrigin(name), keys, first_index).read(text)

    def _read_parts(
        self, name: str, parts: list[tuple[int, str]], keys: KeyPath, first_index: int
    ) -> ConfigList | None:
        """Return a list parsed item by item; None if it must be parsed whole, for instance to report its errors."""
        state, cache = self._state, self._cache
        errors, values, size = len(state.errors), state.budget.values, 1
        found: ConfigList | None = None
        for line, text in parts:
            item = cache.take(name, text) if cache is not None else None
            if item is not None:
                item.mark[0].first_line = line + 1
                state.budget.values -= item.size
                tagged = False
            else:
                index = first_index + (len(found) if found is not None else 0)
                reader = self._reader(MarkOrigin(name, line + 1), keys, index)
                item = reader.read(text)
                tagged = reader.tagged
                if len(state.errors) > errors or not isinstance(item, ConfigList) or len(item) != 1:
                    del state.errors[errors:]
                    state.budget.values = values
                    return None
            if cache is not None and not tagged:
                cache.keep(name, text, item)
            found = found if found is not None else ConfigList(item.mark)
            found.put(item[0], item.marks[0])
            size += item.size
        if found is None or state.budget.values < 0:
            return None
        found.size = size
        return found

    def _reader(self, origin: MarkOrigin, keys: KeyPath, first_index: int) -> YamlReader:
        state = self._state
        return YamlReader(
            origin, self._tags, state.budget, state.errors, state.warnings, keys=keys, first_index=first_index
        )

    def _tell(self, mark: Mark, keys: KeyPath, message: str, hint: str) -> None:
        if len(self._state.errors) < ERROR_LIMIT:
            self._state.errors.append(ConfigError.at(mark, keys, message, hint))


def _key(file: str, text: str) -> tuple[str, bytes]:
    return file, blake2b(text.encode(), digest_size=16).digest()


_ITEM = re.compile(r"^-(?=[ \n])", re.MULTILINE)
_ONLY_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*\Z")
PARTS_FROM_CHARACTERS = 16_384


def split_items(text: str) -> list[tuple[int, str]] | None:
    """Return the top-level list items of a long text, each with the line (from 0) it begins on.

    An item can be read alone when it holds no alias of another; the caller finds that out by reading it. None when the
    text is short, or its root is not a block list at the first column.
    """
    if len(text) < PARTS_FROM_CHARACTERS:
        return None
    starts = [match.start() for match in _ITEM.finditer(text)]
    if len(starts) < 2 or not _ONLY_COMMENTS.match(text[: starts[0]]):
        return None
    parts: list[tuple[int, str]] = []
    line = text.count("\n", 0, starts[0])
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        parts.append((line, part))
        line += part.count("\n")
    return parts
