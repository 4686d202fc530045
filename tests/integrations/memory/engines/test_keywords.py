"""What every engine for words does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hub.memory.engine_contract import KeywordDocument, KeywordIndex
from tests.integrations.memory.engines.kinds import KEYWORDS, LIMIT, document, open_keywords
from tests.lengths import examples

WEIRD = [
    '"', '""', "'", "a\"b", "NEAR(garden shed)", "garden NEAR/2 shed", "garden*", "*", "AND", "OR NOT", "garden AND",
    "title:garden", "{title text}:garden", "^garden", "garden + shed", "-garden", "(garden", "garden)", "garden;--",
    "\0", "garden\0shed", "🎉", "🎉 garden 👩‍👧", "\ud800", "%", "_", "?", "~garden", "garden^3", "\\",
    "\n\t\r", "[a TO z]", "', 1); DROP TABLE passages; --", "x" * 2_000, "花园 " * 700,
    " ".join(f"word{number}" for number in range(400)),
]  # fmt: skip


def found(index: KeywordIndex, query: str, *areas: str, limit: int = LIMIT) -> list[int]:
    return [id_ for id_, _ in index.search(query, areas or ["private"], limit)]


def test_an_empty_index_finds_nothing(keywords: KeywordIndex) -> None:
    assert keywords.ids() == set()
    assert found(keywords, "garden") == []


def test_a_passage_is_found_by_any_of_its_words(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(1, "The garden shed needs paint"), document(2, "Tea with Anna")])

    assert found(keywords, "shed") == [1]
    assert found(keywords, "anna or paint") == [1, 2] or found(keywords, "anna or paint") == [2, 1]
    assert found(keywords, "bicycle") == []


def test_title_headings_and_text_are_all_searched_and_a_title_counts_most(keywords: KeywordIndex) -> None:
    rest = "of many things that were said on a long day"
    keywords.apply(
        (),
        [
            document(1, f"bicycle {rest}", title="notes", headings="day"),
            document(2, f"nothing {rest}", title="bicycle", headings="day"),
            document(3, f"nothing {rest}", title="notes", headings="bicycle"),
            *(document(id_, f"other {rest}", title="notes", headings="day") for id_ in range(4, 20)),
        ],
    )

    assert set(found(keywords, "bicycle")) == {1, 2, 3}
    assert found(keywords, "bicycle")[0] == 2


def test_the_passage_with_more_of_the_words_comes_first(keywords: KeywordIndex) -> None:
    keywords.apply(
        (),
        [
            document(1, "the boiler was cleaned"),
            document(2, "the boiler was repaired by Mrs Okafor"),
            *(document(id_, "plain day") for id_ in range(3, 20)),
        ],
    )

    assert found(keywords, "who repaired the boiler")[0] == 2


def test_scores_fall(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(id_, "garden " * id_ + "tea " * 30) for id_ in range(1, 10)])

    scores = [score for _, score in keywords.search("garden", ["private"], LIMIT)]

    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 9


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("We painted the sheds", "painting a shed"),
        ("Two batteries", "battery"),
        ("Anna's birthday", "anna birthdays"),
        ("Café Müller", "cafe muller"),
        ("我喜欢喝绿茶", "绿茶"),
        ("我喜欢喝绿茶", "茶"),
        ("妈妈的生日是五月十二号", "妈妈生日"),
        ("The Wi-Fi 密码 is in the drawer", "密码"),
        ("The Wi-Fi 密码 is in the drawer", "wi-fi drawer"),
    ],
)
def test_forms_of_words_are_one_in_both_languages(keywords: KeywordIndex, text: str, query: str) -> None:
    keywords.apply((), [document(1, text), document(2, "unrelated words of a day"), document(3, "别的事")])

    assert found(keywords, query) == [1]


def test_a_date_finds_what_belongs_to_it(keywords: KeywordIndex) -> None:
    day = KeywordDocument(1, "private", "", "", "dentist", ("@2026", "@2026-05", "@2026-05-12", "@05-12"))
    keywords.apply((), [day, document(2, "dentist appointment")])

    assert found(keywords, "what happened on 12 May 2026") == [1]
    assert found(keywords, "@2026-05") == [1]
    assert found(keywords, "dentist @05-12")[0] == 1


def test_a_passage_that_is_put_in_again_replaces_the_first(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(1, "garden")])

    keywords.apply((), [document(1, "bicycle", area="shared")])

    assert found(keywords, "garden", "private", "shared") == []
    assert found(keywords, "bicycle", "private") == []
    assert found(keywords, "bicycle", "shared") == [1]
    assert keywords.ids() == {1}


def test_of_two_with_one_id_in_one_change_the_last_counts(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(1, "garden"), document(1, "bicycle")])

    assert found(keywords, "garden") == []
    assert found(keywords, "bicycle") == [1]


def test_what_is_removed_and_added_at_once_is_there(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(1, "garden")])

    keywords.apply([1, 7], [document(1, "bicycle")])

    assert found(keywords, "bicycle garden") == [1]


def test_a_change_can_be_repeated(keywords: KeywordIndex) -> None:
    for _ in range(3):
        keywords.apply([2], [document(1, "garden"), document(3, "shed")])

    assert keywords.ids() == {1, 3}
    assert found(keywords, "garden") == [1]


def test_an_empty_change_and_one_of_unknown_ids_do_nothing(keywords: KeywordIndex) -> None:
    keywords.apply((), ())
    keywords.apply([5, 6], ())

    assert keywords.ids() == set()


def test_the_limit_holds(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(id_, "garden") for id_ in range(1, 50)])

    assert [len(found(keywords, "garden", limit=limit)) for limit in (0, 1, 7, 49, 1_000)] == [0, 1, 7, 49, 49]
    assert found(keywords, "garden", limit=3) == [1, 2, 3]


def test_only_what_is_allowed_is_found(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(id_, "garden") for id_ in range(1, 30)])

    assert {id_ for id_, _ in keywords.search("garden", ["private"], LIMIT, {3, 4, 99})} == {3, 4}
    assert keywords.search("garden", ["private"], LIMIT, set()) == []
    assert keywords.search("garden", ["private"], 1, [29])[0][0] == 29


def test_no_area_and_an_area_without_passages_give_nothing(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(1, "garden")])

    assert keywords.search("garden", [], LIMIT) == []
    assert found(keywords, "garden", "shared") == []
    assert found(keywords, "garden", "private' OR '1'='1") == []
    assert found(keywords, "garden", "shared", "private", "private") == [1]


def test_no_character_of_a_query_is_syntax(keywords: KeywordIndex) -> None:
    keywords.apply((), [document(1, "garden shed"), document(2, "tea")])

    hits = {query: found(keywords, query) for query in WEIRD}

    assert hits == {query: [1] if "garden" in query else [] for query in WEIRD}


@pytest.mark.parametrize("text", WEIRD)
def test_no_character_of_a_passage_is_syntax(keywords: KeywordIndex, text: str) -> None:
    keywords.apply((), [document(1, f"{text} marker", title=text, headings=text)])
    keywords.apply([], [document(1, f"{text} marker", title=text, headings=text)])

    assert found(keywords, "marker") == [1]
    keywords.apply([1], [])
    assert found(keywords, "marker garden shed") == []


@pytest.mark.parametrize("kind", KEYWORDS)
def test_everything_is_there_again_after_it_was_closed(kind: str, tmp_path: Path) -> None:
    index = open_keywords(kind, tmp_path)
    index.apply((), [document(1, "garden"), document(2, "花园", area="shared")])
    before = index.search("garden 花园", ["private", "shared"], LIMIT)
    index.close()
    index.close()

    again = open_keywords(kind, tmp_path)

    assert again.search("garden 花园", ["private", "shared"], LIMIT) == before
    assert again.ids() == {1, 2}
    again.close()


@pytest.mark.parametrize("kind", KEYWORDS)
def test_many_small_changes_are_one_index(kind: str, tmp_path: Path) -> None:
    index = open_keywords(kind, tmp_path)
    for id_ in range(1, 120):
        index.apply([id_ - 30], [document(id_, f"garden word{id_}", area=("private", "shared")[id_ % 2])])

    assert index.ids() == set(range(90, 120))
    assert set(found(index, "garden", "private")) == set(range(90, 120, 2))
    assert found(index, "word89", "private", "shared") == []
    index.close()


VOCABULARY = ("garden", "bicycle", "绿茶", "boiler", "妈妈")
CHANGES = st.lists(
    st.tuples(
        st.lists(st.integers(1, 12), max_size=3),
        st.lists(
            st.tuples(
                st.integers(1, 12), st.sampled_from(("private", "person-ada", "person-ben", "shared")),
                st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=3),
            ),
            max_size=4,
        ),
    ),
    max_size=6,
)  # fmt: skip


@pytest.mark.parametrize("kind", KEYWORDS)
@given(
    changes=CHANGES,
    seen=st.lists(st.sampled_from(("private", "person-ada", "person-ben", "shared")), max_size=3),
    word=st.sampled_from(VOCABULARY),
    allowed=st.none() | st.sets(st.integers(1, 12)),
)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_search_sees_exactly_the_passages_of_its_areas(
    kind: str,
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[list[int], list[tuple[int, str, list[str]]]]],
    seen: list[str],
    word: str,
    allowed: set[int] | None,
) -> None:
    index = open_keywords(kind, tmp_path_factory.mktemp(kind))
    there: dict[int, tuple[str, list[str]]] = {}

    for removed, added in changes:
        index.apply(removed, [document(id_, " ".join(words), area=area) for id_, area, words in added])
        there = {id_: each for id_, each in there.items() if id_ not in removed}
        there |= {id_: (area, words) for id_, area, words in added}
    hits = {id_ for id_, _ in index.search(word, seen, LIMIT, allowed)}

    assert index.ids() == set(there)
    assert hits == {
        id_
        for id_, (area, words) in there.items()
        if area in seen and word in words and (allowed is None or id_ in allowed)
    }
    index.close()
