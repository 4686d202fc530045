"""The latest log lines in memory, for `logs.tail` and `homarus logs`. Secrets were removed before."""

from __future__ import annotations

import logging
import threading
from collections import deque

from msgspec import Struct

from hub.security.redaction import RedactingFilter, Redactor

LINES = 5_000
LINE_LIMIT = 4_000
"""Characters of one line that are kept."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class Tail(Struct, frozen=True):
    """Lines, the cursor after the last of them, and whether lines after the requested cursor were lost."""

    lines: list[str]
    cursor: int
    lost: bool


class LogTail(logging.Handler):
    """A logging handler that keeps the latest lines; any thread may log.

    Args:
        redactor: Takes secrets out of each record before it is kept.
        lines: How many are kept.
    """

    def __init__(self, redactor: Redactor, lines: int = LINES) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
        self.addFilter(RedactingFilter(redactor))
        self._lines: deque[str] = deque(maxlen=lines)
        self._count = 0
        self._guard = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record; each of its lines counts."""
        try:
            text = self.format(record)
        except (TypeError, ValueError):
            self.handleError(record)
            return
        kept = [line[:LINE_LIMIT] for line in text.splitlines()] or [""]
        with self._guard:
            self._lines.extend(kept)
            self._count += len(kept)

    def read(self, cursor: int | None = None, limit: int = 500, max_bytes: int = 1_000_000) -> Tail:
        """Return lines.

        Args:
            cursor: The cursor of an earlier answer: lines after it, oldest first; None or a cursor of another process:
                the latest.
            limit: How many at most; the latest are preferred.
            max_bytes: The limit in bytes of UTF-8.
        """
        with self._guard:
            count = self._count
            first = count - len(self._lines)
            begin = count - limit
            lost = False
            if cursor is not None and 0 <= cursor <= count:
                lost = cursor < max(first, begin)
                begin = max(begin, cursor)
            begin = max(begin, first)
            chosen = [self._lines[at] for at in range(begin - first, count - first)]
        size = 0
        for index in range(len(chosen) - 1, -1, -1):
            size += len(chosen[index].encode("utf-8", "replace")) + 1
            if size > max_bytes:
                return Tail(chosen[index + 1 :], count, lost=True)
        return Tail(chosen, count, lost)
