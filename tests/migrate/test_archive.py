"""Archives of other programs' folders: what comes out of good ones, and that nothing comes of bad ones."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hub.core.errors import HubError, InvalidRequest, LimitExceeded
from hub.migrate import archive
from hub.migrate.archive import Limits, unpack

LIMITS = Limits(file_bytes=100_000, large_bytes=200_000, total_bytes=300_000, files=50)
FILES = {"openclaw.json": b"{}", "workspace/MEMORY.md": b"- tea\n", ".env": b"A=b\n"}


def tar(files: Mapping[str, bytes], mode: str = "w:gz", *links: tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as made:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
        for link in links:
            made.addfile(link)
    return packed.getvalue()


def zipped(files: Mapping[str, bytes], kind: int = 0) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.external_attr = (kind | 0o600) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(info, data)
    return packed.getvalue()


def link(name: str, to: str, type: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = type, to
    return info


@pytest.fixture
def take(tmp_path: Path) -> Callable[..., archive.Unpacked]:
    def taken(data: bytes, source: str = "openclaw") -> archive.Unpacked:
        room, file = tmp_path / "room", tmp_path / "sent"
        room.mkdir()
        file.write_bytes(data)
        return unpack(file, room, source, LIMITS)

    return taken


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize(
    "data",
    [
        *(tar(FILES, mode) for mode in ("w", "w:gz", "w:bz2", "w:xz")),
        tar({f".openclaw/{name}": each for name, each in FILES.items()}),
        tar({f"./{name}": each for name, each in FILES.items()}),
        zipped({f"home/.openclaw/{name}": each for name, each in FILES.items()}),
        zipped({f"claw\\{name}": each for name, each in FILES.items()}),
    ],
)
def test_the_folder_is_found_in_any_usual_archive(take: Callable[..., archive.Unpacked], data: bytes) -> None:
    assert contents(take(data).folder) == FILES


def test_a_backup_that_home_assistant_made_holds_its_configuration(take: Callable[..., archive.Unpacked]) -> None:
    inner = tar({"./data/configuration.yaml": b"default_config:\n", "./data/.HA_VERSION": b"2026.1.0"})

    found = take(tar({"./backup.json": b"{}", "./homeassistant.tar.gz": inner}, "w"), "home-assistant")

    assert contents(found.folder) == {"configuration.yaml": b"default_config:\n", ".HA_VERSION": b"2026.1.0"}


@pytest.mark.parametrize(
    ("data", "left_out"),
    [
        (tar(FILES, "w:gz", link("skills", "/etc"), link("passwd", "../../etc/passwd")), 2),
        (tar(FILES, "w:gz", link("copy", "openclaw.json", tarfile.LNKTYPE), link("disk", "", tarfile.BLKTYPE)), 2),
        (zipped({**FILES, "huge.bin": bytes(LIMITS.file_bytes + 1)}), 1),
        (tar({**FILES, "node_modules/x/index.js": b"1", ".git/HEAD": b"x"}), 0),
    ],
)
def test_links_devices_and_what_is_too_large_do_not_come_along(
    take: Callable[..., archive.Unpacked], data: bytes, left_out: int
) -> None:
    found = take(data)

    assert contents(found.folder) == FILES
    assert found.left_out == left_out
    assert not any(stat.S_ISLNK(os.lstat(each).st_mode) for each in found.folder.rglob("*"))


@pytest.mark.parametrize(
    ("data", "kind", "told"),
    [
        (tar({**FILES, "../evil": b"x"}), InvalidRequest, "leads out of it"),
        (tar({**FILES, "/etc/evil": b"x"}), InvalidRequest, "leads out of it"),
        (zipped({**FILES, "a/../../evil": b"x"}), InvalidRequest, "leads out of it"),
        (zipped({**FILES, "..\\evil": b"x"}), InvalidRequest, "leads out of it"),
        (tar({**FILES, "openclaw.json/x": b"x"}), InvalidRequest, "cannot be read as an archive"),
        (tar({"workspace/MEMORY.md": b"x"}), InvalidRequest, "there is no openclaw.json"),
        (tar(FILES)[:60], InvalidRequest, "cannot be read as an archive"),
        (b"hello", InvalidRequest, "cannot be read as an archive"),
        (b"", InvalidRequest, "cannot be read as an archive"),
        (tar({f"{number}.md": bytes(99_000) for number in range(4)}), LimitExceeded, "more than such a folder"),
        (zipped({f"{number}.md": b"" for number in range(LIMITS.files + 1)}), LimitExceeded, "more than such a folder"),
    ],
    ids=lambda each: "archive" if isinstance(each, bytes) else None,  # what gzip writes says when
)
def test_a_hostile_or_damaged_archive_is_refused(
    take: Callable[..., archive.Unpacked], tmp_path: Path, data: bytes, kind: type[HubError], told: str
) -> None:
    with pytest.raises(kind, match=told):
        take(data)

    assert sorted(each.name for each in tmp_path.iterdir()) == ["room", "sent"]


def test_a_file_that_grows_beyond_what_its_head_says_is_cut_off(take: Callable[..., archive.Unpacked]) -> None:
    data = bytearray(zipped({"openclaw.json": bytes(LIMITS.file_bytes + 1)}))
    size = (LIMITS.file_bytes + 1).to_bytes(4, "little")
    for at in range(len(data) - 4):
        if data[at : at + 4] == size:
            data[at : at + 4] = (10).to_bytes(4, "little")

    with pytest.raises(InvalidRequest, match="cannot be read as an archive"):
        take(bytes(data))


def test_an_encrypted_archive_says_so(take: Callable[..., archive.Unpacked]) -> None:
    data = bytearray(zipped(FILES))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1

    with pytest.raises(InvalidRequest, match="without a password"):
        take(bytes(data))
