"""Exit codes, and errors that carry one."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit codes of commands."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    INVALID_CONFIGURATION = 3
    NOT_REACHABLE = 4
    NOT_AUTHORISED = 5


class CommandFailed(Exception):
    """A command failed.

    Args:
        message: What happened and what to do.
        code: The exit code.
        details: Facts for `--json`, beside the message.
    """

    def __init__(self, message: str, code: Exit = Exit.FINDINGS, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = dict(details or {})
