"""Files: whole or not at all, lines that stand alone, reads with a bound."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hub.core.errors import LimitExceeded
from hub.storage.errors import NewerSchema, StorageError
from hub.storage.files import append_line, read_bounded, remove_unfinished, write_atomic
from hub.storage.homedir import Home
from hub.storage.versioned_file import VersionedFile


def test_a_new_file_is_private(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", b"one")

    assert (tmp_path / "a").read_bytes() == b"one"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o640)

    write_atomic(tmp_path / "a", b"new")

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_symlink_is_kept_and_its_target_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "real")

    write_atomic(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "real").read_bytes() == b"new"


def test_what_a_crash_left_unfinished_goes_and_what_is_being_written_stays(tmp_path: Path) -> None:
    old, new, own = (tmp_path / f".homarus-{name}.tmp" for name in ("0" * 16, "a" * 16, "notes"))
    for each in (old, new, own):
        each.write_text("secret")
    for each in (old, own):
        os.utime(each, (0, 0))

    remove_unfinished(tmp_path)

    assert sorted(tmp_path.iterdir()) == sorted((new, own))


def test_writing_where_there_is_no_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere/a"):
        write_atomic(tmp_path / "nowhere" / "a", b"x")


def test_lines_stand_alone_after_a_torn_one(tmp_path: Path) -> None:
    append_line(tmp_path / "log", b"one")
    with (tmp_path / "log").open("ab") as file:
        file.write(b"tor")

    append_line(tmp_path / "log", b"two")

    assert (tmp_path / "log").read_bytes() == b"one\ntor\ntwo\n"


def test_a_line_holds_no_newline(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="newline"):
        append_line(tmp_path / "log", b"one\ntwo")

    assert not (tmp_path / "log").exists()


def test_a_read_has_a_bound(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")

    assert read_bounded(tmp_path / "a", 5) == b"12345"
    with pytest.raises(LimitExceeded, match="larger than 4 bytes"):
        read_bounded(tmp_path / "a", 4)
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "b", 4)


def test_a_versioned_file_gives_back_what_it_was_given(tmp_path: Path) -> None:
    file = VersionedFile(tmp_path / "a.json", 1)
    assert file.read() is None

    file.write({"name": "Küche", "list": [1, 2]})

    assert VersionedFile(tmp_path / "a.json", 1).read() == {"name": "Küche", "list": [1, 2]}


def test_an_older_version_is_upgraded(tmp_path: Path) -> None:
    VersionedFile(tmp_path / "a.json", 1).write({"n": 1})

    newer = VersionedFile(tmp_path / "a.json", 3, lambda version, data: {**data, "from": version})

    assert newer.read() == {"n": 1, "from": 1}


def test_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    VersionedFile(tmp_path / "a.json", 5).write({"n": 1})
    before = (tmp_path / "a.json").read_bytes()

    with pytest.raises(NewerSchema, match=r"version 5, .* knows 2 at most"):
        VersionedFile(tmp_path / "a.json", 2).read()

    assert (tmp_path / "a.json").read_bytes() == before


def test_data_that_is_not_json_is_refused_before_the_file_is_touched(tmp_path: Path) -> None:
    file = VersionedFile(tmp_path / "a.json", 1)
    file.write([1])

    with pytest.raises((TypeError, ValueError)):
        file.write({"n": float("nan")})
    with pytest.raises(TypeError):
        file.write({"n": object()})

    assert file.read() == [1]


def test_an_upgrade_that_cannot_read_the_old_data_sets_it_aside(tmp_path: Path) -> None:
    VersionedFile(tmp_path / "a.json", 1).write({"unexpected": True})
    file = VersionedFile(tmp_path / "a.json", 2, lambda _version, data: data["expected"])

    assert file.read() is None

    assert file.set_aside is not None
    assert b"unexpected" in file.set_aside.read_bytes()


@given(cut=st.integers(0, 60), flips=st.lists(st.tuples(st.integers(0, 59), st.integers(1, 255)), max_size=3))
def test_a_damaged_versioned_file_is_read_or_set_aside_never_lost(
    tmp_path_factory: pytest.TempPathFactory, cut: int, flips: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("versioned") / "a.json"
    VersionedFile(path, 1).write({"names": ["one", "two", "three"], "n": 12})
    data = bytearray(path.read_bytes())
    for place, flip in flips:
        data[place % len(data)] ^= flip
    data = data[: len(data) - cut % len(data)]
    path.write_bytes(data)
    file = VersionedFile(path, 1)

    try:
        found = file.read()
    except NewerSchema:
        found = "newer"

    kept = path if file.set_aside is None else file.set_aside
    assert kept.read_bytes() == bytes(data)
    assert found is not None or file.set_aside is not None or b"null" in data


def test_a_home_is_made_private_and_what_is_there_is_kept(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.configuration.write_text("hub: {}\n")

    home.create()
    home.create()

    assert home.configuration.read_text() == "hub: {}\n"
    assert stat.S_IMODE(home.storage.stat().st_mode) == 0o700
    assert home.agents.is_dir()
    assert home.hub_db.parent == home.storage


def test_a_storage_directory_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.storage.mkdir(mode=0o755)
    os.chmod(home.storage, 0o755)

    home.create()

    assert stat.S_IMODE(home.storage.stat().st_mode) == 0o700


def test_a_file_in_the_place_of_the_home_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("I am a file")

    with pytest.raises(StorageError, match="home"):
        Home(tmp_path / "home").create()

    assert (tmp_path / "home").read_text() == "I am a file"
