"""The checked configuration: its valid values, and its broken parts, which are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.config.errors import ConfigError
from hub.config.marks import ConfigMapping, Mark, mark_of, place, start_of
from hub.config.paths import Key, KeyPath
from hub.core.secret import Secret


@dataclass(frozen=True, slots=True)
class Config(Mapping[str, Any]):
    """Validated values by section; broken sections are missing.

    Attributes:
        sections: Validated values by section.
        defaults: Validated defaults of core sections, for a hub in recovery mode.
        raw: The content of the files, packages merged in.
        broken: Names of sections that are left out, with their errors.
        broken_items: Errors of the items that are left out, by section and index (or name) in the files.
        kept_items: For sections checked item by item: the index (or name) in the files of each validated item.
        errors: All that is wrong, in the order of files and lines.
        recovery: Whether the root file cannot be read, or a critical section is broken.
        present: Top-level keys that are in the files.
        files: Hash of every file that was read.
        folders: Folders whose files are included.
        secrets: Every secret in it, to be redacted.
        start: The mark of the root file's beginning.
        home: The directory of the files, for checks that read what they name; None for a text alone.
        or_default: Returns a core section, or its default when it is broken; for recovery mode.
    """

    sections: Mapping[str, Any]
    defaults: Mapping[str, Any]
    raw: ConfigMapping
    broken: Mapping[str, tuple[ConfigError, ...]]
    broken_items: Mapping[str, Mapping[Key, tuple[ConfigError, ...]]]
    kept_items: Mapping[str, tuple[Key, ...]]
    errors: tuple[ConfigError, ...]
    recovery: bool
    present: frozenset[str]
    files: Mapping[str, str]
    folders: frozenset[str]
    secrets: tuple[Secret, ...] = field(repr=False)
    start: Mark = field(repr=False)
    home: Path | None = None
    or_default: Callable[[str], Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "or_default", {**self.defaults, **self.sections}.get)

    def __getitem__(self, name: str) -> Any:
        return self.sections[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sections)

    def __len__(self) -> int:
        return len(self.sections)

    def location(self, keys: KeyPath) -> dict[str, Any]:
        """Return file, line and column of a key as the files have it."""
        file, line, column = place(mark_of(self.raw, keys, self.start))
        return {"file": file, "line": line, "column": column}


class Checked(Struct, frozen=True):
    """The result of a check: the configuration and its errors."""

    config: Config
    errors: list[ConfigError]
    warnings: list[ConfigError]

    @property
    def valid(self) -> bool:
        """Whether there is no error at all."""
        return not self.errors

    def as_dict(self) -> dict[str, Any]:
        """The result as `homarus check --json` prints it."""
        return {
            "valid": self.valid,
            "errors": [error.as_dict() for error in self.errors],
            "warnings": [warning.as_dict() for warning in self.warnings],
        }


def empty_config() -> Config:
    """Return an empty configuration, as before the first loading."""
    start = start_of("configuration.yaml")
    return Config({}, {}, ConfigMapping(start), {}, {}, {}, (), True, frozenset(), {}, frozenset(), (), start)
