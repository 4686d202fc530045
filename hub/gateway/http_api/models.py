"""`GET /v1/models`: the agents, as models for OpenAI-compatible clients."""

from __future__ import annotations

import orjson
from aiohttp import web

from hub.agent.agents import Agents
from hub.core.errors import NotFound
from hub.core.surfaces import READ, HttpCall, Route
from hub.gateway.http_api.openai_shapes import model_names, show_error


class Models:
    """Lists the agents.

    Args:
        agents: The agents.
        created_s: When the hub started, seconds since the epoch.
    """

    def __init__(self, agents: Agents, created_s: int) -> None:
        self._agents = agents
        self._created_s = created_s

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("GET", "/v1/models", self.list, "gateway", scope=READ, show_error=show_error),
            Route("GET", "/v1/models/{id:*}", self.get, "gateway", scope=READ, show_error=show_error),
        ]

    async def list(self, call: HttpCall) -> web.StreamResponse:
        """Return all of them."""
        return _answer({"object": "list", "data": [self._model(id) for id in model_names(self._agents)]})

    async def get(self, call: HttpCall) -> web.StreamResponse:
        """Return one."""
        id, known = call.params["id"], model_names(self._agents)
        if id not in known:
            names = ", ".join(known)
            raise NotFound(f"there is no model {id[:80]!r} here; there are: {names}", details={"param": "model"})
        return _answer(self._model(id))

    def _model(self, id: str) -> dict[str, object]:
        return {"id": id, "object": "model", "created": self._created_s, "owned_by": "homarus"}


def _answer(data: object) -> web.Response:
    return web.Response(body=orjson.dumps(data), content_type="application/json", headers={"Cache-Control": "no-store"})
