"""A small model call outside conversations: rules and a few messages in, strictly parsed text out, bounded."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from hub.agent.agents import Agent
from hub.agent.loop import AnswerDraft
from hub.models.contract import (
    Message,
    ModelEvent,
    ModelRequest,
    Role,
    TextBlock,
    TextDelta,
    ToolSpec,
    Usage,
    UsageEvent,
    user_message,
)
from hub.models.failover import Attempt, stream_with_failover
from hub.models.registry import ModelRegistry
from hub.models.resolved import Resolved
from hub.models.vendors import OFFLINE

REPLY_LIMIT = 16_000


class SmallCall:
    """One small call.

    Args:
        agent: The agent whose parameters are used.
        system: The rules.
        messages: The prompt.
        timeout_s: How long one attempt may take at most.
        tools: Tools it may call; none by default.

    Attributes:
        model: The model that answered, or was asked last.
        usage: The usage, if reported.
    """

    def __init__(
        self,
        agent: Agent,
        system: str,
        messages: tuple[Message, ...],
        timeout_s: float,
        tools: tuple[ToolSpec, ...] = (),
    ) -> None:
        self.model = ""
        self.usage: Usage | None = None
        self._agent = agent
        self._system = system
        self._messages = messages
        self._timeout_s = timeout_s
        self._tools = tools

    async def run(self, models: ModelRegistry, candidates: list[Resolved]) -> str:
        """Return the answer text; see `ask`."""
        return (await self.ask(models, candidates)).text

    async def ask(self, models: ModelRegistry, candidates: list[Resolved]) -> Message:
        """Return the answer, its text cut at about `REPLY_LIMIT` characters.

        Raises:
            HubError: No candidate answered.

        Cancelling it ends the call of the model.
        """

        def request(resolved: Resolved) -> ModelRequest:
            return ModelRequest(
                model=resolved.info.id,
                system=self._system,
                messages=self._messages,
                tools=self._tools,
                timeout_s=min(resolved.timeout_s, self._timeout_s),
                extra={**resolved.params, **self._agent.params},
            )

        def attempted(attempt: Attempt) -> None:
            self.model = attempt.candidate.ref

        draft = AnswerDraft()
        length = 0
        stream = stream_with_failover(candidates, request, policy=models.retry_policy, on_attempt=attempted)
        async with aclosing(cast(AsyncGenerator[ModelEvent, None], stream)) as events:
            async for event in events:
                draft.add(event)
                if isinstance(event, TextDelta):
                    length += len(event.text)
                    if length > REPLY_LIMIT:
                        break
                elif isinstance(event, UsageEvent):
                    self.usage = event.usage
        return draft.turn().message


async def real_candidates(models: ModelRegistry, model: str | None) -> list[Resolved]:
    """Return the models that may answer; empty if none is configured.

    Raises:
        HubError: The model is not known.
    """
    return [each for each in await models.candidates(model) if is_real(each)]


def is_real(candidate: Resolved) -> bool:
    """Whether a model can make small calls: neither the offline model nor an agentic program."""
    return candidate.ref.partition("/")[0] != OFFLINE and not candidate.info.program


def read_object(reply: str) -> dict[str, Any]:
    """Return the single JSON object in a reply, without a code fence around it.

    Raises:
        ValueError: It is anything else.
    """
    text = reply.strip()
    if text.startswith("```") and text.endswith("```") and len(text) > 6:
        text = text[3:-3].removeprefix("json").strip()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError("the reply is not one JSON object")
    return found


def retry_messages(reply: str, problem: object, wanted: str) -> list[Message]:
    """Return the request to a model to answer again, after an unreadable reply.

    Args:
        reply: Its reply.
        problem: Why the reply cannot be read.
        wanted: What the reply must be.
    """
    again = f"That cannot be read: {problem}. Reply with exactly one JSON object {wanted}."
    return [Message(Role.ASSISTANT, (TextBlock(reply or "(nothing)"),)), user_message(again)]
