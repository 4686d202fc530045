"""The protocol of the Music Player Daemon: a line asks, lines `key: value` answer up to `OK` or `ACK`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from hub.core.errors import InvalidRequest, TimedOut, Unavailable
from hub.core.phrases import phrase

ANSWER_LIMIT_S = 10.0
LINES_LIMIT = 20_000
BINARY_LIMIT_BYTES = 5_000_000
_LINE_BYTES = 65_536

Pairs = list[tuple[str, str]]


class MpdClient:
    """A connection. Any of its calls may raise `Unavailable` when it breaks, and `TimedOut`.

    Args:
        place: Host and port, for errors.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: str) -> None:
        self._reader, self._writer, self._place = reader, writer, place

    async def ask(self, *words: str, limit_s: float | None = ANSWER_LIMIT_S) -> Pairs:
        """Send a command, and return the pairs of its answer.

        Raises:
            InvalidRequest: The player refused it, or a word has a line break.
        """
        if any("\n" in each or "\0" in each for each in words):
            raise InvalidRequest(phrase("{place}: a name with a line break cannot be sent", place=self._place))
        self._writer.write((" ".join((words[0], *map(_quoted, words[1:]))) + "\n").encode())
        found: Pairs = []
        try:
            async with asyncio.timeout(limit_s):
                await self._writer.drain()
                while (line := await self._line()) != "OK":
                    if line.startswith("ACK "):
                        said = line.partition("} ")[2]
                        raise InvalidRequest(
                            phrase("{place} refuses: {why}", place=self._place, why=said), outside=True
                        )
                    if len(found) >= LINES_LIMIT:
                        raise Unavailable(phrase("{place} does not end its answer", place=self._place))
                    key, _, value = line.partition(": ")
                    if key == "binary":
                        value = (await self._reader.readexactly(_size(value) + 1))[:-1].decode("latin-1")
                    found.append((key, value))
        except TimeoutError as error:
            raise TimedOut(phrase("{place} does not answer", place=self._place)) from error
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            raise Unavailable(phrase("the connection to {place} broke", place=self._place)) from error
        return found

    async def picture(self, uri: str) -> bytes:
        """Return the picture of a song, from the song or its folder; empty without one."""
        for command in ("readpicture", "albumart"):
            found, size = b"", 1
            try:
                while len(found) < size:
                    answer = dict(await self.ask(command, uri, str(len(found))))
                    size = min(_size(answer.get("size", "0")), BINARY_LIMIT_BYTES)
                    piece = answer.get("binary", "").encode("latin-1")
                    if not piece:
                        break
                    found += piece
            except InvalidRequest:  # it has none, or is too old
                continue
            if found:
                return found
        return b""

    async def _line(self) -> str:
        line = await self._reader.readuntil(b"\n")
        return line[:-1].decode("utf-8", "replace")


@asynccontextmanager
async def connected(host: str, port: int, password: str | None) -> AsyncIterator[MpdClient]:
    """Connect and sign in.

    Raises:
        Unavailable: It cannot be reached, or is no such player.
        InvalidRequest: It refuses the password.
    """
    place = f"{host}:{port}"
    try:
        async with asyncio.timeout(ANSWER_LIMIT_S):
            reader, writer = await asyncio.open_connection(host, port, limit=_LINE_BYTES)
    except (OSError, TimeoutError) as error:
        raise Unavailable(phrase("the player at {place} cannot be reached", place=place)) from error
    try:
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                greeting = await reader.readuntil(b"\n")
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise Unavailable(phrase("what answers at {place} is no Music Player Daemon", place=place)) from error
        if not greeting.startswith(b"OK MPD "):
            raise Unavailable(phrase("what answers at {place} is no Music Player Daemon", place=place))
        client = MpdClient(reader, writer, place)
        if password is not None:
            await client.ask("password", password)
        yield client
    finally:
        writer.close()


def items(pairs: Sequence[tuple[str, str]], first: str) -> list[dict[str, str]]:
    """Return the items of a list, each of which begins with the key `first`; the first of a repeated key counts."""
    found: list[dict[str, str]] = []
    for key, value in pairs:
        if key == first:
            found.append({})
        if found:
            found[-1].setdefault(key, value)
    return found


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _size(text: str) -> int:
    return min(max(int(text), 0), BINARY_LIMIT_BYTES)
