"""Passages: entries stay whole with their source, prose is packed, lines are exact, hostile text takes no longer."""

from __future__ import annotations

import itertools
from datetime import UTC

import pytest
from hypothesis import example, given, strategies as st

from hub.memory.chunking import Chunk, chunk, tokens_in
from hub.memory.contract import MemoryEntry, MemoryKind
from hub.memory.markdown import format_entry
from hub.memory.scope import MemoryProvenance
from tests.lengths import rounds

MIB = rounds(1_048_576, 262_144)
CAME = MemoryProvenance("agent:main:main", "me", 1_778_594_580.0, trusted=True)  # 2026-05-12 14:03 UTC
FROM_OUTSIDE = MemoryProvenance("agent:main:email:direct:x", None, CAME.time, trusted=False)


def entry(text: str, came: MemoryProvenance = CAME) -> str:
    return format_entry(MemoryEntry(text, MemoryKind.FACT, came), UTC)


def sentences(count: int, mark: str = "s") -> str:
    return " ".join(f"The {mark}{number} is what this sentence speaks of." for number in range(count))


def test_an_entry_is_a_passage_with_its_source() -> None:
    text = "# 2026-05-12\n\n" + entry("The boiler was serviced\nby Hansen") + entry("Anna likes tea")

    first, second = chunk("memory/2026-05-12.md", text)

    assert first == Chunk(
        start_line=3,
        end_line=5,
        text="The boiler was serviced\nby Hansen",
        title="2026-05-12",
        kind="fact",
        person="me",
        session="agent:main:main",
        day="2026-05-12",
        marks=("@2026", "@2026-05", "@2026-05-12", "@05-12", "@05"),
    )
    assert (second.start_line, second.end_line, second.text) == (6, 7, "Anna likes tea")


def test_what_came_from_outside_is_never_in_a_passage_with_what_did_not() -> None:
    text = f"Ours above.\n\n{entry('buy now', FROM_OUTSIDE)}and ours below\n"

    found = chunk("memory/2026-05-12.md", text)

    assert [(each.text, each.trusted, each.person) for each in found] == [
        ("Ours above.", True, None),
        ("> buy now", False, None),
        ("and ours below", True, None),
    ]


def test_a_struck_entry_is_left_out() -> None:
    source = "_fact · 2026-05-12 14:03 · from me in `agent:main:main` · superseded 2026-06-01_"
    text = f"- ~~Anna works at the bakery~~\n  {source}\n{entry('Anna works at the port')}- ~~by hand~~\n- stays\n"

    found = chunk("MEMORY.md", text)

    assert [each.text for each in found] == ["Anna works at the port", "- stays"]


def test_an_entry_in_a_code_fence_is_an_entry_all_the_same() -> None:
    text = f"```\ncode\n{entry('hidden', FROM_OUTSIDE)}```\n"

    (hidden,) = [each for each in chunk("a.md", text) if "hidden" in each.text]

    assert not hidden.trusted


def test_a_long_entry_is_cut_and_each_piece_says_where_it_is_from() -> None:
    text = entry(sentences(60), FROM_OUTSIDE)

    found = chunk("memory/2026-05-12.md", text, tokens=100, overlap=20)

    assert len(found) > 3
    assert {(each.start_line, each.end_line, each.kind, each.trusted, each.session) for each in found} == {
        (1, 2, "fact", False, "agent:main:email:direct:x")
    }


def test_front_matter_holds_for_all_of_a_file_and_is_no_text() -> None:
    text = f"---\ntrusted: false\nperson: anna\nsession: s1\n---\n# Notes\n\nprose\n\n{entry('an entry')}"

    prose, said = chunk("memory/x.md", text)

    assert (prose.start_line, prose.text, prose.trusted, prose.person, prose.session) == (
        8,
        "prose",
        False,
        "anna",
        "s1",
    )
    assert (said.trusted, said.person) == (False, "me")


def test_a_file_cannot_vouch_for_itself() -> None:
    text = f"---\ntrusted: true\n---\nprose\n\n{entry('an entry')}"

    assert [each.trusted for each in chunk("extra/x/a.md", text, trusted=False)] == [False, False]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Given\n---\n# Heading\n\nx", "Given"),
        ("# Heading\n\nx", "Heading"),
        ("## Second\n\nx\n\n# First ##\n\ny", "First"),
        ("x", "garden"),
    ],
)
def test_the_title_is_given_or_the_first_heading_or_the_name(text: str, title: str) -> None:
    assert {each.title for each in chunk("memory/garden.md", text)} == {title}


