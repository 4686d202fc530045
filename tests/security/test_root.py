"""The path jail against a registry of hostile paths: every one, through every way in."""

from __future__ import annotations

import itertools
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hub.core.errors import HubError, InvalidRequest, LimitExceeded
from hub.security.folder_entry import FileKind
from hub.security.jail_path import PathRefused, components
from hub.security.root import Root
from tests.lengths import examples

SECRET = b"what must never be seen"

LEXICAL = {
    "climbing": "../outside/secret",
    "climbing in the middle": "sub/../../outside/secret",
    "climbing at the end": "sub/..",
    "climbing alone": "..",
    "absolute": "/etc/passwd",
    "absolute twice": "//etc/passwd",
    "home": "~/secret",
    "home behind a dot": "./~/secret",
    "zero byte": "sub/file\x00.txt",
    "newline": "sub/fi\nle",
    "escape sequence": "sub/\x1b[31mfile",
    "delete": "sub/\x7f",
    "lone surrogate": "sub/\ud800",
    "a name too long": "a" * 256,
    "a name too long in bytes": "ü" * 128,
    "a path too long": "/".join(["abcdefgh"] * 500),
    "too deep": "/".join(["a"] * 65),
    "a file that is being written": ".homarus-0123456789abcdef.tmp",
}
ON_DISK = {
    "symlink to a file outside": "link",
    "absolute symlink": "absolute_link",
    "symlink to a file inside": "inner_link",
    "dangling symlink": "dangling",
    "symlink to itself": "loop",
    "symlink to proc": "magic",
    "symlink as first component": "link_dir/secret",
    "symlink as middle component": "sub/link_dir/secret",
    "symlink to a directory inside": "inner_dir/file",
    "pipe": "pipe",
    "socket": "socket",
}

