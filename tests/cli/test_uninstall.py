"""`homarus uninstall`: what it removes, and what it never does."""

from __future__ import annotations

from pathlib import Path

from tests.cli.terminal import Terminal


def test_it_says_what_it_would_remove_and_keeps_the_home(type_: Terminal) -> None:
    looked, done = type_("uninstall", "--dry-run"), type_("uninstall", "--yes")

    assert (looked.code, done.code) == (0, 0)
    assert f"Home:    {type_.home} stays as it is." in looked.out
    assert "Service: none is installed." in looked.out
    assert (type_.home / "configuration.yaml").is_file()


def test_the_home_goes_when_that_is_said(type_: Terminal) -> None:
    (type_.home / ".storage").mkdir(exist_ok=True)
    assert "is deleted" in type_("uninstall", "--remove-home", "--dry-run").out
    assert type_.home.exists()

    assert type_("uninstall", "--remove-home").code == 2  # nobody can be asked
    assert type_("uninstall", "--remove-home", "--yes").out.endswith("Done.\n")
    assert not type_.home.exists()


def test_what_is_no_home_of_a_hub_is_not_deleted(type_: Terminal, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "link").symlink_to(type_.home)

    for path in (tmp_path / "photos", tmp_path / "link", tmp_path / "nowhere"):
        ran = type_("uninstall", "--remove-home", "--yes", "--config", str(path))
        assert (ran.code, "is not the home of a hub" in ran.err) == (2, True)
    assert (tmp_path / "photos").is_dir()
    assert type_.home.exists()
