"""Tidying up, decided: what recurs is kept, what is double struck, what does not agree marked, and nothing lost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hub.memory.alike import Relation, fact_key
from hub.memory.contract import MemoryKind
from hub.memory.markdown import passages, struck, whole_items
from hub.memory.places import CURATED_LIMIT_BYTES
from hub.memory.tidy.entries import LOOK_BACK_DAYS, AreaFile
from hub.memory.tidy.marks import HINT, TO_BE_SETTLED
from hub.memory.tidy.pairs import pair_of
from hub.memory.tidy.plan import KnownEntries, TidyPlan, plan, questions
from tests.lengths import examples
from tests.memory.tidy.areas import (
    ANNAS,
    BOILER,
    BOX,
    NOT_TUESDAY,
    PRIVATE,
    TODAY,
    a_day,
    after,
    curated,
    entry,
    noted,
    standing,
    tidied,
)

# --- what recurs ---


def test_what_was_noted_on_two_days_is_kept_for_good_with_where_it_came_from() -> None:
    files = [noted("2026-05-09", BOX), noted("2026-05-11", f"{BOX}.")]

    made, now = tidied(files)

    assert now["MEMORY.md"] == (
        "# Memory\n\n## Facts\n\n- The wifi box hangs in the hall.\n"
        "  _fact · 2026-05-11 09:00 · from me in `s` · also noted 2026-05-09_\n"
    )
    assert [each.path for each in made.promoted] == ["memory/2026-05-11.md"]
    assert list(made.texts) == ["MEMORY.md"]


def test_what_was_noted_twice_on_one_day_stays_there() -> None:
    assert tidied([noted("2026-05-09", BOX, f"{BOX}!")])[0] == TidyPlan()


def test_what_is_known_already_is_not_kept_again() -> None:
    files = [curated(entry(BOX, "2026-05-01")), noted("2026-05-09", BOX), noted("2026-05-11", BOX)]

    assert tidied(files)[0] == TidyPlan()


@pytest.mark.parametrize(
    ("kind", "heading"),
    [(MemoryKind.PREFERENCE, "Preferences"), (MemoryKind.DECISION, "Decisions"), (MemoryKind.PERSON, "People")],
)
def test_lasting_things_of_a_day_get_under_their_heading(kind: MemoryKind, heading: str) -> None:
    _, now = tidied([noted("2026-05-11", "安娜对坚果过敏", kind=kind)])

    assert f"## {heading}\n\n- 安娜对坚果过敏\n" in now["MEMORY.md"]


@pytest.mark.parametrize(
    "files",
    [
        [noted("2026-05-09", "buy milk", kind=MemoryKind.TODO), noted("2026-05-11", "buy milk", kind=MemoryKind.TODO)],
        [noted("2026-05-09", "Went running today"), noted("2026-05-11", "Went running today")],
        [noted("2026-05-09", "今天去跑步"), noted("2026-05-11", "今天去跑步")],
        [noted("2026-05-09", "word " * 200), noted("2026-05-11", "word " * 200)],
        [noted("2026-01-09", BOX), noted("2026-01-11", BOX)],
        [noted("2026-05-09", BOX, trusted=False), noted("2026-05-11", BOX, trusted=False)],
        [noted("2026-05-09", BOX), noted("2026-05-11", BOX, trusted=False)],
        [AreaFile("memory/house.md", f"- {BOX}\n"), noted("2026-05-11", BOX)],
    ],
    ids=["to do", "of its day", "of its day, Chinese", "long", "long ago", "outside", "once outside", "undated"],
)
def test_what_does_not_last_or_cannot_be_trusted_stays_where_it_is(files: list[AreaFile]) -> None:
    assert tidied(files)[0] == TidyPlan()


def test_points_of_conversations_count_and_keep_where_they_came_from() -> None:
    front = "---\nsource: conversation\nperson: me\nsession: agent:main:main\ntrusted: true\n---\n\n# Talk\n\n"
    files = [AreaFile(f"memory/{day}-talk.md", f"{front}- {BOX}\n", day) for day in ("2026-05-09", "2026-05-10")]

    _, now = tidied(files)

    assert (
        f"- {BOX}\n  _fact · 2026-05-10 00:00 · from me in `agent:main:main` · also noted 2026-05-09_\n"
        in (now["MEMORY.md"])
    )


def test_a_file_that_says_it_is_from_outside_is_not_taken_for_true() -> None:
    front = "---\nsource: openclaw\ntrusted: false\n---\n\n"
    files = [AreaFile(f"memory/{day}.md", f"{front}- {BOX}\n", day) for day in ("2026-05-09", "2026-05-10")]

    assert tidied(files)[0] == TidyPlan()


def test_what_was_struck_is_not_taken_up_again_from_older_days() -> None:
    text = curated(entry(BOX, "2026-05-09")).text
    gone = struck(text, [each for each in passages(text) if each.is_item], date(2026, 5, 11))
    files = [AreaFile("MEMORY.md", gone), noted("2026-05-09", BOX), noted("2026-05-11", BOX)]

    assert tidied(files)[0] == TidyPlan()


def test_nothing_is_put_into_a_full_file_and_that_is_told() -> None:
    full = curated("Words of a full file. " * (CURATED_LIMIT_BYTES // 22), heading="")

    made, _ = tidied([full, noted("2026-05-09", BOX), noted("2026-05-11", BOX)])

    assert (made.texts, made.over_limit) == ({}, True)


# --- what is double ---


def test_of_two_that_say_the_same_the_newer_stays() -> None:
    made, now = tidied([curated(entry("Anna lives in Bonn", "2026-05-01"), entry("anna lives in Bonn.", "2026-05-03"))])

    assert now["MEMORY.md"] == (
        "# Memory\n\n## People\n\n"
        "- ~~Anna lives in Bonn~~\n  _fact · 2026-05-01 09:00 · from me in `s` · superseded 2026-05-12_\n"
        "- anna lives in Bonn.\n  _fact · 2026-05-03 09:00 · from me in `s` · also noted 2026-05-01_\n"
    )
    assert [(each.struck.day, each.kept.day) for each in made.merged] == [("2026-05-01", "2026-05-03")]


def test_what_somebody_wrote_by_hand_stays_and_the_other_goes() -> None:
    files = [curated("- Anna lives in Bonn\n", entry("Anna lives in Bonn", "2026-05-03"), "- Anna lives in Bonn!\n")]

    _, now = tidied(files)

    assert standing(now["MEMORY.md"]) == ["Anna lives in Bonn", "Anna lives in Bonn!"]


def test_a_model_may_say_that_two_are_the_same_and_the_clearer_stays() -> None:
    full, short = "Anna is allergic to nuts of all kinds", "Anna is allergic to nuts"
    files = [curated(entry(full, "2026-05-01"), entry(short, "2026-05-03"))]
    known = KnownEntries(TODAY, judged={pair_of(fact_key(full), fact_key(short)): Relation.SAME})

    by_rule, _ = tidied(files)
    _, now = tidied(files, known)

    assert by_rule == TidyPlan()
    assert standing(now["MEMORY.md"]) == [full]


def test_days_are_a_diary_in_which_nothing_is_struck() -> None:
    files = [noted("2026-05-09", BOX, f"{BOX}!"), noted("2026-05-11", BOX)]

    made, now = tidied(files)

    assert set(made.texts) == {"MEMORY.md"}
    assert now["memory/2026-05-09.md"] == files[0].text


def test_words_from_outside_are_not_merged_with_ours() -> None:
    assert tidied([curated(entry(BOX, "2026-05-01"), entry(BOX, "2026-05-02", trusted=False))])[0] == TidyPlan()


def test_the_file_of_a_person_is_tidied_up_in_itself() -> None:
    files = [
        AreaFile(ANNAS.curated, f"# anna\n\n{entry(BOX, '2026-05-01')}{entry(BOX, '2026-05-03')}"),
        AreaFile("memory/people/anna/2026-05-04-x.md", f"# x\n\n- {NOT_TUESDAY}\n", "2026-05-04"),
        AreaFile("memory/people/anna/2026-05-05-x.md", f"# x\n\n- {NOT_TUESDAY}\n", "2026-05-05"),
    ]

    made, now = tidied(files, area=ANNAS)

    assert standing(now[ANNAS.curated]) == [BOX, NOT_TUESDAY]
    assert (len(made.merged), len(made.promoted)) == (1, 1)


# --- what does not agree ---

BOTH = pair_of(fact_key(BOILER), fact_key(NOT_TUESDAY))
DISAGREE = KnownEntries(TODAY, judged={BOTH: Relation.CONTRADICTS})


def test_a_contradiction_is_marked_once_with_both_and_where_they_stand() -> None:
    files = [curated(entry(BOILER, "2026-05-01")), noted("2026-05-11", NOT_TUESDAY)]

    made, now = tidied(files, DISAGREE)

    assert now["MEMORY.md"].endswith(
        f"\n\n## To be settled\n\n{HINT}\n\n- Which of the two holds?\n"
        f"  “{BOILER}” (MEMORY.md, 2026-05-01)\n  “{NOT_TUESDAY}” (memory/2026-05-11.md, 2026-05-11)\n"
    )
    assert (len(made.contradictions), made.unsettled) == (1, 1)
    assert standing(now["MEMORY.md"]) == [BOILER]


def test_a_mark_stays_though_a_model_says_otherwise_later() -> None:
    files = [curated(entry(BOILER, "2026-05-01")), noted("2026-05-11", NOT_TUESDAY)]
    now = after(files, plan(PRIVATE, files, DISAGREE))

    later = KnownEntries(TODAY, judged={BOTH: Relation.DIFFERENT})

    assert plan(PRIVATE, now, later).texts == {}


@pytest.mark.parametrize("way", ["struck", "edited", "gone", "by hand"])
def test_a_mark_goes_with_one_of_its_entries(way: str) -> None:
    base = curated(entry(BOILER, "2026-05-01"))
    files = [base, noted("2026-05-11", NOT_TUESDAY)]
    marked = after(files, plan(PRIVATE, files, DISAGREE))[-1].text
    item = next(each for each in passages(marked) if each.text == BOILER)
    changed = {
        "struck": struck(marked, [item], TODAY),
        "edited": marked.replace(f"- {BOILER}", "- The boiler is new"),
        "gone": marked.replace(entry(BOILER, "2026-05-01"), ""),
        "by hand": marked.replace(f"- {BOILER}", f"- ~~{BOILER}~~"),
    }[way]

    made, now = tidied([AreaFile("MEMORY.md", changed), files[1]], DISAGREE)

    assert TO_BE_SETTLED not in now["MEMORY.md"]
    assert (made.unsettled, made.contradictions) == (0, [])


@pytest.mark.parametrize("strike", ["- ~~Which of the two holds?~~", "all"])
def test_who_strikes_the_question_says_that_both_hold(strike: str) -> None:
    files = [curated(entry(BOILER, "2026-05-01")), noted("2026-05-10", NOT_TUESDAY), noted("2026-05-11", NOT_TUESDAY)]
    marked = after(files, plan(PRIVATE, files, DISAGREE))[-1].text
    question = next(each for each in passages(marked) if each.heading == TO_BE_SETTLED and each.is_item)
    whole = struck(marked, [question], TODAY)
    changed = whole if strike == "all" else marked.replace("- Which of the two holds?", strike)

    made, now = tidied([AreaFile("MEMORY.md", changed), *files[1:]], DISAGREE)

    assert made.contradictions == []
    assert standing(now["MEMORY.md"]) == [BOILER, NOT_TUESDAY]


def test_what_is_not_settled_is_not_kept_for_good() -> None:
    files = [noted("2026-05-09", BOILER), noted("2026-05-10", BOILER), noted("2026-05-11", NOT_TUESDAY)]

    made, now = tidied(files, DISAGREE)

    assert (made.promoted, standing(now["MEMORY.md"])) == ([], [])
    assert len(made.contradictions) == 1


def test_contradictions_of_a_person_are_marked_where_only_they_see_them() -> None:
    files = [AreaFile(ANNAS.curated, f"# anna\n\n{entry(BOILER, '2026-05-01')}{entry(NOT_TUESDAY, '2026-05-03')}")]

    made, now = tidied(files, DISAGREE, ANNAS)
    settled = [file for file in after(files, made) if file.path != ANNAS.curated]
    done = [AreaFile(ANNAS.curated, f"# anna\n\n{entry(BOILER, '2026-05-01')}"), *settled]

    assert set(made.texts) == {ANNAS.settled}
    assert now[ANNAS.settled].startswith("# To be settled\n\n")
    assert plan(ANNAS, done, DISAGREE).texts == {ANNAS.settled: None}


def test_no_more_than_five_stand_marked() -> None:
    texts = [f"The garden gate code of house {letter * 3} is {{}}" for letter in "abcdefghijklmno"]
    files = [noted(f"2026-05-0{day}", *(text.format(day) for text in texts)) for day in (8, 9)]

    pairs = [pair_of(fact_key(text.format(8)), fact_key(text.format(9))) for text in texts]

    made, _ = tidied(files, KnownEntries(TODAY, judged=dict.fromkeys(pairs, Relation.CONTRADICTS)))

    assert made.unsettled == 5


@pytest.mark.parametrize("is_curated", [True, False])
def test_what_a_model_calls_outdated_gives_way_to_the_newer(is_curated: bool) -> None:
    older, newer = entry("Anna lives in Bonn", "2026-05-01"), noted("2026-05-11", "Anna lives in Kiel")
    files = [curated(older), newer] if is_curated else [a_day("2026-05-01", older), newer]
    pair = pair_of(fact_key("Anna lives in Bonn"), fact_key("Anna lives in Kiel"))

    made, now = tidied(files, KnownEntries(TODAY, judged={pair: Relation.UPDATED}))

    assert standing(now.get("MEMORY.md", "")) == (["Anna lives in Kiel"] if is_curated else [])
    assert len(made.merged) == is_curated


def test_what_is_outdated_but_written_by_hand_is_a_question() -> None:
    files = [curated("- Anna lives in Bonn\n"), noted("2026-05-11", "Anna lives in Kiel")]
    pair = pair_of(fact_key("Anna lives in Bonn"), fact_key("Anna lives in Kiel"))

    made, now = tidied(files, KnownEntries(TODAY, judged={pair: Relation.UPDATED}))

    assert standing(now["MEMORY.md"]) == ["Anna lives in Bonn"]
    assert len(made.contradictions) == 1


def test_only_what_is_much_alike_is_asked_about() -> None:
    files = [
        curated(entry(BOILER, "2026-05-01"), entry(BOX, "2026-05-01")),
        noted("2026-05-11", NOT_TUESDAY, BOX, "The cat is grey"),
    ]
    known = KnownEntries(TODAY)

    asked = questions(PRIVATE, files, known)

    assert [(each.older.passage.text, each.newer.passage.text) for each in asked] == [(BOILER, NOT_TUESDAY)]


# --- what is over, and what was taken back ---


@pytest.mark.parametrize(("days", "leaves"), [(LOOK_BACK_DAYS, False), (LOOK_BACK_DAYS + 1, True)])
def test_what_was_struck_long_ago_leaves(days: int, leaves: bool) -> None:
    text = curated(entry(BOX, "2026-01-01"), entry(BOILER, "2026-01-01")).text
    item = next(each for each in passages(text) if each.text == BOX)
    file = AreaFile("MEMORY.md", struck(text, [item], TODAY - timedelta(days=days)))

    made, now = tidied([file])

    assert made.removed == leaves
    assert (BOX in now["MEMORY.md"]) is not leaves
    assert standing(now["MEMORY.md"]) == [BOILER]


def test_what_was_taken_back_is_not_done_again() -> None:
    files = [curated(entry(BOILER, "2026-05-01"), entry(f"{BOILER}!", "2026-05-02")), noted("2026-05-09", BOX),
             noted("2026-05-11", BOX)]  # fmt: skip

    made, _ = tidied(files, KnownEntries(TODAY, undone=frozenset({BOX, BOILER})))

    assert made == TidyPlan()


@pytest.mark.parametrize("text", ["# Memory\n\n- a \ufffd b\n", "---\ntrusted: false\n---\n\n- a\n"])
def test_a_file_that_cannot_be_written_back_or_trusted_is_left(text: str) -> None:
    made = plan(
        PRIVATE, [AreaFile("MEMORY.md", text), noted("2026-05-09", BOX), noted("2026-05-11", BOX)], KnownEntries(TODAY)
    )

    assert made.texts == {}
    assert made.problem is not None


# --- whatever there is ---

TEXTS = [
    BOILER, NOT_TUESDAY, BOX, f"{BOX}.", f"{BOX} above the door", "安娜喜欢喝茶", "安娜不喜欢喝茶", "安娜喜欢喝茶。",
    "Anna eats meat", "Anna does not eat meat", "Gate code 4711 opens the gate", "Gate code 1147 opens the gate",
    "~~odd~~ text", "- dashed", "> quoted", "two\nlines", "“quoted” (MEMORY.md)", "x", "…", "Went there today",
    "# heading?", "_fact · 2026-05-12 14:03 · from me in `s`_",
]  # fmt: skip
DAYS = ["2026-01-20", "2026-02-20", "2026-05-09", "2026-05-10", "2026-05-11", "2026-05-12"]


@st.composite
def items(draw: st.DrawFn) -> str:
    text, day = draw(st.sampled_from(TEXTS)), draw(st.sampled_from(DAYS))
    if draw(st.integers(0, 4)) == 0:
        return f"- {' '.join(text.split())}\n"
    item = entry(text, day, draw(st.sampled_from(list(MemoryKind))), trusted=draw(st.integers(0, 4)) > 0)
    if draw(st.integers(0, 4)):
        return item
    return struck(item, [each for each in passages(item) if not each.struck][:1], date.fromisoformat(day))


@st.composite
def homes(draw: st.DrawFn) -> tuple[list[AreaFile], KnownEntries]:
    headings = st.sampled_from(["", "## People\n\n", "## Facts\n\nsome words\n\n", "## To be settled\n\n"])
    files = [curated(*draw(st.lists(items(), max_size=6)), heading=draw(headings))] if draw(st.booleans()) else []
    for day in draw(st.lists(st.sampled_from(DAYS), unique=True, max_size=4)):
        files.append(a_day(day, *draw(st.lists(items(), max_size=5))))
    pairs = st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)).map(
        lambda both: pair_of(fact_key(both[0]), fact_key(both[1]))
    )
    said = st.sampled_from([Relation.SAME, Relation.UPDATED, Relation.CONTRADICTS, Relation.DIFFERENT])
    return files, KnownEntries(
        TODAY,
        draw(st.dictionaries(pairs, st.floats(0.82, 1), max_size=6)),
        draw(st.dictionaries(pairs, said, max_size=6)),
        frozenset(draw(st.lists(st.sampled_from(TEXTS), max_size=1))),
    )


def said_in(files: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(path, each.text) for path, text in files.items() for each in whole_items(text)]


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(homes())
def test_whatever_there_is_a_second_time_changes_nothing_and_no_text_is_lost(
    home: tuple[list[AreaFile], KnownEntries],
) -> None:
    files, known = home
    before = {file.path: file.text for file in files}

    made, now = tidied(files, known)

    left = {each for each in said_in(before) if each not in said_in(now)}
    gone = {
        ("MEMORY.md", each.text)
        for each in whole_items(before.get("MEMORY.md", ""))
        if each.struck or each.heading == TO_BE_SETTLED
    }
    assert left <= gone
    assert set(made.texts) <= {"MEMORY.md"}
    by_hand = [each for each in whole_items(before.get("MEMORY.md", "")) if each.kind is None and not each.struck]
    kept = {each.text for each in whole_items(now.get("MEMORY.md", "")) if not each.struck}
    assert {each.text for each in by_hand if each.heading != TO_BE_SETTLED} <= kept
    outside = {each.text for text in before.values() for each in whole_items(text) if not each.trusted}
    ours = {each.text for text in before.values() for each in whole_items(text) if each.trusted}
    fresh = {each.text for each in whole_items(now.get("MEMORY.md", "")) if each.heading != TO_BE_SETTLED}
    fresh -= {each.text for each in whole_items(before.get("MEMORY.md", ""))}
    assert not fresh & (outside - ours)
