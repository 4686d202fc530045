"""Answers messages that match a sentence of an automation, instead of an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hub.automation.contract import RunOutcome
from hub.automation.engine.automation import EVENT_NOT_RUN
from hub.automation.engine.automation_runs import EVENT_FINISHED
from hub.core.context import Context
from hub.core.events import Event, EventBus
from hub.messaging.inbox.interceptor import Interceptor
from hub.messaging.inbox.sentence_matcher import SentenceMatch, Sentences
from hub.messaging.texts import say

ANSWER_LIMIT_S = 20.0
"""How long somebody waits for what an automation answers; it goes on behind that."""


class SpokenCommands:
    """Matches messages with sentences.

    Args:
        language: The language of the home, as configured now.
    """

    def __init__(self, sentences: Sentences, bus: EventBus, language: Callable[[], str]) -> None:
        self._sentences = sentences
        self._bus = bus
        self._language = language

    def interceptor(self) -> Interceptor:
        """Return the interceptor that lets automations answer messages."""
        return Interceptor(
            self._sentences.registered, lambda accepted: self.hear(accepted.message.text, accepted.context)
        )

    async def hear(self, text: str, context: Context) -> Callable[[], Awaitable[str]] | None:
        """Return a function that triggers the automation and returns its answer; None if no sentence matches.

        Args:
            text: The message.
            context: The context of the message; only people of this home are heard.
        """
        if context.authority.person is None:
            return None
        match = await self._sentences.match(text)
        if match is None:
            return None

        async def answer() -> str:
            return await self._answer(match, context.child())

        return answer

    async def _answer(self, match: SentenceMatch, context: Context) -> str:
        told: asyncio.Future[Event] = asyncio.get_running_loop().create_future()

        def tell(event: Event) -> None:
            if context.id in {event.context.id, event.context.parent_id} and not told.done():
                told.set_result(event)

        unlisten = [self._bus.listen(EVENT_FINISHED, tell), self._bus.listen(EVENT_NOT_RUN, tell)]
        try:
            match.fire(context)
            async with asyncio.timeout(ANSWER_LIMIT_S):
                event = await told
        except TimeoutError:
            return say("spoken.later", self._language())
        finally:
            for each in unlisten:
                each()
        return self._said(event.type, event.data)

    def _said(self, type: str, data: dict[str, Any]) -> str:
        if type == EVENT_NOT_RUN:
            return say("spoken.not_run", self._language(), reason=data["text"])
        if data["conversation_response"] is not None:
            return str(data["conversation_response"])
        if data["outcome"] in {RunOutcome.FINISHED, RunOutcome.STOPPED}:
            return say("spoken.done", self._language())
        return say("spoken.failed", self._language(), error=data["error"] or data["outcome"])
