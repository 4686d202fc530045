"""Errors of the configuration, with their positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hub.config.marks import Mark, place
from hub.config.paths import KeyPath, format_path
from hub.core.errors import HubError

ERROR_LIMIT = 1_000
"""The number of errors shown at once; the rest is counted."""


@dataclass(frozen=True, slots=True)
class ConfigError:
    """One error or warning.

    Attributes:
        file: Relative to the home directory.
        line, column: Counted from 1.
        path: The key, such as `automation[0].triggers[1].at`; empty for a whole file.
        message: The problem and what was expected.
        hint: What to do, such as `did you mean "http"?`; may be empty.
        keys: The path as keys and list indexes.
    """

    file: str
    line: int
    column: int
    path: str
    message: str
    hint: str = ""
    keys: KeyPath = field(default=(), compare=False, repr=False)

    @classmethod
    def at(cls, mark: Mark, keys: KeyPath, message: str, hint: str = "") -> ConfigError:
        """Return an error at a mark and key path."""
        file, line, column = place(mark)
        return cls(file, line, column, format_path(keys), message, hint, keys)

    @property
    def section(self) -> str | None:
        """The top-level key it belongs to, when it belongs to one."""
        return self.keys[0] if self.keys and isinstance(self.keys[0], str) else None

    def as_dict(self) -> dict[str, Any]:
        """The error as `homarus check --json`, the gateway and the editor show it."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "message": self.message,
            "hint": self.hint,
        }

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}"
        told = f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"
        return f"{told} ({self.hint})" if self.hint else told


class ConfigInvalid(HubError):
    """The configuration has errors; `details["errors"]` lists them."""

    code = "CONFIG_INVALID"
    http_status = 422

    def __init__(self, message: str, errors: list[ConfigError]) -> None:
        super().__init__(message, details={"errors": [error.as_dict() for error in errors]})
        self.errors = errors


class TagError(Exception):
    """A tag cannot be resolved: what is wrong and a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
