"""The tools that give work away: sessions_spawn and subagents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.subagents.record import Subagent, SubagentState
from hub.agent.subagents.spawning import SpawnMode, SpawnRequest
from hub.agent.subagents.subagents import Subagents
from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, boolean, integer, slug, string
from hub.models.thinking import LEVELS
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

GROUP = "session"
TASK_LIMIT = 50_000
RESULT_SHOWN = 300
DELEGATES = Annotations(destructive=False, open_world=False, owner_only=False, egress=True)

_SPAWN = Schema(
    {
        Required("task", description="All it has to know: it does not see this conversation."): All(
            string, Length(min=1, max=TASK_LIMIT)
        ),
        Optional("label", description="A short name."): All(string, Length(min=1, max=64)),
        Optional("agent_id", description="Another agent, as agents_list names it."): slug,
        Optional("model"): All(string, Length(min=1, max=200)),
        Optional("thinking"): In(LEVELS),
        Optional("timeout", description="Seconds; 0 for no limit of its own."): All(integer, Range(min=0, max=604_800)),
        Optional("cleanup", default="keep", description="delete: drop its conversation once you had the result."): In(
            ("keep", "delete")
        ),
        Optional(
            "thread",
            default=False,
            description="Begin a thread for it in this chat: its result appears there, and people can reach it there.",
        ): boolean,
        Optional(
            "mode",
            description="With a thread. session, the default: people can write to it there also when it has ended; "
            "run: only while it works.",
        ): In([each.value for each in SpawnMode]),
    }
)
_SUBAGENTS = Schema(
    {
        Optional("action", default="list"): In(("list", "kill", "steer")),
        Optional("target", description="For kill and steer: id or label; for kill all too."): All(
            string, Length(min=1, max=2_048)
        ),
        Optional("message", description="For steer."): All(string, Length(min=1, max=TASK_LIMIT)),
    }
)


class DelegationTools:
    """The tools that give work away.

    Args:
        subagents: Starts and steers subagents.
    """

    def __init__(self, subagents: Subagents) -> None:
        self._subagents = subagents

    def all(self) -> list[Tool]:
        """Return the tools."""
        return [
            Tool(
                "sessions_spawn",
                "Give a task to a subagent that works in the background. Returns at once; the result comes to this "
                "conversation as a message when it has ended, so do not wait or ask for it.",
                from_schema(_SPAWN),
                self._spawn,
                GROUP,
                DELEGATES,
            ),
            Tool(
                "subagents",
                "List the subagents of this conversation, stop one (kill), or tell one at work something (steer).",
                from_schema(_SUBAGENTS),
                self._manage,
                GROUP,
                DELEGATES,
                approval=why_ask,
            ),
        ]

    async def _spawn(self, call: ToolCall) -> ToolResult:
        given = call.arguments
        spawned = await self._subagents.spawn(
            SpawnRequest(
                given["task"],
                call.context,
                call.session_key,
                call.agent_id,
                call.run_id,
                label=given.get("label", ""),
                target_agent=given.get("agent_id"),
                model=given.get("model"),
                thinking=given.get("thinking"),
                timeout_s=given.get("timeout"),
                delete=given["cleanup"] == "delete",
                thread=given["thread"],
                mode=SpawnMode(given["mode"]) if "mode" in given else None,
            )
        )
        accepted = {"status": "accepted", "run_id": spawned.run_id, "child_session_key": spawned.session_key}
        return ToolResult.of(accepted | {"id": spawned.id, "label": spawned.label})

    async def _manage(self, call: ToolCall) -> ToolResult:
        action, target = call.arguments["action"], call.arguments.get("target")
        if action == "list":
            found = self._subagents.below(call.session_key)
            outside = any(each.tainted and each.result for each in found)
            return ToolResult.of({"subagents": [_shown(each) for each in found]}, trusted=not outside)
        if target is None:
            raise InvalidRequest(f"target: expected the subagent to {action} (action list names them)")
        if action == "kill":
            if target == "all":
                return ToolResult.of({"status": "killed", "runs": self._subagents.stop_below(call.session_key)})
            found_one = self._subagents.find(call.session_key, target)
            return ToolResult.of({"status": "killed", "id": found_one.id, "runs": self._subagents.kill(found_one)})
        if "message" not in call.arguments:
            raise InvalidRequest("message: expected the message for the subagent")
        found_one = self._subagents.find(call.session_key, target)
        self._subagents.steer(found_one, call.arguments["message"], call.context.authority)
        return ToolResult.of({"status": "accepted", "id": found_one.id})


def why_ask(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why the owner has to approve a call: a subagent's task may hold words from outside."""
    if authority.tainted and arguments.get("action", "kill") != "list":
        return phrase("it stops or steers a subagent, and text that others wrote is in this conversation")
    return None


def _shown(each: Subagent) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": each.id,
        "label": each.label,
        "state": each.state.value,
        "agent_id": each.agent_id,
        "session_key": each.session_key,
        "created_ms": each.created_ms,
    }
    if each.state is not SubagentState.RUNNING:
        shown |= {"ended_ms": each.ended_ms, "tokens": each.tokens, "result": each.result[:RESULT_SHOWN]}
    return shown
