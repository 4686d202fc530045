"""Files are watched below the home directory: which changes are reported, and which never are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.core.schema import Invalid
from hub.core.tasks import TaskOwner
from hub.security.jail_path import PathRefused
from hub.storage.file_watch import FileWatch
from tests.automation.triggers.bench import Bench, explained, valid
from tests.until import until


class Watched:
    """A home directory, and its reported changes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.tasks = TaskOwner("files")
        self.files = FileWatch(home, Clock(), self.tasks)
        self.told: list[tuple[str, str]] = []

    def tell(self, what: str, path: str) -> None:
        self.told.append((what, path))


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    home = tmp_path / "home"
    (home / ".storage").mkdir(parents=True)
    (home / "notes" / "deep").mkdir(parents=True)
    watched = Watched(home)
    yield watched
    await watched.tasks.cancel_all()


async def test_changes_in_a_folder_are_told_with_their_paths(watched: Watched) -> None:
    watched.files.watch("notes", watched.tell)
    await watched.files.ready.wait()

    (watched.home / "notes" / "deep" / "a.md").write_text("x")
    await until(lambda: ("created", "notes/deep/a.md") in watched.told)
    (watched.home / "notes" / "deep" / "a.md").unlink()
    await until(lambda: ("deleted", "notes/deep/a.md") in watched.told)


async def test_one_file_is_told_alone_even_when_it_comes_later(watched: Watched) -> None:
    watched.files.watch("notes/todo.md", watched.tell)
    await watched.files.ready.wait()

    (watched.home / "notes" / "other.md").write_text("x")
    (watched.home / "notes" / "todo.md").write_text("x")
    await until(lambda: len(watched.told) > 0)

    assert {path for _, path in watched.told} == {"notes/todo.md"}


async def test_a_flat_watch_sees_no_folder_below(watched: Watched) -> None:
    watched.files.watch("notes", watched.tell, is_recursive=False)
    await watched.files.ready.wait()

    (watched.home / "notes" / "deep" / "a.md").write_text("x")
    (watched.home / "notes" / "b.md").write_text("x")
    await until(lambda: ("created", "notes/b.md") in watched.told)

    assert not any("a.md" in path for _, path in watched.told)


async def test_the_whole_home_is_watched_without_what_the_hub_keeps(watched: Watched) -> None:
    watched.files.watch("", watched.tell)
    await watched.files.ready.wait()

    (watched.home / ".storage" / "hub.db").write_text("x")
    (watched.home / "new").mkdir()
    await until(lambda: ("created", "new") in watched.told)
    await watched.files.ready.wait()
    (watched.home / "new" / "a.md").write_text("x")
    await until(lambda: any(path == "new/a.md" for _, path in watched.told))

    assert not any(".storage" in path for _, path in watched.told)


async def test_what_ended_is_told_nothing_and_the_watch_stops(watched: Watched) -> None:
    end = watched.files.watch("notes", watched.tell)
    others: list[str] = []
    end_other = watched.files.watch("notes", lambda what, path: others.append(path))
    await watched.files.ready.wait()

    end()
    end()
    await watched.files.ready.wait()
    (watched.home / "notes" / "a.md").write_text("x")
    await until(lambda: "notes/a.md" in others)
    end_other()
    await until(lambda: watched.tasks.names() == [])

    assert watched.told == []


@pytest.mark.parametrize("path", ["../x", "/etc", ".storage", ".storage/hub.db", "a/../../b"])
def test_nothing_outside_and_nothing_hidden_is_watched(watched: Watched, path: str) -> None:
    with pytest.raises(PathRefused):
        watched.files.watch(path, watched.tell)


async def test_a_link_out_of_the_home_is_not_followed(watched: Watched, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (watched.home / "link").symlink_to(outside)
    watched.files.watch("link", watched.tell)
    watched.files.watch("notes", watched.tell)
    await watched.files.ready.wait()

    (outside / "a.md").write_text("x")
    (watched.home / "notes" / "b.md").write_text("x")
    await until(lambda: ("created", "notes/b.md") in watched.told)

    assert not any("a.md" in path for _, path in watched.told)


# --- the trigger ---


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "path"),
        ({"path": "/etc/passwd"}, "absolute"),
        ({"path": "../x"}, "refused"),
        ({"path": ".storage/hub.db"}, "not watched"),
        ({"path": "notes", "on": "read"}, "on"),
        ({"path": "notes", "pattern": []}, "nothing"),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid({"trigger": "file", **config})


async def test_the_trigger_chooses_changes_and_names(watched: Watched) -> None:
    bench = Bench(watched.home)
    bench.with_source(FileWatch, watched.files)
    made = bench.arm({"trigger": "file", "path": "notes", "on": "created", "pattern": ["*.md", "notes/deep/*"]})
    gone = bench.arm({"trigger": "file", "path": "notes", "on": ["deleted"]})
    await watched.files.ready.wait()

    for name in ("a.txt", "b.md", "deep/c.txt"):
        (watched.home / "notes" / name).write_text("x")
    await until(lambda: len(made.fired) >= 2)
    (watched.home / "notes" / "a.txt").unlink()
    await until(lambda: len(gone.fired) >= 1)

    assert sorted(fired.trigger["path"] for fired in made.fired) == ["notes/b.md", "notes/deep/c.txt"]
    assert gone.fired[0].trigger["change"] == "deleted"
    assert gone.fired[0].trigger["name"] == "a.txt"
    await bench.close()


async def test_where_files_are_not_watched_it_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    site = bench.arm({"trigger": "file", "path": "notes"})

    assert site.failures == ["files are not watched here"]


def test_it_is_explained_in_plain_words() -> None:
    assert explained({"trigger": "file", "path": "notes", "pattern": "*.md", "on": ["created", "modified"]}) == (
        "when “notes” like “*.md” or below it is created or modified"
    )
