"""The door of schedules over real files, a real database and the real engine; only the clock is moved by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub.automation.definition.kinds import OUR_KINDS
from hub.automation.definition.schema import sections
from hub.automation.editing.schedule_authority import Asker, digest
from hub.automation.editing.schedule_editor import ScheduleService
from hub.automation.engine.automations import Automations
from hub.automation.engine.environment import EngineEnvironment
from hub.automation.engine.saved_states import KeptStates
from hub.automation.services.addresses import Addresses
from hub.config.hub_section import SECTIONS as HUB
from hub.config.sections import Sections
from hub.config.store import ConfigStore
from hub.core.context import Authority, Context
from hub.core.schema import Schema
from hub.core.services import ServiceCall
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Inbound, Receipt
from hub.messaging.cursors import Cursors
from hub.security.people import People, Person
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS
from hub.tools.contract import ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.tools.registry import ToolRegistry
from integrations.channels.webchat.channel import WebChat
from integrations.tools.schedule.tool import schedule_tool
from tests.automation.ground import clock_of, make_parts
from tests.messaging.post import Pigeons

MAIN = "agent:main:main"
ANNAS = "agent:main:test:direct:8"
FAMILY = "agent:main:test:group:5"
ROOT = "hub: {name: Home, time_zone: Europe/Berlin}\nautomation: !include automations.yaml   # mine\n"
FIRST = "# what happens by itself\n- id: mine   # by hand\n  triggers: []\n  actions: []\n"


class Rig:
    """A home with a door for schedules, and the tool in front of it."""

    def __init__(self, folder: Path, root: str = ROOT, automations: str | None = FIRST) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.home = folder
        self.write("configuration.yaml", root)
        if automations is not None:
            self.write("automations.yaml", automations)
        self.people = People(
            [Person("me", "Me", owner=True), Person("anna", "Anna", identities=("test:user:8",)), Person("ben", "Ben")]
        )
        self.parts = make_parts(folder, people=self.people)
        self.clock = clock_of(self.parts)
        self.config = ConfigStore(folder, Sections([*HUB, *sections(OUR_KINDS)]), self.parts.bus, self.parts.repairs)
        self.config.load()
        self.db = Database(folder / "hub.db", HUB_MIGRATIONS, synchronous="NORMAL")
        desk = EngineEnvironment(self.parts, KeptStates(self.db, self.clock, self.parts.tasks), delete=self._delete)
        self.automations = Automations(desk, self.db, dict, lambda: "me")
        self.channels = ChannelRegistry(self.parts.bus, self.clock, self.parts.repairs)
        self.door = ScheduleService(
            self.config,
            self.db,
            self.automations,
            Addresses(self.db, lambda: self.people, self.channels),
            self.parts.bus,
            clock=self.clock,
            zone=self.parts.zone,
            reload=self.reload,
            default_agent=lambda: "main",
        )
        self.tools = ToolRegistry(self.parts.bus)
        self.tools.register(schedule_tool(self.door))
        self.calls: list[ServiceCall] = []
        for name in ("message.send", "agent.run", "agent.system_event"):
            domain, _, service = name.partition(".")
            self.parts.services.register(domain, service, self._called, Schema(dict))
        self.owner = self.people.owner_authority()
        self.anna = Authority("peer:test:user:8", person="anna")

    async def open(self) -> None:
        await self.db.open()
        self.channels.connect(self._received, Cursors(self.db), lambda inbound, context: True)
        await self.channels.add(WebChat(self.parts.bus.fire), home=True)
        for account in ("default", "work"):
            await self.channels.add(Pigeons(account=account))
        await self.automations.open(self.config.current)

    async def close(self) -> None:
        await self.automations.close()
        await self.parts.tasks.cancel_all()
        await self.db.close()

    async def _received(self, inbound: Inbound, context: Context) -> Receipt:
        raise AssertionError("nobody writes in these tests")

    async def reload(self) -> None:
        await self.config.reload()
        await self.automations.apply(self.config.current)

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
        return (self.home / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        (self.home / name).write_text(text, encoding="utf-8")

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

    async def _delete(self, id: str) -> None:
        await self.door.discard(id)

    async def _called(self, call: ServiceCall) -> None:
        self.calls.append(call)
