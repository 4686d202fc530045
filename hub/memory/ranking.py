"""Ranks the passages of two engines: by meaning and words, by age, and without repetition.

Pure rules over numbers; the engines are queried elsewhere.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from hub.memory.words import count_cjk, places_of

NEIGHBOUR_SHARE = 0.2
"""How much of the better of its neighbours' scores an entry gets: an answer often follows the words that were asked."""
DATE_BONUS = 0.2
"""What is added for belonging to the date that the question names."""
NO_WORDS: Mapping[str, float] = MappingProxyType({})
UNREAD_SHARE = 0.03
"""What is left of the weight of vectors for a query in a language that their model cannot read."""
SNIPPET_LIMIT = 700
SNIPPET_LEAD = 160
"""Characters of a long passage shown before the words that were asked for."""

_READS_ENGLISH_ALONE = re.compile(
    r"all-minilm|all-mpnet|\b(?:bge|gte)-[a-z]+-en\b|\be5-[a-z]+-v2\b|nomic-embed-text(?!-v2)|mxbai-embed-large"
)


class Candidate(Struct, frozen=True):
    """A passage that an engine found.

    Attributes:
        id: Its number.
        tokens: Its words, by which it is compared with others; as one text, they are parted when that is needed.
        day: The day it belongs to; None for what does not age.
        cosine: Between query and passage, whoever found it; None when it has no vector.
        strength: The score of the engine for words, 0 or more; None when that did not find it.
        neighbours: Of an entry, the ids of those before and after it.
        is_of_date: Whether it belongs to the date that the question names.
    """

    id: int
    tokens: frozenset[str] | str
    day: date | None
    cosine: float | None
    strength: float | None
    neighbours: tuple[int, ...] = ()
    is_of_date: bool = False


class RankingRules(Struct, frozen=True):
    """The rules, as configured in `memory.search`.

    Attributes:
        limit: The default number of results.
        vector_weight, text_weight: Shares of the two scores; only their ratio counts.
        min_score: Least cosine of passages that are not among the best by words.
        half_life_days: Days after which a dated passage counts half; 0 for never.
        recency_least: What age leaves of a score at least: what is older is ranked by what it says, and of equals the
            newer comes first.
        diversity: MMR's λ, 1 for relevance alone.
        vector_share: The weight of the vectors for this query, see `rules_for`.
    """

    limit: int = 6
    vector_weight: float = 0.6
    text_weight: float = 0.4
    min_score: float = 0.15
    half_life_days: float = 30.0
    recency_least: float = 0.7
    diversity: float = 0.7
    vector_share: float = 1.0


class Ranked(Struct, frozen=True):
    """A ranked passage.

    Attributes:
        id: Its number.
        score: 0 to 1, with what its age takes from it.
        vector_score: The cosine.
        text_score: Its strength by word, as a share of the strongest candidate's.
        why: What moved it: `recency` is the factor for its age; `diverse` how much of it is not in those before.
    """

    id: int
    score: float
    vector_score: float | None
    text_score: float | None
    why: Mapping[str, float]


class _Scored(Struct):
    candidate: Candidate
    score: float
    text_score: float | None
    recency: float | None
    order: tuple[float, int, int]
    likeness: float = 0.0  # with those picked, as far as it was compared
    compared: int = 0
    parted: frozenset[str] | None = None

    @property
    def tokens(self) -> frozenset[str]:
        """Its words, computed on first use."""
        if self.parted is None:
            tokens = self.candidate.tokens
            self.parted = frozenset(tokens.split()) if isinstance(tokens, str) else tokens
        return self.parted


def rules_for(rules: RankingRules, query: str, model: str | None) -> RankingRules:
    """Return the rules for a query: a model's scores count little in a language that it cannot read.

    To an English model most Chinese texts are alike; with its full share it hides what is found by word.

    Args:
        rules: The rules as configured.
        query: The question.
        model: The model of the vectors; None when there are none.
    """
    letters = sum(map(str.isalpha, query))
    if model is None or 2 * count_cjk(query) <= letters or not _READS_ENGLISH_ALONE.search(model.lower()):
        return rules
    return replace(rules, vector_share=UNREAD_SHARE)


