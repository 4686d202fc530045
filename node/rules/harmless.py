"""The commands that run without asking: programs that only look, with exactly the options and operands that are safe.

An allow-list, and a pure rule: it is the same whether a file exists or not. What it does not know is asked about. None
goes through folders and prints what files contain: some are hidden from a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NUMBER = re.compile(r"[0-9]{1,9}")
_SIZE = re.compile(r"[+-]?[0-9]{1,9}[kKMG]?")
_LIST = re.compile(r"[0-9,-]{1,100}")
_PATH = re.compile(r"(?:\./)?(?:[^\W_]|_)[^\x00-\x1f\x7f/]{0,254}(?:/(?:[^\W_]|_)[^\x00-\x1f\x7f/]{0,254}){0,30}/?")
_HERE = frozenset({".", "./"})
_DATE = re.compile(r"\+(?:[ -$&-~]|%[-_^#:]{0,3}[A-Za-z%]){0,200}")
"""Without widths, which can ask for gigabytes."""
_TEXT = re.compile(r"(?!.*(?:[{]\s*[0-9,]|\\[1-9]))[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]{0,999}")
"""Without counted repetition and references back, which can take gigabytes and hours."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The allowed arguments of one program.

    Attributes:
        short: Options of one letter without a value, which may be joined.
        valued: Options of one letter with a value, by letter; the value may be joined.
        long: Options of words, whole.
        first: The form of the first operand, where it is not a path.
        paths: Whether (further) operands are paths below the working directory.
        least: How many operands there must be.
        lists: Whether it prints nothing of the content of files.
    """

    short: str = ""
    valued: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    long: frozenset[str] = frozenset()
    first: re.Pattern[str] | None = None
    paths: bool = False
    least: int = 0
    lists: bool = False


_LINES = {"n": _SIZE, "c": _SIZE}
_SUM = Grammar("bt", paths=True, least=1, lists=True)

GRAMMARS: dict[str, Grammar] = {
    "ls": Grammar(
        "1aAdFhilnrsStgoUpX",
        long=frozenset({"--all", "--almost-all", "--human-readable", "--reverse", "--directory"}),
        paths=True,
        lists=True,
    ),
    "cat": Grammar("nbsETA", paths=True, least=1),
    "head": Grammar("qvz", _LINES, paths=True, least=1),
    "tail": Grammar("qvz", _LINES, paths=True, least=1),
    "grep": Grammar(
        "inlLcvwxEFohHsq",
        {"A": _NUMBER, "B": _NUMBER, "C": _NUMBER, "m": _NUMBER},
        frozenset({"--ignore-case", "--line-number", "--count", "--fixed-strings", "--color=never"}),
        _TEXT,
        paths=True,
        least=2,
    ),
    "wc": Grammar("lwcmL", paths=True, least=1, lists=True),
    "cut": Grammar("s", {"d": re.compile(r"[ -~]"), "f": _LIST, "c": _LIST, "b": _LIST}, paths=True, least=1),
    "cmp": Grammar("bls", paths=True, least=2),
    "diff": Grammar("uqwBbiyas", {"U": _NUMBER}, paths=True, least=2),
    "stat": Grammar("Lt", paths=True, least=1, lists=True),
    "du": Grammar("hsckb", {"d": _NUMBER}, paths=True, lists=True),
    "df": Grammar("hTikPal", lists=True),
    "sha256sum": _SUM,
    "sha1sum": _SUM,
    "md5sum": _SUM,
    "date": Grammar("uR", long=frozenset({"--utc", "--iso-8601", "--rfc-email"}), first=_DATE, lists=True),
    "uname": Grammar("asnrvmpio", lists=True),
    "uptime": Grammar("ps", lists=True),
    "nproc": Grammar(long=frozenset({"--all"}), lists=True),
    "free": Grammar("bkmghtw", lists=True),
    "lscpu": Grammar(lists=True),
    "lsblk": Grammar("fm", lists=True),
    "whoami": Grammar(lists=True),
    "id": Grammar("ugnGr", lists=True),
    "pwd": Grammar("LP", lists=True),
    "arch": Grammar(lists=True),
    "true": Grammar(lists=True),
    "false": Grammar(lists=True),
    "sleep": Grammar(first=_NUMBER, least=1, lists=True),
}
"""By program. Their options are those of the GNU programs; no abbreviation of a long option is taken."""


def grammar_of(words: tuple[str, ...]) -> Grammar | None:
    """Return the grammar that a command fits as a whole; None when it does not."""
    grammar = GRAMMARS.get(words[0]) if words else None
    return grammar if grammar is not None and _fits(words[1:], grammar) else None


def path_operands(words: tuple[str, ...], grammar: Grammar) -> list[str]:
    """Return the paths that a command of this grammar names."""
    operands = _operands(words[1:], grammar) or []
    return operands[1 if grammar.first else 0 :] if grammar.paths else []


def _fits(arguments: tuple[str, ...], grammar: Grammar) -> bool:
    operands = _operands(arguments, grammar)
    if operands is None or len(operands) < grammar.least:
        return False
    if grammar.first is not None and operands and not grammar.first.fullmatch(operands.pop(0)):
        return False
    return not operands or (grammar.paths and all(_is_path(each) for each in operands))


def _operands(arguments: tuple[str, ...], grammar: Grammar) -> list[str] | None:
    """Return the operands after the options; None when an option is not known, or follows an operand."""
    left, found = list(arguments), []
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            found.append(word)
        elif found or not (word in grammar.long or _is_short(word[1:], left, grammar)):
            return None
    return found


def _is_short(letters: str, left: list[str], grammar: Grammar) -> bool:
    """Whether these are joined options of one letter; the value of the last is taken from what is left."""
    if not letters:
        return False
    for at, letter in enumerate(letters):
        if (form := grammar.valued.get(letter)) is not None:
            value = letters[at + 1 :] or (left.pop(0) if left else "")
            return form.fullmatch(value) is not None
        if letter not in grammar.short:
            return False
    return True


def _is_path(word: str) -> bool:
    return word in _HERE or (_PATH.fullmatch(word) is not None and word.isprintable())
