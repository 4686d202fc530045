"""Names and files that are not what they seem: none leads out of its place, none keeps the indexer waiting."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from hub.core.context import Authority
from hub.core.errors import LimitExceeded
from hub.memory.places import area_of, areas_of, may_see, may_strike, may_write
from hub.security.jail_path import PathRefused
from hub.security.people import People, Person
from hub.sessions.keys import group_key
from hub.sessions.privacy import scope_of
from integrations.memory.notes.files import elsewhere
from integrations.memory.notes.index.scan import find, list_sources, read
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.job import FILE_LIMIT_BYTES, Source
from tests.integrations.memory.notes_house import ANNA, OWNER, Notes

SETTINGS = IndexSettings.from_plain({})
CANARY = "canary outside"
AMBIGUOUS = (
    "memory/People/anna.md", "memory/PEOPLE/anna.md", "memory/ｐeople/anna.md", "Memory/people/anna.md", "memory.md",
    "memory/people/Anna.md", "memory/people/anna.md/x.md", "memory/people/../2026-01-01.md", "memory//people/anna.md",
    "memory/./people/anna.md", "/memory/people/anna.md", "memory/people/anna.md/", "memory/people/.md", "memory/people",
    "memory/people/anna .md", "memory/people/ａnna.md", "memory/Shared.md", "memory/SHARED/x.md", "memory/groups.md",
    "memory/people/anna\x00.md", "memory/people/anna.MD", "memory/people/anna.md\n", "memory/" + "a" * 300 + ".md",
    "memory/" + "/".join("a" * 80) + "/x.md", "memory/\ud800.md", "MEMORY.MD", "memory/.hidden/x.md", "", ".", "memory",
    "memory/peo\u200cple/anna.md", "memory/peo\u00adple/anna.md", "memory/people\u2060/anna.md",
    "memory/\ufeffpeople/anna.md",
)  # fmt: skip


@pytest.mark.parametrize("path", AMBIGUOUS)
def test_a_name_that_could_be_another_is_nobodys_memory(path: str) -> None:
    for scope in (OWNER, ANNA):
        assert area_of(path) is None
        assert not may_see(path, scope)
        assert not may_write(path, scope)
        assert not may_strike(path, scope.person, scope)


@pytest.mark.parametrize("other", ["ann", "anna-", "anna_", "annab", "anna-b", "a"])
def test_ids_that_begin_alike_are_not_each_others(other: str) -> None:
    assert area_of(f"memory/people/{other}.md") not in areas_of(ANNA)
    assert area_of(f"memory/people/{other}/anna.md") not in areas_of(ANNA)
    assert area_of(f"memory/people/anna/{other}.md") in areas_of(ANNA)


def test_rooms_whose_ids_look_alike_have_memories_of_their_own() -> None:
    people = People([Person("me", "Me", owner=True)])
    rooms = [
        (channel, room)
        for channel in ("telegram", "telegram-1")
        for room in ("-100", "100", "!abc:home", "!ABC:home", "!abc-home", "-1-00", "1:-100", "a" * 80, "a" * 81)
    ]

    groups = [scope_of(group_key("main", *room), Authority("x"), people).group for room in rooms]

    assert len(set(groups)) == len(rooms)
    assert all(group and len(group.rpartition("-")[2]) >= 16 for group in groups)
    assert all(area_of(f"memory/groups/{group}.md") == f"group-{group}" for group in groups)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder full of what is not a file of its own."""
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "secret.md").write_text(CANARY)
    root = tmp_path / "root"
    for folder in (root / "memory" / "people", root / "plain"):
        folder.mkdir(parents=True)
        (folder / "link.md").symlink_to(secret / "secret.md")
        (folder / "folder").symlink_to(secret)
        (folder / "loop").symlink_to(folder)
        (folder / "all").symlink_to("/")
        os.mkfifo(folder / "pipe.md")
        (folder / "nul.md").symlink_to("/dev/zero")
        (folder / "dir.md").mkdir()
        with (folder / "huge.md").open("wb") as file:
            file.truncate(FILE_LIMIT_BYTES * 100)
        (folder / "fine.md").write_text("- fine\n")
        deep = folder
        for _ in range(80):
            deep = deep / "d"
        deep.mkdir(parents=True)
        (deep / "deep.md").write_text("- deep\n")
        (folder / os.fsdecode(b"\xff\xfe.md")).write_text("- no unicode\n")
        (folder / "line\nbreak.md").write_text("- a name of two lines\n")
    return root


def test_the_scan_reads_plain_files_of_its_own_and_ends(trap: Path) -> None:
    sources = (Source("", str(trap)), Source("extra/x", str(trap / "plain"), "private", trusted=False))

    listing = list_sources(sources)
    texts = {path: read(present, sources, SETTINGS) for path, present in listing.files.items()}

    names = set(listing.files)
    assert {"memory/people/fine.md", "extra/x/fine.md"} <= names
    assert not any(name in path for path in names for name in ("link", "pipe", "nul", "dir.md", "deep", "\n", "all/"))
    assert all(CANARY not in str(each) for each in texts.values())
    huge = texts["extra/x/huge.md"]
    assert huge is not None
    assert huge.warning is not None
    assert huge.passages == ()
    for path in ("extra/x/link.md", "extra/x/folder/secret.md", "extra/x/pipe.md", "extra/x/../outside/secret.md"):
        with contextlib.suppress(PathRefused, LimitExceeded):
            assert find(sources, path) is None


async def test_the_hub_reads_and_writes_no_such_file(trap: Path) -> None:
    memory = trap / "memory"
    (memory / "2026-01-01.md").symlink_to(trap.parent / "outside" / "secret.md")
    os.mkfifo(memory / "2026-01-02.md")
    os.link(trap.parent / "outside" / "secret.md", memory / "2026-01-03.md")
    sources = (Source("extra/x", str(trap / "plain"), "private", trusted=False),)
    listed = [each.path for each in elsewhere.files_in_areas(sources, ("private",))]
    notes = Notes(trap.parent, sources=sources)

    assert "extra/x/fine.md" in listed
    for name in ("link.md", "folder/secret.md", "pipe.md", "nul.md", "all/etc/passwd", "huge.md"):
        with pytest.raises(Exception, match=r"refused|no memory file|larger|limit|not exist"):
            await notes.get(f"extra/x/{name}")


def test_a_home_behind_a_link_is_the_home(tmp_path: Path) -> None:
    (tmp_path / "real" / "memory").mkdir(parents=True)
    (tmp_path / "real" / "memory" / "2026-01-01.md").write_text("- fine\n")
    (tmp_path / "moved").symlink_to(tmp_path / "real")

    assert list(list_sources((Source("", str(tmp_path / "moved")),)).files) == ["memory/2026-01-01.md"]
