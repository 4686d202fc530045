"""The facts behind an agent's prompt in one conversation, gathered for a run or for a report."""

from __future__ import annotations

import platform

from msgspec import Struct

from hub import __version__
from hub.agent.agents import Agent
from hub.agent.parts import RunDependencies
from hub.agent.prompt.prompt import PromptFacts, PromptMode
from hub.agent.taint.authorship import is_room
from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.session import Session


class PromptScene(Struct, frozen=True):
    """The conversation that a prompt is for.

    Attributes:
        agent: The agent.
        session_key: The conversation.
        authority: The speaker's.
        model: `provider/id` of the model that is asked.
        session: The session, if known.
        thinking: How much the model thinks.
        skills: The list of skills.
    """

    agent: Agent
    session_key: str
    authority: Authority
    model: str
    session: Session | None = None
    thinking: str | None = None
    skills: str = ""


def prompt_facts(parts: RunDependencies, scene: PromptScene) -> PromptFacts:
    """Return the facts for the prompt of a conversation."""
    agent, session = scene.agent, scene.session
    model = " ".join(scene.model.split()[:1])  # who may write here names one: no sentence comes with it
    private = parts.workspaces.is_private(scene.session_key, scene.authority)
    return PromptFacts(
        agent.title,
        parts.workspaces.prompt_files(agent.id, private),
        skills=scene.skills,
        mode=mode_of(agent.prompt.mode, scene.session_key),
        settings=agent.prompt,
        zone=str(parts.workspaces.zone()),
        twelve_hours=parts.workspaces.twelve_hours(),
        runtime=f"Homarus {__version__} on {_SYSTEM}, model {model}, thinking {scene.thinking or 'as it likes'}.",
        reasoning_shown=session is not None and session.reasoning in ("on", "stream"),
        in_room=is_room(scene.session_key),
        in_chat_app=parts.in_chat_app(scene.session_key),
        sandbox=agent.sandbox.describe(scene.session_key, scene.authority),
    )


def mode_of(configured: str, session_key: str) -> PromptMode:
    """Return the prompt mode of a conversation."""
    if configured != "auto":
        return PromptMode(configured)
    try:
        kind = SessionKey.parse(session_key).kind
    except InvalidRequest:
        return PromptMode.FULL
    return PromptMode.MINIMAL if kind is SessionKind.SUBAGENT else PromptMode.FULL


_SYSTEM = f"{platform.system() or 'an unknown system'} {platform.machine()}, Python {platform.python_version()}"
