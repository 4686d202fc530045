"""Names of a-z, 0-9 and a separator made from any text, as Home Assistant derives entity ids from aliases."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9 _.-]*")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_DIGIT_COMMA = re.compile(r"(?<=\d),(?=\d)")


def object_id(id: str) -> str:
    """Return the second part of the name of an entity or a service that represents a person or an agent."""
    return id.replace("-", "_")


def slugify(text: str, separator: str = "_") -> str:
    """Return text in lower case, transliterated ("Küche – Licht an!" is `kuche_licht_an`); empty if nothing is left."""
    if not _PLAIN.fullmatch(text):
        text = _DIGIT_COMMA.sub("", text.replace("'", " "))
        if not text.isascii():
            from text_unidecode import unidecode

            text = unidecode(text).replace("'", "")
    return separator.join(part for part in _NOT_SLUG.split(text.lower()) if part)