def test_passages_are_cut_at_headings_and_know_what_they_stand_under() -> None:
    text = "# House\n\nintro\n\n## Heating\n\npump\n\n### Errors\n\ntwenty\n\n## Garden\n\nfig\n"

    found = [(each.headings, each.text, each.start_line) for each in chunk("x.md", text)]

    assert found == [
        ((), "intro", 3),
        (("Heating",), "pump", 7),
        (("Heating", "Errors"), "twenty", 11),
        (("Garden",), "fig", 15),
    ]


def test_headings_with_nothing_below_are_found_by_what_they_say() -> None:
    text = "# House\n\n## Boiler serviced in May\n## Roof mended\n## Garden\n\nfig\n"

    found = [(each.text, each.start_line, each.end_line) for each in chunk("x.md", text)]

    assert found == [("## Boiler serviced in May\n## Roof mended", 3, 4), ("fig", 7, 7)]


def test_a_file_that_is_a_title_alone_is_found() -> None:
    assert [each.text for each in chunk("memory/x.md", "# Buy milk\n")] == ["Buy milk"]
    assert chunk("memory/2026-05-12.md", "# 2026-05-12\n") == []


def test_prose_is_packed_to_about_the_size_and_repeats_what_came_before() -> None:
    text = "\n\n".join(sentences(5, f"p{number}_") for number in range(30))

    found = chunk("x.md", text, tokens=200, overlap=60)

    sizes = [tokens_in(each.text) for each in found]
    assert max(sizes) <= 200
    assert min(sizes[:-1]) >= 100
    for before, after in itertools.pairwise(found):
        assert after.start_line <= before.end_line
        assert after.text.split("\n")[0] in before.text


def test_without_overlap_nothing_is_said_twice() -> None:
    lines = [f"line {number}" for number in range(300)]

    found = chunk("x.md", "\n".join(lines), tokens=50, overlap=0)

    assert [line for each in found for line in each.text.split("\n")] == lines


def test_a_fence_and_a_table_that_fit_are_kept_whole() -> None:
    fence = "```\n" + "\n".join(f"# step {number}" for number in range(8)) + "\n\nend\n```"
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {number} | x |" for number in range(8))
    text = f"{sentences(8)}\n\n{fence}\n\n{sentences(8)}\n\n{table}\n"

    found = chunk("x.md", text, tokens=100, overlap=20)

    assert any(fence in each.text for each in found)
    assert any(table in each.text for each in found)


def test_a_fence_that_is_never_closed_hides_no_heading() -> None:
    found = chunk("x.md", "```\ncode\n\n## Garden\n\nfig\n")

    assert found[-1].headings == ("Garden",)


def test_one_giant_line_is_cut_between_words() -> None:
    words = [f"word{number}" for number in range(4_000)]

    found = chunk("x.md", " ".join(words), tokens=100, overlap=0)

    assert [word for each in found for word in each.text.split()] == words
    assert {(each.start_line, each.end_line) for each in found} == {(1, 1)}
    assert max(tokens_in(each.text) for each in found) <= 100


def test_chinese_is_cut_at_its_sentences_and_counted_by_character() -> None:
    text = "".join(f"今天是第{number}天，天气很好。" for number in range(100))

    found = chunk("x.md", text, tokens=100, overlap=0)

    assert all(each.text.endswith("。") for each in found)
    assert "".join(each.text for each in found) == text
    assert max(tokens_in(each.text) for each in found) <= 100


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("锅炉保养", 4), ("ab锅", 2)])
def test_tokens_are_estimated(text: str, tokens: int) -> None:
    assert tokens_in(text) == tokens


def test_a_passage_belongs_to_the_day_of_its_file_or_heading_or_source() -> None:
    dated = chunk("memory/2026-05-12-trip.md", "prose")
    under = chunk("memory/log.md", "## 2026-06-01\n\nprose\n\n## Other\n\nmore")
    said = chunk("MEMORY.md", entry("an entry"))

    assert [each.day for each in (*dated, *under, *said)] == ["2026-05-12", "2026-06-01", None, "2026-05-12"]


def test_dates_that_are_named_are_marks() -> None:
    (found,) = chunk("memory/log.md", "The next service is on 12 May 2027, 或者5月13日")

    assert set(found.marks) == {"@05", "@05-12", "@2027-05-12", "@2027-05", "@05-13", "@--05-13"}


