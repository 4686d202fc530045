"""The last line of each conversation of the list, read once per change."""

from __future__ import annotations

import re
from collections import OrderedDict

from hub.core.errors import HubError
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from web.chat.conversation import turns_of

LINES_SHOWN = 30
"""Conversations at the top of the list whose last line is shown."""
LINE_LIMIT = 120
READ = 6
"""Messages from the end in which words are looked for; the others may be calls of tools."""
KEPT = 500
_MARKS = re.compile(r"^\s*```\w*|^[\s|:-]+$|^\s*#+\s|\*\*|`", re.MULTILINE)
"""Marks of Markdown: code, the rule of a table, headings, what is bold."""


class LastLines:
    """Reads the latest messages.

    Args:
        sessions: Keep the conversations.
    """

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions
        self._known: OrderedDict[tuple[str, int], str] = OrderedDict()

    async def of(self, session: Session) -> str:
        """Return the last words of a conversation on one line; empty when there are none, or they cannot be read."""
        change = (session.session_id, session.updated_ms)
        if change not in self._known:
            self._known[change] = await self._read(session)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return self._known[change]

    async def _read(self, session: Session) -> str:
        try:
            entries = await self._sessions.last_messages(session, READ)
        except HubError:
            return ""
        turns = turns_of([entry.as_dict() for entry in entries])
        texts = (turn.text for turn in reversed(turns) if turn.role != "note")
        line = in_a_line(next((text for text in texts if text.strip()), ""))
        return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 1] + "…"


def in_a_line(text: str) -> str:
    """Return the words of a text in Markdown on one line."""
    return " ".join(_MARKS.sub("", text).replace("|", " ").split())
