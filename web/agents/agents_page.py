"""The pages of agents: who answers; of one, its character to edit, its model, and the tools it may use."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import Forbidden, HubError
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, HttpCall
from web.core.form import read_fields
from web.core.formats import title_of
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import TOOL_GROUPS

PATH = "/agents"
ONE = f"{PATH}/agent"
CHARACTER = "SOUL.md"
SAVE = Schema(
    {
        Required("id"): All(string, Length(min=1, max=64)),
        Optional("character", default=""): All(string, Length(max=200_000)),
    }
)


class AgentsPage:
    """The pages, and the form of an agent's character.

    Args:
        client: Where agents, their files and tools are asked for.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents`: the agents."""
        found = await self._client.ask(call, "agents.list")
        may_open = call.known_caller.authority.has(ADMIN)
        agents = [
            {
                **_agent(each),
                "default": each["id"] == found["defaultId"],
                "path": f"{ONE}?{urlencode({'id': each['id']})}" if may_open else "",
            }
            for each in found["agents"]
        ]
        return await self._renderer.respond(call, RenderedPage("agents", "Agents", {"agents": agents}, PATH))

    async def agent(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents/agent?id=…`: one agent."""
        return await self._show(call, call.request.query.get("id", ""))

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/agent`: write an agent's character."""
        fields = read_fields(call, SAVE)
        text = fields["character"].replace("\r\n", "\n")
        params = {"agentId": fields["id"], "name": CHARACTER, "content": text}
        try:
            answer = await self._client.ask(call, "agents.files.set", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, fields["id"], text, error)
        saved = urlencode({"id": fields["id"], "saved": "1"})
        return json_response(answer) if wants_json(call.request) else see_other(f"{ONE}?{saved}")

    async def _show(
        self, call: HttpCall, id: str, text: str | None = None, error: HubError | None = None
    ) -> web.StreamResponse:
        try:
            file = (await self._client.ask(call, "agents.files.get", {"agentId": id, "name": CHARACTER}))["file"]
            character = text if text is not None else file.get("content", "")
        except Forbidden:
            character = None
        found = (await self._client.ask(call, "agents.list"))["agents"]
        agent = next(each for each in found if each["id"] == id)
        tools = (await self._client.ask(call, "tools.catalog", {"agentId": id}))["tools"]
        groups: dict[str, list[dict[str, Any]]] = {}
        for each in tools:
            groups.setdefault(each["group"], []).append(each)
        data = {
            "agent": _agent(agent),
            "character": character,
            "error": error.message if error is not None else "",
            "saved": call.request.query.get("saved") == "1",
            "groups": [
                {
                    "name": TOOL_GROUPS.get(name) or title_of(name),
                    "usable": [each["name"] for each in of if each["available"]],
                    "barred": [each["name"] for each in of if not each["available"]],
                }
                for name, of in sorted(groups.items())
            ],
        }
        page = RenderedPage("agent", "Agents", data, PATH, error.http_status if error is not None else 200)
        return await self._renderer.respond(call, page)


def _agent(each: Any) -> dict[str, Any]:
    return {
        "id": each["id"],
        "name": each.get("name") or each["id"],
        "emoji": each.get("emoji", ""),
        "image": each["identity"].get("avatar") or "",
        "model": (each.get("model") or {}).get("primary") or "",
        "thinking": each.get("thinking") or "",
    }