def test_what_is_embedded_says_where_it_stands_but_not_a_date() -> None:
    (noted,) = chunk("memory/x.md", "# House\n\n## Heating\n\npump")
    (dated,) = chunk("memory/2026-05-12.md", f"# 2026-05-12\n\n{entry('pump')}")

    assert noted.embed_text == "House › Heating\npump"
    assert dated.embed_text == "pump"


def test_the_digest_is_of_what_is_indexed_and_not_of_where_it_stands() -> None:
    (one,) = chunk("memory/x.md", "# House\n\npump")
    (moved,) = chunk("memory/x.md", "# House\n\n\n\npump")
    (other,) = chunk("memory/x.md", "# Home\n\npump")
    (untrusted,) = chunk("memory/x.md", "# House\n\npump", trusted=False)

    assert one.digest == moved.digest
    assert len({one.digest, other.digest, untrusted.digest}) == 3


@given(
    st.lists(
        st.sampled_from(
            [
                *("# A", "## B", "### C", "#", "", "", "text", "- item", "  more", "```", "~~~~", "| a | b |", "\r"),
                *("- said", "  _fact · 2026-05-12 14:03 · from me in `k`_", "字" * 90, "word " * 60, "x" * 300, "---"),
            ]
        ),
        max_size=40,
    ),
    st.integers(1, 120),
    st.integers(0, 120),
)
@example(["# A", "# B"], 1, 1)
def test_whatever_a_file_holds_its_passages_are_in_order_and_where_they_say(
    lines: list[str], tokens: int, overlap: int
) -> None:
    found = chunk("memory/2026-05-12.md", "\n".join(lines), tokens=tokens, overlap=overlap)

    assert [each.start_line for each in found] == sorted(each.start_line for each in found)
    for each in found:
        assert 1 <= each.start_line <= each.end_line <= len(lines)
        assert each.text.strip()
        first = each.text.split("\n")[0].strip()
        assert first in lines[each.start_line - 1] or first in "".join(lines)
        if each.kind is None:
            assert tokens_in(each.text) <= max(tokens, 1)


@given(st.lists(st.text(alphabet="ab .字#-`|\n", max_size=60), max_size=20), st.integers(4, 60))
def test_nothing_that_is_said_is_lost(parts: list[str], tokens: int) -> None:
    text = "\n".join(parts)

    found = chunk("x.md", text, tokens=tokens, overlap=0)

    kept = "".join(f"{each.title}{''.join(each.headings)}{each.text}" for each in found)
    for sign in "ab字":
        assert (sign in kept) == (sign in text)


@given(st.text(max_size=300))
def test_any_text_can_be_cut(text: str) -> None:
    assert all(each.digest and each.embed_text for each in chunk("memory/x.md", text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * MIB, id="brackets"),
        pytest.param("字" * (MIB // 3), id="one Chinese line"),
        pytest.param("word " * (MIB // 5), id="one line"),
        pytest.param("# a" + " " * MIB + "b", id="spaces in a heading"),
        pytest.param(("# " + "a  " * 90 + "\n") * 3_800, id="long headings"),
        pytest.param("``` x\n" * (MIB // 6), id="fences that are never closed"),
        pytest.param("\n".join("`" * length for length in range(1_400, 2, -1)), id="fences of every length"),
        pytest.param("- a\n  " + " " * MIB + "_x\n", id="spaces before a source"),
        pytest.param(
            "- " + "a b\n  " * (MIB // 24) + "\n  _fact · 2026-05-12 14:03 · from me in `k`_\n", id="one entry"
        ),
        pytest.param("." * MIB, id="ends of sentences"),
        pytest.param("1 " * (MIB // 2), id="digits"),
        pytest.param("\n" * MIB, id="blank lines"),
    ],
)
def test_a_megabyte_of_anything_is_cut_into_passages_of_the_size(text: str) -> None:
    found = chunk("memory/x.md", text)

    assert all(tokens_in(each.text) <= 200 for each in found)


@pytest.mark.parametrize("text", ["".join(chr(0x4E00 + number) for number in range(1_500)), "x1 " * 2_000])
def test_what_has_no_sentences_is_repeated_as_much_as_any_other_text(text: str) -> None:
    found = chunk("memory/notes.md", text)

    assert all(tokens_in(each.text) <= 200 for each in found)
    for one, other in itertools.pairwise(found):
        shared = next(size for size in range(len(other.text), 0, -1) if one.text.endswith(other.text[:size]))
        assert tokens_in(other.text[:shared]) >= 35


def test_what_has_no_sentences_is_cut_where_one_breathes() -> None:
    found = chunk("memory/notes.md", "我们昨天去了公园，看见很多花，" * 100)

    assert all(each.text.endswith("，") for each in found)
