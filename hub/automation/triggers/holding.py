"""The key `for`: something has to stay so for a while before a trigger fires."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hub.automation.contract import TriggerHost
from hub.automation.definition.phrases import span_of
from hub.automation.definition.values import resolve_duration
from hub.automation.running.signals import error_text
from hub.automation.triggers.arming import render_value
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.schema import SchemaError


class Holding:
    """The waits of one trigger, one for each entity; they do not survive a restart.

    They run on the monotonic clock: no jump of the wall clock ends or prolongs them.

    Args:
        duration: A validated `dynamic_duration`, or None when nothing has to be held.
    """

    def __init__(self, host: TriggerHost, duration: Any) -> None:
        self._host = host
        self._duration = duration
        self._waits: dict[str, asyncio.Task[None]] = {}
        self.needed = duration is not None

    def __contains__(self, key: str) -> bool:
        """Whether a key is being held."""
        return key in self._waits

    def begin(self, key: str, trigger: Mapping[str, Any], context: Context | None) -> None:
        """Fire once this has held for the duration, given as `trigger.for`; immediately without one.

        A wait for the same key is replaced. A duration that cannot be evaluated is a failure of the trigger.

        Args:
            key: The held key: an entity id.
            trigger: What fires; a template of the duration sees it, with a `for` that is None.
            context: The cause.
        """
        self.end(key)
        if self._duration is None:
            self._fire(trigger, context, None)
            return
        try:
            seconds = resolve_duration(
                self._duration, lambda value: render_value(value, self._host, trigger={**trigger, "for": None})
            )
        except (HubError, SchemaError) as error:
            self._host.fail(f"for: {error_text(error)}")
            return
        if seconds <= 0:
            self._fire(trigger, context, timedelta(0))
            return
        parts = self._host.parts
        wait = self._waits[key] = parts.tasks.spawn(
            self._wait(key, seconds, trigger, context), name=f"hold {key} for {self._host.automation_id}"
        )
        parts.holding.add(wait)
        wait.add_done_callback(parts.holding.discard)

    def end(self, key: str) -> None:
        """Stop waiting for this key."""
        task = self._waits.pop(key, None)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Stop all waits."""
        for key in list(self._waits):
            self.end(key)

    async def _wait(self, key: str, seconds: float, trigger: Mapping[str, Any], context: Context | None) -> None:
        await self._host.parts.clock.sleep(seconds)
        self._waits.pop(key, None)
        self._fire(trigger, context, timedelta(seconds=seconds))

    def _fire(self, trigger: Mapping[str, Any], context: Context | None, length: timedelta | None) -> None:
        tainted = context is not None and context.authority.tainted
        self._host.fire({**trigger, "for": length}, context, tainted=tainted)


def explain_for(said: str, duration: Any) -> str:
    """Add the duration for which the value has to hold to an explanation."""
    return phrase("{said} and stays so for {span}", said=said, span=span_of(duration)) if duration else said
