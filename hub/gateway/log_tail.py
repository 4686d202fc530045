"""The log: as text or as JSON, and its latest lines in memory. Secrets are removed before."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from datetime import UTC, datetime

from msgspec import Struct

from hub.security.redaction import RedactingFilter, Redactor

LINES = 5_000
LINE_LIMIT = 4_000
"""Characters of one line that are kept."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class Tail(Struct, frozen=True):
    """Lines, the cursor after the last of them, and whether lines after the requested cursor were lost."""

    lines: list[str]
    cursor: int
    lost: bool


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON: time, level, part, message, and the exception if there was one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; `RedactingFilter` has taken the secrets out of message, traceback and stack."""
        shown = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "part": record.name,
            "message": record.getMessage(),
        }
        trace = record.exc_text or (self.formatException(record.exc_info) if record.exc_info else "")
        if trace or record.stack_info:
            shown["exception"] = "\n".join(filter(None, (trace, record.stack_info)))
        return json.dumps(shown, ensure_ascii=False)


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
        self._lines: deque[tuple[str, int, str]] = deque(maxlen=lines)
        self._count = 0
        self._guard = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record; each of its lines counts."""
        try:
            text = self.format(record)
        except (TypeError, ValueError):
            self.handleError(record)
            return
        kept = [(line[:LINE_LIMIT], record.levelno, record.name) for line in text.splitlines() or [""]]
        with self._guard:
            self._lines.extend(kept)
            self._count += len(kept)

    def read(
        self,
        cursor: int | None = None,
        limit: int = 500,
        max_bytes: int = 1_000_000,
        *,
        level: str | None = None,
        part: str | None = None,
    ) -> Tail:
        """Return lines.

        Args:
            cursor: The cursor of an earlier answer: lines after it, oldest first; None or a cursor of another process:
                the latest.
            limit: How many at most; the latest are preferred.
            max_bytes: The limit in bytes of UTF-8.
            level: Only records of this level and above.
            part: Only records of this part: `hub.messaging` or `messaging`, and all below it.
        """
        least = logging.getLevelNamesMapping()[level] if level else 0
        with self._guard:
            count = self._count
            begin = first = count - len(self._lines)
            lost = False
            if cursor is not None and 0 <= cursor <= count:
                lost = cursor < first
                begin = max(first, cursor)
            found = [self._lines[at] for at in range(begin - first, count - first)]
        if level or part:
            found = [each for each in found if each[1] >= least and (not part or f".{part}." in f".{each[2]}.")]
        lost = lost or (cursor is not None and len(found) > limit)
        chosen = [text for text, _, _ in found[-limit:]]
        size = 0
        for index in range(len(chosen) - 1, -1, -1):
            size += len(chosen[index].encode("utf-8", "replace")) + 1
            if size > max_bytes:
                return Tail(chosen[index + 1 :], count, lost=True)
        return Tail(chosen, count, lost)
