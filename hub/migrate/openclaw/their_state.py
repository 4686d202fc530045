"""The files of an OpenClaw's folder: its configuration with includes and variables, its database, its workspaces."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.migrate.json5 import read_json5
from hub.security.root import Root

CONFIGURATION = "openclaw.json"
DATABASE = "state/openclaw.sqlite"
FILE_LIMIT_BYTES = 8 * 1024 * 1024
DATABASE_LIMIT_BYTES = 4 * 1024 * 1024 * 1024
INCLUDE_DEPTH = 10
ROWS_LIMIT = 5_000
FOLDER_LIMIT = 5_000
_VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")
_ASSIGNMENT = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$", re.MULTILINE)


class TheirState:
    """The folder; nothing of it is changed, and no link is followed out of it.

    Raises:
        NotFound: There is no such folder.
        InvalidRequest: It is not the folder of an OpenClaw, or its configuration cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise NotFound(phrase("there is no folder {path}; name the state folder, such as ~/.openclaw", path=folder))
        self.folder = folder
        self.root = Root(folder)
        if not self.root.is_file(CONFIGURATION):
            raise InvalidRequest(
                phrase(
                    "{path} is not the folder of an OpenClaw: there is no openclaw.json in it. It is ~/.openclaw, "
                    "not the workspace in it.",
                    path=folder,
                )
            )
        self.unset: set[str] = set()
        self.too_large: set[str] = set()
        self._copies = tempfile.TemporaryDirectory(prefix="homarus-move-")
        self.environment: dict[str, str] = {}
        raw = self._file(CONFIGURATION, 0)
        if not isinstance(raw, dict):
            raise InvalidRequest(phrase("{name} is not valid JSON5 in line {line}", name=CONFIGURATION, line=1))
        self.environment = self._variables(raw)
        self.config: dict[str, Any] = self._filled(raw)

    def at(self, *keys: str) -> Any:
        """Return a value of the configuration; None when there is none."""
        value: Any = self.config
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def mapping(self, *keys: str) -> dict[str, Any]:
        """Return a mapping of the configuration; empty when there is none."""
        value = self.at(*keys)
        return value if isinstance(value, dict) else {}

    def rows(
        self, query: str, *values: Any, database: str = DATABASE, limit: int = ROWS_LIMIT
    ) -> list[tuple[Any, ...]]:
        """Return rows of a database, of which a copy is opened; none when it is not there or has no such table.

        Args:
            values: What stands for the question marks of the query.
            database: Its file; that of the whole state without it.
            limit: Rows at most.
        """
        path = self._copy_of(database)
        if not path.exists():
            return []
        try:
            with closing(sqlite3.connect(path)) as connection:
                return connection.execute(query, values).fetchmany(limit)
        except sqlite3.Error:
            return []

    def json_file(self, name: str) -> Any:
        """Return a JSON file; None when there is none, or it cannot be read."""
        try:
            return json.loads(self.root.read_text(name, FILE_LIMIT_BYTES))
        except (OSError, HubError, ValueError):
            return None

    def inside(self, path: str) -> str | None:
        """Return a path of its configuration, which may be of another machine, relative to the folder."""
        text = path.replace("\\", "/")
        for start in (f"{self.folder.as_posix()}/", "~/.openclaw/"):
            if text.startswith(start):
                return text.removeprefix(start).strip("/")
        found = text.rpartition("/.openclaw/")
        if found[1]:
            return found[2].strip("/")
        return text.strip("/") if text and not text.startswith(("/", "~", "..")) else None

    def files_below(self, folder: str) -> Iterator[str]:
        """Yield the files below a folder, without hidden ones."""
        try:
            entries = self.root.walk(folder, FOLDER_LIMIT) if self.root.is_dir(folder) else []
        except (OSError, HubError):
            return
        for each in entries:
            inner = each.path.removeprefix(f"{folder}/")
            if each.is_file and not any(part.startswith(".") for part in inner.split("/")):
                yield each.path

    def _copy_of(self, database: str) -> Path:
        """Return the path of a copy, made now if there is none, with what a program that did not end left beside it."""
        copy = Path(self._copies.name, database.replace("/", "+"))
        if copy.exists() or database in self.too_large:
            return copy
        for end in ("-wal", ""):
            try:
                with os.fdopen(self.root.open(database + end), "rb") as file:
                    if os.fstat(file.fileno()).st_size > DATABASE_LIMIT_BYTES:
                        self.too_large.add(database)
                        break
                    with Path(f"{copy}{end}").open("wb") as to:
                        shutil.copyfileobj(file, to)
            except (OSError, HubError):
                continue
        return copy

    # -- below -------------------------------------------------------------------------------------------------------

    def _file(self, name: str, depth: int) -> Any:
        if depth > INCLUDE_DEPTH:
            raise InvalidRequest(phrase("{name} is included too deeply", name=name))
        try:
            text = self.root.read_text(name, FILE_LIMIT_BYTES)
        except (OSError, HubError) as error:
            reason = error.message if isinstance(error, HubError) else str(error.strerror)
            raise InvalidRequest(phrase("{name} cannot be read: {reason}", name=name, reason=reason)) from error
        return self._included(read_json5(text, name), name, depth)

    def _included(self, value: Any, name: str, depth: int) -> Any:
        """Return a value with `$include` replaced by the files it names; what stands beside it wins."""
        if isinstance(value, list):
            return [self._included(each, name, depth) for each in value]
        if not isinstance(value, dict):
            return value
        rest = {key: self._included(each, name, depth) for key, each in value.items() if key != "$include"}
        if "$include" not in value:
            return rest
        names = value["$include"] if isinstance(value["$include"], list) else [value["$include"]]
        found: Any = {}
        for each in names:
            relative = str(each).removeprefix("./")
            part = self._file(f"{name.rpartition('/')[0]}/{relative}".lstrip("/"), depth + 1)
            found = _merged(found, part)
        return _merged(found, rest) if rest else found

    def _variables(self, config: Mapping[str, Any]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in (".env", "gateway.systemd.env"):
            try:
                text = self.root.read_text(name, FILE_LIMIT_BYTES)
            except (OSError, HubError):
                continue
            found |= {key: value.strip("\"'") for key, value in _ASSIGNMENT.findall(text)}
        env = config.get("env")
        if isinstance(env, dict):
            inner = env.get("vars")
            for each in (env, inner if isinstance(inner, dict) else {}):
                found |= {key: value for key, value in each.items() if isinstance(value, str)}
        return found

    def _filled(self, value: Any) -> Any:
        """Return a value with `${NAME}` replaced; one that is not known stays, and is noted."""
        if isinstance(value, dict):
            if value.get("source") == "env" and isinstance(value.get("id"), str):
                return self._variable(value["id"], f"${{{value['id']}}}")
            return {key: self._filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if isinstance(value, str):
            return _VARIABLE.sub(lambda found: self._variable(found[1], found[0]), value)
        return value

    def _variable(self, name: str, unknown: str) -> str:
        if name not in self.environment:
            self.unset.add(name)
        return self.environment.get(name, unknown)


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{key: _merged(one[key], each) if key in one else each for key, each in other.items()}}
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *other]
    return other
