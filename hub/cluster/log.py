"""One log for all homes of a worker: each line names its home, and hides the secrets of that home."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from hub.gateway.log_tail import LogTail
from hub.security.redaction import RedactingFilter, Redactor

FORMAT = "%(asctime)s %(levelname)s [%(home)s] %(name)s: %(message)s"
TAIL_LINES = 500
"""Lines that are kept of each home."""
NO_HOME = "-"
_HOME: ContextVar[str] = ContextVar("home", default=NO_HOME)


@contextmanager
def within(home: str) -> Iterator[None]:
    """Let whatever is begun in this block, and by that, be of a home."""
    token = _HOME.set(home)
    try:
        yield
    finally:
        _HOME.reset(token)


class HomeLogs(logging.Handler):
    """Hands each line to the log of its home, and to the one of the worker.

    A thread that serves no home in particular has none; such a line hides the secrets of all homes.

    Args:
        out: Where all lines go.
        redactor: Of the worker's own secrets.
    """

    def __init__(self, out: logging.Handler, redactor: Redactor) -> None:
        super().__init__()
        self._out = out
        self._own = RedactingFilter(redactor)
        self._homes: dict[str, tuple[RedactingFilter, LogTail]] = {}

    def add(self, home: str, redactor: Redactor) -> LogTail:
        """Keep the lines of a home, and return where."""
        tail = LogTail(redactor, TAIL_LINES)
        self._homes[home] = RedactingFilter(redactor), tail
        return tail

    def remove(self, home: str) -> None:
        """Keep the lines of a home no longer."""
        self._homes.pop(home, None)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        record.home = name = _HOME.get()
        mine = self._homes.get(name)
        for each in (self._own, *([mine[0]] if mine else [known[0] for known in [*self._homes.values()]])):
            each.filter(record)
        if mine is not None:
            mine[1].emit(record)
        self._out.handle(record)
