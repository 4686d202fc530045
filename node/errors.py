"""The error that a command answers with."""

from __future__ import annotations


class NodeError(Exception):
    """A command failed or was refused.

    Args:
        code: The code as the protocol names it: `INVALID_PARAMS`, `UNAVAILABLE`, `TIMEOUT`, `SYSTEM_RUN_DENIED`, …
        message: The message shown to people.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
