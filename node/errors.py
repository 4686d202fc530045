"""The error that a command answers with."""

from __future__ import annotations


class NodeError(Exception):
    """A command failed or was refused.

    Args:
        code: As the protocol names it: `INVALID_PARAMS`, `UNAVAILABLE`, `TIMEOUT`, `SYSTEM_RUN_DENIED`, …
        message: For people.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
