"""The diagnostics bundle: what helps another person to find a fault, without secrets and without private words.

Closed by default: of the configuration it shows the words that its schema knows, numbers and switches; every other
text is replaced, there and wherever else it turns up.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from typing import Any

from hub.core.secret import MASK, SHOWN_AS_MASK

PRIVATE = "[private]"
LOG_LINES = 1_000
PRIVATE_LENGTH_MIN = 2
"""Shorter texts are hidden in the configuration alone: a letter is everywhere."""
PLACES = frozenset({"latitude", "longitude", "elevation"})
NUMBER_LIMIT = 100_000
"""Larger numbers may be an id or a telephone number."""
PACKAGES_LIMIT = 500
ADDRESSES = re.compile(
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*"  # mail addresses, Matrix and XMPP names
    r"|(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"  # addresses of machines
    r"|(?<![\w:])(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{0,4}"
    r"|\b(?:peer|user|group|direct|room|chat):[^\s,;)\]}'\"]+"  # identities and keys of conversations
    r"|(?<![\w:,.])\+?\d[\d ()/-]{5,30}\d(?!\w)"  # telephone numbers and ids
    r"|(?<=://)[^\s'\"]+"
    r"|(?<=/home/)[^/\s]+"
)
_STAMP = re.compile(r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]?\d*")


def vocabulary(schema: Any) -> frozenset[str]:
    """Return the words of a JSON Schema: its keys, and the values that it lists."""
    return frozenset(_words_in(schema))


def mask(value: Any, words: frozenset[str], private: set[str], key: str = "") -> Any:
    """Return plain data of the configuration without private words.

    Args:
        words: What may be shown.
        private: Gets the texts that were replaced.
        key: The key of the value.
    """
    if isinstance(value, SHOWN_AS_MASK):
        return MASK
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        shown: dict[str, Any] = {}
        for number, (name, inner) in enumerate(value.items(), 1):
            text = str(name)
            if text not in words:
                private.add(text)
            shown[text if text in words else f"[name {number}]"] = mask(inner, words, private, text)
        return shown
    if isinstance(value, (list, tuple, set, frozenset)):
        return [mask(each, words, private, key) for each in value]
    if isinstance(value, (int, float)):
        return PRIVATE if key in PLACES or abs(value) >= NUMBER_LIMIT else value
    text = str(value)
    if text in words:
        return text
    private.add(text)
    return PRIVATE


class Masker:
    """Takes private words and addresses out of texts.

    Args:
        private: The private words.
    """

    def __init__(self, private: Iterable[str]) -> None:
        parts = {part.strip() for each in private for part in (each, *each.splitlines())}
        found = sorted((each for each in parts if len(each) >= PRIVATE_LENGTH_MIN), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_bounded, found)), re.IGNORECASE) if found else None

    def mask_text(self, text: str) -> str:
        """Return a text without private words and addresses; a time at its beginning stays."""
        stamp = _STAMP.match(text)
        begin = stamp.end() if stamp else 0
        return text[:begin] + ADDRESSES.sub(PRIVATE, self.mask_words(text[begin:]))

    def mask_words(self, text: str) -> str:
        """Return a text without the private words; for texts whose numbers are no addresses."""
        return text if self._pattern is None else self._pattern.sub(PRIVATE, text)

    def mask_data(self, value: Any) -> Any:
        """Return plain data without private words and addresses."""
        if isinstance(value, Mapping):
            return {self.mask_text(str(name)): self.mask_data(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.mask_data(each) for each in value]
        return self.mask_text(value) if isinstance(value, str) else value


def versions(version: str) -> dict[str, Any]:
    """Return the versions of the hub, of what it runs on, and of the packages."""
    packages = sorted({f"{each.name} {each.version}" for each in metadata.distributions() if each.name})
    return {
        "homarus": version,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "packages": packages[:PACKAGES_LIMIT],
    }


def _words_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            yield from map(str, properties)
        for value in (*_listed(schema.get("enum")), schema.get("const")):
            if isinstance(value, str):
                yield value
        for name, inner in schema.items():
            if name not in ("enum", "const", "default", "examples", "description"):
                yield from _words_in(inner)
    elif isinstance(schema, (list, tuple)):
        for each in schema:
            yield from _words_in(each)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _bounded(text: str) -> str:
    """Return a pattern for a text; a short one counts as a whole word alone."""
    before = r"(?<!\w)" if text[0].isalnum() and text.isascii() else ""
    after = r"(?!\w)" if text[-1].isalnum() and text.isascii() else ""
    return f"{before}{re.escape(text)}{after}"
