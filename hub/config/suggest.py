"""Did you mean: the nearest valid word to one that looks like a typo."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from hub.core.phrases import Phrase, phrase

MEANT = "did you mean {word}?"
WORD_LIMIT = 100
CUTOFF = 0.6


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """Return the valid word nearest to `word`, or None if none is similar."""
    choices = [each for each in valid if len(each) <= WORD_LIMIT]
    if not word or len(word) > WORD_LIMIT or not choices:
        return None
    plain = {each.lower().replace("-", "_"): each for each in choices}
    found = get_close_matches(word.lower().replace("-", "_"), plain, n=1, cutoff=CUTOFF)
    return plain[found[0]] if found else None


def suggested_word(hint: str) -> str | None:
    """Return the word that a hint of `did_you_mean` offers, or None."""
    if isinstance(hint, Phrase) and hint.template == MEANT:
        return str(hint.values["word"])
    return None


def did_you_mean(word: str, valid: Iterable[str], *, known: str = "") -> str:
    """Return a hint: the nearest valid word, else the `known` ones if there are few."""
    choices = sorted(set(valid))
    near = nearest(word, choices)
    if near is not None:
        return phrase("did you mean {word}?", word=near)
    if known and choices and len(choices) <= 30:
        return phrase("{known}: {names}", known=known, names=choices)
    return ""
