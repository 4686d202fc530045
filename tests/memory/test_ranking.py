"""The order of what was found: by meaning and word, by age, without saying things twice; and what is shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from hypothesis import assume, given, strategies as st
from msgspec.structs import replace

from hub.memory.ranking import UNREAD_SHARE, Candidate, Ranked, RankingRules, rank, rarity, rules_for, snippet
from hub.memory.words import query_words

TODAY = date(2026, 11, 21)
RULES = RankingRules(diversity=1.0)
WORDS = ["apple", "boiler", "cat", "door", "engine", "fig", "garden", "hose", "ink", "jam"]


def candidate(
    id_: int,
    cosine: float | None = None,
    strength: float | None = None,
    *,
    tokens: str = "",
    age: int | None = None,
    beside: tuple[int, ...] = (),
    is_of_date: bool = False,
) -> Candidate:
    day = None if age is None else TODAY - timedelta(days=age)
    return Candidate(id_, frozenset(tokens.split() or [f"only{id_}"]), day, cosine, strength, beside, is_of_date)


@st.composite
def found_by_both(draw: st.DrawFn) -> list[Candidate]:
    """What two engines could have found: ids once."""
    count = draw(st.integers(0, 10))
    with_words = draw(st.integers(0, count))
    return [
        Candidate(
            id_,
            frozenset(draw(st.lists(st.sampled_from(WORDS), max_size=6))),
            draw(st.none() | st.dates(date(2020, 1, 1), date(2027, 1, 1))),
            draw(st.floats(-1, 1) if id_ >= with_words else st.none() | st.floats(-1, 1)),
            draw(st.floats(0, 40)) if id_ < with_words else None,
            tuple(draw(st.lists(st.integers(0, 10), max_size=2))),
            draw(st.booleans()),
        )
        for id_ in range(count)
    ]


RULES_OF_ANY_KIND = st.builds(
    RankingRules,
    vector_weight=st.floats(0, 1),
    text_weight=st.floats(0, 1),
    min_score=st.floats(0, 1),
    half_life_days=st.floats(0, 400),
    diversity=st.floats(0, 1),
    vector_share=st.sampled_from([0.1, 1.0]),
)


def ids(ranked: Sequence[Ranked]) -> list[int]:
    return [each.id for each in ranked]


def test_the_score_is_six_tenths_cosine_and_four_tenths_strength_by_word() -> None:
    first, second = rank([candidate(1, 0.5, 12.0), candidate(2, 0.6, 3.0)], RULES, TODAY, 6)

    assert (first.id, first.vector_score, first.text_score) == (1, 0.5, 1.0)
    assert first.score == pytest.approx(0.7)
    assert second.score == pytest.approx(0.36 + 0.4 * 3 / 12)


def test_words_count_less_where_even_the_strongest_holds_little_of_what_was_asked() -> None:
    found = [candidate(1, 0.3, 9.0, tokens="food shop"), candidate(2, 0.6, tokens="mushrooms")]
    asked = {"food": 1.0, "son": 1.5, "dislike": 1.5}

    assert ids(rank(found, RULES, TODAY, 6)) == [1, 2]
    assert ids(rank(found, RULES, TODAY, 6, asked)) == [2, 1]
    assert rank(found, RULES, TODAY, 6, asked)[1].text_score == pytest.approx(0.25)


def test_an_entry_gets_a_share_of_what_the_better_of_its_neighbours_scores() -> None:
    question, answer = candidate(1, 0.9), candidate(2, 0.4, beside=(1, 3))

    ranked = {each.id: each.score for each in rank([question, answer, candidate(3, 0.5)], RULES, TODAY, 6)}

    assert ranked == {1: pytest.approx(0.54), 2: pytest.approx(0.24 + 0.2 * 0.54), 3: pytest.approx(0.3)}


def test_what_is_of_the_date_that_was_named_comes_first_and_hides_nothing() -> None:
    ranked = rank([candidate(1, 0.6), candidate(2, 0.5, is_of_date=True)], RULES, TODAY, 6)

    assert ids(ranked) == [2, 1]


def test_a_word_says_the_more_the_fewer_passages_hold_it() -> None:
    found = [candidate(number, tokens=f"boiler {'pump' if number == 1 else ''}") for number in range(4)]

    worth = rarity(frozenset(["boiler", "pump", "absent"]), found)

    assert worth["absent"] > worth["pump"] > worth["boiler"] > 0


def test_only_the_ratio_of_the_weights_counts() -> None:
    found = [candidate(1, 0.5, 4.0), candidate(2, 0.9), candidate(3, 0.4, 8.0)]

    large = rank(found, replace(RULES, vector_weight=0.7, text_weight=0.3), TODAY, 6)
    small = rank(found, replace(RULES, vector_weight=0.07, text_weight=0.03), TODAY, 6)

    assert ids(large) == ids(small)
    assert [each.score for each in large] == pytest.approx([each.score for each in small])


def test_without_vectors_the_strength_by_word_is_all_and_nothing_is_left_out() -> None:
    found = [candidate(number, None, 8.0 - number) for number in range(8)]

    ranked = rank(found, RULES, TODAY, 8)

    assert ids(ranked) == list(range(8))
    assert [each.score for each in ranked] == [pytest.approx((8 - number) / 8) for number in range(8)]
    assert {each.vector_score for each in ranked} == {None}


def test_what_is_not_alike_enough_is_left_out_unless_it_is_among_the_first_by_word() -> None:
    found = [
        candidate(1, 0.14),
        candidate(2, 0.15),
        candidate(3, 0.01, 5.0),
        candidate(4, 0.14, 4.0),
        candidate(5, -0.2, 7.0),
        candidate(6, 0.9, 6.0),
    ]

    ranked = rank(found, RULES, TODAY, 3)

    assert set(ids(rank(found, RULES, TODAY, 3))) <= {2, 3, 5, 6}
    assert set(ids(rank(found, RULES, TODAY, 6))) == {2, 3, 4, 5, 6}
    assert next(each for each in ranked if each.id == 5).vector_score == -0.2


def test_a_passage_that_waits_for_its_vector_is_found_by_word() -> None:
    ranked = rank([candidate(1, 0.9, 30.0), candidate(2, None, 3.0)], RULES, TODAY, 6)

    assert ids(ranked) == [1, 2]


@pytest.mark.parametrize(
    ("least", "age", "factor"),
    [
        *(
            (0.5, age, factor)
            for age, factor in ((0, 1.0), (15, 0.5**0.5), (30, 0.5), (60, 0.5), (3_650, 0.5), (-5, 1))
        ),
        *((0.0, age, factor) for age, factor in ((15, 0.5**0.5), (30, 0.5), (60, 0.25), (300, 0.5**10))),
    ],
)
def test_what_is_dated_counts_half_after_the_half_life(least: float, age: int, factor: float) -> None:
    dated, evergreen = candidate(1, 0.8, age=age), candidate(2, 0.8)

    ranked = {each.id: each for each in rank([dated, evergreen], replace(RULES, recency_least=least), TODAY, 6)}

    assert ranked[1].score == pytest.approx(ranked[2].score * factor)
    assert ranked[1].why["recency"] == pytest.approx(factor)
    assert "recency" not in ranked[2].why


def test_without_a_half_life_nothing_ages() -> None:
    old, fresh = rank([candidate(1, 0.8, age=900), candidate(2, 0.8)], replace(RULES, half_life_days=0), TODAY, 6)

    assert old.score == fresh.score


def test_what_says_the_same_gives_way_to_what_says_something_else() -> None:
    found = [
        candidate(1, 0.80, tokens="boiler was serviced in may"),
        candidate(2, 0.79, tokens="boiler was serviced in may again"),
        candidate(3, 0.60, tokens="radiator on top floor"),
    ]

    assert ids(rank(found, replace(RULES, diversity=0.7), TODAY, 2)) == [1, 3]
    assert ids(rank(found, RULES, TODAY, 2)) == [1, 2]


def test_what_is_like_something_before_it_says_so() -> None:
    found = [candidate(1, 0.9, tokens="a b c d"), candidate(2, 0.8, tokens="a b c e")]

    first, second = rank(found, replace(RULES, diversity=0.7), TODAY, 6)

    assert "diverse" not in first.why
    assert second.why["diverse"] == pytest.approx(1 - 3 / 5)


def test_equals_stand_newest_first_then_by_number() -> None:
    found = [candidate(3, 0.5), candidate(1, 0.5), candidate(5, 0.5, age=9), candidate(4, 0.5, age=2)]

    assert ids(rank(found, replace(RULES, half_life_days=0), TODAY, 6)) == [4, 5, 1, 3]


def test_nothing_gives_nothing() -> None:
    assert rank([], RULES, TODAY, 6) == []
    assert rank([candidate(1, 0.9)], RULES, TODAY, 0) == []


@given(found_by_both(), RULES_OF_ANY_KIND, st.integers(0, 8), st.randoms())
def test_the_order_of_what_comes_in_says_nothing(
    found: list[Candidate], rules: RankingRules, limit: int, chance: object
) -> None:
    ranked = rank(found, rules, TODAY, limit)
    chance.shuffle(other := list(found))  # type: ignore[attr-defined]

    assert rank(other, rules, TODAY, limit) == ranked
    assert len(ranked) <= limit
    assert len(set(ids(ranked))) == len(ranked)
    assert all(0 <= each.score <= 1 for each in ranked)
    assert all(0 <= factor <= 1 for each in ranked for factor in each.why.values())
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)


@given(found_by_both(), RULES_OF_ANY_KIND, st.integers(0, 25))
def test_without_diversity_the_best_are_taken(found: list[Candidate], rules: RankingRules, limit: int) -> None:
    plain = replace(rules, diversity=1.0)
    # The least score depends on how many are wanted; here it must not.
    plain = replace(plain, min_score=0.0)
    found = [replace(each, cosine=abs(each.cosine)) if each.cosine is not None else each for each in found]

    assert ids(rank(found, plain, TODAY, limit)) == ids(rank(found, plain, TODAY, len(found)))[:limit]


@given(found_by_both(), RULES_OF_ANY_KIND, st.data())
def test_a_higher_cosine_never_lowers_a_score(found: list[Candidate], rules: RankingRules, data: st.DataObject) -> None:
    assume(any(each.cosine is not None for each in found))
    chosen = data.draw(st.sampled_from([each for each in found if each.cosine is not None]))
    raised = replace(chosen, cosine=data.draw(st.floats(chosen.cosine or 0, 1)))
    others = [each for each in found if each.id != chosen.id]

    before = {each.id: each.score for each in rank([chosen, *others], rules, TODAY, len(found))}
    after = {each.id: each.score for each in rank([raised, *others], rules, TODAY, len(found))}

    assert after.get(chosen.id, 0.0) >= before.get(chosen.id, 0.0) - 1e-12


@given(found_by_both(), RULES_OF_ANY_KIND, st.integers(1, 8))
def test_the_first_by_word_are_never_left_out_for_their_cosine(
    found: list[Candidate], rules: RankingRules, limit: int
) -> None:
    everything = rank(found, rules, TODAY, max(limit, len(found)))

    by_word = {each.id for each in found if each.strength is not None}
    assert by_word <= set(ids(everything))


def test_an_english_model_counts_little_for_a_chinese_question() -> None:
    found = [candidate(1, 0.9, 1.0), candidate(2, 0.4, 1.9)]
    chinese = rules_for(RULES, "锅炉 Hansen 什么时候保养", "all-MiniLM-L6-v2")

    assert ids(rank(found, RULES, TODAY, 6)) == [1, 2]
    assert ids(rank(found, chinese, TODAY, 6)) == [2, 1]
    assert rank(found, chinese, TODAY, 6)[1].vector_score == 0.9


@pytest.mark.parametrize(
    ("query", "model", "share"),
    [
        ("锅炉什么时候保养", "all-minilm:latest", UNREAD_SHARE),
        ("锅炉什么时候保养", "BAAI/bge-small-en-v1.5", UNREAD_SHARE),
        ("锅炉什么时候保养", "nomic-embed-text", UNREAD_SHARE),
        ("锅炉什么时候保养", "nomic-embed-text-v2-moe", 1.0),
        ("锅炉什么时候保养", "text-embedding-3-small", 1.0),
        ("锅炉什么时候保养", "bge-m3", 1.0),
        ("锅炉什么时候保养", None, 1.0),
        ("When was the 锅炉 serviced?", "all-MiniLM-L6-v2", 1.0),
        ("", "all-MiniLM-L6-v2", 1.0),
    ],
)
def test_a_model_counts_whole_for_what_it_can_read(query: str, model: str | None, share: float) -> None:
    assert rules_for(RULES, query, model).vector_share == share


def test_a_short_passage_is_shown_whole() -> None:
    assert snippet("a\nb", {"b": 1.0}) == ("a\nb", 0)


def test_a_long_passage_is_shown_from_the_line_where_the_word_stands() -> None:
    lines = [f"line {number} says nothing of interest to anybody" for number in range(60)]
    lines[40] = "the boiler was serviced"

    shown, before = snippet("\n".join(lines), dict.fromkeys(query_words("boiler"), 1.0))

    assert len(shown) <= 700
    assert "the boiler was serviced" in shown
    assert shown.startswith(lines[before])


def test_a_long_passage_is_shown_where_most_of_what_was_asked_for_stands_together() -> None:
    lines = [f"line {number} says nothing of interest to anybody" for number in range(60)]
    lines[2] = "the boiler is in the cellar, and the boiler is loud"
    lines[40] = "Hansen replaced the boiler pump"

    shown, _ = snippet("\n".join(lines), {"boiler": 0.5, "pump": 2.0, "hansen": 2.0})

    assert lines[40] in shown


def test_one_long_line_is_shown_from_a_word_before_the_one_asked_for() -> None:
    text = "filler " * 300 + "the boiler was serviced " + "filler " * 300

    shown, before = snippet(text, dict.fromkeys(query_words("boiler"), 1.0), 200)

    assert (len(shown) <= 200, before) == (True, 0)
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "the boiler was serviced" in shown
    assert set(shown.strip("…").split()) <= set(text.split())


def test_a_long_passage_without_the_word_is_shown_from_its_beginning() -> None:
    shown, before = snippet("start " + "字" * 2_000, {"absent": 1.0})

    assert (shown[:5], len(shown), before) == ("start", 700, 0)


@given(
    st.lists(st.sampled_from(["boiler", "锅炉保养", "x" * 30, "\n", "\n\n", " ", "ß", "ﬁg", "a"]), max_size=200),
    st.integers(20, 300),
)
def test_a_snippet_is_part_of_the_text_and_not_too_long(parts: list[str], limit: int) -> None:
    text = " ".join(parts)

    shown, before = snippet(text, {"boiler": 1.0, "保养": 2.0}, limit)

    assert len(shown) <= limit
    begin = text.find(shown.strip("…"), len("\n".join(text.split("\n")[:before])))
    assert begin >= 0
    assert text.count("\n", 0, begin) >= before
