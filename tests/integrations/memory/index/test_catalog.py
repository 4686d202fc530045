"""The catalog names every passage once and keeps ids of what stayed; a change of it and our engines is one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hub.memory.chunking import Chunk
from hub.memory.contract import Filters, MemoryKind
from hub.memory.engine_contract import IndexDamaged
from hub.memory.ranking import RankingRules
from integrations.memory.notes.index.catalog import HAS_VECTOR, Catalog
from integrations.memory.notes.index.engines import Engines
from integrations.memory.notes.index.index_version import FILE, Embedded, IndexVersion
from integrations.memory.notes.index.passages import Present, ReadFile, Stamp, indexed_chunk
from integrations.memory.notes.index.search import IndexUnusable, Search, ask
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.index.sqlite_file import SqliteFile
from integrations.memory.notes.index.stored import StoredPassage
from tests.lengths import examples

STAMP = Stamp(1, 1, 2, 3)


def file(path: str, *texts: str, area: str = "private", kind: str | None = None) -> ReadFile:
    """A file that was read, a passage on each line."""
    chunks = [
        Chunk(number, number, text, path, kind=kind, marks=(f"@{text}",)) for number, text in enumerate(texts, start=1)
    ]
    present = Present(path, area, "", path, STAMP)
    return ReadFile(present, "|".join([*texts, area]), tuple(indexed_chunk(each) for each in chunks))


def put(catalog: Catalog, *files: ReadFile, gone: tuple[str, ...] = ()) -> tuple[list[int], list[int]]:
    portion = catalog.change(files, gone)
    return portion.removed, [each.id for each in portion.added]


def passages_of(catalog: Catalog, path: str) -> list[StoredPassage]:
    """The passages of a file, in order."""
    found = [row for row in catalog.rows_after(0, 100) if row.path == path]
    return sorted(found, key=lambda row: (row.chunk.start_line, row.id))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """An empty one."""
    file = SqliteFile(tmp_path / FILE, 1)
    yield Catalog(file)
    file.close()


def test_what_stayed_keeps_its_id_and_the_engines_are_told_of_the_rest(catalog: Catalog) -> None:
    _, (one, two) = put(catalog, file("a.md", "one", "two"))

    removed, added = put(catalog, file("a.md", "new", "two"))

    assert removed == [one]
    assert len(added) == 1
    assert added[0] > two
    assert {row.chunk.text: row.chunk.start_line for row in passages_of(catalog, "a.md")} == {"new": 1, "two": 2}


def test_lines_that_moved_are_noted_without_telling_the_engines(catalog: Catalog) -> None:
    put(catalog, file("a.md", "one", "two"))

    assert put(catalog, file("a.md", "two", "one")) == ([], [])
    assert [row.chunk.text for row in passages_of(catalog, "a.md")] == ["two", "one"]


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
    assert [row.area for row in passages_of(catalog, "a.md")] == ["shared"]


@given(
    before=st.lists(st.sampled_from("abcdef"), max_size=8),
    after=st.lists(st.sampled_from("abcdef"), max_size=8),
    budget=st.integers(1, 5),
)
@settings(max_examples=examples(60), deadline=None)
def test_portions_come_to_the_same_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str], budget: int
) -> None:
    sqlite_file = SqliteFile(tmp_path_factory.mktemp("catalog") / FILE, 1)
    catalog = Catalog(sqlite_file)
    put(catalog, file("a.md", *before), file("gone.md", *before))
    engine = catalog.ids()

    files, gone = [file("a.md", *after)], ["gone.md"]
    for _ in range(100):
        portion = catalog.change(files, gone, budget)
        assert portion.size <= budget
        engine = (engine - set(portion.removed)) | {each.id for each in portion.added}
        files, gone = portion.left, portion.left_gone

    assert (files, gone) == ([], [])
    assert [row.chunk.text for row in passages_of(catalog, "a.md")] == after
    assert passages_of(catalog, "gone.md") == []
    assert catalog.ids() == engine
    assert set(catalog.files()) == {"a.md"}
    sqlite_file.close()


def test_filters_and_marks_name_the_passages_of_the_areas_asked_for(catalog: Catalog) -> None:
    _, (fact, decision) = put(catalog, file("a.md", "x", kind="fact"), file("b.md", "y", kind="decision"))
    put(catalog, file("c.md", "x", area="shared", kind="fact"))

    assert catalog.filtered_ids(["private"], Filters()) is None
    assert catalog.filtered_ids(["private"], Filters(kind=MemoryKind.FACT)) == {fact}
    assert catalog.filtered_ids(["private"], Filters(kind=MemoryKind.DECISION, trusted=True)) == {decision}
    assert catalog.filtered_ids(["private"], Filters(trusted=False)) == set()
    assert catalog.filtered_ids([], Filters(trusted=True)) == set()
    assert catalog.marked_ids({"@x"}, ["private"]) == {fact}
    assert catalog.marked_ids({"@x", "@y"}, ["private"]) == {fact, decision}


@pytest.mark.parametrize("column", ["text", "path", "area", "start_line", "trusted", "words", "kind", "digest"])
def test_a_row_that_was_changed_behind_its_back_is_not_shown(tmp_path: Path, catalog: Catalog, column: str) -> None:
    _, (one, two) = put(catalog, file("a.md", "one", "two", kind="fact"))
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute(f"UPDATE chunks SET {column} = 7 WHERE id = ?", (one,))

    with pytest.raises(IndexDamaged):
        catalog.rows([one])
    assert set(catalog.rows([two])) == {two}


@pytest.fixture
def engines() -> Engines:
    """Our own."""
    return Engines(IndexSettings.from_plain({}))


@pytest.mark.parametrize("column", ["text", "area", "words", "day", "sum"])
def test_an_index_in_which_damage_shows_is_not_searched_any_more(tmp_path: Path, engines: Engines, column: str) -> None:
    version = IndexVersion(tmp_path, engines, is_new=True)
    version.apply([file("a.md", "the blue boat", "the blue boat has sails", "the blue boat lies in the harbour")])
    first = passages_of(version.catalog, "a.md")[0].id
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute(f"UPDATE chunks SET {column} = x'07' WHERE id = ?", (first,))
    search = Search(version, ask("blue boat", ["private"], Filters(), 3, date(2026, 11, 21)), {})

    search.by_word()
    with pytest.raises(IndexUnusable):
        search.search_vectors(None, None, RankingRules())

    assert version.damage is not None
    version.close()


def test_a_change_that_fails_in_an_engine_leaves_catalog_and_engines_as_they_were(
    tmp_path: Path, engines: Engines
) -> None:
    version = IndexVersion(tmp_path, engines, is_new=True)
    version.apply([file("a.md", "the zebra", "the giraffe")])
    one, _ = sorted(version.catalog.ids())
    version.use_embedder("e", 2)
    version.put_vectors(Embedded([(one, "private", np.array([1.0, 0.0], dtype=np.float32))]))
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute("CREATE TRIGGER fails BEFORE DELETE ON vectors BEGIN SELECT RAISE(ABORT, 'no'); END")

    with pytest.raises(IndexDamaged, match="no"):
        version.apply([file("a.md", "the lion")])

    assert version.vectors is not None
    assert version.keywords.ids() == version.catalog.ids()
    assert version.keywords.search("zebra", ["private"], 5) != []
    assert version.vectors.ids() == {one} == version.catalog.ids(vector=HAS_VECTOR)
    version.close()


def test_an_engine_for_words_that_holds_other_passages_makes_the_index_damaged(
    tmp_path: Path, engines: Engines
) -> None:
    first = IndexVersion(tmp_path, engines, is_new=True)
    first.apply([file("a.md", "the zebra", "the giraffe")])
    first.keywords.apply(first.catalog.ids(), [])
    first.close()

    with pytest.raises(IndexDamaged, match="other passages"):
        IndexVersion(tmp_path, engines, is_new=False)


def test_an_engine_for_vectors_that_holds_others_is_not_asked_and_the_index_is_outdated(
    tmp_path: Path, engines: Engines
) -> None:
    first = IndexVersion(tmp_path, engines, is_new=True)
    first.apply([file("a.md", "the zebra")])
    first.use_embedder("e", 2)
    assert first.vectors is not None
    first.vectors.apply([], [(999, "private", np.array([1.0, 0.0], dtype=np.float32))])
    first.close()

    second = IndexVersion(tmp_path, engines, is_new=False)

    assert second.vectors is None
    assert second.outdated is not None
    assert second.keywords.search("zebra", ["private"], 5) != []
    second.close()


def test_what_was_removed_is_not_in_the_file_any_longer(tmp_path: Path, engines: Engines) -> None:
    version = IndexVersion(tmp_path, engines, is_new=True)
    version.apply([file("a.md", "a secret that is to be forgotten", "b")])
    version.apply([file("a.md", "b")])

    version.purge()

    assert b"to be forgotten" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    version.close()