def rank(
    candidates: Iterable[Candidate],
    rules: RankingRules,
    today: date,
    limit: int,
    words: Mapping[str, float] = NO_WORDS,
) -> list[Ranked]:
    """Return the best candidates, best first.

    Which are returned is decided by relevance and diversity (MMR), their order by relevance. The least score is asked
    of the cosine alone, and not of what is among the first `limit` by word; without any vector there is none.

    Args:
        candidates: Each id once, in any order.
        rules: The weights and limits.
        today: The day from which age is counted.
        limit: How many at most.
        words: What was asked for, and how much each word says (`rarity`): where even the strongest by word holds
            little of it, words count less.
    """
    given = sorted(candidates, key=lambda each: each.id)
    fused = _by_weight(given, rules, today, limit, words)
    fused.sort(key=lambda each: each.order)
    chosen = _diverse(fused, rules.diversity, limit)
    return [_ranked(each) for each in sorted(chosen, key=lambda each: each.order)]


def rarity(words: frozenset[str], candidates: Iterable[Candidate]) -> dict[str, float]:
    """Return the weight of each query word: the fewer candidates contain it, the higher."""
    held: Counter[str] = Counter()
    count = 0
    for each in candidates:
        tokens = each.tokens.split() if isinstance(each.tokens, str) else each.tokens
        held.update(words.intersection(tokens))
        count += 1
    return {word: math.log(1 + (count + 1) / (held[word] + 1)) for word in words}


