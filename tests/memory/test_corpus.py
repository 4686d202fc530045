"""The home and the diary by which memory is measured, and how good the search in them is at least."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from hub.memory.chunking import Chunk, chunk
from hub.memory.contract import NO_FILTERS
from hub.memory.words import query_words
from integrations.memory.notes.index.embeddings.local import missing_packages
from integrations.memory.notes.job import Job, Source
from tests.lengths import LONG
from tests.memory.corpus.diary import LAST_DAY, diary, diary_files
from tests.memory.corpus.home import HARD, HARD_HELD_OUT, HELD_OUT, TUNED, home_files, questions
from tests.memory.corpus.quality import asked_home, index_worker, quality

WORDS_ALONE = {"embeddings": {"provider": "none"}}
DIARY_DAYS = 400


def passages_of_home() -> list[Chunk]:
    return [each for path, text in home_files().items() for each in chunk(path, text)]


def test_the_home_is_large_enough_and_speaks_two_languages() -> None:
    files, found = home_files(), passages_of_home()

    assert sum(path.startswith("memory/20") for path in files) >= 150
    assert len(found) >= 400
    assert min(Counter(any(sign >= "\u4e00" for sign in each.text) for each in found).values()) >= 150
    assert {each.person for each in found} == {None, "me", "lin", "mia"}
    assert not all(each.trusted for each in found)


def test_every_question_has_its_answer_in_one_passage_or_in_two_that_overlap() -> None:
    found = passages_of_home()

    counted = {
        answer: sum(answer in each.text for each in found)
        for file in (TUNED, HELD_OUT)
        for each in questions(file)
        for answer in each.answers
    }

    assert {answer: count for answer, count in counted.items() if count not in (1, 2)} == {}


def test_every_harder_question_has_its_answer_in_the_longer_history_and_says_it_in_other_words() -> None:
    text = "\n".join(home_files(longer=True).values())

    for each in (*questions(HARD), *questions(HARD_HELD_OUT)):
        assert all(text.count(answer) == 1 for answer in each.answers), each
        asked = set(query_words(each.text))
        assert all(len(asked & set(query_words(answer))) <= len(asked) / 3 for answer in each.answers), each


def test_half_of_the_questions_are_english_and_half_are_chinese() -> None:
    languages = Counter(each.language for each in questions())

    assert languages.keys() == {"en", "zh"}
    assert min(languages.values()) >= 60
    assert len({each.text for each in questions()}) == languages.total()


def test_a_diary_is_the_same_each_time_and_another_with_another_seed() -> None:
    assert diary_files(40, seed=3) == diary_files(40, seed=3)
    assert diary_files(40, seed=3) != diary_files(40, seed=4)


def test_each_day_of_ten_years_has_one_fact_that_no_other_day_has() -> None:
    files, needles = diary_files(3_650)

    assert len(files) == len(needles) == 3_650
    assert {each.day for each in needles} == {LAST_DAY - timedelta(days=number) for number in range(3_650)}
    assert len({each.question for each in needles}) == 3_650
    assert all(files[each.path].count(each.answer) == 1 for each in needles)
    assert len({each.answer for each in needles}) == 3_650


@pytest.mark.slow
@pytest.mark.parametrize("keywords", ["fts5", "whoosh"])
async def test_words_alone_answer_in_both_languages(tmp_path: Path, keywords: str) -> None:
    async with asked_home(tmp_path) as home:
        answered = await home.ask("words", {**WORDS_ALONE, "keywords": keywords})

    by_word = [each for each in answered if each.question.sort in ("word", "person")]
    assert quality(answered, "en").recall >= 0.65
    assert quality(answered, "zh").recall >= 0.88
    assert quality(answered).mrr >= 0.60
    assert quality(by_word).recall >= 0.97


@pytest.mark.slow
@pytest.mark.skipif(not LONG or bool(missing_packages()), reason="takes a long run and the extra `embeddings`")
async def test_with_the_local_model_both_together_answer_better(tmp_path: Path) -> None:
    async with asked_home(tmp_path) as home:
        answered = await home.ask("both", {"embeddings": {"provider": "local"}})
        held_out = await home.ask("both", {"embeddings": {"provider": "local"}}, HELD_OUT)

    by_meaning = [each for each in answered if each.question.sort == "meaning"]
    assert quality(answered, "en").recall >= 0.82
    assert quality(answered, "zh").recall >= 0.93
    assert quality(by_meaning, "en").recall >= 0.70
    assert quality(held_out, "en").recall >= 0.92
    assert quality(held_out, "zh").recall >= 0.94


async def test_each_day_of_a_diary_is_found_again_however_old(tmp_path: Path) -> None:
    needles = diary(tmp_path / "home", DIARY_DAYS)
    job = Job("diary", str(tmp_path / "index"), (Source("", str(tmp_path / "home")),), WORDS_ALONE)

    async with index_worker(tmp_path / "cache") as worker:
        await worker.sync(job)
        asked = needles[::20]
        answers = [
            await worker.search(job, each.question, ["private"], NO_FILTERS, 6, LAST_DAY + timedelta(days=1))
            for each in asked
        ]

    lost = [
        needle.question
        for needle, answer in zip(asked, answers, strict=True)
        if not any(hit.path == needle.path and needle.answer in hit.text for hit in answer.hits[:1])
    ]
    assert lost == []
