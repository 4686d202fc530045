r"""Regular expressions that cannot run away: a pattern is judged by the steps it could take, before it is used.

The judge walks the parsed pattern and multiplies the ways in which its repeats can share a text. Where the next thing
cannot begin with what is repeated, as in `[0-9]+-`, the repeat has only one way. The bound is from above: what passes
takes at most so many steps, whatever the text.

An engine that never backtracks (RE2) is no replacement: it has no look-ahead, its `\w` and `\b` know ASCII letters
alone, and its `$` does not match before a last line break; patterns of Home Assistant rely on all of these.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from importlib import import_module
from typing import Any

from hub.template.work import BoundReached

code: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

PATTERN_CHARS = 500
"""Length of a pattern."""
PATTERN_STEPS = 3_000_000
"""Steps that a pattern may take on a text of the length at hand, as the judge counts them."""
_SCANNED = 0.125
"""A repeat of single characters before a fixed one is looked through in a loop of its own, faster than a step."""
_ROUND = 3.0
"""A round of any other repeat takes longer than a step."""
_ANY = (code.ANY, code.ANY_ALL, code.NOT_LITERAL, code.IN, code.LITERAL)
_ANCHORS = ([(code.AT, code.AT_BEGINNING)], [(code.AT, code.AT_BEGINNING_STRING)])
_REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)
NEAR_LIMIT = 0x250
"""Characters below are distinguished one by one, those beyond by their kind."""
_NEAR = frozenset(map(chr, range(NEAR_LIMIT)))
_FAR_DIGIT, _FAR_SPACE, _FAR_WORD, _FAR_REST = ("far digit", "far space", "far word", "far rest")
_FAR = frozenset({_FAR_DIGIT, _FAR_SPACE, _FAR_WORD, _FAR_REST})
_ALL = _NEAR | _FAR
_WITH_FAR_CASE = frozenset("kK")
"""Of the ASCII letters, that of which there is another case far away: the sign of the kelvin."""
_CATEGORIES = {
    code.CATEGORY_DIGIT: (r"\d", frozenset({_FAR_DIGIT})),
    code.CATEGORY_NOT_DIGIT: (r"\D", _FAR - {_FAR_DIGIT}),
    code.CATEGORY_SPACE: (r"\s", frozenset({_FAR_SPACE})),
    code.CATEGORY_NOT_SPACE: (r"\S", _FAR - {_FAR_SPACE}),
    code.CATEGORY_WORD: (r"\w", frozenset({_FAR_DIGIT, _FAR_WORD})),
    code.CATEGORY_NOT_WORD: (r"\W", frozenset({_FAR_SPACE, _FAR_REST})),
}


def judged(find: Any, text: str, *, ignorecase: bool = False, from_start: bool = False) -> re.Pattern[str]:
    """Return the compiled pattern when it is sure to be quick on `text`.

    Raises:
        BoundReached: It may take too long; the message says what to change.
        ValueError: It is not a pattern.
    """
    if not isinstance(find, str):
        raise ValueError("a pattern is a text")
    pattern, tree = _compiled(find, bool(ignorecase))
    length = max(1, len(text))
    items = list(tree)
    work, _ = _cost(items, length, is_all=True)
    is_anchored = items[:1] in _ANCHORS and not pattern.flags & re.MULTILINE
    starts = 1 if from_start or is_anchored else max(1.0, length / _spacing(items))
    if work * starts + length > PATTERN_STEPS:
        raise BoundReached(
            f"the pattern {find[:60]!r} may take too long on {len(text)} characters: "
            "name what is between its repeats, or shorten the text"
        )
    return pattern


@lru_cache(maxsize=256)
def _compiled(find: str, ignorecase: bool) -> tuple[re.Pattern[str], Any]:
    if len(find) > PATTERN_CHARS:
        raise BoundReached(f"a pattern has more than {PATTERN_CHARS} characters")
    flags = re.IGNORECASE if ignorecase else 0
    try:
        return re.compile(find, flags), parser.parse(find, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{find[:60]!r} is not a pattern: {error}") from None


def _cost(items: list[Any], length: int, *, is_all: bool = False) -> tuple[float, float]:
    """The steps from one place at most, and the ways to get through.

    `is_all` says that nothing comes after the items: where the rest may be empty, the first way is the last.
    """
    work = ways = 1.0
    for place, (kind, value) in enumerate(items):
        own_work, own_ways = _cost_of(kind, value, length)
        following = [part for part, _ in items[place + 1 : place + 2]]
        if kind is code.MAX_REPEAT and _is_single(value[2]) and following == [code.LITERAL]:
            own_work *= _SCANNED
        if _is_told_apart(items[place], items[place + 1 :]) or (is_all and _may_be_empty(items[place + 1 :])):
            own_ways = 1.0
        own_ways = max(1.0, own_ways / _spacing(items[place + 1 :]))
        work += ways * own_work
        ways *= own_ways
    return work, ways


def _cost_of(kind: Any, value: Any, length: int) -> tuple[float, float]:
    if kind in _ANY:
        return 1.0, 1.0
    if kind is code.AT:
        return 1.0, 1.0
    if kind in _REPEATS:
        return _cost_of_repeat(value, length)
    if kind is code.SUBPATTERN:
        return _cost(list(value[-1]), length)
    if kind is code.ATOMIC_GROUP:
        return _cost(list(value), length)[0], 1.0
    if kind in (code.ASSERT, code.ASSERT_NOT):
        return _cost(list(value[1]), length)[0], 1.0
    if kind is code.BRANCH:
        costs = [_cost(list(branch), length) for branch in value[1]]
        return sum(work for work, _ in costs), sum(ways for _, ways in costs)
    raise BoundReached(f"a pattern has {str(kind).lower()}, which templates do not take: it may be slow without end")


def _cost_of_repeat(value: Any, length: int) -> tuple[float, float]:
    least, most, body = value
    most = min(int(most), max(length, int(least)))
    work, ways = _cost(list(body), length)
    if _is_decided(list(body)):
        ways = 1.0
    if most <= 1:
        return work * _ROUND, ways + 1 - int(least)
    if ways > 1.0:
        # Each round multiplies the ways.
        grown = math.inf if most * math.log10(ways) > 100 else ways**most
        return work * _ROUND * grown, grown * max(1, most - int(least) + 1)
    if not _is_single(body) and not _looks_around(body):
        # With one way through it, what the rounds take from the text is no more than the text, all of them together.
        fixed, _ = _cost(list(body), 1)
        return fixed * _ROUND * max(1, most) + 2 * work, max(1, most - int(least) + 1)
    per_round = 1.0 if _is_single(body) else _ROUND
    return work * per_round * max(1, most), max(1, most - int(least) + 1)


def _is_decided(body: list[Any]) -> bool:
    """Whether a repeated body is a choice of fixed things of which each text fits only one."""
    if len(body) == 1 and body[0][0] is code.SUBPATTERN:
        return _is_decided(list(body[0][1][-1]))
    if len(body) != 1 or body[0][0] is not code.BRANCH:
        return all(kind in _ANY for kind, _ in body)
    firsts = []
    for branch in body[0][1][1]:
        if not len(branch) or any(kind not in _ANY for kind, _ in branch):
            return False
        firsts.append(_first(branch[0]))
    return all(_apart(one, other) for place, one in enumerate(firsts) for other in firsts[place + 1 :])


def _is_told_apart(item: Any, following: list[Any]) -> bool:
    """Whether what follows a repeat of single characters begins with a character that the repeat cannot take."""
    kind, value = item
    if kind is code.SUBPATTERN and len(value[-1]) == 1:
        return _is_told_apart(value[-1][0], following)
    if kind not in _REPEATS or not following or not _is_single(value[2]):
        return False
    return _apart(_first(value[2][0]), _first(following[0]))


def _may_be_empty(items: list[Any]) -> bool:
    return all(kind in _REPEATS and value[0] == 0 for kind, value in items)


def _spacing(items: list[Any]) -> int:
    """How far apart, at least, the places are where what follows can begin.

    A word that does not end as it begins, such as `foo`, is there no more often than every third character.
    """
    word = ""
    for kind, value in items:
        if kind is not code.LITERAL or not chr(value).isascii():
            break
        word += chr(value).lower()
    overlaps = any(word.endswith(word[:size]) for size in range(1, len(word)))
    return len(word) if word and not overlaps else 1


def _looks_around(body: Any) -> bool:
    return "ASSERT" in repr(body)


def _is_single(body: Any) -> bool:
    return len(body) == 1 and body[0][0] in _ANY


def _first(item: Any) -> frozenset[str] | None:
    """The characters an item can begin with; None when it may be empty or is not known."""
    kind, value = item
    if kind is code.AT and value is code.AT_END_STRING:
        return frozenset()
    if kind in _ANY:
        return _matching(kind, value)
    if kind is code.SUBPATTERN and len(value[-1]):
        return _first(value[-1][0])
    if kind in _REPEATS and value[0] > 0 and len(value[2]):
        return _first(value[2][0])
    return None


def _apart(one: frozenset[str] | None, other: frozenset[str] | None) -> bool:
    return one is not None and other is not None and not one & other


def _matching(kind: Any, value: Any) -> frozenset[str]:
    """What one item matches, rather too much than too little: upper and lower case count as the same."""
    if kind is code.LITERAL:
        return _with_cases(_between(value, value))
    if kind is code.NOT_LITERAL:
        return _ALL - _between(value, value) if value < NEAR_LIMIT else _ALL
    if kind is not code.IN:
        return _ALL
    is_negated = value[0][0] is code.NEGATE
    found = frozenset[str]()
    for part, detail in value:
        if part is code.CATEGORY:
            found |= _category(detail)
        elif part in (code.LITERAL, code.RANGE):
            low, high = (detail, detail) if part is code.LITERAL else detail
            found |= (_between(low, high) & _NEAR) if is_negated else _with_cases(_between(low, high))
    return _ALL - found if is_negated else found


def _between(low: int, high: int) -> frozenset[str]:
    near = frozenset(map(chr, range(low, min(high + 1, NEAR_LIMIT))))
    return near | _FAR if high >= NEAR_LIMIT else near


def _with_cases(chars: frozenset[str]) -> frozenset[str]:
    if chars & _FAR:
        return chars | _NEAR
    cases = frozenset(case for char in chars for case in (char.lower(), char.upper(), char.swapcase()))
    is_near = all(char.isascii() and char not in _WITH_FAR_CASE for char in chars)
    return chars | cases | (frozenset() if is_near else frozenset({_FAR_WORD}))


@lru_cache(maxsize=16)
def _category(name: Any) -> frozenset[str]:
    written, far = _CATEGORIES[name]
    pattern = re.compile(written)
    return frozenset(char for char in _NEAR if pattern.match(char)) | far
