"""Tool results that are too long to show: stored in files for a while, and read in slices by `read_result`."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import orjson
from msgspec import Struct

from hub.core.errors import InvalidRequest, NotFound, Unavailable
from hub.core.ids import new_id
from hub.core.schema import All, Length, Match, Optional, Range, Required, Schema, integer, string
from hub.storage.errors import from_os
from hub.storage.files import write_atomic
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

READ_RESULT = "read_result"
GROUP = "session"
CHARS_KEPT = 4_000_000
"""Characters of one result that are kept; what is beyond is gone."""
RESULTS_KEPT = 200
BYTES_KEPT = 100 * 1024 * 1024
"""Results of all conversations that are kept, and their bytes; the oldest go first."""
SLICE_CHARS = 10_000
SLICE_CHARS_MAX = 25_000

_SCHEMA = Schema(
    {
        Required("id", description="As the result says it."): All(
            string, Match(r"^[0-9A-Za-z-]{8,64}$", msg="expected an id as a shortened result gives it")
        ),
        Optional("offset", default=0, description="Character to begin at."): All(integer, Range(min=0, max=CHARS_KEPT)),
        Optional("limit", default=SLICE_CHARS, description="Characters to read."): All(
            integer, Range(min=1, max=SLICE_CHARS_MAX)
        ),
        Optional("find", description="Begin at the first place behind offset that has this text."): All(
            string, Length(min=1, max=200)
        ),
    }
)


class KeptResult(Struct, frozen=True):
    """A kept result; `trusted` is false when it holds words from outside."""

    text: str
    tool: str
    trusted: bool


class KeptResults:
    """Long tool results in files, by conversation. Everything here blocks.

    Args:
        folder: Where they are kept; made with the first.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, session_key: str, tool: str, text: str, *, trusted: bool) -> str:
        """Keep a result; return the id that `read` takes.

        Raises:
            StorageError: It could not be written.
        """
        id = new_id()
        head = {"tool": tool, "trusted": trusted}
        data = orjson.dumps(head) + b"\n" + text[:CHARS_KEPT].encode("utf-8", "replace")
        path = self._path(session_key, id)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise from_os(error, path.parent, "making") from error
        write_atomic(path, data)
        self._forget_oldest()
        return id

    def read(self, session_key: str, id: str) -> KeptResult:
        """Return a result of this conversation.

        Raises:
            NotFound: There is none of this id, or no longer.
            Unavailable: It cannot be read.
        """
        try:
            head, _, text = self._path(session_key, id).read_bytes().partition(b"\n")
            facts = orjson.loads(head)
            return KeptResult(text.decode("utf-8", "replace"), str(facts["tool"]), facts["trusted"] is True)
        except FileNotFoundError as error:
            raise NotFound(f"there is no kept result {id}, or no longer; call the tool again") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"the kept result {id} cannot be read; call the tool again") from error

    def share(self, session_key: str, other_key: str) -> None:
        """Share a conversation's results with another one; this takes no more room.

        Raises:
            StorageError: It could not be written.
        """
        for path in self._path(session_key, "").glob("*"):
            other = self._path(other_key, path.name)
            try:
                other.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                other.hardlink_to(path)
            except (FileExistsError, FileNotFoundError):  # it was shared before, or is gone by now
                continue
            except OSError as error:
                raise from_os(error, other, "making") from error

    def forget(self, session_key: str) -> None:
        """Delete the results of a conversation."""
        shutil.rmtree(self._path(session_key, ""), ignore_errors=True)

    def _path(self, session_key: str, id: str) -> Path:
        return self._folder / sha256(session_key.encode()).hexdigest()[:16] / id

    def _forget_oldest(self) -> None:
        found: list[tuple[int, int, Path]] = []
        for path in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):  # another result may be kept at the same time
                facts = path.stat()
                found.append((facts.st_mtime_ns, facts.st_size, path))
        size = 0
        for count, (_, size_bytes, path) in enumerate(sorted(found, reverse=True), start=1):
            size += size_bytes
            if count > RESULTS_KEPT or size > BYTES_KEPT:
                path.unlink(missing_ok=True)


def read_result_tool(kept: KeptResults) -> Tool:
    """Return the tool by which an agent reads the rest of a long result."""

    async def run(call: ToolCall) -> ToolResult:
        found = await asyncio.to_thread(kept.read, call.session_key, call.arguments["id"])
        offset, limit = call.arguments["offset"], call.arguments["limit"]
        if (wanted := call.arguments.get("find")) is not None:
            offset = found.text.find(wanted, offset)
            if offset < 0:
                raise InvalidRequest(f"{wanted!r} is not in the result after this offset")
        part = found.text[offset : offset + limit]
        end = offset + len(part)
        more = f"; go on with offset {end}" if end < len(found.text) else ""
        return ToolResult(
            f"{part}\n[characters {offset} to {end} of {len(found.text)} of a result of {found.tool}{more}]",
            trusted=found.trusted,
        )

    return Tool(
        READ_RESULT,
        "Read more of a tool result that was cut, by the id named there.",
        from_schema(_SCHEMA),
        run,
        GROUP,
        READS_HOME,
    )
