"""A connection to a platform that is made again whenever it breaks, and a watch over its WebSocket."""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Self, TypeVar

import aiohttp

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest
from hub.messaging.contract import Receiver

T = TypeVar("T")
_log = logging.getLogger(__name__)

STORE_RETRY_S = 2.0
BACKOFF_FIRST_S = 1.0
BACKOFF_LIMIT_S = 120.0
"""Discord lets 1 000 sessions be opened in a day."""
BROKEN = (aiohttp.ClientError, OSError, HubError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What is raised for a connection that broke, or a platform that says something else than expected."""


class AccountRefused(Exception):
    """The platform accepts no connection of the account until a person changes something; the message says what."""


async def keep_connected(connect: Callable[[], Awaitable[str | None]], receive: Receiver, clock: Clock) -> None:
    """Connect again and again until the account is refused, and report the state to the hub.

    The pauses grow while connections last no longer than the pause before them; a requested one is respected.

    Args:
        connect: Connects, and returns why the connection ended; None when the platform asked for another one.
    """
    pause_s = BACKOFF_FIRST_S
    while True:
        began, asked_s = clock.monotonic(), 0.0
        try:
            reason = await connect()
        except AccountRefused as error:
            receive.disconnected(str(error), permanent=True)
            return
        except BROKEN as error:
            reason = _reason(error)
            asked_s = getattr(error, "retry_after_s", None) or 0.0
        if reason is None:
            continue
        receive.disconnected(reason)
        if clock.monotonic() - began > pause_s:
            pause_s = BACKOFF_FIRST_S
        # Jitter spreads reconnects; it guards nothing.
        await clock.sleep(max(asked_s, pause_s * (1 + 0.25 * random.random())))  # noqa: S311
        pause_s = min(pause_s * 2, BACKOFF_LIMIT_S)


def _reason(error: Exception) -> str:
    """Return what an error says for people, without an address: that of a WebSocket has a ticket in it."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"HTTP {error.status}: {error.message}"
    if isinstance(error, aiohttp.InvalidURL):
        return "the platform named an address that is none"
    return str(error) or type(error).__name__


async def retry_until_stored(work: Callable[[], Awaitable[T]], receive: Receiver, clock: Clock) -> T | None:
    """Return the result of `work`, retrying until the hub can store it; None if the hub refuses it.

    For platforms that do not deliver unstored messages again.
    """
    failed = False
    while True:
        try:
            result = await work()
        except InvalidRequest as error:
            _log.warning("a message of a platform is not accepted: %s", error)
            return None
        except HubError as error:
            failed = True
            receive.disconnected(f"the hub cannot store what comes: {error}")
            await clock.sleep(STORE_RETRY_S)
            continue
        if failed:
            receive.connected()
        return result


class Reconnector(ABC):
    """Connects again and again, and reports the state to the hub.

    Attributes:
        is_up: To be set by `connect` once the platform took the connection.
    """

    def __init__(self, receive: Receiver, clock: Clock) -> None:
        self._receive = receive
        self._clock = clock
        self.is_up = False

    @abstractmethod
    async def connect(self) -> str | None:
        """Connect, and return why the connection ended; None if the platform asked for another one.

        Raises:
            AccountRefused: Trying again is useless.
        """

    async def keep(self) -> None:
        """Keep up a connection until the account is refused."""

        async def connect() -> str | None:
            self.is_up = False
            return await self.connect()

        await keep_connected(connect, self._receive, self._clock)

    async def retry_until_stored(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Return the result of `work`, retrying until the hub can store it; see `retry_until_stored`."""
        return await retry_until_stored(work, self._receive, self._clock)


class SocketWatch:
    """Asks a platform over its WebSocket whether it is there; one that has not answered by the next time is closed.

    Args:
        ask: Sends the question.
        interval_s: Between two questions.
        close_code: Closes the socket.
    """

    def __init__(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        ask: Callable[[], Awaitable[None]],
        interval_s: float,
        close_code: int = aiohttp.WSCloseCode.OK,
    ) -> None:
        self._socket = socket
        self._ask = ask
        self._interval_s = interval_s
        self._close_code = close_code
        self._answered = True
        self._busy = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def note_answer(self) -> None:
        """Note that the platform answered."""
        self._answered = True

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Expect no answer for now: while an event is handled, nothing is read."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            self._answered = True

    async def _run(self) -> None:
        # Jitter spreads questions, as Discord asks; it guards nothing.
        await asyncio.sleep(self._interval_s * random.random())  # noqa: S311
        while self._answered or self._busy:
            self._answered = False
            await self._ask()
            await asyncio.sleep(self._interval_s)
        await self._socket.close(code=self._close_code)
