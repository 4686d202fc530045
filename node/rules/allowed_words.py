"""Commands that are allowed word by word; `*` is any one plain word: no option, no path, no sign of a shell. Pure."""

from __future__ import annotations

import re

from .command_line import CommandRefused, read_command, runs_others

ANY = "*"

_PLACE = "@any@"
_ANY_WORD = re.compile(r"(?![-+@~.\s])[^\x00-\x1f\x7f/|<>&;$`\\]{1,255}")
"""Programs take `+x` for an option, `@x` for a file with more of them, and Perl's open `x|` for a command to run."""


def allowed_words(line: str) -> tuple[str, ...]:
    """Return the words of an allowed command; `*` is one of them.

    Raises:
        CommandRefused: It cannot be allowed, since it runs what its words do not name.
    """
    words = read_command(re.sub(r"(?<=\s)\*(?=\s|$)", _PLACE, line)).words
    if words[:1] == (_PLACE,) or ANY in words or _PLACE in line:
        raise CommandRefused(f"{line!r:.80} cannot be allowed: * is one word after the program, without quotes")
    words = tuple(ANY if each == _PLACE else each for each in words)
    reason = runs_others(words)
    if reason is not None:
        raise CommandRefused(f"{line!r:.80} cannot be allowed: {reason}, and what it runs is asked about each time")
    return words


def is_allowed(words: tuple[str, ...], rule: tuple[str, ...]) -> bool:
    """Whether a command is the one that a rule allows."""
    return len(rule) == len(words) and all(
        may_match_wildcard(word) if each == ANY else each == word for each, word in zip(rule, words, strict=True)
    )


def may_match_wildcard(word: str) -> bool:
    """Whether a word may match a `*`."""
    return _ANY_WORD.fullmatch(word) is not None