def snippet(text: str, words: Mapping[str, float], limit: int = SNIPPET_LIMIT) -> tuple[str, int]:
    """Return the excerpt of a passage to show, and the number of its lines before that.

    Of a long passage, the part is shown that holds most of what was asked for, from the beginning of a line or of a
    word; `…` marks the omissions.

    Args:
        text: The passage.
        words: The words of the query, as of `hub.memory.words.query_words`, and the weight of each.
        limit: Characters at most.
    """
    if len(text) <= limit:
        return text, 0
    first = _best_place(list(places_of(text, words)), words, limit - min(SNIPPET_LEAD, limit // 2))
    begin = _beginning(text, min(first, len(text)), limit)
    end = begin + limit - (1 if begin else 0)
    if end >= len(text):
        shown, after = text[begin:], ""
    else:
        shown, after = text[begin : _word_end(text, begin, end - 1)].rstrip(), "…"
    inside = begin > 0 and text[begin - 1] != "\n"
    return f"{'…' if inside else ''}{shown}{after}", text.count("\n", 0, begin)


def _best_place(found: Sequence[tuple[int, str]], words: Mapping[str, float], room: int) -> int:
    """Return the start of the first window with the highest weight of distinct words."""
    best, best_worth = 0, 0.0
    inside: Counter[str] = Counter()
    worth, last = 0.0, 0
    for begin, first in found:
        while last < len(found) and found[last][0] < begin + room:
            word = found[last][1]
            worth += words[word] if not inside[word] else 0.0
            inside[word] += 1
            last += 1
        if worth > best_worth + 1e-9:
            best, best_worth = begin, worth
        inside[first] -= 1
        worth -= words[first] if not inside[first] else 0.0
    return best


def _by_weight(
    given: Sequence[Candidate], rules: RankingRules, today: date, limit: int, words: Mapping[str, float]
) -> list[_Scored]:
    by_meaning, by_word = rules.vector_weight * rules.vector_share, rules.text_weight
    if all(each.cosine is None for each in given):
        by_meaning, by_word = 0.0, 1.0
    elif by_meaning + by_word <= 0:
        by_meaning = by_word = 1.0
    strongest = sorted((each for each in given if each.strength is not None), key=lambda each: -(each.strength or 0))
    best = (strongest[0].strength or 1.0) if strongest else 1.0
    most = max((_coverage(each.tokens, words) for each in strongest[:limit]), default=1.0)
    by_words = {each.id: most * min(1.0, max(0.0, (each.strength or 0.0) / best)) for each in strongest}
    firsts = {each.id for each in strongest[:limit]}
    own = {
        each.id: (by_meaning * _unit(each.cosine) + by_word * by_words.get(each.id, 0.0)) / (by_meaning + by_word)
        for each in given
    }
    found = []
    for each in given:
        if each.cosine is not None and each.cosine < rules.min_score and each.id not in firsts:
            continue
        score = own[each.id] + NEIGHBOUR_SHARE * max((own.get(id_, 0.0) for id_ in each.neighbours), default=0.0)
        score += DATE_BONUS if each.is_of_date else 0.0
        recency = _recency(each, rules, today)
        found.append(_scored(each, score * (1.0 if recency is None else recency), by_words.get(each.id), recency))
    return found


def _coverage(tokens: frozenset[str] | str, words: Mapping[str, float]) -> float:
    """Return the weighted share of the query's words in a passage."""
    whole = sum(words.values())
    held = frozenset(tokens.split()) if isinstance(tokens, str) else tokens
    return sum(worth for word, worth in words.items() if word in held) / whole if whole else 1.0


def _unit(cosine: float | None) -> float:
    return 0.0 if cosine is None else min(1.0, max(0.0, cosine))


def _recency(candidate: Candidate, rules: RankingRules, today: date) -> float | None:
    """Return the age factor of a dated passage; None for one that does not age."""
    if candidate.day is None or rules.half_life_days <= 0:
        return None
    age_days = max(0, (today - candidate.day).days)
    return float(max(rules.recency_least, 0.5 ** (age_days / rules.half_life_days)))


def _scored(candidate: Candidate, score: float, text_score: float | None, recency: float | None) -> _Scored:
    newest = 0 if candidate.day is None else candidate.day.toordinal()
    return _Scored(candidate, min(1.0, score), text_score, recency, (-score, -newest, candidate.id))


def _diverse(scored: Sequence[_Scored], diversity: float, limit: int) -> list[_Scored]:
    """Pick by maximal marginal relevance from what is in order of relevance.

    Relevance is measured by the best, so that small scores do not lose to any likeness. Nothing is compared whose
    relevance alone cannot win: of a hundred candidates a few pairs are looked at.
    """
    left = list(scored)
    picked: list[_Scored] = []
    scale = left[0].score if left and left[0].score > 0 else 1.0
    while left and len(picked) < limit:
        best, best_value = 0, -1.0
        for at, each in enumerate(left):
            gain = diversity * each.score / scale
            if gain <= best_value:
                break
            for other in picked[each.compared :]:
                each.likeness = max(each.likeness, _likeness(each.tokens, other.tokens))
            each.compared = len(picked)
            value = gain - (1 - diversity) * each.likeness
            if value > best_value:
                best, best_value = at, value
        picked.append(left.pop(best))
    return picked


def _likeness(some: frozenset[str], others: frozenset[str]) -> float:
    """Return the share of words that two passages have in common (Jaccard)."""
    shared = len(some & others)
    return shared / (len(some) + len(others) - shared) if shared else 0.0


def _ranked(each: _Scored) -> Ranked:
    why = {} if each.recency is None else {"recency": each.recency}
    if each.likeness > 0:
        why["diverse"] = 1 - each.likeness
    candidate = each.candidate
    return Ranked(candidate.id, each.score, candidate.cosine, each.text_score, why)


def _beginning(text: str, first: int, limit: int) -> int:
    """Return the start of an excerpt that shows `first`: at a line, else a word; not so late that room is wasted."""
    latest = max(0, len(text) - limit + 1)
    begin = min(max(0, first - SNIPPET_LEAD), latest)
    if begin == 0:
        return 0
    line = text.find("\n", begin - 1, first)
    if line >= 0:
        return line + 1
    space = text.find(" ", begin, first)
    return space + 1 if space >= 0 else begin


def _word_end(text: str, begin: int, end: int) -> int:
    space = max(text.rfind(" ", begin, end + 1), text.rfind("\n", begin, end + 1))
    # A long word, or Chinese, is cut where it must be.
    return space if space > end - 40 and space > begin else end
