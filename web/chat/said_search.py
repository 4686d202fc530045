"""Search in transcripts, as pages show it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from hub.core.errors import HubError
from hub.core.surfaces import HttpCall
from web.core.method_client import MethodClient

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class SaidSearch:
    """Searches on behalf of the viewer.

    Args:
        client: Searches with the rights of the viewer.
        when: Writes a time.
    """

    def __init__(self, client: MethodClient, when: Callable[[int], str]) -> None:
        self._client = client
        self._when = when

    async def messages(self, call: HttpCall, query: str, limit: int) -> list[dict[str, Any]]:
        """Return the latest messages with all words; empty without words or without an index."""
        if not query:
            return []
        try:
            answer = await self._client.ask(call, "sessions.search", {"query": query, "limit": limit})
        except HubError:
            return []
        return [self._shown(each) for each in answer["messages"]]

    def _shown(self, each: Mapping[str, Any]) -> dict[str, Any]:
        side, run = ("u" if each["role"] == "user" else "a"), each["runId"]
        anchor = f"#t-{side}-{_UNSAFE.sub('_', run)}" if run else ""
        where = {"session": each["key"], **({"past": each["sessionId"]} if each["past"] else {})}
        return {
            "key": each["key"],
            "path": f"/chat?{urlencode(where)}{anchor}",
            "title": each["title"],
            "text": each["text"],
            "when": self._when(each["timestamp"]),
            "past": each["past"],
        }
