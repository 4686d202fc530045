"""Finds the entities that a person means by words such as "the kitchen lights" or 客厅的灯. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from hub.core.lazy_pattern import LazyPattern
from integrations.tools.home.vocabulary import (
    ALSO,
    EVERY,
    EVERYTHING,
    HOLDS,
    KINDS,
    LITTLE,
    OF_HOUSES,
    OF_ROOMS,
    OF_STATE,
    STATES,
)

_WORD = LazyPattern(r"[^\W_\u3400-\u9fff]+|[\u3400-\u9fff]+")
_WHOLE_HOUSE = LazyPattern(
    r"\b(?:in |of |around |throughout |across )?(?:(?:every|each|all(?: the| my| our)?) (?:rooms?|areas?)"
    r"|(?:(?:the|my|our) )?(?:whole |entire )(?:house|home|apartment|flat|place)"
    r"|(?:in|around|throughout) (?:the|my|our) (?:house|home|apartment|flat)"
    r"|all over|everywhere|all around)\b|(?:整个|全)(?:家|屋|房子)|家里|屋里"
)
_DOWN_HERE = LazyPattern(r"\b(down|up) here\b")
_BUT = LazyPattern(r"[\s,]*\b(?:except(?: for)?|but(?: not)?|apart from|other than)\b(.+)")
_BUT_CHINESE = LazyPattern(r"除了?(.+?)(?:(?:以外|之外|外)[,，]?|[,，]|(?=所有|全部|全都|一切|都))的?")
_AND = LazyPattern(r",|\band\b|、|，|和|与")
_ENDS_ON = LazyPattern(r"\bon\b(?=\s*(?:[?.!]|$|in\b|at\b|upstairs|downstairs|right|now|anywhere))")
_ON = "switched"
"""Stands for an "on" that is a state; any other is a little word."""


class NamedEntity(Struct, frozen=True):
    """An entity that may be named: its names, and those of its places and labels."""

    entity_id: str
    names: tuple[str, ...]
    places: tuple[str, ...] = ()
    device_class: str = ""
    state: str = ""

    @property
    def domain(self) -> str:
        """Its domain."""
        return self.entity_id.partition(".")[0]

    def is_in(self, state: str) -> bool:
        """Whether it is in a state, as people call it."""
        holds = HOLDS.get(STATES.get(state.casefold(), state.casefold()))
        return (
            holds(self.domain, self.device_class, self.state) if holds is not None else self.state == state.casefold()
        )


def words_of(text: str) -> list[str]:
    """Return the words of a text as they are compared: singular, Chinese by known words or else by characters."""
    return list(_words(text))


@lru_cache(maxsize=16_384)
def _words(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for run in _WORD.findall(text.casefold()):
        if run.isascii() or not "\u3400" <= run[0] <= "\u9fff":
            found.append(ALSO.get(_singular(run), _singular(run)))
            continue
        at = 0
        while at < len(run):
            size = next((size for size in range(5, 1, -1) if run[at : at + size] in _TERMS), 1)
            word = run[at : at + size]
            found.append(ALSO.get(word, word))
            at += len(word)
    return tuple(found)


def _singular(word: str) -> str:
    if len(word) <= 3 or not word.isascii() or not word.endswith("s") or word.endswith("ss") or word in _NOT_PLURAL:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]


_NOT_PLURAL = frozenset({"upstairs", "downstairs", "stairs", "always", "this", "christmas", "does"})
_CHINESE_KINDS = frozenset(word for words in KINDS.values() for word in words.split() if not word.isascii())
_TERMS = frozenset(
    each for each in (*_CHINESE_KINDS, *ALSO, *LITTLE, *EVERY, *STATES) if len(each) > 1 and not each.isascii()
)
"""Chinese words of more than one character that are told apart."""


@lru_cache(maxsize=1)
def _all_kinds() -> frozenset[str]:
    return frozenset(word for words in KINDS.values() for word in _words(words))


@lru_cache(maxsize=512)
def _kinds(domain: str, device_class: str) -> frozenset[str]:
    keys = (domain, f"{domain}/{device_class}")
    return frozenset(word for key in keys for word in _words(KINDS.get(key, "")))


def kinds_of(candidate: NamedEntity) -> Collection[str]:
    """Return the words for the kind of an entity."""
    return _kinds(candidate.domain, candidate.device_class)


def find(text: str, candidates: Iterable[NamedEntity]) -> list[NamedEntity]:
    """Return the entities that have all words of a text in names, places, kind or state, the best first.

    Raises:
        LookupError: What is to be left out is not among them.
    """
    rest, but = _without_exceptions(text)
    return _left_over(_of_kind(rest, _matches(rest, candidates, has_states=True)), but)


def find_named(text: str, candidates: Iterable[NamedEntity]) -> list[NamedEntity]:
    """Return the intended entities: all matches if "all" or a plural is said, else the best.

    Raises:
        LookupError: What is to be left out is not among them.
    """
    rest, but = _without_exceptions(text)
    found = _matches(rest, candidates)
    if not is_several(rest) and not but:
        best = [each for fit, each in found if fit == found[0][0]]
        of_place = [] if found and found[0][0] == (0, 0) else [each for _, each in found if _is_around(rest, each)]
        return of_place or best
    if _says_all(rest) or _WHOLE_HOUSE.search(rest):
        found = [(fit, each) for fit, each in found if _is_told(rest, each) or each.domain in EVERYTHING]
    return _left_over(_of_kind(rest, found), but)


def is_of_whole_home(text: str) -> bool:
    """Whether a text says "all", or names the whole home."""
    return _says_all(text) or _WHOLE_HOUSE.search(text.casefold()) is not None


def is_mere_kind(text: str) -> bool:
    """Whether a text names nothing but a kind of things: "the light", not "the desk light"."""
    said = set(words_of(text)) - LITTLE
    return bool(said) and said <= _all_kinds()


def is_of_rooms(candidate: NamedEntity) -> bool:
    """Whether its kind is one of which each room has its own, so that people leave out which room they mean."""
    return candidate.domain in OF_ROOMS and candidate.device_class not in OF_HOUSES


def _is_around(text: str, candidate: NamedEntity) -> bool:
    """Whether a text has only words of a place and of a kind: "the bedroom lamp" where nothing is called so."""
    said = set(words_of(text)) - LITTLE
    places = {word for place in candidate.places for word in words_of(place)}
    kinds = set(kinds_of(candidate))
    return bool(said & places) and bool(said & kinds - places) and said <= places | kinds


def in_state(text: str, found: Iterable[NamedEntity], state: str) -> list[NamedEntity]:
    """Return those that are in a state; where a text tells no kind and no name, only what that state is about."""
    about = OF_STATE.get(STATES.get(state.casefold(), ""))
    return [
        each for each in found if each.is_in(state) and (about is None or each.domain in about or _is_told(text, each))
    ]


def _is_told(text: str, candidate: NamedEntity) -> bool:
    """Whether a text has a word of an entity's kind or of its names."""
    said = set(words_of(text)) - LITTLE
    return bool(said & set(kinds_of(candidate))) or any(said & set(words_of(name)) for name in candidate.names)


