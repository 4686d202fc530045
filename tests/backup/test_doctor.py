"""What the doctor says of backups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hub.backup.doctor import BACKUPS
from hub.backup.swap import commit
from hub.cli.configured import check_home
from hub.doctor.check_context import CheckContext
from hub.storage.homedir import Home

DAILY = "schedule: {every: day}"
REMOTE = "to: {webdav: {url: https://cloud.example.org/dav}}"
SAFE = "passphrase: seven lanterns over quiet water"


def said(home: Home, section: str, kept: dict[str, object] | None = None) -> list[str]:
    home.create()
    home.configuration.write_text(f"backup: {{{section}}}\n")
    if kept is not None:
        (home.storage / "backup.json").write_text(json.dumps(kept))
    context = CheckContext(home, lambda: check_home(home.path), lambda config, catalog: set(), lambda method: {})
    return [each.what for each in BACKUPS.look(context)]


@pytest.mark.parametrize(
    ("section", "kept", "told"),
    [
        ("", None, []),
        (DAILY, None, ["No backup was made yet."]),
        (DAILY, {"good_ms": 4_000_000_000_000, "last": {"error": ""}}, []),
        (DAILY, {"good_ms": 1, "last": {"error": ""}}, ["Backups are scheduled, and the last good one is too old."]),
        ("", {"last": {"error": "no room"}}, ["The last backup failed, wholly or in part: no room"]),
        (f"{REMOTE}, {SAFE}", None, []),
    ],
)
def test_what_it_says(tmp_path: Path, section: str, kept: dict[str, object] | None, told: list[str]) -> None:
    assert said(Home(tmp_path / "home"), section, kept) == told


def test_copies_in_the_clear_elsewhere_are_told(tmp_path: Path) -> None:
    (told,) = said(Home(tmp_path / "home"), REMOTE)

    assert "in the clear" in told


def test_a_restore_that_waits_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    commit(home, "1", ())

    (told,) = said(home, "")

    assert "has not taken its place yet" in told
