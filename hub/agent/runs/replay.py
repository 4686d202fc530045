"""Repeats a run's input with a model, as a run that stores nothing and has read-only tools."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from hub.agent.conversation.conversation import RunConversation
from hub.agent.conversation.ephemeral import NoFile
from hub.agent.parts import RunDependencies
from hub.agent.run_request import RunRequest
from hub.core.context import Context, ToolPolicy
from hub.core.errors import NotFound
from hub.core.ids import new_id
from hub.models.contract import Message
from hub.sessions.entry import TranscriptEntry, user_entry_id
from hub.sessions.keys import direct_key
from hub.sessions.transcript import Transcript

CHANNEL = "api"
"""The channel of conversations that a program keeps itself."""
WHOLE = 1 << 40
"""Tokens that no conversation has: nothing is left out here, but what does not fit into the other model's window."""


def replay_request(
    parts: RunDependencies, transcript: Transcript, run_id: str, agent_id: str, model: str, context: Context
) -> RunRequest:
    """Return the request of a replayed run.

    It may only use tools that read what this home has, whatever its context permits.

    Args:
        transcript: The transcript of the other run.
        run_id: The other run.
        agent_id: Its agent.
        model: The model to answer now.
        context: The requester's.

    Raises:
        NotFound: What it was asked is not kept.
    """
    said = transcript.get(user_entry_id(run_id))
    if said is None or said.message is None:
        raise NotFound(f"the request of the run {run_id[:100]!r} is no longer stored", details={"run_id": run_id[:100]})
    *history, shown = messages_up_to(transcript, said, parts.workspaces.zone())
    reading = [tool.name for tool in parts.tools.all() if tool.annotations.read_only and not tool.annotations.egress]
    policy = ToolPolicy(allow=frozenset(reading), source="replay")
    own_id = new_id()
    return RunRequest(
        run_id=own_id,
        agent_id=agent_id,
        session_key=direct_key(agent_id, own_id, channel=CHANNEL),
        # Words from outside stay quoted; those of this home are put into an envelope again.
        message=said.message if said.provenance.trusted else shown,
        context=context.child(context.authority.narrow(policy=policy)),
        model=model,
        history=tuple(history),
        channel=said.data.get("channel"),
        area=said.data.get("area"),
        sender_name=said.data.get("sender"),
    )


def messages_up_to(transcript: Transcript, last: TranscriptEntry, zone: tzinfo) -> Sequence[Message]:
    """Return what a model was sent of a conversation, up to an entry."""
    entries = [last]
    while (parent := transcript.get(entries[-1].parent_id or "")) is not None:
        entries.append(parent)
    entries.reverse()
    return RunConversation(Transcript(NoFile(), entries), zone).window(WHOLE).messages
