"""The door of schedules over real files, a real database and the real engine; only the clock is moved by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub.automation.editing.schedule_authority import Asker, digest
from hub.core.clock import ManualClock
from hub.core.context import Authority, Context
from hub.core.schema import Schema
from hub.core.services import ServiceCall
from hub.tools.contract import ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from integrations.channels.webchat.channel import WebChat
from integrations.tools.reminders.tool import schedule_tool
from tests.automation.ground import NEW_YEAR
from tests.hub_fixture import HubFixture
from tests.messaging.post import Pigeons

PEOPLE = [
    {"id": "me", "name": "Me", "owner": True},
    {"id": "anna", "name": "Anna", "identities": ["test:user:8"]},
    {"id": "ben", "name": "Ben"},
]
MAIN = "agent:main:main"
ANNAS = "agent:main:test:direct:8"
FAMILY = "agent:main:test:group:5"
ROOT = "hub: {name: Home, time_zone: Europe/Berlin}\nautomation: !include automations.yaml   # mine\n"
FIRST = "# what happens by itself\n- id: mine   # by hand\n  triggers: []\n  actions: []\n"


class Rig(HubFixture):
    """A home with a door for schedules, and the tool in front of it."""

    clock: ManualClock

    def __init__(self, folder: Path, root: str = ROOT, automations: str | None = FIRST) -> None:
        files = {"configuration.yaml": root, **({} if automations is None else {"automations.yaml": automations})}
        super().__init__(
            folder,
            "http://127.0.0.1:9",
            sections={"people": PEOPLE, "agents": [{"id": "main", "default": True}, {"id": "other"}]},
            files=files,
            only=("hub database", "automations"),
            clock=ManualClock(NEW_YEAR),
        )
        self.door, self.automations = self.automation.scheduled, self.automation.automations
        self.tools.register(schedule_tool(self.door))
        self.calls: list[ServiceCall] = []
        self.owner = self.people.owner_authority()
        self.anna = Authority("peer:test:user:8", person="anna")

    async def open(self) -> None:
        await self.start()
        for name in ("message.send", "agent.run", "agent.system_event"):
            domain, _, service = name.partition(".")
            self.services.register(domain, service, self._called, Schema(dict))
        await self.channels.add(WebChat(self.bus.fire), home=True)
        for account in ("default", "work"):
            await self.channels.add(Pigeons(account=account))

    async def close(self) -> None:
        await self.stop()

    async def reload(self) -> None:
        await self.apply(await self.config.reload())

    async def heard(self, session: str, account: str = "default") -> None:
        """Have something said in a room, so that it is known where it is."""
        said_by = json.dumps(self.anna.as_dict())
        peer = session.rsplit(":", maxsplit=1)[-1]
        columns = (
            "id, channel, account, account_id, peer, message_id, received_ms, state, session_key, person, principal"
        )
        row = ("i", "test", account, "bot-1", peer, "m", 1, "done", session, "anna", said_by)
        statement = f"INSERT INTO inbox({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        await self.db.write(lambda connection: connection.execute(statement, row).rowcount)

    async def as_written_before(self, id: str, account_id: str) -> None:
        """Let a schedule name its account by the platform's id, as agents wrote it once."""
        self.write("automations.yaml", self.read().replace("account: work", f'account: "{account_id}"'))
        await self.reload()
        (item,) = (item for item in self.config.current.raw["automation"] if item["id"] == id)
        sql = "UPDATE automation_authority SET text_hash = ? WHERE id = ?"
        await self.db.write(lambda connection: connection.execute(sql, (digest(item), id)).rowcount)

    def read(self, name: str = "automations.yaml") -> str:
        return (self.home.path / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        (self.home.path / name).write_text(text, encoding="utf-8")

    def asker(self, authority: Authority | None = None, agent: str | None = "main", session: str = MAIN) -> Asker:
        return Asker(Context(authority or self.owner), agent, session)

    async def call(
        self, action: str, *, authority: Authority | None = None, within: str = MAIN, agent: str = "main", **more: Any
    ) -> ToolResult:
        """Use the tool as an agent does."""
        arguments = {"action": action, **more}
        context = Context(authority or self.owner)
        return await invoke_tool(self.tools, ToolCallRequest("c", "schedule", arguments, context, agent, within, "r"))

    async def told(self, action: str, **more: Any) -> dict[str, Any]:
        """Use the tool and return what it answers."""
        result = await self.call(action, **more)
        assert not result.is_error, result.output
        answer: dict[str, Any] = json.loads(result.output)
        return answer

    async def _called(self, call: ServiceCall) -> None:
        self.calls.append(call)
