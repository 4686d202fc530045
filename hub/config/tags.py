"""The tags of the configuration: `!include` and its four relatives, `!secret`, `!env_var`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any

from hub.config.errors import TagError
from hub.config.files import SECRETS_FILE, YAML_SUFFIXES, FileProblem, HomeFiles, resolve_name
from hub.config.marks import BROKEN, ConfigList, ConfigMapping, Mark, place
from hub.config.paths import KeyPath
from hub.config.scalars import BadScalar, resolve_plain
from hub.config.secrets_file import SecretsFile
from hub.config.suggest import did_you_mean
from hub.core.phrases import phrase

TAGS = (
    "!include",
    "!include_dir_list",
    "!include_dir_named",
    "!include_dir_merge_list",
    "!include_dir_merge_named",
    "!secret",
    "!env_var",
)

NO_ENVIRONMENT: Mapping[str, str] = {}
"""For a home beside others: the variables are those of the process that carries all of them."""
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

ReadFile = Callable[[str, KeyPath, int], Any]
"""Reads a file: its name, the path of keys to it, and the index of its first item when it goes on with a list.

Returns its value, or `BROKEN` after telling what is wrong in it; raises `TagError` when it cannot be opened.
"""


class Tags:
    """Resolves tags.

    Args:
        read: Reads an included file.
        files: Lists folders.
        secrets: Gives secrets.
        environment: Variables for `!env_var`.
        folders: Folders that were looked into are added to it.
        tell: Reports an error that is not at the tag itself.
    """

    def __init__(
        self,
        read: ReadFile,
        files: HomeFiles,
        secrets: SecretsFile,
        environment: Mapping[str, str],
        folders: set[str],
        *,
        tell: Callable[[Mark, KeyPath, str, str], None],
    ) -> None:
        self._read = read
        self._files = files
        self._secrets = secrets
        self._environment = environment
        self._folders = folders
        self._tell = tell

    def __call__(self, tag: str, value: Any, mark: Mark, keys: KeyPath) -> Any:
        """Return the value of a tagged node; see `hub.config.yaml_reader.TagResolver`."""
        if tag not in TAGS:
            raise TagError(phrase("there is no tag {tag}", tag=tag), did_you_mean(tag, TAGS, known=phrase("there are")))
        if not isinstance(value, str) or not value.strip():
            raise TagError(phrase("{tag} is followed by {text}", tag=tag, text=_EXPECTED[tag]))
        text, file = value.strip(), mark[0].file
        match tag:
            case "!secret":
                return self._secrets.get(text)
            case "!env_var":
                return self._env_var(text)
            case "!include":
                return self._include(_resolve(file, text), keys)
            case "!include_dir_list":
                return self._dir_list(self._folder(file, text), mark, keys)
            case "!include_dir_named":
                return self._dir_named(self._folder(file, text), mark, keys)
            case "!include_dir_merge_list":
                return self._dir_merge_list(self._folder(file, text), mark, keys)
            case _:
                return self._dir_merge_named(self._folder(file, text), mark, keys)

    def _env_var(self, text: str) -> Any:
        name, _, default = text.partition(" ")
        if not _ENVIRONMENT_NAME.fullmatch(name):
            raise TagError(
                phrase("{name} is not the name of an environment variable", name=name),
                phrase("write !env_var NAME default"),
            )
        value = self._environment.get(name)
        if value is None:
            value = default.strip()
            if not value and self._environment is NO_ENVIRONMENT:
                raise TagError(
                    phrase("{name} is a variable of the worker, and homes in it see none", name=name),
                    phrase("write !secret {name}, and its value in secrets.yaml", name=name.lower()),
                )
            if not value:
                raise TagError(
                    phrase("the environment variable {name} is not set, and no default is given", name=name),
                    phrase("write !env_var {name} default", name=name),
                )
        try:
            return resolve_plain(value) if value else ""
        except BadScalar:
            return value

    def _include(self, name: str, keys: KeyPath) -> Any:
        if not name.endswith(YAML_SUFFIXES):
            raise TagError(
                phrase("!include takes YAML files; {name} is not one", name=name),
                phrase("name a file that ends in .yaml"),
            )
        if name == SECRETS_FILE:
            raise TagError(
                phrase("{file} is not included", file=SECRETS_FILE), phrase("use !secret NAME for each secret")
            )
        return self._read(name, keys, 0)

    def _dir_list(self, files: list[str], mark: Mark, keys: KeyPath) -> ConfigList:
        found = ConfigList(mark)
        for name in files:
            value = self._read(name, (*keys, len(found)), 0)
            found.put(value, _mark_in(value, mark))
        return found

    def _dir_named(self, files: list[str], mark: Mark, keys: KeyPath) -> ConfigMapping:
        found = ConfigMapping(mark)
        for name in files:
            key = posixpath.splitext(posixpath.basename(name))[0]
            value = self._read(name, (*keys, key), 0)
            at = _mark_in(value, mark)
            if key in found:
                self._tell(
                    at,
                    (*keys, key),
                    phrase("there are two files named {key} below this folder", key=key),
                    phrase("rename one"),
                )
                found[key] = BROKEN
                continue
            found.put(key, value, at, at)
        return found

    def _dir_merge_list(self, files: list[str], mark: Mark, keys: KeyPath) -> ConfigList:
        found = ConfigList(mark)
        for name in files:
            value = self._read(name, keys, len(found))
            if isinstance(value, ConfigList):
                for item, at in zip(value, value.marks, strict=True):
                    found.put(item, at)
            elif value is BROKEN:
                found.put(BROKEN, mark)
            elif value is not None:
                at = _mark_in(value, mark)
                self._tell(
                    at,
                    keys,
                    phrase("{name} must hold a list, to be joined with the other files", name=name),
                    phrase("begin with -"),
                )
                found.put(BROKEN, at)
        return found

    def _dir_merge_named(self, files: list[str], mark: Mark, keys: KeyPath) -> ConfigMapping:
        found = ConfigMapping(mark)
        for name in files:
            value = self._read(name, keys, 0)
            if isinstance(value, ConfigMapping):
                for key, each in value.items():
                    self._join(found, key, each, value, keys)
            elif value is BROKEN:
                found.put("?", BROKEN, mark, mark)
            elif value is not None:
                at = _mark_in(value, mark)
                self._tell(
                    at,
                    keys,
                    phrase("{name} must hold keys, to be joined with the other files", name=name),
                    phrase("write key: value"),
                )
                found.put("?", BROKEN, at, at)
        return found

    def _join(self, found: ConfigMapping, key: str, value: Any, source: ConfigMapping, keys: KeyPath) -> None:
        at = source.key_marks[key]
        if key in found:
            file, line, _ = place(found.key_marks[key])
            self._tell(
                at,
                (*keys, key),
                phrase("the key {key} is in {file} line {line} already", key=key, file=file, line=line),
                phrase("rename one"),
            )
            found[key] = BROKEN
            return
        found.put(key, value, at, source.value_marks[key])

    def _folder(self, base: str, name: str) -> list[str]:
        folder = _resolve(base, name)
        try:
            files, folders = self._files.yaml_files(folder)
        except FileProblem as problem:
            raise TagError(problem.message, problem.hint) from problem
        self._folders.update(folders)
        return [each for each in files if each not in {SECRETS_FILE, base}]


_EXPECTED = {
    "!include": phrase("the name of a YAML file"),
    "!secret": phrase("the name of a secret in {file}", file=SECRETS_FILE),
    "!env_var": phrase("the name of an environment variable, and a default if you like"),
    **dict.fromkeys(TAGS[1:5], phrase("the name of a folder")),
}


def _resolve(base: str, name: str) -> str:
    try:
        return resolve_name(base, name)
    except FileProblem as problem:
        raise TagError(problem.message, problem.hint) from problem


def _mark_in(value: Any, mark: Mark) -> Mark:
    return value.mark if isinstance(value, (ConfigMapping, ConfigList)) else mark
