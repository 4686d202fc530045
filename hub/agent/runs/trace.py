"""The trace of one run: when each model call and each tool call began and ended. Keeping it costs a list entry a step.

What was said is not in it: that is in the transcript, under the run's id, and is deleted with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.models.contract import Usage

STEPS_LIMIT = 200
"""Steps of one trace, failed attempts included; further ones are counted and not kept."""
TEXT_LIMIT = 300
"""Characters of a name or a reason."""


class ModelCallTrace(Struct):
    """A call of a model; times on the monotonic clock.

    Attributes:
        model: `provider/id` of the one that was asked last.
        prompt_tokens: About how many tokens it was sent.
        first_s: When it began to speak or to think.
        failed: The attempts before: `{model, code, message, waited_ms}`.
        error: Code of the error that ended it.
    """

    begun_s: float
    model: str = ""
    prompt_tokens: int = 0
    first_s: float | None = None
    ended_s: float | None = None
    usage: Usage | None = None
    failed: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None


class ToolCallTrace(Struct):
    """A call of a tool."""

    begun_s: float
    name: str
    call_id: str
    ended_s: float | None = None
    is_error: bool = False


class RunNote(Struct):
    """Something else: a message was heard (`steered`), or the conversation was compacted (`compaction`)."""

    begun_s: float
    kind: str
    ended_s: float
    data: Mapping[str, Any]


Step = ModelCallTrace | ToolCallTrace | RunNote


class RunTrace:
    """Collects the steps of one run.

    Attributes:
        dropped: How many steps are not kept.
        prompt: What every model call is sent before the conversation: `{tokens, system_chars, tools}`.
    """

    __slots__ = ("_clock", "_kept", "_model", "_steps", "_wall_offset_s", "dropped", "prompt")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall_offset_s = clock.time() - clock.monotonic()
        self._steps: list[Step] = []
        self._kept = 0
        self._model: ModelCallTrace | None = None
        self.dropped = 0
        self.prompt: Mapping[str, int] = {}

    def asked(self, model: str) -> None:
        """A model is asked; a call that is still open was given up for it."""
        self.model_ended("CONTEXT_OVERFLOW")
        self._model = call = ModelCallTrace(self._clock.monotonic(), model)
        self._keep(call)

    def asked_again(self, failed: str, error: HubError, waited_s: float, model: str) -> None:
        """A model did not answer, and another or the same one is asked."""
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

    def sent(self, tokens: int) -> None:
        """Note about how many tokens the model is sent."""
        if self._model is not None:
            self._model.prompt_tokens = tokens

    def spoke(self) -> None:
        """The model says something; the first time is kept."""
        call = self._model
        if call is not None and call.first_s is None:
            call.first_s = self._clock.monotonic()

    def used(self, usage: Usage) -> None:
        """Note what the model call that is open has used."""
        if self._model is not None:
            self._model.usage = usage

    def model_ended(self, error: str | None = None) -> None:
        """The model call that is open, if one is, has ended."""
        call, self._model = self._model, None
        if call is not None:
            call.ended_s, call.error = self._clock.monotonic(), error

    def tool_begun(self, name: str, call_id: str) -> ToolCallTrace:
        """A tool is called; `tool_ended` takes what this returns."""
        call = ToolCallTrace(self._clock.monotonic(), name[:TEXT_LIMIT], call_id[:TEXT_LIMIT])
        self._keep(call)
        return call

    def tool_ended(self, call: ToolCallTrace, *, is_error: bool) -> float:
        """A tool has its result; return how long it took, in milliseconds."""
        call.ended_s, call.is_error = self._clock.monotonic(), is_error
        return round((call.ended_s - call.begun_s) * 1_000, 3)

    def note(self, kind: str, begun_s: float, data: Mapping[str, Any]) -> None:
        """Something else happened since `begun_s`."""
        self._keep(RunNote(begun_s, kind, self._clock.monotonic(), data))

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as plain data; `at_ms` in milliseconds since the epoch."""
        return {"prompt": self.prompt, "steps": [self._shown(step) for step in self._steps], "dropped": self.dropped}

    def _keep(self, step: Step) -> None:
        if self._has_room():
            self._steps.append(step)

    def _has_room(self) -> bool:
        if self._kept >= STEPS_LIMIT:
            self.dropped += 1
            return False
        self._kept += 1
        return True

    def _shown(self, step: Step) -> dict[str, Any]:
        ended_s = step.ended_s
        times = {
            "at_ms": round((step.begun_s + self._wall_offset_s) * 1_000),
            "duration_ms": None if ended_s is None else round((ended_s - step.begun_s) * 1_000, 3),
        }
        match step:
            case ModelCallTrace():
                return {
                    "kind": "model",
                    **times,
                    "first_ms": None if step.first_s is None else round((step.first_s - step.begun_s) * 1_000, 3),
                    "model": step.model,
                    "prompt_tokens": step.prompt_tokens,
                    "usage": step.usage.as_dict() if step.usage is not None else None,
                    "failed": step.failed,
                    "error": step.error,
                }
            case ToolCallTrace():
                return {
                    "kind": "tool",
                    **times,
                    "name": step.name,
                    "call_id": step.call_id,
                    "is_error": step.is_error,
                }
            case RunNote():
                return {"kind": step.kind, **times, **step.data}
