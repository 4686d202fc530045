"""The file of the audit log: lines of JSON, each chained by its hash to the line before it.

The last hash is kept in a second place too, the hub database, so that a cut tail is found. A line that a crash left
unfinished is no tampering: it was never acknowledged there. The oldest segments are deleted in time; a later line names
where the log begins since.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct

from hub.core.durable import sync_directory
from hub.storage.errors import from_os
from hub.storage.files import append_line

FOLDER = "audit"
"""In `.storage`."""
HEAD = "audit_head"
"""Where the hub database keeps the last hash, in its table `meta`."""
SEGMENT_BYTES = 1024 * 1024
SEGMENTS_KEPT = 64
EXPIRED = "audit.expire"
"""The line that says where the log begins: `through` which line the older ones were deleted, and that line's hash."""
SUFFIX = ".jsonl"
PROBLEMS_SHOWN = 20
RESTORED = "restored-"
"""How the folders of logs begin that came with a restored home."""
NO_HEAD = "the hub database has no last hash, so that it cannot be told whether the end is cut off"


class Head(Struct, frozen=True):
    """The last line: its number, from 1, and its hash."""

    seq: int = 0
    hash: str = ""

    def encode(self) -> str:
        """Return it as text."""
        return f"{self.seq}:{self.hash}"

    @classmethod
    def decode(cls, text: str) -> Head:
        """Read the result of `encode`."""
        seq, _, hash = text.partition(":")
        return cls(int(seq) if seq.isdecimal() else 0, hash)


class Verification(Struct, frozen=True):
    """The result of verifying a log.

    Attributes:
        entries: How many lines there are.
        problems: What is wrong, with file and line; at most 20.
        unfinished: Whether the last line was left unfinished by a crash.
    """

    entries: int
    problems: list[str]
    unfinished: bool = False


class AuditLog:
    """Appends to the log and reads it; every call blocks on the disk.

    Args:
        folder: Its folder, made with the first line.
        segment_bytes: From this size on a file is followed by another.
        segments_kept: How many files are kept.

    Raises:
        StorageError: From every method, when the disk fails.
    """

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES, segments_kept: int = SEGMENTS_KEPT) -> None:
        self.folder = folder
        self._segment_bytes, self._segments_kept = segment_bytes, segments_kept
        self._head: Head | None = None

    def head(self) -> Head:
        """Return the last whole line, after cutting off what a crash left unfinished behind it."""
        if self._head is None:
            self._head = Head()
            for file in reversed(segments(self.folder)):
                if (last := _mend_tail(file)) is not None:
                    self._head = Head(last["seq"], last["hash"])
                    break
        return self._head

    def append(self, waiting: deque[dict[str, Any]]) -> Head:
        """Append what waits, taking away each entry that the disk has; return the last line."""
        while waiting:
            self._append(waiting[0])
            waiting.popleft()
        return self.head()

    def latest(self, limit: int, before: int | None = None) -> list[dict[str, Any]]:
        """Return the latest entries, newest first.

        Args:
            before: Only those before this number.
        """
        found: list[dict[str, Any]] = []
        for file in reversed(segments(self.folder)):
            lines = [entry for _, entry in _lines(file) if entry is not None]
            found += [each for each in reversed(lines) if before is None or each.get("seq", 0) < before]
            if len(found) >= limit:
                break
        return found[:limit]

    def _append(self, entry: Mapping[str, Any]) -> None:
        last = self.head()
        files = segments(self.folder)
        rotates = not files or files[-1].stat().st_size >= self._segment_bytes
        file = self.folder / f"{last.seq + 1:010}{SUFFIX}" if rotates else files[-1]
        if rotates:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        line = {"seq": last.seq + 1, **entry, "prev": last.hash}
        line["hash"] = hash_of(line)
        append_line(file, orjson.dumps(line))
        self._head = Head(line["seq"], line["hash"])
        if rotates:
            sync_directory(self.folder)
            self._expire(entry["at"])

    def _expire(self, at: str) -> None:
        """Delete the oldest segments, after a line that says so."""
        files = segments(self.folder)
        old, kept = files[: -self._segments_kept], files[-self._segments_kept :]
        if not old:
            return
        first = next(entry for _, entry in _lines(kept[0]) if entry is not None)
        about = {"through": first["seq"] - 1, "hash": first["prev"]}
        self._append({"at": at, "who": "system", "what": EXPIRED, "outcome": "ok", "about": about})
        try:
            for file in old:
                file.unlink()
        except OSError as error:
            raise from_os(error, self.folder, "deleting old segments of the audit log from") from error


