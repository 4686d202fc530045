"""The catalog names every passage once, keeps ids of what stayed, and finishes what a crash cut off."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from hub.memory.chunking import Chunk
from hub.memory.contract import Filters, MemoryKind
from hub.memory.ranking import RankingRules
from integrations.memory.notes.index.catalog import HAS_VECTOR, WAITING, Catalog
from integrations.memory.notes.index.contract import IndexDamaged
from integrations.memory.notes.index.engines import Engines
from integrations.memory.notes.index.generations import CATALOG, Generation
from integrations.memory.notes.index.passages import Present, ReadFile, Stamp, indexed
from integrations.memory.notes.index.search import Search, ask
from integrations.memory.notes.index.settings import LibrarySettings
from tests.lengths import examples

STAMP = Stamp(1, 2, 3)


def file(path: str, *texts: str, area: str = "private", kind: str | None = None) -> ReadFile:
    """A file that was read, a passage on each line."""
    chunks = [
        Chunk(number, number, text, path, kind=kind, marks=(f"@{text}",)) for number, text in enumerate(texts, start=1)
    ]
    present = Present(path, area, "", path, STAMP)
    return ReadFile(present, "|".join([*texts, area]), tuple(indexed(each) for each in chunks))


def put(catalog: Catalog, *files: ReadFile, gone: tuple[str, ...] = ()) -> tuple[list[int], list[int]]:
    staged = catalog.stage(files, gone)
    catalog.finish()
    return staged.removed, [each.id for each in staged.added]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """An empty one."""
    made = Catalog(tmp_path)
    yield made
    made.close()


def test_what_stayed_keeps_its_id_and_the_engines_are_told_of_the_rest(catalog: Catalog) -> None:
    _, (one, two) = put(catalog, file("a.md", "one", "two"))

    removed, added = put(catalog, file("a.md", "new", "two"))

    assert removed == [one]
    assert len(added) == 1
    assert added[0] > two
    assert {row.chunk.text: row.chunk.start_line for row in catalog.passages_of("a.md")} == {"new": 1, "two": 2}


def test_lines_that_moved_are_noted_without_telling_the_engines(catalog: Catalog) -> None:
    put(catalog, file("a.md", "one", "two"))

    assert put(catalog, file("a.md", "two", "one")) == ([], [])
    assert [row.chunk.text for row in catalog.passages_of("a.md")] == ["two", "one"]


def test_the_same_text_twice_is_two_passages(catalog: Catalog) -> None:
    put(catalog, file("a.md", "same", "same"))

    removed, added = put(catalog, file("a.md", "same"))

    assert (len(removed), added) == (1, [])


def test_ids_are_never_used_again(catalog: Catalog) -> None:
    _, first = put(catalog, file("a.md", "one"))
    put(catalog, gone=("a.md",))

    _, second = put(catalog, file("a.md", "one"))

    assert second[0] > first[0]


def test_another_area_makes_other_passages(catalog: Catalog) -> None:
    _, first = put(catalog, file("a.md", "one"))

    removed, added = put(catalog, file("a.md", "one", area="shared"))

    assert removed == first
    assert len(added) == 1
    assert [row.area for row in catalog.passages_of("a.md")] == ["shared"]


def test_what_is_staged_is_not_seen_and_is_told_until_it_is_finished(catalog: Catalog) -> None:
    _, (old,) = put(catalog, file("a.md", "one"))
    staged = catalog.stage([file("a.md", "two")])

    assert catalog.rows([old, staged.added[0].id]) == {}
    assert (catalog.staged().removed, [each.id for each in catalog.staged().added]) == ([old], [staged.added[0].id])

    catalog.finish()
    assert (catalog.staged().removed, catalog.staged().added) == ([], [])
    assert catalog.ids() == {staged.added[0].id}


@given(
    before=st.lists(st.sampled_from("abcdef"), max_size=8),
    after=st.lists(st.sampled_from("abcdef"), max_size=8),
    budget=st.integers(1, 5),
)
@settings(max_examples=examples(60), deadline=None)
def test_portions_come_to_the_same_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str], budget: int
) -> None:
    catalog = Catalog(tmp_path_factory.mktemp("catalog"))
    put(catalog, file("a.md", *before), file("gone.md", *before))
    engine = catalog.ids()

    files, gone = [file("a.md", *after)], ["gone.md"]
    for _ in range(100):
        staged = catalog.stage(files, gone, budget)
        assert staged.size <= budget
        engine = (engine - set(staged.removed)) | {each.id for each in staged.added}
        catalog.finish()
        files, gone = staged.left, staged.left_gone

    assert (files, gone) == ([], [])
    assert [row.chunk.text for row in catalog.passages_of("a.md")] == after
    assert catalog.passages_of("gone.md") == []
    assert catalog.ids() == engine
    assert set(catalog.files()) == {"a.md"}
    catalog.close()


def test_filters_and_marks_name_the_passages_of_the_areas_asked_for(catalog: Catalog) -> None:
    _, (fact, decision) = put(catalog, file("a.md", "x", kind="fact"), file("b.md", "y", kind="decision"))
    put(catalog, file("c.md", "x", area="shared", kind="fact"))

    assert catalog.allowed(["private"], Filters()) is None
    assert catalog.allowed(["private"], Filters(kind=MemoryKind.FACT)) == {fact}
    assert catalog.allowed(["private"], Filters(kind=MemoryKind.DECISION, trusted=True)) == {decision}
    assert catalog.allowed(["private"], Filters(trusted=False)) == set()
    assert catalog.allowed([], Filters(trusted=True)) == set()
    assert catalog.marked({"@x"}, ["private"]) == {fact}
    assert catalog.marked({"@x", "@y"}, ["private"]) == {fact, decision}


@pytest.mark.parametrize("column", ["text", "path", "area", "start_line", "trusted", "words", "kind", "digest"])
def test_a_row_that_was_changed_behind_its_back_is_not_shown(tmp_path: Path, column: str) -> None:
    catalog = Catalog(tmp_path)
    _, (one, two) = put(catalog, file("a.md", "one", "two", kind="fact"))
    with sqlite3.connect(tmp_path / "catalog.db") as other:
        other.execute(f"UPDATE chunks SET {column} = 7 WHERE id = ?", (one,))

    with pytest.raises(IndexDamaged):
        catalog.rows([one])
    assert set(catalog.rows([two])) == {two}
    catalog.close()


@pytest.mark.parametrize("column", ["text", "area", "words", "day", "sum"])
def test_what_is_damaged_is_not_found_and_makes_room_for_the_next(tmp_path: Path, column: str) -> None:
    generation = Generation(tmp_path, Engines(LibrarySettings.from_plain({})), is_new=True)
    generation.apply([file("a.md", "the blue boat", "the blue boat has sails", "the blue boat lies in the harbour")])
    first = generation.catalog.passages_of("a.md")[0].id
    with sqlite3.connect(tmp_path / "catalog.db") as other:
        other.execute(f"UPDATE chunks SET {column} = x'07' WHERE id = ?", (first,))
    search = Search(generation, ask("blue boat", ["private"], Filters(), 2, date(2026, 11, 21)), {})

    search.by_word()
    search.by_meaning(None, None, RankingRules())

    assert [hit.start_line for hit in search.found.hits] == [2, 3]
    assert CATALOG in generation.broken
    generation.close()


@pytest.mark.parametrize("done", ["nothing", "words"])
def test_a_crash_between_catalog_and_engines_is_mended_at_the_next_opening(tmp_path: Path, done: str) -> None:
    engines = Engines(LibrarySettings.from_plain({}))
    first = Generation(tmp_path, engines, is_new=True)
    first.apply([file("a.md", "the zebra", "the giraffe")])
    staged = first.catalog.stage([file("a.md", "the zebra", "the lion")])
    if done == "words":
        assert first.keywords is not None
        first.keywords.apply(staged.removed, staged.added)
    first.close()  # the journal stays as a crash leaves it

    second = Generation(tmp_path, engines, is_new=False)

    assert second.keywords is not None
    assert second.keywords.ids() == second.catalog.ids()
    assert len(second.catalog.ids()) == 2
    assert second.keywords.search("lion", ["private"], 5) != []
    assert second.keywords.search("giraffe", ["private"], 5) == []
    second.close()


def test_engines_that_lag_behind_or_know_too_much_are_brought_in_line(tmp_path: Path) -> None:
    import numpy as np

    from integrations.memory.notes.index.generations import Embedded

    engines = Engines(LibrarySettings.from_plain({}))
    first = Generation(tmp_path, engines, is_new=True)
    first.apply([file("a.md", "the zebra", "the giraffe", "the lion")])
    one, two, three = sorted(first.catalog.ids())
    first.use_embedder("e", 2)
    vector = np.array([1.0, 0.0], dtype=np.float32)
    first.put_vectors(Embedded([(one, "private", vector), (two, "private", vector)]))
    assert first.keywords is not None
    assert first.vectors is not None
    first.keywords.apply([one], [])
    first.vectors.apply([one], [(three, "private", vector), (999, "private", vector)])
    first.close()

    second = Generation(tmp_path, engines, is_new=False)

    assert second.keywords is not None
    assert second.vectors is not None
    assert second.keywords.ids() == {one, two, three}
    assert second.vectors.ids() == {two, three} == second.catalog.ids(vector=HAS_VECTOR)
    assert second.catalog.ids(vector=WAITING) == {one}
    second.close()


def test_what_was_removed_is_not_in_the_file_any_longer(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    put(catalog, file("a.md", "a secret that is to be forgotten", "b"))
    put(catalog, file("a.md", "b"))

    catalog.fold()

    assert b"to be forgotten" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    catalog.close()
