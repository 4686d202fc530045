"""The offline model: sentences in, text or tool calls out, in the form every other model answers in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime

from hub.core.ids import new_id
from hub.models.contract import (
    Message,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    Role,
    Stop,
    StopReason,
    TextDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
)
from integrations.models.offline.decide import decide
from integrations.models.offline.heartbeat import answer_heartbeat
from integrations.models.offline.recognizer import CHINESE, ENGLISH, Intent, Recognizer, language_of
from integrations.models.offline.steps import Call, Result, Say, Step

MODEL_ID = "homarus"
CONTEXT_WINDOW = 1_000_000
STEPS_LIMIT = 6

# The line that the hub puts before a user's words: [Sat 2026-11-21 12:51 CET, webchat, from Me]
_ENVELOPE = re.compile(r"\A\[\w{3} (\d{4}-\d\d-\d\d \d\d:\d\d)[^\]\n]*\]\s*")


class OfflineProvider:
    """Answers from sentence patterns; needs no key and no network, and costs nothing.

    Args:
        name: Of the provider.
        now: Local time, for requests that bring none.
    """

    def __init__(self, name: str, now: Callable[[], datetime]) -> None:
        self.name = name
        self._now = now
        self._recognizers = {language: Recognizer(language) for language in (ENGLISH, CHINESE)}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        said, results = last_turn(request.messages)
        text, now = unwrap(said)
        language = language_of(text)
        tools = {tool.name for tool in request.tools}
        step: Step
        if (beat := answer_heartbeat(text, language)) is not None:
            step = Say(beat)
        else:
            intent = await self._recognize(text, language)
            step = decide(intent, results, language=language, now=now or self._now(), tools=tools)
        if isinstance(step, Call) and len(results) >= STEPS_LIMIT:
            step = Say(results[-1].output)
        match step:
            case Say(answer):
                yield TextDelta(answer)
            case Call(tool, arguments):
                yield ToolCallEvent(ToolCallBlock(f"offline-{new_id()}", tool, arguments))
        yield UsageEvent(Usage(cost_usd=0.0))
        yield Stop(StopReason.TOOL_CALLS if isinstance(step, Call) else StopReason.END)

    async def models(self) -> list[ModelInfo]:
        """Return the one model there is."""
        return [
            ModelInfo(
                id=MODEL_ID,
                provider=self.name,
                context_window=CONTEXT_WINDOW,
                input_usd=0.0,
                output_usd=0.0,
                name="Offline sentences",
            )
        ]

    async def close(self) -> None:
        """There is nothing to give up."""

    async def _recognize(self, text: str, language: str) -> Intent | None:
        recognizer = self._recognizers[language]
        if not recognizer.loaded:
            await asyncio.to_thread(recognizer.load)
        return recognizer.recognize(text)


def last_turn(messages: Sequence[Message]) -> tuple[str, list[Result]]:
    """Return what was last said by the user and the tool results since."""
    results: list[Result] = []
    for message in reversed(messages):
        if message.role is Role.USER:
            return message.text, results[::-1]
        if message.role is Role.TOOL:
            results.append(Result(message.tool_name or "", message.text, message.is_error))
    return "", results[::-1]


def unwrap(said: str) -> tuple[str, datetime | None]:
    """Return a message without its envelope, and the local time the envelope tells."""
    match = _ENVELOPE.match(said)
    if match is None:
        return said, None
    # Local time of the home, whose zone does not matter for what is told from it.
    return said[match.end() :], datetime.strptime(match[1], "%Y-%m-%d %H:%M")  # noqa: DTZ007
