"""The demo's models: they answer from the story, with its tools, and say that they are not real."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random

from msgspec.structs import replace

from hub.core.ids import new_id
from hub.core.states import StateMachine
from hub.models.contract import (
    Message,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    Overloaded,
    Role,
    StopEvent,
    StopReason,
    TextDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
)
from integrations.devices.demo.story import Answer, Story

SONNET, HAIKU = "sonnet", "haiku"
CHARACTERS_A_TOKEN = 4
FIRST_WORD_S = (0.4, 0.9)
WORD_S = 0.025

# The line that the hub puts before a person's words: [Sat 2026-11-21 12:51 CET, webchat, from Ada]
_ENVELOPE = re.compile(r"\A\[\w{3} \d{4}-\d\d-\d\d[^\]\n]*\]\s*")
_STATE = re.compile(r"\{([a-z_]+\.[a-z0-9_]+)\}")
_WORD = re.compile(r"\S+\s*|\s+")

Pause = Callable[[float], Awaitable[None]]


class DemoProvider:
    """Two models, one better and dearer than the other, that answer from a story.

    Args:
        name: The name of the provider.
        story: Their knowledge.
        states: The states that answers name.
        pause: Lets seconds pass.
    """

    def __init__(self, name: str, story: Story, states: StateMachine, pause: Pause) -> None:
        self.name = name
        self._story = story
        self._states = states
        self._pause = pause
        self._models = {
            each.id: each
            for each in (
                ModelInfo(SONNET, name, 200_000, 64_000, 15.0, 75.0, 1.5, 18.75, images=True, name="Demo Sonnet"),
                ModelInfo(HAIKU, name, 200_000, 32_000, 4.0, 20.0, 0.4, 5.0, images=True, name="Demo Haiku"),
            )
        }

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        said, results = _last_turn(request.messages)
        answer = self._answer_to(said)
        info = self._models.get(request.model, self._models[SONNET])
        seed = Random(f"{said}{len(results)}")  # noqa: S311  the same each time
        await self._pause(seed.uniform(*FIRST_WORD_S))
        if answer.fails and info.id == SONNET:
            raise Overloaded("the model is overloaded (529)")
        offered = {tool.name for tool in request.tools}
        steps = [step for step in answer.steps if step.tool in offered]
        failed = any(each.is_error for each in results)
        written = 0
        calls = len(results) < len(steps) and not failed
        if calls:
            step = steps[len(results)]
            yield ToolCallEvent(ToolCallBlock(f"demo-{new_id()}", step.tool, dict(step.arguments)))
            written = len(str(step.arguments))
        else:
            text = self._with_states(answer.otherwise if failed and answer.otherwise else answer.says)
            for word in _WORD.findall(text):
                await self._pause(WORD_S)
                yield TextDelta(word)
            written = len(text)
        usage = _usage(request, written)
        yield UsageEvent(replace(usage, cost_usd=info.cost_usd(usage)))
        yield StopEvent(StopReason.TOOL_CALLS if calls else StopReason.END)

    async def models(self) -> list[ModelInfo]:
        """Return both."""
        return list(self._models.values())

    async def close(self) -> None:
        """Do nothing: no connection is held."""

    def _answer_to(self, said: str) -> Answer:
        known = (answer for answer in self._story.answers if answer.knows(said))
        return next(known, Answer((), self._story.general))

    def _with_states(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            state = self._states.get(match[1])
            return "?" if state is None else self._story.names.get(f"state_{state.state}", state.state)

        return _STATE.sub(value, text)


def _last_turn(messages: tuple[Message, ...]) -> tuple[str, list[Message]]:
    """Return what was said last, and the results of tools since."""
    results: list[Message] = []
    for message in reversed(messages):
        if message.role is Role.USER:
            return _ENVELOPE.sub("", message.text), results
        if message.role is Role.TOOL:
            results.append(message)
    return "", results


def _usage(request: ModelRequest, written: int) -> Usage:
    """Return the tokens of a call: the prompt comes from the cache, the conversation is new."""
    fixed = len(request.system) + sum(len(str(tool.parameters)) + len(tool.description) for tool in request.tools)
    spoken = sum(len(message.text) for message in request.messages)
    return Usage(spoken // CHARACTERS_A_TOKEN + 180, written // CHARACTERS_A_TOKEN + 20, fixed // CHARACTERS_A_TOKEN)
