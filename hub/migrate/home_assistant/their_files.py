"""The files of a Home Assistant's folder: its YAML with packages merged, its texts, and its `.storage`. Only reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from hub.config.errors import ConfigError
from hub.config.files import ROOT_FILE, SECRETS_FILE, FileProblem, HomeFiles, decode
from hub.config.loader import Loaded, load
from hub.config.marks import ConfigMapping, Mark, place
from hub.config.packages import HUB, PACKAGES, merge_packages
from hub.config.spans import SpanKind, SpanNode, find, path_to, path_to_item, read_spans
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.security.root import Root

STORAGE = ".storage"
STORAGE_LIMIT_BYTES = 64 * 1024 * 1024
FOLDER_LIMIT = 2_000
_SIGNS = ("homeassistant", "default_config", "automation", "script", "frontend", "lovelace", "recorder")


class Written:
    """The text of a file of theirs, parsed once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = read_spans(text)
        self.starts = [0]
        for line in text.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def node(self, line: int, column: int, *, is_item: bool) -> SpanNode | None:
        """Return the mapping that begins at a place."""
        if self.root is None or line >= len(self.starts):
            return None
        at = self.starts[line - 1] + column - 1
        path = (path_to_item(self.root, at) if is_item else None) or path_to(self.root, at)
        return find(self.root, path) if path is not None else None


class TheirHome:
    """The folder.

    Args:
        folder: With `configuration.yaml`.

    Raises:
        NotFound: There is no such folder.
        InvalidRequest: It is not the configuration of a Home Assistant, or cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise NotFound(
                phrase("there is no folder {path}; name the one with Home Assistant's configuration.yaml", path=folder)
            )
        self.root = Root(folder)
        self._files = HomeFiles(self.root)
        if not self.root.is_file(ROOT_FILE):
            raise InvalidRequest(
                phrase(
                    "{path} is not the configuration of a Home Assistant: there is no configuration.yaml in it. It is "
                    "the folder that the File editor and Samba call config.",
                    path=folder,
                )
            )
        found: Loaded = load(folder)
        if not found.readable:
            why = str(found.errors[0]) if found.errors else ROOT_FILE
            raise InvalidRequest(
                phrase("the configuration in {path} cannot be read: {reason}", path=folder, reason=why)
            )
        is_theirs = any(key in found.data for key in _SIGNS) or self.root.is_file(".HA_VERSION")
        if not is_theirs and not self.root.is_file(f"{STORAGE}/core.config"):
            raise InvalidRequest(
                phrase(
                    "{path} is not the configuration of a Home Assistant: its configuration.yaml has none of the "
                    "sections of one",
                    path=folder,
                )
            )
        self.errors = list(found.errors)
        self.secrets = {str(each.source).removeprefix("!secret "): each for each in found.secrets if each.source}
        self.start = found.start
        self.data = self._with_packages(found.data)
        self._texts: dict[str, Written | None] = {}

    def written(self, file: str) -> Written | None:
        """Return a file's text; None when it cannot be read."""
        if file not in self._texts:
            try:
                self._texts[file] = Written(decode(self._files.read(file), file))
            except (FileProblem, InvalidRequest):
                self._texts[file] = None
        return self._texts[file]

    def text_at(self, mark: Mark, *, is_item: bool) -> tuple[str | None, list[str], int]:
        """Return a mapping as it is written, at the left margin, the comments above it, and its last line.

        No text where it is written within braces, with an anchor, or in a way that cannot be cut out.
        """
        file, line, column = place(mark)
        written = self.written(file)
        node = written.node(line, column, is_item=is_item) if written is not None else None
        if written is None or node is None:
            return None, [], line
        last = line + written.text.count("\n", node.start, node.end)
        if node.kind is not SpanKind.MAPPING or node.flow or node.anchored:
            return None, [], last
        first, *rest = written.text[node.start : node.end].rstrip().split("\n")
        if any(each[: node.column].strip() for each in rest):
            return None, [], last
        text = "\n".join([first, *(each[node.column :] for each in rest)]) + "\n"
        return text, list(_comments_above(written.text.split("\n"), line - 1)) if is_item else [], last

    def errors_in(self, file: str, first: int, last: int) -> list[ConfigError]:
        """Return what could not be read between two lines of a file."""
        return [each for each in self.errors if each.file == file and first <= each.line <= last]

    def stored(self, name: str) -> Mapping[str, Any]:
        """Return the data of a file of `.storage`; empty when there is none, or it cannot be read."""
        data = self._stored(name)
        return data if isinstance(data, dict) else {}

    def stored_items(self, name: str, key: str = "items") -> list[Mapping[str, Any]]:
        """Return the list of a file of `.storage`; without a key, the data itself is the list."""
        found = self.stored(name).get(key) if key else self._stored(name)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def _stored(self, name: str) -> Any:
        try:
            found = orjson.loads(self.root.read_bytes(f"{STORAGE}/{name}", STORAGE_LIMIT_BYTES))
        except (OSError, HubError, ValueError):
            return None
        return found.get("data") if isinstance(found, dict) else None

    def files_below(self, folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
        """Yield the files below a folder with these endings."""
        try:
            entries = self.root.walk(folder, FOLDER_LIMIT) if self.root.is_dir(folder) else []
        except (OSError, HubError):
            return
        for each in entries:
            if each.is_file and each.name.lower().endswith(suffixes):
                yield each.path

    def _with_packages(self, data: ConfigMapping) -> ConfigMapping:
        core = data.get("homeassistant")
        if not isinstance(core, ConfigMapping) or not isinstance(core.get(PACKAGES), ConfigMapping):
            return data
        mapped = ConfigMapping(data.mark)
        for key, value in data.items():
            if key != HUB:
                mapped.put(key, value, data.key_marks[key], data.value_marks[key])
        mapped.put(HUB, core, data.key_marks["homeassistant"], data.value_marks["homeassistant"])
        merged = merge_packages(mapped, self.errors)
        merged.drop(HUB)
        return merged


def secrets_file(name: str) -> bool:
    """Whether a file is that of the secrets."""
    return name.rpartition("/")[2] == SECRETS_FILE


def _comments_above(lines: list[str], index: int) -> Iterator[str]:
    """Yield the comments that stand directly above a list item, as far left as its dash."""
    dash = index
    while dash > 0 and not lines[dash].lstrip().startswith("-"):
        dash -= 1
    column = len(lines[dash]) - len(lines[dash].lstrip())
    first = dash
    while first > 0 and lines[first - 1].startswith(" " * column + "#"):
        first -= 1
    for line in lines[first:dash]:
        yield line.strip()
