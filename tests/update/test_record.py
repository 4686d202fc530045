"""The record of an update, and what versions are compared by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hub.update.record import (
    UpdateRecord,
    UpdateState,
    is_version,
    python_of,
    read_record,
    version_order,
    write_record,
)
from tests.update.releases import prepared

RECORD = UpdateRecord("99.1", "99.0", UpdateState.TRYING, starts=1, problems=("channels telegram",))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.storage").mkdir(parents=True)
    return tmp_path / "home"


def test_it_is_read_as_it_was_written(home: Path) -> None:
    write_record(home, RECORD)

    assert read_record(home) == RECORD
    assert [each.name for each in (home / ".storage").iterdir()] == ["update.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"version": "99.1"}',
        json.dumps({"version": "../../etc", "previous": "99.0", "state": "kept"}),
        json.dumps({"version": "99.1", "previous": "99.0", "state": "eaten"}),
        json.dumps({"version": 99, "previous": "99.0", "state": "kept"}),
    ],
)
def test_what_is_no_record_is_none(home: Path, text: str) -> None:
    (home / ".storage/update.json").write_text(text)

    assert read_record(home) is None


def test_a_record_of_a_later_version_with_more_in_it_is_read(home: Path) -> None:
    told = {"version": "99.1", "previous": "99.0", "state": "kept", "moon": "full"}
    (home / ".storage/update.json").write_text(json.dumps(told))

    assert read_record(home) == UpdateRecord("99.1", "99.0", UpdateState.KEPT)


@pytest.mark.parametrize(
    ("state", "runs"),
    [
        (UpdateState.READY, "99.0"),
        (UpdateState.TRYING, "99.1"),
        (UpdateState.KEPT, "99.1"),
        (UpdateState.BACK, "99.0"),
    ],
)
def test_the_state_decides_which_version_runs(state: UpdateState, runs: str) -> None:
    assert UpdateRecord("99.1", "99.0", state).runs == runs


def test_versions_are_compared_as_numbers_and_candidates_come_first() -> None:
    versions = ["0.10.0", "0.2.0", "1.0rc2", "0.9", "1.0a1", "1.0", "1.0.1", "1.0rc10"]

    assert sorted(versions, key=version_order) == [
        *("0.2.0", "0.9", "0.10.0", "1.0a1", "1.0rc2", "1.0rc10", "1.0", "1.0.1")
    ]


@pytest.mark.parametrize("text", ["", "1", "v1.0", "1.0/..", "1.0-beta", "..", "1.0\n", None])
def test_nothing_else_is_a_version(text: object) -> None:
    assert not is_version(text)


def test_a_version_is_run_only_when_it_is_whole_and_later(tmp_path: Path) -> None:
    python = prepared(tmp_path, "99.1", "true")
    prepared(tmp_path, "0.0.1", "true")

    assert python_of(tmp_path, "99.1") == python
    assert python_of(tmp_path, "0.0.1") is None
    assert python_of(tmp_path, "99.2") is None
    (tmp_path / "versions/99.1/whole").unlink()
    assert python_of(tmp_path, "99.1") is None
