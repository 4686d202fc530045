"""Files that are deleted, cut or flipped: an engine says so or answers rightly, never with what was not put in."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hub.memory.engine_contract import IndexDamaged
from tests.integrations.memory.engines.kinds import IN_FILES, Both

COUNT = 60
NATIVE = {".bin", ".pickle"}
"""Chroma's graphs, which it reads without looking: after a crash, nothing tells that they were flipped."""


def filled(kind: str, directory: Path) -> None:
    both = Both(kind, directory)
    both.put(range(1, COUNT))
    both.put([COUNT], removed=[1])
    both.close()


def files_of(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def outcome(kind: str, directory: Path) -> str:
    """Open, ask and change an index whose files were touched; `right`, `damaged`, `other` when
    it does not hold what was put in, which the catalog shows, or what is wrong."""
    try:
        both = Both(kind, directory)
    except IndexDamaged:
        return "damaged"
    try:
        ids = both.ids()
        if ids != set(range(2, COUNT + 1)):
            return "other"
        for id_ in (2, 30, COUNT):
            if both.find(id_)[0] != id_:
                return f"finds {both.find(id_)} instead of {id_}"
        both.put([COUNT + 1], removed=[2])
        return "right" if both.find(COUNT + 1)[0] == COUNT + 1 else "does not find what was put in"
    except IndexDamaged:
        return "damaged"
    finally:
        both.close()


@pytest.mark.parametrize("kind", IN_FILES)
def test_an_index_whose_files_were_not_touched_is_right(kind: str, tmp_path: Path) -> None:
    filled(kind, tmp_path)

    assert outcome(kind, tmp_path) == "right"


@pytest.mark.parametrize("kind", IN_FILES)
@pytest.mark.parametrize("seed", range(8))
def test_a_file_that_was_cut_is_noticed_or_does_no_harm(kind: str, seed: int, tmp_path: Path) -> None:
    filled(kind, tmp_path)
    rng = random.Random(seed)
    path = rng.choice([path for path in files_of(tmp_path) if path.stat().st_size])
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])

    assert outcome(kind, tmp_path) in ("right", "damaged", "other")


@pytest.mark.parametrize("kind", IN_FILES)
def test_a_file_that_was_deleted_is_noticed_or_does_no_harm(kind: str, tmp_path: Path) -> None:
    filled(kind, tmp_path / "whole")
    names = [path.relative_to(tmp_path / "whole") for path in files_of(tmp_path / "whole")]

    outcomes = {}
    for name in names:
        place = tmp_path / str(name).replace("/", "-")
        filled(kind, place)
        # Segments have random names.
        missing = next(path for path in files_of(place) if path.suffix == name.suffix)
        missing.unlink()
        outcomes[str(name)] = outcome(kind, place)

    assert set(outcomes.values()) <= {"right", "damaged", "other"}, outcomes
    assert set(outcomes.values()) != {"right"}


@pytest.mark.parametrize("kind", IN_FILES)
@pytest.mark.parametrize("seed", range(10))
def test_a_flipped_bit_raises_nothing_else(kind: str, seed: int, tmp_path: Path) -> None:
    """An engine has its own checks alone: what they miss may be wrong, but is never strange."""
    filled(kind, tmp_path)
    rng = random.Random(seed)
    path = rng.choice([path for path in files_of(tmp_path) if path.suffix not in NATIVE and path.stat().st_size])
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)

    try:
        both = Both(kind, tmp_path)
        found = {found for id_ in range(1, COUNT) for found in both.find(id_)}
        both.close()
    except IndexDamaged:
        found = set()

    assert found <= set(range(2, COUNT + 1))