Way = Callable[[Root, str], object]
WAYS_IN: dict[str, Way] = {
    "open": lambda root, path: os.close(root.open(path)),
    "open to write": lambda root, path: os.close(root.open(path, os.O_WRONLY)),
    "open to make": lambda root, path: os.close(root.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)),
    "read_bytes": lambda root, path: root.read_bytes(path),
    "read_text": lambda root, path: root.read_text(path),
    "write_bytes": lambda root, path: root.write_bytes(path, b"changed"),
    "write_bytes with parents": lambda root, path: root.write_bytes(path, b"changed", parents=True),
    "append": lambda root, path: root.append(path, b"changed"),
    "append with parents": lambda root, path: root.append(path, b"changed", parents=True),
}
MORE_WAYS: dict[str, Way] = {
    "listdir": lambda root, path: root.listdir(path),
    "scan": lambda root, path: root.scan(path),
    "walk": lambda root, path: root.walk(path, 100),
    "stat": lambda root, path: root.stat(path),
    "exists": lambda root, path: root.exists(path),
    "is_file": lambda root, path: root.is_file(path),
    "is_dir": lambda root, path: root.is_dir(path),
    "unlink": lambda root, path: root.unlink(path),
    "mkdir": lambda root, path: root.mkdir(path),
    "rename from": lambda root, path: root.rename(path, "moved"),
    "rename to": lambda root, path: root.rename("sub/file", path),
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory with everything hostile in it, beside one that must stay as it is."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(SECRET)
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "file").write_bytes(b"plain")
    (inside / "link").symlink_to("../outside/secret")
    (inside / "absolute_link").symlink_to(outside / "secret")
    (inside / "inner_link").symlink_to("sub/file")
    (inside / "dangling").symlink_to("../outside/not_there")
    (inside / "loop").symlink_to("loop")
    (inside / "magic").symlink_to("/proc/self/cwd")
    (inside / "link_dir").symlink_to("../outside")
    (inside / "sub" / "link_dir").symlink_to("../../outside")
    (inside / "inner_dir").symlink_to("sub")
    os.mkfifo(inside / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(inside, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
        yield inside


def outside_of(place: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in (place.parent / "outside").iterdir()}


def said(act: Way, place: Path, path: str) -> str:
    """What an attempt is answered with; nothing must have changed."""
    try:
        act(Root(place), path)
        answer = "it was done"
    except PathRefused as error:
        answer = str(error)
    except (HubError, OSError) as error:
        answer = repr(error)
    assert outside_of(place) == {"secret": SECRET}, answer
    assert (place / "sub" / "file").read_bytes() == b"plain", answer
    assert (place / "link").is_symlink(), answer
    return answer


@pytest.mark.parametrize("kind", LEXICAL)
def test_a_hostile_path_is_refused_whatever_is_done_with_it(place: Path, kind: str) -> None:
    answers = {way: said(act, place, LEXICAL[kind]) for way, act in {**WAYS_IN, **MORE_WAYS}.items()}

    assert {way: answer for way, answer in answers.items() if "is refused" not in answer} == {}


@pytest.mark.parametrize("kind", ON_DISK)
def test_a_hostile_file_is_refused_whatever_is_done_with_it(place: Path, kind: str) -> None:
    answers = {way: said(act, place, ON_DISK[kind]) for way, act in WAYS_IN.items()}

    assert {way: answer for way, answer in answers.items() if "is refused" not in answer} == {}


@pytest.mark.parametrize("path", ["link_dir/secret", "sub/link_dir/secret", "link_dir/new", "inner_dir/file"])
def test_no_way_leads_through_a_symlink(place: Path, path: str) -> None:
    answers = {way: said(act, place, path) for way, act in {**WAYS_IN, **MORE_WAYS}.items()}

    assert {way: answer for way, answer in answers.items() if "symlink" not in answer} == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_refused(place: Path) -> None:
    os.mknod(place / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 5))

    with pytest.raises(PathRefused, match="not a plain file"):
        Root(place).read_bytes("device", 10)


def test_deleting_a_symlink_deletes_the_symlink(place: Path) -> None:
    Root(place).unlink("link")

    assert not (place / "link").is_symlink()
    assert outside_of(place) == {"secret": SECRET}


def test_a_symlink_is_listed_as_one_and_not_walked(place: Path) -> None:
    found = {each.path: each.kind for each in Root(place).walk(".", 100)}

    assert found["link_dir"] is FileKind.SYMLINK
    assert found["pipe"] is FileKind.OTHER
    assert found["sub/file"] is FileKind.FILE
    assert not any("secret" in path for path in found)


def test_the_directory_itself_may_be_reached_through_a_symlink(place: Path) -> None:
    (place.parent / "alias").symlink_to(place)

    assert Root(place.parent / "alias").read_bytes("sub/file") == b"plain"


def test_a_directory_that_turns_into_a_symlink_meanwhile_never_leads_out(place: Path) -> None:
    (place / "flip").mkdir()
    (place / "flip" / "secret").write_bytes(b"inside")
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            (place / "flip").rename(place / "aside")
            (place / "flip").symlink_to("../outside")
            (place / "flip").unlink()
            (place / "aside").rename(place / "flip")

    swapper = threading.Thread(target=swap)
    swapper.start()
    root, seen = Root(place), set()
    try:
        for number in itertools.count():
            if number >= 3_000 and b"inside" in seen:  # on a crowded machine it may be met late
                break
            try:
                seen.add(root.read_bytes("flip/secret"))
                root.write_bytes(f"flip/new{number % 5}", b"inside")
            except (PathRefused, FileNotFoundError, NotADirectoryError) as error:
                seen.add(type(error).__name__.encode())
    finally:
        ended.set()
        swapper.join()

    assert SECRET not in seen
    assert b"inside" in seen
    assert outside_of(place) == {"secret": SECRET}


def test_a_file_that_turns_into_a_symlink_meanwhile_never_leads_out(place: Path) -> None:
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            (place / "temporary").symlink_to("../outside/secret")
            os.replace(place / "temporary", place / "flip")
            (place / "temporary").write_bytes(b"inside")
            os.replace(place / "temporary", place / "flip")

    swapper = threading.Thread(target=swap)
    swapper.start()
    root, seen = Root(place), set()
    try:
        for _ in range(3_000):
            try:
                seen.add(root.read_bytes("flip")[:7])
                root.append("flip", b" more")
            except (PathRefused, FileNotFoundError, NotADirectoryError) as error:
                seen.add(type(error).__name__.encode())
    finally:
        ended.set()
        swapper.join()

    assert SECRET[:7] not in seen
    assert outside_of(place) == {"secret": SECRET}


def test_a_file_with_a_second_name_is_not_written_in_place(place: Path) -> None:
    os.link(place.parent / "outside" / "secret", place / "hard")
    root = Root(place)

    with pytest.raises(PathRefused, match="hard link"):
        root.append("hard", b"changed")
    with pytest.raises(PathRefused, match="hard link"):
        root.open("hard", os.O_WRONLY | os.O_TRUNC)
    root.write_bytes("hard", b"replaced, by a file of its own")

    assert outside_of(place) == {"secret": SECRET}


# --- views ---


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "memory" / "2026").mkdir(parents=True)
    (tmp_path / "MEMORY.md").write_bytes(b"private")
    (tmp_path / "memory" / "2026" / "day.md").write_bytes(b"private too")
    (tmp_path / "memory.txt").write_bytes(b"public")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_bytes(b"public as well")
    return tmp_path


