"""The URLs that a conversation knows: its person wrote them in trusted words, or they were fetched in it before.

A page can ask an agent to put its knowledge into a URL, also one of the same host. So the whole URL must be known.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from hub.agent.taint.authorship import is_said_by, speaker
from hub.core.context import Authority
from hub.core.phrases import phrase
from hub.security.egress import parse_url
from hub.sessions.store import SessionStore
from hub.tools.contract import ToolCall

REMEMBERED_LIMIT = 2_000
"""URLs of all conversations that are remembered as fetched, the latest."""

_WORDS = re.compile(r"[!-~]+")
_SCHEME = re.compile(r"^https?://", re.IGNORECASE)


class KnownUrls:
    """Knows URLs by conversation.

    Args:
        sessions: The conversations, with the messages that people wrote.
    """

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions
        self._fetched: OrderedDict[tuple[str, str], None] = OrderedDict()

    def add(self, session_key: str, url: str) -> None:
        """Remember that a URL was fetched, as `parse_url` writes it."""
        self._fetched[session_key, url] = None
        self._fetched.move_to_end((session_key, url))
        if len(self._fetched) > REMEMBERED_LIMIT:
            self._fetched.popitem(last=False)

    async def covers(self, call: ToolCall) -> bool:
        """Whether the URL of a call is known; see `Tool.unasked`."""
        return await self.is_known(call.session_key, str(parse_url(call.arguments["url"])), call.context.authority)

    async def is_known(self, session_key: str, url: str, authority: Authority) -> bool:
        """Whether a URL was fetched in a conversation, or the current speaker wrote it there in trusted words."""
        if (session_key, url) in self._fetched:
            return True
        session = self._sessions.get(session_key)
        if session is None:
            return False
        who = speaker(authority)
        transcript = await self._sessions.open_transcript(session)
        return any(
            names(entry.message.text, url)
            for entry in transcript.branch()
            if entry.message is not None and is_said_by(entry, who)
        )


def why_ask(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why the owner has to approve a call: in a tainted conversation a URL may leak data.

    Raises:
        InvalidRequest: It is not a URL that can be fetched.
    """
    url = str(parse_url(arguments["url"]))
    if not authority.tainted:
        return None
    return phrase("text that others wrote is in this conversation, and it fetches {url}", url=url)


def names(text: str, url: str) -> bool:
    """Whether a text holds a URL, whole; `example.org/a` names `https://example.org/a`."""
    bare = _SCHEME.sub("", url).rstrip("/")
    for word in _WORDS.findall(text):
        written = _SCHEME.sub("", word.strip("()<>[]{}\"'*_`,;").rstrip(".:!?"))
        if bare in (written.rstrip("/"), written.partition("#")[0].rstrip("/")):
            return True
    return False
