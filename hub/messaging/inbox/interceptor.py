"""Interceptors: answer a message instead of an agent, such as a question, an automation, a subagent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sized

from msgspec import Struct

from hub.messaging.access.decide import Accept

Answer = Callable[[], Awaitable[str | None]]
"""Returns the answer to a message; None leaves it to an agent after all."""


class Interceptor(Struct, frozen=True):
    """Answers messages that something waits for.

    Attributes:
        pending: The waiters; `intercept` is not called while it is empty.
        intercept: Returns what answers a message, or None when it is not for any of them.
    """

    pending: Sized
    intercept: Callable[[Accept], Awaitable[Answer | None]]