def verify(folder: Path, head: Head | None) -> Verification:
    """Verify a log: no line changed, missing, added or out of order, and none cut off at its end.

    The logs of other homes that were restored into this one are verified too, but for their ends.

    Args:
        folder: Its folder.
        head: The last line according to the second place; None when that has none.
    """
    found = _verify(folder, head)
    for other in sorted(folder.glob(f"{RESTORED}*")):
        inner = _verify(other, None)
        told = [f"{other.name}/{each}" for each in inner.problems if each != NO_HEAD]
        found = Verification(found.entries + inner.entries, [*found.problems, *told], found.unfinished)
    return Verification(found.entries, found.problems[:PROBLEMS_SHOWN], found.unfinished)


def keep_restored(live: Path, restored: Path, name: str) -> None:
    """Put the log of a restored home beside the one that goes on, unless it is an earlier state of that one."""
    first = next(iter(segments(restored)), None)
    if first is None or not live.is_dir():
        return
    same = live / first.name
    if not same.is_file() or next(_lines(same)) != next(_lines(first)):
        os.rename(restored, live / f"{RESTORED}{name}")


def _verify(folder: Path, head: Head | None) -> Verification:
    problems: list[str] = []
    last, count, unfinished, at_head = Head(), 0, False, ""
    begins: Head | None = None
    anchors: list[Head] = []
    files = segments(folder)
    for file in files:
        rows = list(_lines(file))
        for number, entry in rows:
            place = f"{file.name}:{number}"
            if entry is None:
                unfinished = file is files[-1] and number == len(rows) and not _ends_whole(file)
                if not unfinished:
                    problems.append(f"{place}: this line is not what the hub wrote; it cannot be read")
                continue
            seq, claimed = entry["seq"], entry["hash"]
            if claimed != hash_of(entry):
                problems.append(f"{place}: entry {seq} was changed: its hash does not fit its words")
            elif count and (seq != last.seq + 1 or entry["prev"] != last.hash):
                problems.append(f"{place}: entry {seq} does not follow entry {last.seq}: removed, added or moved")
            if not count:
                begins = Head(seq - 1, entry["prev"])
            if entry.get("what") == EXPIRED:
                anchors.append(Head(entry["about"]["through"], entry["about"]["hash"]))
            last, count = Head(seq, claimed), count + 1
            if head is not None and seq == head.seq:
                at_head = claimed
    if begins is not None and begins != Head() and begins not in anchors:
        problems.append(f"{files[0].name}:1: the entries through {begins.seq} are gone, and no entry says why")
    if head is None:
        problems += [NO_HEAD] if count else []
    elif last.seq < head.seq:
        problems.append(f"the end is cut off: the last entry is {last.seq}, and the hub database knows of {head.seq}")
    elif at_head != head.hash:
        problems.append(f"entry {head.seq} is another one than the hub database knows: the log was written anew")
    return Verification(count, problems, unfinished)


def segments(folder: Path) -> list[Path]:
    """Return the files of a log, oldest first."""
    return sorted(folder.glob(f"[0-9]*{SUFFIX}"))


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield each line with its number; None for one that is no entry."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise from_os(error, file, "reading") from error
    for number, line in enumerate(raw.removesuffix(b"\n").split(b"\n"), 1):
        yield number, _entry(line)


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = orjson.loads(line)
    except ValueError:
        return None
    about = entry.get("about") if isinstance(entry, dict) else None
    fits = isinstance(about, dict) and isinstance(entry.get("seq"), int)
    return entry if fits and all(isinstance(entry.get(key), str) for key in ("at", "what", "prev", "hash")) else None


def hash_of(entry: Mapping[str, Any]) -> str:
    """Return the hash that an entry is to carry."""
    plain = {key: value for key, value in entry.items() if key != "hash"}
    return hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _ends_whole(file: Path) -> bool:
    return file.read_bytes()[-1:] == b"\n"


def _mend_tail(file: Path) -> dict[str, Any] | None:
    """Cut off what a crash left unfinished at the end of a file; return its last entry, None when there is none.

    A whole line that only lacks its end keeps its place: the next one closes it.
    """
    rows = list(_lines(file))
    if rows[-1][1] is None and not _ends_whole(file):
        raw = file.read_bytes()
        try:
            os.truncate(file, raw.rfind(b"\n") + 1)
        except OSError as error:
            raise from_os(error, file, "mending") from error
        rows.pop()
    return next((entry for _, entry in reversed(rows) if entry is not None), None)