HIDDEN = ("MEMORY.md", "memory")


@pytest.mark.parametrize(
    "path",
    ["MEMORY.md", "./MEMORY.md", "memory.md", "MeMoRy.Md", "ＭEMORY.md", "memory", "memory/", "memory/2026/day.md",
     "MEMORY/2026/day.md", ".//memory//2026/./day.md"],
)  # fmt: skip
def test_what_is_hidden_does_not_exist(workspace: Path, path: str) -> None:
    root = Root(workspace, HIDDEN)

    with pytest.raises(FileNotFoundError):
        root.read_bytes(path)
    with pytest.raises(FileNotFoundError):
        root.unlink(path)
    with pytest.raises(FileNotFoundError):
        root.walk(path, 10)
    with pytest.raises(PathRefused):
        root.write_bytes(path, b"mine now", parents=True)
    with pytest.raises(PathRefused):
        root.mkdir(path)
    with pytest.raises(PathRefused):
        root.rename("memory.txt", path)
    assert not root.exists(path)
    assert (workspace / "MEMORY.md").read_bytes() == b"private"


def test_what_is_hidden_is_in_no_list(workspace: Path) -> None:
    root = Root(workspace, HIDDEN)

    assert root.listdir() == ["memory.txt", "notes"]
    assert [each.path for each in root.walk(".", 50)] == ["memory.txt", "notes", "notes/MEMORY.md"]
    assert root.read_bytes("notes/MEMORY.md") == b"public as well"


def test_a_file_with_a_second_name_is_not_read(workspace: Path) -> None:
    os.link(workspace / "MEMORY.md", workspace / "copy.md")
    os.link(workspace / "memory.txt", workspace / "public.txt")

    for root, name in product((Root(workspace, HIDDEN), Root(workspace)), ("copy.md", "public.txt")):
        with pytest.raises(PathRefused, match="hard link"):
            root.read_bytes(name)


def test_a_directory_that_holds_hidden_things_is_not_moved_away(workspace: Path) -> None:
    root = Root(workspace, ["notes/MEMORY.md"])

    with pytest.raises(PathRefused, match="not in this view"):
        root.rename("notes", "elsewhere")


def test_a_view_can_only_hide_more(workspace: Path) -> None:
    narrower = Root(workspace, ["memory"]).view(["notes"])

    assert narrower.hidden == {"memory", "notes"}
    assert narrower.listdir() == ["MEMORY.md", "memory.txt"]


# --- the ordinary ---


