"""The texts that agents read of each other, and the answers that end an exchange. Pure."""

from __future__ import annotations

from hub.agent.subagents.words import ANNOUNCE_SKIP

REPLY_SKIP = "REPLY_SKIP"

_MESSAGE = """[Message from the agent {agent} in the conversation {key}. No person wrote it.]
{text}

[Your answer goes back to that agent, and to no chat. When there is nothing to answer, say {skip} and nothing else.]"""

_ANNOUNCE = """[The exchange with the agent {agent} is over.]
It had written: {asked}
Your last answer was: {answered}

[What you say now is sent to the people of this conversation. When they need not know, say {skip} and nothing else.]"""


def message_from(agent: str, session_key: str, text: str) -> str:
    """Return an agent's message as the other agent reads it."""
    return _MESSAGE.format(agent=agent, key=session_key, text=text, skip=REPLY_SKIP)


def announce_step(agent: str, asked: str, answered: str) -> str:
    """Return the question to an agent at the end of an exchange."""
    return _ANNOUNCE.format(agent=agent, asked=asked, answered=answered, skip=ANNOUNCE_SKIP)


def is_over(reply: str) -> bool:
    """Whether an answer ends an exchange."""
    return reply.strip() in ("", REPLY_SKIP)


def is_unsaid(reply: str) -> bool:
    """Whether an exchange is kept from people."""
    return reply.strip() in ("", ANNOUNCE_SKIP, REPLY_SKIP)
