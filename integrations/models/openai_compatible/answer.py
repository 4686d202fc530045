"""Reads an answer from the connection: a stream of events, or one whole JSON object where a stream was requested."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any

import aiohttp
import orjson

from hub.models.chat_answer import ChatAnswer
from hub.models.contract import FormatError, ModelError, ModelEvent, Overloaded, TextDelta, ThinkingDelta
from integrations.models.openai_compatible.faults import is_fault, read_fault
from integrations.models.openai_compatible.sse import EventTooLong, SseParser

ANSWER_LIMIT_BYTES = 64 * 1024 * 1024
DONE = b"[DONE]"

Fault = Callable[[int | None, str, str], ModelError]


class StreamReader:
    """Reads one answer; to be closed.

    Args:
        content: The body of the response.
        json: Whether the server did not declare a stream; then the first byte decides.
        timeout_s: Between two events.
        deadline: Until the first event, on the loop's clock.
        who: Names provider and model in errors.
        known_ids: Returns the ids of earlier tool calls.
        fault: Makes the typed error of (status, code, message) inside the answer.
    """

    def __init__(
        self,
        content: aiohttp.StreamReader,
        *,
        json: bool,
        timeout_s: float,
        deadline: float,
        who: str,
        known_ids: Callable[[], Collection[str]],
        fault: Fault,
    ) -> None:
        self._content = content
        self._json = json
        self._timeout_s = timeout_s
        self._fault = fault
        self._answer = ChatAnswer(known_ids)
        self._size = 0
        self._loop = asyncio.get_running_loop()
        self._deadline = deadline
        self._timer: asyncio.TimerHandle | None = None
        self._is_waiting = False
        self._who = who

    async def events(self) -> AsyncIterator[ModelEvent]:
        """Yield the events of the answer, the stop last.

        Raises:
            TimeoutError: Nothing came in time.
            ModelError: The answer is an error, is not whole, or nobody understands it.
            aiohttp.ClientError, OSError: The connection broke before the answer was whole.
        """
        if self._json:
            first = await self._first_bytes()
            if first.lstrip().startswith((b"{", b"[")):
                for event in await self._whole(first):
                    yield event
                return
        else:
            first = b""
        parser = SseParser()
        done = False
        chunk = first or await self._read()
        while chunk and not done:
            parts = self._parsed(parser, chunk)
            told: list[ModelEvent] = []
            try:
                done = self._take(parts, told)
            except ModelError:
                for event in told:
                    yield event
                raise
            for event in told:
                yield event
            if len(parts) > done:
                self._deadline = self._loop.time() + self._timeout_s
            if not done:
                chunk = await self._next()
        if not done:
            for data in parser.end():
                done = done or data.strip() == DONE
                for event in self._cut_off(data):
                    yield event
        for event in self._end(done):
            yield event

    def close(self) -> None:
        """Stop watching the deadline; nothing is read after."""
        if self._timer is not None:
            self._timer.cancel()

    async def _first_bytes(self) -> bytes:
        first = b""
        while not first.strip():
            chunk = await self._read()
            if not chunk:
                break
            first += chunk
        return first

    async def _next(self) -> bytes:
        """Read on; a connection that breaks after the finish reason broke too late to matter."""
        try:
            return await self._read()
        except (aiohttp.ClientError, OSError):
            if self._answer.finish is None:
                raise
            return b""

    async def _read(self) -> bytes:
        # What has arrived already needs no timer.
        chunk = self._content.read_nowait(-1)
        if not chunk:
            if self._timer is None:
                self._timer = self._loop.call_at(self._deadline, self._look)
            self._is_waiting = True
            try:
                chunk = await self._content.readany()
            finally:
                self._is_waiting = False
        self._size += len(chunk)
        if self._size > ANSWER_LIMIT_BYTES:
            raise FormatError(f"The answer of {self._who} is longer than {ANSWER_LIMIT_BYTES // 1024 // 1024} MiB.")
        return chunk

    def _look(self) -> None:
        """Break off when nothing came until the deadline; one timer serves all reads, since the deadline moves on."""
        self._timer = None
        if self._is_waiting and self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._look)
        elif self._is_waiting:
            self._content.set_exception(TimeoutError())

    def _take(self, parts: list[bytes], told: list[ModelEvent]) -> bool:
        """Add the events of what came at once to `told`; return whether the stream is done."""
        for data in parts:
            if data.strip() == DONE:
                return True
            for event in self._chunk(data):
                _add(told, event)
        return False

    def _parsed(self, parser: SseParser, chunk: bytes) -> list[bytes]:
        try:
            return parser.feed(chunk)
        except EventTooLong as error:
            raise FormatError(f"One event of the answer of {self._who} is longer than 8 MiB.") from error

    def _chunk(self, data: bytes) -> list[ModelEvent]:
        if not data:
            return []
        try:
            chunk = orjson.loads(data)
        except ValueError as error:
            raise self._nonsense(data) from error
        return self._taken(chunk, data)

    def _taken(self, chunk: Any, data: bytes) -> list[ModelEvent]:
        if not isinstance(chunk, dict):
            raise self._nonsense(data)
        if chunk.get("error") or ("choices" not in chunk and "usage" not in chunk):
            if is_fault(chunk):
                raise self._fault(*read_fault(chunk))
            return []
        events = self._answer.chunk(chunk)
        if self._answer.finish == "error":
            raise self._fault(None, "server_error", "the answer ended with an error")
        return events

    def _cut_off(self, data: bytes) -> list[ModelEvent]:
        """Take what was at the very end without its blank line; half an event says nothing."""
        try:
            chunk = orjson.loads(data)
        except ValueError:
            return []
        return self._taken(chunk, data)

    async def _whole(self, first: bytes) -> list[ModelEvent]:
        raw = bytearray(first)
        while chunk := await self._read():
            raw += chunk
            self._deadline = self._loop.time() + self._timeout_s
        try:
            body = orjson.loads(raw)
        except ValueError as error:
            raise Overloaded(f"{self._who} stopped in the middle of its answer.") from error
        events = self._taken(body, bytes(raw)) if isinstance(body, dict) else []
        if not isinstance(body, dict) or not body.get("choices"):
            raise self._nonsense(bytes(raw))
        return [*events, *self._answer.end()]

    def _end(self, done: bool) -> list[ModelEvent]:
        if self._answer.finish is None and not (done and self._answer.said_anything):
            what = "sent an empty answer" if done else "stopped in the middle of its answer"
            raise Overloaded(f"{self._who} {what}.")
        return self._answer.end()

    def _nonsense(self, data: bytes) -> FormatError:
        shown = data[:120].decode("utf-8", "replace")
        return FormatError(f"{self._who} sent something that is not part of an answer: {shown!r}")


def _add(told: list[ModelEvent], event: ModelEvent) -> None:
    """Add an event; text that comes with text before it joins that: every piece passes the whole hub."""
    last = told[-1] if told else None
    if isinstance(event, TextDelta) and isinstance(last, TextDelta):
        told[-1] = TextDelta(last.text + event.text)
    elif isinstance(event, ThinkingDelta) and isinstance(last, ThinkingDelta) and last.signature is None:
        told[-1] = ThinkingDelta(last.text + event.text, event.signature)
    else:
        told.append(event)
