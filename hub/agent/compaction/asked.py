"""Compaction on request, between two runs: what `/compact` does."""

from __future__ import annotations

from msgspec import Struct

from hub.agent.budgets.ledger import Spender
from hub.agent.compaction.compact import Compacted, CompactionReason, CompactionRequest, NoSummary, compact
from hub.agent.parts import RunDependencies
from hub.agent.small_call import is_real
from hub.core.context import Context
from hub.core.errors import NotFound
from hub.core.lanes import Lanes
from hub.models.contract import Usage


class CompactionCall(Struct, frozen=True):
    """A request to compact a conversation; `instructions` say what the summary should contain."""

    agent_id: str
    session_key: str
    context: Context
    instructions: str = ""


async def compact_session(parts: RunDependencies, lanes: Lanes, call: CompactionCall) -> Compacted | None:
    """Compact a conversation after its current run; None when it is too short.

    Raises:
        NotFound: There is no such conversation or agent.
        NoSummary: No model gave a usable summary.
        HubError: It cannot be read or written, or its model is unknown.
    """
    async with lanes.hold(f"session:{call.session_key}", call.context):
        session = parts.sessions.get(call.session_key)
        if session is None:
            raise NotFound(f"there is no session {call.session_key}", details={"session_key": call.session_key})
        agent = parts.agents.get(call.agent_id)
        candidates = await parts.models.candidates(
            session.model or agent.model, session_key=call.session_key, credentials=agent.credentials
        )
        if not any(is_real(each) for each in agent.within(candidates)):
            raise NoSummary("no model but the offline one is set up, and it cannot summarise")
        transcript = await parts.sessions.open_transcript(session)
        conversation = parts.conversations.of(session.session_id, transcript, parts.workspaces.zone())
        done = await compact(
            parts,
            conversation,
            CompactionRequest(
                agent,
                call.session_key,
                call.context,
                agent.within(candidates),
                CompactionReason.ASKED,
                Spender("", call.session_key, session.session_id, agent.id, None),
                instructions=call.instructions,
            ),
        )
        if done is not None:
            parts.sessions.add_usage(call.session_key, Usage(), turns=0, context_tokens=done.tokens_after)
        return done
