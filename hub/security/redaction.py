"""The redactor, which removes secrets at every sink."""

from __future__ import annotations

import json
import logging
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from operator import is_
from typing import Any
from urllib.parse import quote

from hub.core.phrases import map_phrase
from hub.core.secret import MASK, SECRET_LENGTH_MIN, SHOWN_AS_MASK, Secret
from hub.security.secret_patterns import SECRET_PATTERNS

DEPTH_LIMIT = 64
UNCHANGED = frozenset({type(None), bool, int, float})
REGISTERED_LIMIT = 5_000
KEYS_KEPT = 1_000
KEY_LENGTH_MAX = 40
"""Keys of data that were found to hold no secret are known again, so many and so long: events have the same few."""
BEGUN_LENGTH = 4
"""From so many of its letters on, the beginning of a value is held back in a text that comes in pieces."""


class Redactor:
    """Removes registered secrets and anything that looks like one from text and data.

    All methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()
        self._values_in_json: tuple[str, ...] = ()
        self._by_letter: dict[str, list[str]] = {}
        self._longest = 0
        self._harmless_keys: set[str] = set()

    def register(self, secret: Secret | str) -> None:
        """Register a secret value, also in its URL, JSON and base64 forms.

        Values of fewer than 8 characters are not registered; data of the configuration hides them by their origin.
        """
        value = secret.reveal() if isinstance(secret, Secret) else secret
        if len(value.strip()) < SECRET_LENGTH_MIN or value in self._values:
            return
        forms = {value, value.strip(), quote(value, safe=""), quote(value), json.dumps(value)[1:-1]}
        forms.add(json.dumps(value, ensure_ascii=False)[1:-1])
        forms.update(_within_base64(value.strip()))
        kept = {form for form in forms.union(self._values) if form not in MASK}
        self._values = tuple(sorted(kept, key=lambda form: (-len(form), form))[:REGISTERED_LIMIT])
        by_letter: dict[str, list[str]] = {}
        for form in self._values:
            by_letter.setdefault(form[0], []).append(form)
        self._by_letter, self._longest = by_letter, len(self._values[0])
        self._values_in_json = tuple([json.dumps(form, ensure_ascii=False)[1:-1] for form in self._values])
        # Last, and another set: a thread that still looks at a key by the old values adds it to the old one.
        self._harmless_keys = set()

    def redact(self, text: str) -> str:
        """Return `text` with every secret replaced by `[redacted]`; the same object when there was none."""
        spans: list[tuple[int, int]] = []
        for value in self._values:
            if value in text:
                spans.extend(_occurrences(value, text))
        folded = text.lower()
        for shape in SECRET_PATTERNS:
            if shape.mark not in text:
                continue
            searched = folded if shape.any_case else text
            for hint in shape.hints:
                if hint in searched:
                    spans.extend(match.span(shape.group) for match in shape.pattern.finditer(text))
                    break
        return _mask(text, spans) if spans else text

    def is_clean(self, encoded: str) -> bool:
        """Whether data certainly holds no secret, judged by its JSON as a whole; else each text has to be redacted.

        Args:
            encoded: The data as JSON that escapes no more than JSON requires.
        """
        if encoded.count("{") + encoded.count("[") > DEPTH_LIMIT:  # what is too deep to show is cut off
            return False
        for value in self._values_in_json:
            if value in encoded:
                return False
        folded = encoded.lower()
        for shape in SECRET_PATTERNS:
            if shape.mark in encoded:
                searched = folded if shape.any_case else encoded
                for hint in shape.hints:
                    if hint in searched:
                        return False
        return True

    def begun_at(self, text: str) -> int:
        """Return the position at the end of a text where a registered value may begin; its length if none does."""
        for at in range(max(0, len(text) - self._longest + 1), len(text) - BEGUN_LENGTH + 1):
            for form in self._by_letter.get(text[at], ()):
                if form.startswith(text[at:]):
                    return at
        return len(text)

    def redact_data(self, data: Any) -> Any:
        """Return plain data with every secret in its strings, keys and `Secret` objects replaced.

        The data itself is never changed; data without a secret is returned as the same object.
        """
        return self._redact_data(data, 0)

    def _redact_data(self, data: Any, depth: int) -> Any:
        kind = type(data)
        if kind is str:  # first, since most of what is shown is text
            return self.redact(data)
        if kind in UNCHANGED:
            return data
        if isinstance(data, SHOWN_AS_MASK):
            return MASK
        if isinstance(data, str):
            return map_phrase(data, self.redact)
        if data is None or isinstance(data, (bool, int, float)):
            return data
        if depth >= DEPTH_LIMIT:
            return "[too deep to show]"
        if isinstance(data, Mapping):
            mapped, same = {}, True
            for key, value in data.items():
                if type(value) is str:
                    shown = self.redact(value)
                else:
                    shown = value if type(value) in UNCHANGED else self._redact_data(value, depth + 1)
                known = type(key) is str and key in self._harmless_keys
                name = key if known else self._redact_key(key, depth + 1)
                mapped[name] = shown
                same = same and name is key and shown is value
            return data if same else mapped
        if isinstance(data, (list, tuple, set, frozenset)):
            items = [self._redact_data(item, depth + 1) for item in data]
            if all(map(is_, items, data)):
                return data
            return tuple(items) if isinstance(data, tuple) else items
        if isinstance(data, (bytes, bytearray)):
            return self.redact(bytes(data).decode("utf-8", "replace"))
        return data

    def _redact_key(self, key: Any, depth: int) -> Any:
        harmless = self._harmless_keys
        shown = self._redact_data(key, depth)
        if shown is key and type(key) is str and len(key) <= KEY_LENGTH_MAX and len(harmless) < KEYS_KEPT:
            harmless.add(key)
        return shown


class RedactedPieces:
    """Redacts streamed text: a possible beginning of a registered value is held back until the next piece."""

    __slots__ = ("_held", "_redactor", "_shown")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._shown = self._held = ""

    def add(self, piece: str) -> str:
        """Return the text that is safe to show now."""
        text = self._redactor.redact(self._shown + self._held + piece)
        begin = len(self._shown)
        while not text.startswith(self._shown[:begin]):
            begin -= 1
        end = max(begin, self._redactor.begun_at(text))
        self._shown, self._held = text[:end][1 - BEGUN_LENGTH :], text[end:]
        return text[begin:end]

    def end(self) -> str:
        """Return the held-back text; the next piece begins another text."""
        held, self._shown, self._held = self._held, "", ""
        return held


class RedactingFilter(logging.Filter):
    """Removes secrets from log records: message, arguments, traceback and stack. It lets every record pass."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor
        self._formatter = logging.Formatter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record in place, so that no later handler can show a secret."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError, IndexError):
            message = f"{record.msg!s} (its arguments do not fit: {record.args!r})"
        record.msg = self._redactor.redact(message)
        record.args = None
        if record.exc_info and not record.exc_text:
            record.exc_text = self._formatter.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self._redactor.redact(record.exc_text)
            record.exc_info = None  # a handler that formats it again would show the secret
        if record.stack_info:
            record.stack_info = self._redactor.redact(record.stack_info)
        return True


def _within_base64(value: str) -> Iterator[str]:
    """Yield the base64 forms of a value at any byte offset."""
    data = value.encode()
    for before, mixed in enumerate((0, 2, 3)):
        for encode in (b64encode, urlsafe_b64encode):
            whole = (before + len(data)) // 3 * 4
            yield encode(bytes(before) + data)[mixed:whole].decode()


def _occurrences(value: str, text: str) -> list[tuple[int, int]]:
    """Return where `value` occurs, overlapping occurrences merged."""
    spans: list[tuple[int, int]] = []
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
        start = text.find(value, start + 1)
    return spans


def _mask(text: str, spans: list[tuple[int, int]]) -> str:
    """Replace each span, and each run of spans that touch, by one mask."""
    parts: list[str] = []
    shown_from = 0
    for start, end in sorted(spans):
        if not parts or start > shown_from:
            parts += (text[shown_from:start], MASK)
        shown_from = max(shown_from, end)
    return "".join(parts) + text[shown_from:]
