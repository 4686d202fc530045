"""Versions of a clone, from a real remote: found, refused with what to do, and what they bring."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hub import __version__
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.update.errors import SourceUnreachable
from hub.update.place import Kind, find_place
from hub.update.release_notes import notes_between
from hub.update.sources import GitSource, installed_extras, refuse_unusable
from tests.update.releases import Project, git


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.release(__version__)
    project.clone(__version__)
    return project


def source(project: Project) -> GitSource:
    return GitSource(project.checkout, project.checkout / ".venv")


async def test_there_is_none(project: Project) -> None:
    assert await source(project).find() is None
    assert await source(project).find(__version__) is None


async def test_the_newest_is_found_with_what_is_new_since(project: Project) -> None:
    project.release("99.1", notes="**The kettle** is quiet.")
    project.release("99.2", notes="**The oven** is warm.")
    project.release("99.3rc1", notes="**The moon** is full.")

    found = await source(project).find()

    assert found is not None
    assert (found.version, found.signature) == ("99.2", "none")
    assert found.notes == (
        "## 99.2 (2026-11-29)\n\n**The oven** is warm.\n\n## 99.1 (2026-11-29)\n\n**The kettle** is quiet."
    )


async def test_one_is_found_by_its_name_also_a_candidate(project: Project) -> None:
    project.release("99.1")
    project.release("99.2rc1")

    assert [found.version for name in ("99.1", "99.2rc1") if (found := await source(project).find(name))] == [
        *("99.1", "99.2rc1")
    ]


async def test_one_that_there_is_not_is_refused_with_those_that_there_are(project: Project) -> None:
    project.release("99.1")

    with pytest.raises(NotFound, match=f"no version 99.5; there are: 99.1, {__version__}"):
        await source(project).find("99.5")


@pytest.mark.parametrize(("version", "told"), [("0.0.1", "is older than"), ("newest", "is not a version")])
def test_an_older_one_and_what_is_none_is_refused(version: str, told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        refuse_unusable(version)


async def test_a_clone_with_changes_is_refused(project: Project) -> None:
    project.release("99.1")
    (project.checkout / "CHANGELOG.md").write_text("mine")
    (project.checkout / "notes.txt").write_text("not git's business")

    with pytest.raises(Conflict, match=r"changes of your own.*: CHANGELOG.md. Commit them .*git restore"):
        await source(project).find()


async def test_a_clone_with_commits_of_its_own_is_refused(project: Project) -> None:
    project.release("99.1")
    git(project.checkout, "commit", "--allow-empty", "--message", "mine")

    with pytest.raises(Conflict, match=r"commits that 99.1 does not have.*git rebase v99.1"):
        await source(project).find()


async def test_without_a_network_it_says_so(project: Project) -> None:
    shutil.rmtree(project.remote)

    with pytest.raises(SourceUnreachable, match="remote origin cannot be asked"):
        await source(project).find()


async def test_without_a_remote_it_says_what_to_do(project: Project) -> None:
    git(project.checkout, "remote", "remove", "origin")

    with pytest.raises(Conflict, match="git remote add origin"):
        await source(project).find()


def test_what_is_installed_here_decides_how_it_is_updated(project: Project, tmp_path: Path) -> None:
    environment, mark = tmp_path / "env", tmp_path / "mark"
    environment.mkdir()
    kinds = [find_place(project.checkout / ".venv", [str(mark)]).kind, find_place(environment, [str(mark)]).kind]
    (environment / "pyvenv.cfg").touch()
    kinds.append(find_place(environment, [str(mark)]).kind)
    mark.touch()
    container = find_place(environment, [str(mark)])
    mark.unlink()
    shutil.rmtree(project.checkout / ".git")
    unpacked = find_place(project.checkout / ".venv", [str(mark)])

    assert kinds == [Kind.CHECKOUT, Kind.OTHER, Kind.WHEEL]
    assert (container.kind, unpacked.kind) == (Kind.CONTAINER, Kind.OTHER)
    assert "docker compose up" in container.why_not
    assert "no git clone" in unpacked.why_not


def test_notes_of_a_changelog_without_versions_are_none() -> None:
    assert notes_between("# Changelog\n\n## Unreleased\n\nMuch.\n", "0.1", "0.2") == ""


def test_the_extras_that_are_installed_are_installed_again() -> None:
    assert {"telegram", "mqtt", "web"} <= set(installed_extras())
