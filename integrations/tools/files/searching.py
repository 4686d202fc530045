"""Searches files by a pattern, which cannot hang the hub.

A plain text is searched for here. A regular expression runs in a separate process that has neither files nor network
to touch, gets the texts through a pipe, and is killed when it takes too long: Python's `re` cannot be interrupted, and
some patterns take longer than a life.
"""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import json
import marshal
import re
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from hub.core.errors import HubError, InvalidRequest, TimedOut, Unavailable
from hub.core.executors import FILES
from hub.security.root import Root
from integrations.tools.files.reading import SNIFFED_BYTES

FILES_LIMIT = 5_000
FILE_LIMIT_BYTES = 2 * 1024 * 1024
TOTAL_LIMIT_BYTES = 32 * 1024 * 1024
PATTERN_LIMIT = 1_000
LINE_SHOWN = 300
MATCHES_LIMIT = 500
WORKER_LIMIT_S = 10.0

_WORKER = Path(__file__).with_name("grep_worker.py")
_META = re.compile(r"[\\.^$*+?{}\[\]|()]")


class Corpus(Struct, frozen=True):
    """Texts to be searched.

    Attributes:
        files: Path and text of each.
        left_out: How many files were left out as too large, too many or no text.
        outside: Paths of those that hold words from outside.
    """

    files: tuple[tuple[str, str], ...]
    left_out: int
    outside: frozenset[str] = frozenset()


class FileMatch(Struct, frozen=True):
    """A line that matches; `line` from 1."""

    path: str
    line: int
    text: str


def gather(root: Root, path: str, glob: str | None, is_outside: Callable[[bytes], bool]) -> Corpus:
    """Read the files to search; blocks.

    Args:
        is_outside: Whether a content came from outside.

    Raises:
        OSError, HubError: `path` cannot be read.
    """
    start = root.stat(path)
    entries = [start] if start.is_file else root.walk(path, FILES_LIMIT)
    files: list[tuple[str, str]] = []
    outside: set[str] = set()
    left_out = max(0, len(entries) - FILES_LIMIT + 1)
    total = 0
    for entry in entries:
        if not entry.is_file or (glob is not None and not fits(entry.path, glob)):
            continue
        if total >= TOTAL_LIMIT_BYTES or entry.size_bytes > FILE_LIMIT_BYTES:
            left_out += 1
            continue
        try:
            data = root.read_bytes(entry.path, FILE_LIMIT_BYTES)
        except (OSError, HubError):
            left_out += 1
            continue
        if b"\x00" in data[:SNIFFED_BYTES]:
            left_out += 1
            continue
        total += len(data)
        if is_outside(data):
            outside.add(entry.path)
        files.append((entry.path, data.decode(errors="replace")))
    return Corpus(tuple(files), left_out, frozenset(outside))


async def find(
    corpus: Corpus,
    pattern: str,
    *,
    ignore_case: bool = False,
    literal: bool = False,
    limit: int = MATCHES_LIMIT,
    timeout_s: float = WORKER_LIMIT_S,
) -> list[FileMatch]:
    """Return the lines that match, at most `limit`.

    Raises:
        InvalidRequest: The pattern is not one.
        TimedOut: It takes too long.
        Unavailable: The worker could not do it.

    Cancelling it kills the worker.
    """
    if literal or not _META.search(pattern):
        return await FILES.run(_find_text, corpus, pattern, ignore_case, limit)
    answer = await _in_worker(marshal.dumps((pattern, ignore_case, limit, corpus.files)), timeout_s)
    if "error" in answer:
        raise InvalidRequest(f"{pattern!r:.200} is not a regular expression: {answer['error']}")
    return [FileMatch(path, line, text) for path, line, text in answer["matches"]]


def _find_text(corpus: Corpus, wanted: str, ignore_case: bool, limit: int) -> list[FileMatch]:
    wanted = wanted.casefold() if ignore_case else wanted
    found: list[FileMatch] = []
    for path, text in corpus.files:
        if wanted not in (text.casefold() if ignore_case else text):
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            if wanted in (line.casefold() if ignore_case else line):
                found.append(FileMatch(path, number, line.rstrip("\r")[:LINE_SHOWN]))
                if len(found) >= limit:
                    return found
    return found


async def _in_worker(request: bytes, timeout_s: float) -> dict[str, list[tuple[str, int, str]]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(_WORKER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
    )
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate(request)
    except TimeoutError as error:
        raise TimedOut(
            f"the pattern took longer than {timeout_s:g} s; use a simpler one, or search fewer files"
        ) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Unavailable("the search needed too much memory or time; use a simpler pattern, or search fewer files")
    answer: dict[str, list[tuple[str, int, str]]] = json.loads(output)
    return answer


def fits(path: str, glob: str) -> bool:
    return fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(path.rpartition("/")[2], glob)
