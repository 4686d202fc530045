"""The encryption of backups: the format of age, streamed, and nothing of it can be changed unnoticed."""

from __future__ import annotations

import io
import os
import pty
import shutil
from pathlib import Path

import pytest

from hub.backup.age import PIECE_BYTES, AgeReader, AgeWriter
from hub.backup.errors import BackupDamaged, WrongPassphrase

PASSPHRASE = "seven lanterns over quiet water"
FAST = 4


def sealed(data: bytes, passphrase: str = PASSPHRASE) -> bytes:
    sink = io.BytesIO()
    writer = AgeWriter(sink, passphrase, work_factor=FAST)
    for start in range(0, len(data), 10_007):
        writer.write(data[start : start + 10_007])
    writer.close()
    return sink.getvalue()


def opened(data: bytes, passphrase: str = PASSPHRASE) -> bytes:
    reader, found = AgeReader(io.BytesIO(data), passphrase), b""
    while piece := reader.read(7_919):
        found += piece
    return found


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 200_000])
def test_what_was_sealed_is_opened(size: int) -> None:
    data = os.urandom(size)

    assert opened(sealed(data)) == data


def test_another_passphrase_opens_nothing() -> None:
    with pytest.raises(WrongPassphrase):
        opened(sealed(b"data"), "seven lanterns over quiet waters")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.5, 0.9, 0.9999])
def test_a_flipped_bit_is_found(share: float) -> None:
    data = bytearray(sealed(os.urandom(150_000)))
    data[int(len(data) * share)] ^= 1

    with pytest.raises((BackupDamaged, WrongPassphrase)):
        opened(bytes(data))


@pytest.mark.parametrize("missing", [1, 16, 17, PIECE_BYTES + 16, 150_000])
def test_a_missing_end_is_found(missing: int) -> None:
    data = sealed(bytes(150_000))

    with pytest.raises(BackupDamaged):
        opened(data[: len(data) - missing])


def test_a_missing_piece_at_its_border_is_found() -> None:
    data = sealed(bytes(2 * PIECE_BYTES))

    with pytest.raises(BackupDamaged):
        opened(data[: -(PIECE_BYTES + 16)])


def test_a_key_that_would_take_all_memory_is_not_made() -> None:
    data = sealed(b"data").replace(b" 4\n", b" 40\n", 1)

    with pytest.raises(BackupDamaged, match="work factor 40"):
        opened(data)


@pytest.mark.skipif(shutil.which("age") is None, reason="the program age is not installed")
def test_the_program_age_and_we_read_each_other(tmp_path: Path) -> None:
    data = os.urandom(3 * PIECE_BYTES + 5)
    (tmp_path / "ours.age").write_bytes(sealed(data))
    (tmp_path / "plain").write_bytes(data)

    typed(["age", "-d", "-o", str(tmp_path / "out"), str(tmp_path / "ours.age")], times=1)
    typed(["age", "-p", "-o", str(tmp_path / "theirs.age"), str(tmp_path / "plain")], times=2)

    assert (tmp_path / "out").read_bytes() == data
    assert opened((tmp_path / "theirs.age").read_bytes()) == data


def typed(command: list[str], times: int) -> None:
    """Run a command that asks for the passphrase on its terminal so many times."""
    pid, parent = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    for _ in range(times):
        said = b""
        while b"passphrase" not in said.lower():
            said += os.read(parent, 1024)
        os.write(parent, f"{PASSPHRASE}\n".encode())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(parent)
