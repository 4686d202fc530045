"""The slash commands, for the box that completes them."""

from __future__ import annotations

from aiohttp import web

from hub.core.surfaces import HttpCall
from web.core.method_client import MethodClient
from web.core.render import Renderer, json_response


class CommandList:
    """Lists the commands in the reader's language."""

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /chat/commands`: what `commands.list` answers."""
        language = self._renderer.preferences(call).language
        return json_response(await self._client.ask(call, "commands.list", {"language": language}))
