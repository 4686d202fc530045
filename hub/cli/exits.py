"""Exit codes, and errors that carry one."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What a command's exit code says."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    INVALID_CONFIGURATION = 3
    NOT_REACHABLE = 4
    NOT_AUTHORISED = 5


class CommandFailed(Exception):
    """A command cannot go on; `message` says what to do and `code` is the exit code."""

    def __init__(self, message: str, code: Exit = Exit.FINDINGS) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
