"""Messaging's own sentences, in the language of the home."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "locale"
FALLBACK = "en"


def say(key: str, language: str = FALLBACK, **values: object) -> str:
    """Return the sentence `key` in `language`, or in English where that language has none.

    Raises:
        KeyError: No language has it.
    """
    sentences = _sentences(language)
    return (sentences.get(key) or _sentences(FALLBACK)[key]).format(**values)


def languages() -> list[str]:
    """Return the languages with sentences."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


@lru_cache(maxsize=8)
def _sentences(language: str) -> dict[str, str]:
    names = languages()
    prefix = language.split("-", maxsplit=1)[0].lower()
    chosen = next(
        (name for name in names if name.lower() == language.lower()),
        next((name for name in names if name.split("-")[0] == prefix), FALLBACK),
    )
    loaded: dict[str, str] = json.loads((_FOLDER / f"{chosen}.json").read_text(encoding="utf-8"))
    return loaded
