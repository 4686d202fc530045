"""The request for a subagent, and what it inherits from its requester: a session key and rights."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.parts import RunDependencies
from hub.agent.subagents.record import Subagent
from hub.core.context import Authority, Context, ToolPolicy
from hub.core.errors import Forbidden, InvalidRequest
from hub.hooks.contract import SubagentSpawning
from hub.models.thinking import LEVELS
from hub.sessions.keys import SessionKey, SessionKind, subagent_key
from hub.sessions.privacy import MEMORY_TOOLS, is_personal

LABEL_LIMIT = 64
NEVER = frozenset({"sessions_send", "schedule", "ask_user", "ask_secret", "gateway", "cron"})
LEAF = frozenset({"sessions_*", "subagents", "agents_list"})
"""Tools that no subagent has, and those that one without subagents of its own has not."""


class SpawnMode(StrEnum):
    """How long the thread of a subagent is its own."""

    RUN = "run"
    SESSION = "session"


class SpawnRequest(Struct, frozen=True):
    """A task for a subagent.

    Attributes:
        task: Its task.
        context: The context of the call, with the rights that are handed on.
        session_key, agent_id, run_id: The requester.
        label: A short name.
        target_agent: The agent that does it; the asking one without.
        model, thinking: Instead of the configured ones.
        timeout_s: Instead of the configured one; 0 leaves it to the agent's limit.
        delete: Whether its conversation is deleted once its result was heard.
        thread: Whether it gets a thread in the requester's chat.
        mode: run: the thread is its own until it has ended; session: also then. Without, it is session where a thread
            was opened for it and its conversation stays.
    """

    task: str
    context: Context
    session_key: str
    agent_id: str
    run_id: str
    label: str = ""
    target_agent: str | None = None
    model: str | None = None
    thinking: str | None = None
    timeout_s: float | None = None
    delete: bool = False
    thread: bool = False
    mode: SpawnMode | None = None


def subagent_rights(parts: RunDependencies, request: SpawnRequest, *, leaf: bool) -> Authority:
    """Return the rights of a subagent: its requester's, without tools that subagents may not use.

    Args:
        parts: Knows agents and the rules of tools.
        request: The request.
        leaf: Whether it has no subagents itself.
    """
    authority = request.context.authority
    deny = NEVER | LEAF if leaf else NEVER
    if not is_personal(request.session_key):
        deny |= {MEMORY_TOOLS}  # what was begun in a room must not see the memory of who asked
    if request.target_agent not in (None, request.agent_id):
        for policy in parts.agents.get(request.agent_id).policies(parts.tools.rules, None):
            authority = authority.narrow(policy=policy)
    return authority.narrow(policy=ToolPolicy(deny=deny, source="subagents"))


def policies_of_subagent(parts: RunDependencies, subagent: Subagent) -> tuple[ToolPolicy, ...]:
    """Return the policies that narrow a subagent's tools, as they were when it began."""
    context, agents = Context(subagent.authority), parts.agents
    asked = SpawnRequest(
        "", context, subagent.requester_key, subagent.requester_agent, "", target_agent=subagent.agent_id
    )
    leaf = subagent.depth >= agents.get(subagent.requester_agent).subagents.max_depth
    return subagent_rights(parts, asked, leaf=leaf).tool_policies


async def ask_before_spawning(parts: RunDependencies, request: SpawnRequest, agent_id: str, depth: int) -> SpawnRequest:
    """Return a request as changed by the handlers of `subagent_spawning`.

    Raises:
        Forbidden: One of them refuses it.
        InvalidRequest: One of them chose a level of thinking that there is not.
    """
    hooks, settings = parts.hooks, parts.agents.get(request.agent_id).subagents
    if hooks is None or SubagentSpawning.hook not in hooks.wanted:
        return request
    asked = SubagentSpawning(
        context=request.context,
        requester_key=request.session_key,
        agent_id=agent_id,
        depth=depth,
        task=request.task,
        label=request.label,
        model=request.model or settings.model,
        thinking=request.thinking or settings.thinking,
    )
    chosen = await hooks.modify(asked)
    if chosen.block:
        raise Forbidden(f"a hook refused the subagent: {chosen.block}")
    if chosen.thinking not in (None, *LEVELS):
        raise InvalidRequest(f"a hook chose the thinking level {chosen.thinking!r}; there are {', '.join(LEVELS)}")
    return replace(request, label=chosen.label[:LABEL_LIMIT], model=chosen.model, thinking=chosen.thinking)


def child_key(requester_key: str, agent_id: str, id: str) -> str:
    """Return the key of a subagent's session: nested in its requester's when both belong to the same agent."""
    try:
        above = SessionKey.parse(requester_key)
    except InvalidRequest:
        return subagent_key(agent_id, id)
    if above.kind is not SessionKind.SUBAGENT or above.agent != agent_id or above.id is None:
        return subagent_key(agent_id, id)
    return subagent_key(agent_id, id, within=(*above.within, above.id))
