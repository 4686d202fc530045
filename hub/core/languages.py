"""Language negotiation: BCP 47 tags, and the header `Accept-Language` (RFC 9110, section 12.5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ACCEPT_LANGUAGE_LIMIT = 512


TWELVE_HOURS = frozenset({"en-us", "en-ca", "en-au", "en-nz"})
"""Where people count the hours of a day to twelve, twice, when nothing says how they do."""


def has_twelve_hours(time_format: str, language: str) -> bool:
    """Return whether times are written as 3:30 pm.

    Args:
        time_format: `hub.time_format`.
        language: The tag of the home's language.
    """
    return time_format == "12h" or (time_format == "auto" and language.lower() in TWELVE_HOURS)


def match_language(tag: str, known: Iterable[str]) -> str | None:
    """Return the first supported language that matches a tag, or None."""
    wanted = tag.strip().lower().split("-")[0]
    return next((each for each in known if each.lower().split("-")[0] == wanted), None)


def preferred_language(header: str | None, known: Sequence[str], default: str) -> str:
    """Return the supported language that a browser asks for, else that of `default`, else English.

    Args:
        header: `Accept-Language`, if any.
        known: Tags; English is one of them.
        default: The tag of the home's language.
    """
    found = (match_language(tag, known) for tag in _accepted(header or ""))
    return next((each for each in found if each is not None), match_language(default, known) or "en")


def _accepted(header: str) -> Sequence[str]:
    """Return the tags of an Accept-Language header, by preference."""
    weighted: list[tuple[float, int, str]] = []
    for order, part in enumerate(header[:ACCEPT_LANGUAGE_LIMIT].split(",")):
        tag, _, quality = part.partition(";q=")
        try:
            weight = float(quality) if quality else 1.0
        except ValueError:
            weight = 0.0
        if tag.strip() and weight > 0:
            weighted.append((-weight, order, tag.strip()))
    return [tag for _, _, tag in sorted(weighted)]
