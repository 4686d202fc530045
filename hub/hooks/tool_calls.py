"""The hooks around a tool call, as called by `hub.tools.invoke`."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from hub.core.context import Context
from hub.core.errors import Forbidden
from hub.hooks.contract import AfterToolCall, BeforeToolCall
from hub.hooks.registry import Hooks
from hub.tools.contract import ToolCall, ToolResult


class ToolCallHooks:
    """Calls `before_tool_call` and `after_tool_call`; see `hub.tools.contract.AroundCalls`."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    async def before(self, call: ToolCall) -> Mapping[str, Any] | None:
        """See `AroundCalls.before`."""
        if BeforeToolCall.hook not in self._hooks.wanted:
            return None
        asked = BeforeToolCall(
            context=call.context,
            run_id=call.run_id,
            session_key=call.session_key,
            agent_id=call.agent_id,
            call_id=call.id,
            name=call.name,
            arguments=deepcopy(dict(call.arguments)),  # handlers may keep it, and change what they keep
        )
        answered = await self._hooks.modify(asked)
        if answered.block:
            raise Forbidden(f"{call.name} was not done: {answered.block}")
        return deepcopy(answered.arguments) if answered is not asked else None

    def after(self, facts: Mapping[str, str], context: Context, result: ToolResult, duration_ms: float) -> None:
        """See `AroundCalls.after`."""
        if AfterToolCall.hook in self._hooks.wanted:
            told = AfterToolCall(
                **facts, context=context, output=result.output, is_error=result.is_error, duration_ms=duration_ms
            )
            self._hooks.observe(told)
