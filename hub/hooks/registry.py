"""The registry of hooks, and how their handlers are called."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Container
from typing import Any, TypeVar

from msgspec import Struct

from hub.core.errors import Forbidden, HubError, InvalidRequest, LimitExceeded
from hub.core.tasks import TaskOwner
from hub.hooks.contract import HOOKS, TIMEOUT_S, HookHandler, HookPayload
from hub.hooks.merge import merge

_log = logging.getLogger(__name__)

P = TypeVar("P", bound=HookPayload)

HANDLERS_LIMIT = 200
"""Handlers of one hook."""
OBSERVING_LIMIT = 256
"""Observing handlers that run at one time; further ones are not called, and named in the log."""
TIMEOUT_LIMIT_S = 120.0


class Hook(Struct, frozen=True):
    """A handler of a hook.

    Attributes:
        name: The hook.
        handler: Is called with the payload.
        source: Its origin, for the log: `integration notes`, `hook quiet-hours`.
        priority: The highest is called first; those of one priority in the order in which they were added.
        timeout_s: How long it may take; as the hook says without it.
    """

    name: str
    handler: HookHandler
    source: str
    priority: int = 0
    timeout_s: float | None = None


class Hooks:
    """Knows every handler by its hook.

    Args:
        tasks: Owns the calls of handlers that observe.

    Attributes:
        wanted: The names of hooks with a handler: without one, no payload need be made.
    """

    def __init__(self, tasks: TaskOwner) -> None:
        self._tasks = tasks
        self._hooks: dict[str, tuple[Hook, ...]] = {}
        self.wanted: Container[str] = self._hooks.keys()
        self._sources: dict[str, list[Callable[[], Callable[[], None]]]] = {}
        self._open: dict[str, list[Callable[[], None]]] = {}
        self._observing = 0

    def add(self, hook: Hook) -> Callable[[], None]:
        """Call a handler from now on.

        Returns:
            A function that removes it; calling it twice does no harm.

        Raises:
            InvalidRequest: There is no such hook, or its time limit is out of range.
            LimitExceeded: The hook has 200 handlers already.
        """
        if hook.name not in HOOKS:
            raise InvalidRequest(f"there is no hook {hook.name[:80]!r}; there are {', '.join(HOOKS)}")
        if hook.timeout_s is not None and not 0 < hook.timeout_s <= TIMEOUT_LIMIT_S:
            raise InvalidRequest(
                f"timeout_s of a handler of {hook.name} is {hook.timeout_s}; expected at most {TIMEOUT_LIMIT_S:g}"
            )
        there = self._hooks.get(hook.name, ())
        if len(there) >= HANDLERS_LIMIT:
            raise LimitExceeded(f"{hook.name} has {HANDLERS_LIMIT} handlers already; {hook.source} adds none")
        self._hooks[hook.name] = tuple(sorted((*there, hook), key=lambda each: -each.priority))
        if not there:
            self._open[hook.name] = [begin() for begin in self._sources.get(hook.name, ())]

        def remove() -> None:
            left = tuple(each for each in self._hooks.get(hook.name, ()) if each is not hook)
            if left:
                self._hooks[hook.name] = left
                return
            self._hooks.pop(hook.name, None)
            for end in self._open.pop(hook.name, ()):
                end()

        return remove

    def while_handled(self, name: str, begin: Callable[[], Callable[[], None]]) -> None:
        """Call `begin` when a hook gets its first handler, and what it returned when the last one is gone."""
        self._sources.setdefault(name, []).append(begin)
        if name in self._hooks:
            self._open[name].append(begin())

    def all(self) -> list[Hook]:
        """Return every handler, by hook and in the order in which they are called."""
        return [each for name in sorted(self._hooks) for each in self._hooks[name]]

    def observe(self, payload: HookPayload) -> None:
        """Call the handlers concurrently, without waiting for them."""
        for hook in self._hooks.get(payload.hook, ()):
            if self._observing >= OBSERVING_LIMIT or self._tasks.closed:
                _log.warning("%s of %s is not called: %d run already", hook.name, hook.source, self._observing)
                continue
            self._observing += 1
            task = self._tasks.spawn(self._observed(hook, payload), name=f"hook {hook.name} of {hook.source}")
            task.add_done_callback(self._done)

    async def modify(self, payload: P) -> P:
        """Call the handlers in order, and return the payload with their changes.

        One that fails or is late is named in the log and skipped; of a guard, it refuses.

        Raises:
            Forbidden: A handler of a guard failed or was late.

        Cancelling it cancels the handler that is asked.
        """
        for hook in self._hooks.get(payload.hook, ()):
            try:
                payload = merge(payload, await _called(hook, payload))
            except Exception as error:  # whatever a handler raises
                _name(hook, error)
                if payload.guard:
                    raise Forbidden(f"the hook {hook.name} of {hook.source} failed, so this is not done") from error
            if getattr(payload, "block", ""):
                break
        return payload

    def settle(self, payload: P) -> P:
        """Call the handlers of a synchronous hook, and return the payload with their changes."""
        for hook in self._hooks.get(payload.hook, ()):
            try:
                answer = hook.handler(payload)
                if inspect.isawaitable(answer):
                    if inspect.iscoroutine(answer):
                        answer.close()
                    raise InvalidRequest("it returned an awaitable; its handler must be a plain function")
                payload = merge(payload, answer)
            except Exception as error:  # whatever a handler raises
                _name(hook, error)
            if getattr(payload, "block", ""):
                break
        return payload

    async def drain(self, timeout_s: float) -> None:
        """Wait a while for observing handlers, then cancel the rest."""
        await self._tasks.drain(timeout_s=timeout_s)
        await self._tasks.cancel_all(timeout_s=1.0)

    async def _observed(self, hook: Hook, payload: HookPayload) -> None:
        try:
            await _called(hook, payload)
        except Exception as error:  # whatever a handler raises
            _name(hook, error)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._observing -= 1


async def _called(hook: Hook, payload: HookPayload) -> Any:
    limit_s = TIMEOUT_S[payload.kind] if hook.timeout_s is None else hook.timeout_s
    async with asyncio.timeout(limit_s):
        answer = hook.handler(payload)
        return await answer if inspect.isawaitable(answer) else answer


def _name(hook: Hook, error: Exception) -> None:
    """Return a handler's name for the log."""
    if isinstance(error, TimeoutError):
        _log.warning("the hook %s of %s took too long and is skipped", hook.name, hook.source)
    elif isinstance(error, HubError):
        _log.warning("the hook %s of %s is skipped: %s", hook.name, hook.source, error.message)
    else:
        _log.warning("the hook %s of %s failed and is skipped", hook.name, hook.source, exc_info=error)
