"""The callback address for browsers after signing in to a server."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from hub.core.errors import InvalidRequest
from hub.core.surfaces import HttpCall, Open, Route

CALLBACK = "/mcp/callback"
PENDING_LIMIT = 50


class McpSignIns:
    """Pending sign-ins, by the unguessable state in their callback."""

    def __init__(self) -> None:
        self._pending: dict[str, asyncio.Future[dict[str, str]]] = {}

    def route(self, then: str) -> Route:
        """Return the callback route; the state is its credential, and works once.

        Args:
            then: The page that is shown.
        """

        async def back(call: HttpCall) -> web.StreamResponse:
            self.complete(str(call.request.url))
            return web.Response(status=303, headers={"Location": then})

        return Route("GET", CALLBACK, back, "mcp", scope=Open.PUBLIC)

    def begin(self, url: str) -> asyncio.Future[dict[str, str]]:
        """Begin to wait for the callback of a sign-in."""
        state = parse_qs(urlsplit(url).query)["state"][0]
        for oldest in list(self._pending)[: max(0, len(self._pending) - PENDING_LIMIT + 1)]:
            self._pending.pop(oldest).cancel()
        self._pending[state] = asyncio.get_running_loop().create_future()
        self._pending[state].add_done_callback(lambda _: self._pending.pop(state, None))
        return self._pending[state]

    def complete(self, url: str) -> None:
        """Handle the callback of a browser.

        Raises:
            InvalidRequest: No sign-in waits for it.
        """
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        waiting = self._pending.pop(query.get("state", ""), None)
        if waiting is None or waiting.done():
            raise InvalidRequest("no sign-in waits for this; homarus mcp list shows where to sign in")
        if "code" not in query:
            waiting.set_exception(
                InvalidRequest(f"the sign-in was refused: {query.get('error', 'no reason given')!r:.80}")
            )
            return
        waiting.set_result(query)
