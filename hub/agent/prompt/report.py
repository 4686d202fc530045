"""The size of each part of what a model is sent before a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from hub.agent.agents import Agent
from hub.agent.compaction.entry import compactions_in
from hub.agent.conversation.window import estimate_text
from hub.agent.parts import RunDependencies
from hub.agent.prompt.facts import PromptScene, prompt_facts
from hub.agent.prompt.prompts import spec_bytes, spec_tokens
from hub.core.context import Authority
from hub.models.contract import ToolSpec


class PartSize(Struct, frozen=True):
    """The size of a part.

    Attributes:
        kind: prompt | tool | found; tools that are found are not sent until then.
        name: The name of the part.
        raw_chars: Characters without limits.
        bytes: As it is sent.
        tokens: Of that, estimated.
    """

    kind: str
    name: str
    raw_chars: int
    bytes: int
    tokens: int


class PromptReport(Struct, frozen=True):
    """The prompt before a conversation, and how full the window is.

    Attributes:
        agent_id, session_key, model: The agent, session and model of the call.
        mode: How much of the prompt is included.
        window: Tokens that the model takes.
        context_tokens: Tokens of the last request, if there was one.
        compactions: How often the conversation was summarised.
        parts: Everything, in the order in which it is sent.
    """

    agent_id: str
    session_key: str
    model: str
    mode: str
    window: int
    context_tokens: int
    compactions: int
    parts: Sequence[PartSize]

    def total(self, kind: str) -> PartSize:
        """Return the sum of all parts of a kind."""
        parts = [each for each in self.parts if each.kind == kind]
        return PartSize(
            kind,
            str(len(parts)),
            sum(each.raw_chars for each in parts),
            sum(each.bytes for each in parts),
            sum(each.tokens for each in parts),
        )

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        data = asdict(self)
        data["parts"] = [asdict(each) for each in self.parts]
        data["totals"] = {kind: asdict(self.total(kind)) for kind in ("prompt", "tool", "found")}
        return data


async def explain_prompt(parts: RunDependencies, agent: Agent, session_key: str, authority: Authority) -> PromptReport:
    """Return the sizes of what a model would be sent now.

    Raises:
        HubError: There is no model.
    """
    session = parts.sessions.get(session_key)
    compactions = 0
    if session is not None:
        transcript = await parts.sessions.open_transcript(session)
        compactions = compactions_in(transcript.branch())
    resolved = await parts.models.resolve((session and session.model) or agent.model)
    thinking = (session and session.thinking) or agent.thinking
    taken = parts.skills.in_conversation(session_key) if parts.skills is not None else None
    if parts.skills is not None and taken is None:
        session_id = session.session_id if session is not None else None
        taken = await parts.skills.snapshot(agent.id, session_key, session_id, agent.skills, None)
    skills = taken.listing if taken is not None else ""
    facts = prompt_facts(parts, PromptScene(agent, session_key, authority, resolved.ref, session, thinking, skills))
    policies = agent.policies_in(session_key, authority, parts.tools.rules, resolved.ref)
    prompt = parts.prompts.of(facts, parts.tools.available(authority, policies))
    sizes = [
        PartSize("prompt", part.name, part.raw_chars, len(part.text.encode()), estimate_text(part.text))
        for part in prompt.parts
    ]
    sizes += [_tool("tool", spec) for spec in prompt.specs]
    sizes += [_tool("found", spec) for spec in prompt.found]
    return PromptReport(
        agent.id,
        session_key,
        resolved.ref,
        facts.mode.value,
        agent.window(resolved.info),
        session.context_tokens if session is not None else 0,
        compactions,
        tuple(sizes),
    )


def _tool(kind: str, spec: ToolSpec) -> PartSize:
    size = spec_bytes(spec)
    return PartSize(kind, spec.name, size, size, spec_tokens(spec))
