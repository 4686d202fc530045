"""The trace of one run: when each model and tool call began and ended. Recording costs a list entry a step.

What was said is not in it: that is in the transcript, under the run's id, and is deleted with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from msgspec import Struct, field, to_builtins

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.models.contract import Usage

STEPS_LIMIT = 200
"""Steps of one trace, failed attempts included; further ones are counted and not kept."""
TEXT_LIMIT = 300
"""Characters of a name or a reason."""
NOT_KEPT = re.compile(r"(MEMORY|USER)\.md|memory/.*")
"""Parts of a prompt whose words are kept in memory alone: what is forgotten there is gone."""
TOOLS = "tools"
"""The piece that describes the tools."""
PIECES_KNOWN = 256
"""Pieces whose name is known again: most runs are sent the same ones."""


class ModelCallTrace(Struct, tag_field="kind", tag="model"):
    """One model call.

    Attributes:
        at_ms: When it began, in milliseconds since the epoch.
        duration_ms: The time until it ended.
        first_ms: The time until it began to speak or to think.
        model: `provider/id` of the one that was asked last.
        prompt_tokens: About how many tokens it was sent.
        messages: How many messages of the conversation it was sent.
        sent_bytes: The size of each request sent over the network for it.
        failed: The attempts before: `{model, code, message, waited_ms}`.
        error: Code of the error that ended it.
    """

    at_ms: float
    model: str
    duration_ms: float | None = None
    first_ms: float | None = None
    prompt_tokens: int = 0
    messages: int = 0
    sent_bytes: list[int] = field(default_factory=list)
    usage: Mapping[str, Any] | None = None
    failed: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None


class ToolCallTrace(Struct, tag_field="kind", tag="tool"):
    """One tool call."""

    at_ms: float
    name: str
    call_id: str
    duration_ms: float | None = None
    is_error: bool = False


class RunTrace:
    """Collects the steps of one run.

    Attributes:
        dropped: How many steps are not kept.
        prompt: What every model call is sent before the conversation: `{tokens, system_chars, tools}`.
        parts: The parts of the prompt by name, in order; their texts are stored separately, once for all runs.
    """

    __slots__ = ("_clock", "_kept", "_model", "_steps", "_wall_offset_s", "dropped", "parts", "prompt")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall_offset_s = clock.time() - clock.monotonic()
        self._steps: list[ModelCallTrace | ToolCallTrace | dict[str, Any]] = []
        self._kept = 0
        self._model: ModelCallTrace | None = None
        self.dropped = 0
        self.prompt: Mapping[str, int] = {}
        self.parts: tuple[tuple[str, str], ...] = ()

    def model_started(self, model: str) -> None:
        """Record that a model is called; a call that is still open counts as given up."""
        self.model_ended("CONTEXT_OVERFLOW")
        self._model = call = ModelCallTrace(self._ms(self._clock.monotonic()), model)
        self._keep(call)

    def model_retried(self, failed: str, error: HubError, waited_s: float, model: str) -> None:
        """Record a failed attempt, after which the same or another model is called."""
        call = self._model
        if call is None:
            return
        call.model = model
        if self._has_room():
            call.failed.append(
                {
                    "model": failed,
                    "code": error.code,
                    "message": error.message[:TEXT_LIMIT],
                    "waited_ms": round(waited_s * 1_000),
                }
            )

    def record_request(self, tokens: int, messages: int) -> Callable[[int], object] | None:
        """Note about how many tokens and messages the model is sent; return what notes the bytes of each request."""
        if self._model is None:
            return None
        self._model.prompt_tokens, self._model.messages = tokens, messages
        return self._model.sent_bytes.append

    def spoke(self) -> None:
        """Record output of the model; only the first time is kept."""
        call = self._model
        if call is not None and call.first_ms is None:
            call.first_ms = self._since(call.at_ms)

    def record_usage(self, usage: Usage) -> None:
        """Record the usage of the open model call."""
        if self._model is not None:
            self._model.usage = usage.as_dict()

    def model_ended(self, error: str | None = None) -> None:
        """Record the end of the open model call, if any."""
        call, self._model = self._model, None
        if call is not None:
            call.duration_ms, call.error = self._since(call.at_ms), error

    def tool_begun(self, name: str, call_id: str) -> ToolCallTrace:
        """Record a tool call; pass the returned value to `tool_ended`."""
        call = ToolCallTrace(self._ms(self._clock.monotonic()), name[:TEXT_LIMIT], call_id[:TEXT_LIMIT])
        self._keep(call)
        return call

    def tool_ended(self, call: ToolCallTrace, *, is_error: bool) -> float:
        """Record the result of a tool call; return its duration in milliseconds."""
        call.duration_ms, call.is_error = self._since(call.at_ms), is_error
        return call.duration_ms

    def note(self, kind: str, begun_s: float, data: Mapping[str, Any]) -> None:
        """Record another event since `begun_s`: a steered message (`steered`) or a `compaction`."""
        at_ms = self._ms(begun_s)
        self._keep({"kind": kind, "at_ms": at_ms, "duration_ms": self._since(at_ms), **data})

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as plain data; `at_ms` in milliseconds since the epoch."""
        steps = [to_builtins(step) for step in self._steps]
        shown = [{**step, "at_ms": round(step["at_ms"])} for step in steps]
        parts = [
            {"name": name, "chars": len(text), "piece": "" if NOT_KEPT.fullmatch(name) else _named(text)}
            for name, text in self.parts
        ]
        prompt = {**self.prompt, "parts": parts} if parts else self.prompt
        return {"prompt": prompt, "steps": shown, "dropped": self.dropped}

    def pieces(self) -> dict[str, str]:
        """Return what every call was sent before the conversation, by the name under which a piece is kept."""
        return {_named(text): text for name, text in self.parts if not NOT_KEPT.fullmatch(name)}

    def _ms(self, monotonic_s: float) -> float:
        return (monotonic_s + self._wall_offset_s) * 1_000

    def _since(self, at_ms: float) -> float:
        return round((self._clock.monotonic() + self._wall_offset_s) * 1_000 - at_ms, 3)

    def _keep(self, step: ModelCallTrace | ToolCallTrace | dict[str, Any]) -> None:
        if self._has_room():
            self._steps.append(step)

    def _has_room(self) -> bool:
        if self._kept >= STEPS_LIMIT:
            self.dropped += 1
            return False
        self._kept += 1
        return True


@lru_cache(maxsize=PIECES_KNOWN)
def _named(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
