"""`/avatar`: the picture of an agent."""

from __future__ import annotations

import asyncio

from aiohttp import web

from hub.agent.agents import Agents
from hub.agent.workspace.avatar import read_avatar
from hub.core.errors import NotFound
from hub.core.surfaces import HttpCall

_HEADERS = {"Cache-Control": "private, max-age=300", "X-Content-Type-Options": "nosniff"}


class AvatarPage:
    """Serves the pictures of agents."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /avatar?agent=ID`: the picture itself."""
        agent = self._agents.get(call.request.query.get("agent", ""))
        if agent.avatar is None:
            raise NotFound(f"{agent.id} has no picture; agents[].avatar names one")
        mime_type, data = await asyncio.to_thread(read_avatar, agent.workspace, agent.avatar)
        return web.Response(body=data, content_type=mime_type, headers=_HEADERS)