def is_clear(text: str, found: Sequence[NamedEntity]) -> bool:
    """Whether several entities may be acted on at once: they were named by their kind, not by a shared name."""
    if len(found) < 2:
        return True
    rest, but = _without_exceptions(text)
    said = set(words_of(_WHOLE_HOUSE.sub(" all ", rest)))
    told = said & _all_kinds() or not said - LITTLE
    if (but or is_several(rest)) and (told or _says_all(rest)):
        return True
    return len({each.domain for each in found}) == 1 and any(said & set(kinds_of(each)) for each in found)


def is_several(text: str) -> bool:
    """Whether a text says "all" or a plural of a kind."""
    if _WHOLE_HOUSE.search(text.casefold()) or _says_all(text):
        return True
    return any(_singular(word) != word and _singular(word) in _all_kinds() for word in _WORD.findall(text.casefold()))


def _of_kind(text: str, found: Iterable[tuple[tuple[int, int], NamedEntity]]) -> list[NamedEntity]:
    """Return what was found without what only calls itself so: a plug "All lights" is not one of the lights."""
    every = [each for _, each in found]
    said = set(words_of(text)) & _all_kinds()
    fitting = [each for each in every if said <= set(kinds_of(each)) or not any(map(_says_all, each.names))]
    return fitting or every


def _says_all(text: str) -> bool:
    return any(word in EVERY for word in words_of(text))


def _without_exceptions(text: str) -> tuple[str, str]:
    """Return what is meant, and what is to be left out of it."""
    said = _DOWN_HERE.sub(r"\1stairs", text.casefold())
    if (but := _BUT.search(said)) is not None:
        return said[: but.start()], but[1]
    if (but := _BUT_CHINESE.search(said)) is not None:
        return said[: but.start()] + said[but.end() :], but[1]
    return said, ""


def _left_over(found: list[NamedEntity], but: str) -> list[NamedEntity]:
    if not found or not but.strip():
        return found
    for part in filter(str.strip, _AND.split(but)):
        gone = [each for _, each in _matches(part, found)]
        if not gone:
            raise LookupError(part.strip())
        found = [each for each in found if each not in gone]
    return found


def _matches(
    text: str, candidates: Iterable[NamedEntity], *, has_states: bool = False
) -> list[tuple[tuple[int, int], NamedEntity]]:
    """Return the entities that a text may mean, with the number of its words that their name lacks, and of others."""
    plain = _WHOLE_HOUSE.sub(" all ", text.casefold())
    heard = set(words_of(_ENDS_ON.sub(_ON, plain) if has_states else plain))
    said = heard - LITTLE
    if not said and not heard & EVERY:
        return []
    found = []
    for each in candidates:
        around = {word for place in each.places for word in words_of(place)} | set(kinds_of(each))
        best: tuple[int, int] | None = None
        for name in each.names:
            own = set(words_of(name)) - LITTLE
            rest = said - own - around
            if rest and (not has_states or not _is_in_all(each, rest, said)):
                continue
            fit = (len(said - own), len(own - said - around))
            best = fit if best is None else min(best, fit)
        if best is not None:
            found.append((best, each))
    return sorted(found, key=lambda pair: (pair[0], pair[1].entity_id))


def _is_in_all(candidate: NamedEntity, words: set[str], said: set[str]) -> bool:
    """Whether words are states that it is in; where nothing else is said, only what that state is about is meant."""
    states = {STATES.get(word, "on" if word == _ON else "") for word in words}
    if "" in states or not all(map(candidate.is_in, states)):
        return False
    is_kind_said = bool(said & _all_kinds())
    return is_kind_said or all(candidate.domain in OF_STATE.get(state, {candidate.domain}) for state in states)