def test_a_written_file_is_read_back_and_private(tmp_path: Path) -> None:
    root = Root(tmp_path)

    root.write_text("a/b/c.txt", "Grüße", parents=True)

    assert root.read_text("a/b/c.txt") == "Grüße"
    assert stat.S_IMODE((tmp_path / "a" / "b" / "c.txt").stat().st_mode) == 0o600
    assert root.listdir("a/b") == ["c.txt"]
    assert root.stat("a/b/c.txt").size_bytes == len("Grüße".encode())


def test_writing_keeps_the_permissions_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o750)

    Root(tmp_path).write_bytes("run.sh", b"#!/bin/sh\ntrue\n")

    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o750


def test_a_read_has_a_bound(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 100)

    with pytest.raises(LimitExceeded, match="larger than 99 bytes"):
        Root(tmp_path).read_bytes("big", 99)


def test_what_is_no_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\x89PNG\xff")

    with pytest.raises(InvalidRequest, match="not UTF-8"):
        Root(tmp_path).read_text("image")
    assert Root(tmp_path).read_text("image", errors="replace").endswith("\ufffd")


def test_missing_and_misplaced_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    root = Root(tmp_path)

    with pytest.raises(FileNotFoundError):
        root.read_bytes("nothing")
    with pytest.raises(FileNotFoundError):
        root.read_bytes("nowhere/nothing")
    with pytest.raises(IsADirectoryError):
        root.read_bytes("folder")
    with pytest.raises(IsADirectoryError):
        root.read_bytes(".")
    with pytest.raises(NotADirectoryError):
        root.listdir("file")
    with pytest.raises(NotADirectoryError):
        root.read_bytes("file/below")
    with pytest.raises(FileExistsError):
        root.mkdir("folder", exist_ok=False)
    with pytest.raises(FileNotFoundError):
        root.write_bytes("nowhere/file", b"x")
    assert not root.exists("nowhere/nothing")


def test_long_lists_have_a_bound(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"f{number:02}").touch()
    root = Root(tmp_path)

    assert len(root.walk(".", 12)) == 12
    with pytest.raises(LimitExceeded):
        root.listdir(".", 5)
    with pytest.raises(LimitExceeded):
        root.walk(".", 5)


def test_a_name_on_disk_that_no_path_could_name_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "good").touch()
    (tmp_path / "bad\nname").touch()
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))

    assert Root(tmp_path).listdir() == ["good"]


def test_descriptors_are_given_back(place: Path) -> None:
    root = Root(place)
    before = len(os.listdir("/proc/self/fd"))

    for path in [*LEXICAL.values(), *ON_DISK.values(), "sub/file", "sub", "nothing"]:
        for act in (*WAYS_IN.values(), MORE_WAYS["walk"], MORE_WAYS["stat"]):
            try:
                act(root, path)
            except (HubError, OSError):
                continue

    assert len(os.listdir("/proc/self/fd")) <= before, "others may give back theirs meanwhile"


NAMES = st.sampled_from(
    ["..", ".", "", "sub", "file", "link", "link_dir", "secret", "~", "inner_dir", "new", "loop", "..."]
)
TEXTS = (
    st.text(max_size=40)
    | st.lists(NAMES, max_size=8).map("/".join)
    | st.lists(NAMES, max_size=8).map("/".join).map(lambda path: f"/{path}")
)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=TEXTS, way=st.sampled_from(sorted({**WAYS_IN, **MORE_WAYS})))
def test_no_path_whatever_touches_what_is_outside(place: Path, path: str, way: str) -> None:
    (place / "sub").mkdir(exist_ok=True)
    (place / "sub" / "file").touch()

    try:
        result = {**WAYS_IN, **MORE_WAYS}[way](Root(place), path)
    except (HubError, OSError):
        result = None

    assert result != SECRET
    assert outside_of(place) == {"secret": SECRET}
    assert sorted(each.name for each in place.parent.iterdir()) == ["inside", "outside"]


@given(TEXTS)
def test_an_accepted_path_has_only_plain_names(path: str) -> None:
    try:
        names = components(path)
    except PathRefused:
        return

    assert all(name not in ("", ".", "..") and "/" not in name and "\x00" not in name for name in names)
    assert components("/".join(names)) == names
