"""Reading archives: what was written is found again, what changed is found out, and what no backup holds is refused."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from hub.backup.archive import open_archive, verify_archive
from hub.backup.errors import BackupDamaged, BackupRefused, NewerBackup, WrongPassphrase
from hub.backup.manifest import (
    FORMAT,
    HEAD_PATH,
    MANIFEST_PATH,
    ArchivedFile,
    BackupHead,
    Manifest,
    file_name,
    parse_name,
)
from hub.backup.restore import stage
from hub.core.errors import HubError
from hub.storage.homedir import Home
from tests.backup.homes import NOW_MS, PASSPHRASE, back_up, made_home

HEAD = BackupHead(FORMAT, "0.2.0", {"hub.db": 11}, NOW_MS, "Elm Street", 1, 5, {})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = made_home(tmp_path_factory.mktemp("archives") / "home")
    # Of what packs well, a flipped bit may unpack to the very same bytes: another way to say so many zeros.
    (home.workspace / "noise").write_bytes(random.Random(7).randbytes(400_000))
    return home


@pytest.mark.parametrize("passphrase", ["", PASSPHRASE])
def test_each_file_is_verified(made: Home, passphrase: str) -> None:
    path, created = back_up(made, passphrase)

    archive = verify_archive(path, passphrase)

    assert len(archive.manifest.files) == created.files > 5
    assert sha256(path.read_bytes()).hexdigest() == created.sha256
    assert archive.head.counts["unsent"] == 2


@pytest.mark.parametrize("passphrase", ["", PASSPHRASE])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.8, 0.999])
def test_a_flipped_byte_is_found(made: Home, tmp_path: Path, passphrase: str, share: float) -> None:
    data = bytearray(back_up(made, passphrase)[0].read_bytes())
    data[int(len(data) * share)] ^= 0x40
    path = tmp_path / "flipped"
    path.write_bytes(data)

    with pytest.raises((BackupDamaged, BackupRefused, WrongPassphrase)):
        verify_archive(path, passphrase)


@pytest.mark.parametrize(
    ("place", "error"), [(b'"program":"', BackupRefused), (b'"path":"workspace/', BackupDamaged)], ids=["head", "list"]
)
def test_a_byte_that_is_no_text_is_found(made: Home, tmp_path: Path, place: bytes, error: type[HubError]) -> None:
    data = bytearray(gzip.decompress(back_up(made)[0].read_bytes()))
    data[data.index(place) + len(place)] = 0xFF
    path = tmp_path / "changed"
    path.write_bytes(gzip.compress(data))

    with pytest.raises(error, match="cannot be read"):
        verify_archive(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_missing_end_is_found(made: Home, tmp_path: Path, share: float) -> None:
    data = back_up(made)[0].read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(data[: int(len(data) * share)])

    with pytest.raises(BackupDamaged):
        verify_archive(path)


def test_an_encrypted_one_needs_its_passphrase(made: Home) -> None:
    path, _ = back_up(made, PASSPHRASE)

    with pytest.raises(WrongPassphrase, match="give its passphrase"):
        verify_archive(path)
    with pytest.raises(WrongPassphrase, match="not the passphrase"):
        verify_archive(path, "another one altogether")


def test_every_tar_program_reads_it(made: Home) -> None:
    path, _ = back_up(made)

    with tarfile.open(path) as archive:
        names = archive.getnames()

    assert names[0] == HEAD_PATH
    assert names[1] == ".storage/hub.db"
    assert names[-1] == MANIFEST_PATH
    assert any("ü.md" in name for name in names)


def entry(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, **more: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.type = len(data), kind
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def foreign(tmp_path: Path, *entries: tuple[tarfile.TarInfo, bytes], head: BackupHead = HEAD) -> Path:
    """An archive with a good head and a good end, and anything between."""
    path = tmp_path / "foreign.tar.gz"
    listed = [ArchivedFile(info.name, info.size, sha256(data).hexdigest()) for info, data in entries if info.isreg()]
    ends = (
        entry(HEAD_PATH, msgspec.json.encode(head)),
        entry(MANIFEST_PATH, msgspec.json.encode(Manifest(listed, []))),
    )
    with tarfile.open(path, "w:gz") as archive:
        for info, data in (ends[0], *entries, ends[1]):
            archive.addfile(info, io.BytesIO(data))
    return path


WRONG: dict[str, tuple[tuple[tarfile.TarInfo, bytes], ...]] = {
    "a path that climbs": (entry("../../etc/cron.d/evil", b"x"),),
    "a path that climbs further in": (entry("workspace/../../evil", b"x"),),
    "an absolute path": (entry("/etc/evil", b"x"),),
    "a path with a line break": (entry("work\nspace", b"x"),),
    "a symlink": (entry("workspace", kind=tarfile.SYMTYPE, linkname="/etc"), entry("workspace/passwd", b"x")),
    "a hard link": (entry("link", kind=tarfile.LNKTYPE, linkname="/etc/passwd"),),
    "a character device": (entry("null", kind=tarfile.CHRTYPE, devmajor=1, devminor=3),),
    "a block device": (entry("disk", kind=tarfile.BLKTYPE, devmajor=8),),
    "a pipe": (entry("pipe", kind=tarfile.FIFOTYPE),),
    "a folder": (entry("folder", kind=tarfile.DIRTYPE),),
    "a sparse file": (entry("sparse", b"x" * 512, tarfile.GNUTYPE_SPARSE),),
    "a sparse file of another kind": (entry("sparse", b"x", pax_headers={"GNU.sparse.size": "999999999999"}),),
    "a name twice": (entry("a", b"1"), entry("a", b"2")),
    "a file where a folder is": (entry("a/b", b"1"), entry("a", b"2")),
    "a folder where a file is": (entry("a", b"1"), entry("a/b", b"2")),
    "the lock of a running hub": (entry(".storage/hub.lock", b"x"),),
    "a journal of a restore": (entry(".storage/restore/journal.json", b"{}"),),
    "no home": (entry("a", b"hello"),),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_no_backup_holds_is_refused_and_leaves_nothing(tmp_path: Path, what: str) -> None:
    home = Home(tmp_path / "home")
    home.create()
    path = foreign(tmp_path, *WRONG[what])

    with pytest.raises(BackupRefused):
        stage(home, path, "", NOW_MS)

    assert sorted(each.name for each in tmp_path.iterdir()) == ["foreign.tar.gz", "home"]
    assert not (home.storage / "restore" / "new").exists()


def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    path = foreign(tmp_path, entry("workspace/zeros", bytes(300_000_000)))
    assert path.stat().st_size < 1_000_000

    with pytest.raises(BackupRefused, match="far more than its header declares"):
        stage(home, path, "", NOW_MS)


def test_a_name_that_would_take_all_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="name that is too long"):
        verify_archive(foreign(tmp_path, entry("a", b"x", pax_headers={"comment": "x" * 1_000_000})))


@pytest.mark.parametrize(
    "head",
    [
        msgspec.structs.replace(HEAD, format=FORMAT + 1),
        msgspec.structs.replace(HEAD, schemas={"hub.db": 999}),
        msgspec.structs.replace(HEAD, program="99.0.0"),
    ],
)
def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path, head: BackupHead) -> None:
    with pytest.raises(NewerBackup, match="update Homarus"), open_archive(foreign(tmp_path, head=head)):
        pass


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"PK\x03\x04 a zip"),
        lambda path: path.write_bytes(gzip.compress(b"no tar")),
        lambda path: path.write_bytes(gzip.compress(bytes(10_240))),
        lambda path: path.write_bytes(b"age-encryption.org/v1\n-> X25519 abc\n"),
    ],
)
def test_other_files_are_no_backups(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "other"
    write(path)

    with pytest.raises(HubError) as told:
        verify_archive(path, PASSPHRASE)

    assert told.value.code in ("BACKUP_REFUSED", "BACKUP_DAMAGED")


def test_a_name_says_when_and_of_which_home() -> None:
    name = file_name("Küche & Bad", NOW_MS, encrypted=True, again=2)

    found = parse_name(name)

    assert found is not None
    assert (found.home, found.made_ms, found.encrypted) == ("kuche_bad", NOW_MS, True)
    assert parse_name("homarus-home-20269999T000000Z.tar.gz") is None
    assert parse_name("../homarus-home-20260101T000000Z.tar.gz") is None
