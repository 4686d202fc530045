"""Asynchronous functions, such as a memory search: the rendering stops, the result is awaited, and it renders again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from hub.core.errors import HubError, TimedOut

ROUNDS = 8
"""A template is rendered so often at most until all its functions are answered."""
ANSWER_TIMEOUT_S = 30.0
"""A function that takes longer fails."""


class NeedsAnswer(Exception):
    """A rendering stopped at a call that has no result yet."""

    def __init__(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        super().__init__(name)
        self.name = name
        self.given = args
        self.named = named

    @property
    def key(self) -> bytes:
        """The identity of a call."""
        return orjson.dumps([self.name, self.given, self.named], _as_text, orjson.OPT_SORT_KEYS)


class CannotWait(TypeError):
    """A slow function was called where nothing is awaited."""


class Answers:
    """The answers of one rendering."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, Any] = {}

    def __contains__(self, needed: NeedsAnswer) -> bool:
        return needed.key in self._by_key

    def __getitem__(self, needed: NeedsAnswer) -> Any:
        return self._by_key[needed.key]

    async def add(self, needed: NeedsAnswer, call: Callable[..., Awaitable[Any]]) -> None:
        """Await the answer.

        Raises:
            HubError: The function failed or took more than 30 s. Cancelling cancels the function.
        """
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                self._by_key[needed.key] = await call(*needed.given, **needed.named)
        except TimeoutError:
            raise TimedOut(f"it took more than {ANSWER_TIMEOUT_S:g} s") from None
        except (TypeError, ValueError) as error:
            raise HubError(str(error)) from error


def deferred_function(name: str, current_answers: Callable[[], Answers | None]) -> Callable[..., Any]:
    """Return the function that replaces an asynchronous one in templates.

    Args:
        name: Its name in templates.
        current_answers: Returns the answers of the current rendering; None where none can be awaited.
    """

    def function(*args: Any, **named: Any) -> Any:
        answers = current_answers()
        if answers is None:
            raise CannotWait(
                f"{name}() is slow: it can be used in actions and conditions, "
                "not in triggers, nor in `enabled` or `variables` of a trigger"
            )
        needed = NeedsAnswer(name, args, named)
        if needed not in answers:
            raise needed
        return answers[needed]

    return function


def _as_text(value: Any) -> str:
    return str(value)
