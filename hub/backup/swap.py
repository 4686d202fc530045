"""Swaps a prepared home in: the present one is moved aside, then the prepared one into its place.

A journal decides. It is written once the prepared home is whole; from then on, each start goes on with the exchange
wherever it was cut off, before anything else of the home is read. So there is the old home or the new one, never a
mixture. What the process itself holds (its lock, its socket, the backups) stays where it is, and so does the audit log.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.backup.contents import AUDIT, OWN, REPLACED, RUNTIME, STORAGE
from hub.core.durable import sync_directory
from hub.storage.errors import StorageError, from_os
from hub.storage.files import write_atomic
from hub.storage.homedir import Home

RESTORE, NEW, JOURNAL = "restore", "new", "journal.json"
"""In `.storage`: the folder of a restore, in it the prepared home, and the journal of the exchange."""


class SwapJournal(Struct, frozen=True):
    """The progress of an exchange.

    Attributes:
        aside: The folder in `.storage` for the present home.
        source: The folder in `.storage` with the home that takes its place.
        stays: Names directly in the home that stay: the folder of the backups.
        moved_out: Whether the present home is aside, so that only the new one is still to be moved.
    """

    aside: str
    source: str
    stays: tuple[str, ...]
    moved_out: bool = False


def pending(home: Home) -> bool:
    """Whether a prepared home waits for the next start, or an exchange was cut off."""
    return _journal(home).exists()


def clear(home: Home) -> None:
    """Delete prepared homes that are not used."""
    if not pending(home):
        shutil.rmtree(home.storage / RESTORE / NEW, ignore_errors=True)


def commit(home: Home, stamp: str, stays: tuple[str, ...], source: str = f"{RESTORE}/{NEW}") -> None:
    """Schedule the exchange with another home: the next `finish` applies it.

    Args:
        stamp: Names the folder that keeps the present home.
        stays: Names in the home that are not exchanged.
        source: The folder in `.storage` with the other home; the prepared one, unless it is the one that was replaced.
    """
    _journal(home).parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(_journal(home), msgspec.json.encode(SwapJournal(f"{REPLACED}{stamp}", source, stays)))


def finish(home: Home) -> Path | None:
    """Carry out a scheduled exchange, or continue one; return the path of the replaced home, None without one.

    To be called by the holder of the home's lock, while nothing in it is open. Repeating it does no harm.

    Raises:
        StorageError: A file cannot be moved; the next call continues there.
    """
    journal_file = _journal(home)
    try:
        journal = msgspec.json.decode(journal_file.read_bytes(), type=SwapJournal)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise StorageError(f"{journal_file} cannot be read ({error}); move it away to keep the present home") from error
    aside, new = home.storage / journal.aside, home.storage / journal.source
    kept = OWN | RUNTIME | ({AUDIT} if (home.storage / AUDIT).is_dir() else set())
    try:
        if not journal.moved_out:
            from hub.storage.audit_log import keep_restored

            keep_restored(home.storage / AUDIT, new / STORAGE / AUDIT, journal.aside.removeprefix(REPLACED))
            aside.mkdir(mode=0o700, exist_ok=True)
            _move_all(home.path, aside, {STORAGE, *journal.stays})
            _move_all(home.storage, aside / STORAGE, kept, REPLACED)
            _sync(aside, aside / STORAGE, home.path, home.storage)
            write_atomic(journal_file, msgspec.json.encode(replace(journal, moved_out=True)))
        _move_all(new / STORAGE, home.storage, kept, beside=aside / STORAGE)
        _move_all(new, home.path, {STORAGE}, beside=aside)
        _sync(home.path, home.storage)
        _drop_older(home, keep=aside)
        journal_file.unlink()
        sync_directory(journal_file.parent)
        shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise from_os(error, Path(error.filename or home.path), "swapping in a restored home") from error
    return aside


def replaced_home(home: Home) -> Path | None:
    """Return the home that the last restore replaced, as long as it is kept."""
    found = sorted(home.storage.glob(f"{REPLACED}*")) if home.storage.is_dir() else []
    return found[-1] if found and not pending(home) else None


def _move_all(
    source: Path, target: Path, but: Collection[str], prefix: str = "\0", *, beside: Path | None = None
) -> None:
    """Move the content of a folder into another; obstacles are moved aside first."""
    if not source.is_dir():
        return
    target.mkdir(mode=0o700, exist_ok=True)
    for each in sorted(source.iterdir()):
        if each.name in but or each.name.startswith(prefix):
            continue
        place = target / each.name
        if os.path.lexists(place):
            _make_way(place, beside or target)
        os.rename(each, place)


def _make_way(place: Path, folder: Path) -> None:
    """Move aside obstacles of an exchange that was cut off."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = 1
    while os.path.lexists(other := folder / f"{place.name}.meanwhile-{number}"):
        number += 1
    os.rename(place, other)


def _drop_older(home: Home, *, keep: Path) -> None:
    """Delete the homes that earlier restores replaced."""
    for old in home.storage.glob(f"{REPLACED}*"):
        if old != keep:
            shutil.rmtree(old, ignore_errors=True)


def _sync(*folders: Path) -> None:
    for folder in folders:
        with suppress(FileNotFoundError):
            sync_directory(folder)


def _journal(home: Home) -> Path:
    return home.storage / RESTORE / JOURNAL
