"""Commands that are allowed word by word; `*` is any one word that is no option and no path. Pure."""

from __future__ import annotations

import re

from .command_line import CommandRefused, read_command, runs_others

ANY = "*"

_PLACE = "@any@"
_ANY_WORD = re.compile(r"[^-/~.\s][^\x00-\x1f\x7f/]{0,254}")


def allowed_words(line: str) -> tuple[str, ...]:
    """Return the words of an allowed command; `*` is one of them.

    Raises:
        CommandRefused: It cannot be allowed, since it runs what its words do not name.
    """
    words = read_command(re.sub(r"(?<=\s)\*(?=\s|$)", _PLACE, line)).words
    words = tuple(ANY if each == _PLACE else each for each in words)
    reason = runs_others(words)
    if reason is not None:
        raise CommandRefused(f"{line!r:.80} cannot be allowed: {reason}, and what it runs is asked about each time")
    return words


def is_allowed(words: tuple[str, ...], rule: tuple[str, ...]) -> bool:
    """Whether a command is the one that a rule allows."""
    return len(rule) == len(words) and all(
        _ANY_WORD.fullmatch(word) is not None if each == ANY else each == word
        for each, word in zip(rule, words, strict=True)
    )
