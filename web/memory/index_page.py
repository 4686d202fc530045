"""The memory index: status, cost, update and rebuild."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from hub.core.errors import HubError
from hub.core.schema import In, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, HttpCall
from hub.core.tasks import TaskOwner
from web.core.form import read_fields
from web.core.render import RenderedPage, json_response, see_other, wants_json
from web.core.urls import memory_place
from web.memory.files_page import MemoryPageTools
from web.memory.status import IndexStatus

PATH = "/memory/index"
ANSWER_LIMIT_S = 10.0
"""How long a page waits for the index; it goes on behind it."""

METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "now": ("memory.index", {}),
    "rebuild": ("memory.index", {"force": True}),
    "verify": ("memory.verify", {}),
}
COMMAND = Schema({Required("command"): In(list(METHODS)), Optional("agent", default=""): string})

Outcome = Mapping[str, Any]


class MemoryIndexPage:
    """The state of the index.

    Args:
        tools: The dependencies shared by all memory pages.
        status: Reads the status of the memory.
        tasks: Owns background work of a page.
    """

    def __init__(self, tools: MemoryPageTools, status: IndexStatus, tasks: TaskOwner) -> None:
        self._tools = tools
        self._status = status
        self._tasks = tasks
        self._working: dict[str, str] = {}
        self._outcomes: dict[str, Outcome] = {}

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/index[?agent=ID]`."""
        asked = call.request.query.get("agent", "")
        choice = self._tools.choice(asked, "index")
        status = await self._tools.client.ask(call, "memory.status", self._tools.whose(asked))
        may_change = call.known_caller.authority.has(ADMIN)
        data = {
            **choice,
            **self._status.shown(status),
            "working": self._working.get(choice["chosen"]),
            "outcome": self._outcomes.get(choice["chosen"]) if may_change else None,
            "may_change": may_change,
        }
        return await self._tools.renderer.respond(call, RenderedPage("memory_index", "Index of the memory", data, PATH))

    async def act(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/index`: update it, rebuild it, or compare it with the files."""
        fields = read_fields(call, COMMAND)
        agent, command = self._tools.names.agent(fields["agent"]), fields["command"]
        method, params = METHODS[command]
        if agent not in self._working:
            self._working[agent] = command
            self._outcomes.pop(agent, None)
            work = self._tools.client.ask(call, method, {**params, "agent": agent})
            task = self._tasks.spawn(self._work(agent, command, work), name=f"memory {command} {agent}")
            await asyncio.wait([task], timeout=ANSWER_LIMIT_S)
        if wants_json(call.request):
            return json_response({"working": self._working.get(agent), "outcome": self._outcomes.get(agent)})
        return see_other(memory_place("index", self._tools.agent(fields["agent"])))

    async def _work(self, agent: str, command: str, work: Any) -> None:
        try:
            self._outcomes[agent] = {"command": command, "error": None, **await work}
        except HubError as error:
            self._outcomes[agent] = {"command": command, "error": error.message}
        finally:
            del self._working[agent]
            self._tools.pulse.beat()
