"""What the loop acts through in a real run: the registry's models with failover, and the one way to invoke a tool."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agent
from hub.agent.conversation import RunConversation
from hub.agent.parts import RunDependencies
from hub.agent.run_request import RunRequest
from hub.agent.whose_words import speaker
from hub.agent.window import Window, budget_for, estimate_text
from hub.core.context import Context
from hub.models.contract import ModelEvent, ModelRequest, ToolCallBlock, ToolSpec
from hub.models.failover import Attempt, stream_with_failover
from hub.models.resolved import Resolved
from hub.tools.contract import Tool, ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool

_log = logging.getLogger(__name__)

TOOL_TOKENS = 60
"""What a tool costs beside its description and parameters' names, estimated once."""


class RunConfig(Struct, frozen=True):
    """What a run goes by: who answers, with which prompt, models and tools.

    Attributes:
        agent: Who answers.
        system: The system prompt.
        candidates: Models to try, in order.
        tools: Tools it is told of.
        thinking: How much it thinks.
    """

    agent: Agent
    system: str
    candidates: Sequence[Resolved]
    tools: Sequence[Tool]
    thinking: str | None


class RunPorts:
    """The ports of one run.

    Attributes:
        model: `provider/id` of the model that was asked last.
        window: What it was sent.
        heard_outside: Whether words from outside were before the model: what it says since may be theirs.
        tainted: Whether they narrow what it may do; not while the owner has lifted that.
        results: Results of tool calls that have ended, by the identity of the call.
    """

    def __init__(
        self,
        parts: RunDependencies,
        request: RunRequest,
        context: Context,
        conversation: RunConversation,
        brief: RunConfig,
    ) -> None:
        self.model = brief.candidates[0].ref
        self.window: Window | None = None
        self.heard_outside = False
        self.tainted = False
        self.results: dict[int, ToolResult] = {}
        self._parts = parts
        self._request = request
        self._context = context
        self._conversation = conversation
        self._speaker = speaker(context.authority)
        self._brief = brief
        self._specs = tuple(ToolSpec(tool.name, tool.description, tool.parameters.json_schema) for tool in brief.tools)
        self._fixed_tokens = estimate_text(brief.system) + sum(
            estimate_text(spec.description) + TOOL_TOKENS for spec in self._specs
        )
        self._session_key = None if request.ephemeral else request.session_key

    def stream(self, *, halvings: int) -> AsyncIterator[ModelEvent]:
        """See `Ports.stream`."""
        return stream_with_failover(
            self._brief.candidates,
            lambda resolved: self._model_request(resolved, halvings),
            policy=self._parts.models.retry_policy,
            on_attempt=self._attempted,
            sleep=self._parts.clock.sleep,
        )

    def parallel_safe(self, call: ToolCallBlock) -> bool:
        """See `Ports.parallel_safe`; what does not exist does no harm beside others."""
        tool = self._parts.tools.get(call.name)
        return tool is None or tool.annotations.parallel_safe

    def estimated_tokens(self) -> int:
        """See `Ports.estimated_tokens`."""
        return self._fixed_tokens + (self.window.tokens if self.window is not None else 0)

    async def invoke(self, call: ToolCallBlock) -> ToolResult:
        """See `Ports.invoke`; tells the bus when a call begins and ends."""
        parts, request = self._parts, self._request
        authority = self._context.authority
        if self.tainted and not authority.tainted:
            authority = authority.narrow(tainted=True)
        context = self._context.child(authority)
        asked = ToolCallRequest.from_block(
            call,
            context,
            agent_id=request.agent_id,
            session_key=request.session_key,
            run_id=request.run_id,
            policies=self._brief.agent.tool_policies,
        )
        facts: dict[str, Any] = {
            "run_id": request.run_id,
            "session_key": request.session_key,
            "agent_id": request.agent_id,
            "call_id": call.id,
            "name": call.name,
        }
        arguments = call.arguments if call.malformed is None else call.malformed
        parts.bus.fire("run_tool_started", {**facts, "arguments": arguments}, context)
        begun = parts.clock.monotonic()
        result = await invoke_tool(parts.tools, asked, redact=parts.redactor.redact)
        self.results[id(call)] = result
        told = {
            "is_error": result.is_error,
            "output": result.output,
            "details": dict(result.details),
            "duration_ms": round((parts.clock.monotonic() - begun) * 1_000, 3),
        }
        parts.bus.fire("run_tool_finished", {**facts, **told}, context)
        return result

    def _model_request(self, resolved: Resolved, halvings: int) -> ModelRequest:
        info = resolved.info
        window = self._conversation.window(budget_for(info, self._fixed_tokens), halvings=halvings)
        self.window = window
        taint = self._conversation.taint()
        self.heard_outside = self.heard_outside or taint.is_heard(self._speaker)
        self.tainted = self.tainted or taint.restricts(self._speaker, self._request.run_id)
        return ModelRequest(
            model=info.id,
            system=self._brief.system,
            messages=window.messages,
            tools=self._specs,
            thinking=self._brief.thinking,
            session_key=self._session_key,
            timeout_s=resolved.timeout_s,
            extra={**resolved.params, **self._brief.agent.params} if self._brief.agent.params else resolved.params,
        )

    def _attempted(self, attempt: Attempt) -> None:
        self.model = attempt.candidate.ref
        if attempt.error is not None:
            _log.warning(
                "run %s: call %d goes to %s after %.1f s, since the one before failed: %s",
                self._request.run_id,
                attempt.number,
                attempt.candidate.ref,
                attempt.delay_s,
                attempt.error.message,
            )
