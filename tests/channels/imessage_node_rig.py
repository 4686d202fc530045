"""iMessage for the test-kit, by the node program: two Macs, each with a database and an `osascript` of ours."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.messaging.contract import Address, Channel, ChatType
from hub.nodes.commands import CommandRules
from hub.nodes.contract import Connect, Disconnect
from hub.nodes.failures import NodeRefused
from hub.nodes.records import NodeRecords
from hub.nodes.registry import NodeRegistry
from hub.nodes.surfaces import NodeSurfaces
from hub.nodes.work import PendingWork
from integrations.channels.imessage.channel import IMessageAccount
from integrations.channels.imessage.node_channel import NodeIMessageChannel
from node.errors import NodeError
from tests.channels.kit import ADA, EVE, Can, Named, Rig, Trouble
from tests.servers.messages_mac import ADA as ADAS_ID, EVE as EVES_ID, GROUP, MessagesMac

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
FAULTS = {
    Trouble.REFUSED_FOR_NOW: "BUSY",
    Trouble.ANSWER_LOST: "lost",
    Trouble.FORBIDDEN: "there is no such chat (-1728)",
}


class MacNode:
    """A Mac, as its node has connected."""

    platform = "macos"
    permissions: Mapping[str, bool] = {}

    def __init__(self, id: str, mac: MessagesMac) -> None:
        self.id, self.name, self.mac = id, f"Mac of {id}", mac
        self.handlers = mac.handlers()
        self.commands = frozenset(self.handlers)
        self.busy = self.lost = self.sends = 0

    async def invoke(
        self, command: str, params: Mapping[str, Any], *, timeout_s: float, idempotency_key: str
    ) -> Mapping[str, Any]:
        if command == "imessage.attachment":
            self.mac.fetched.append(params["guid"])
        self.sends += command == "imessage.send"
        if command == "imessage.send" and self.busy:
            self.busy -= 1
            raise NodeRefused("BUSY", "16 commands are under way on this node")
        try:
            answer = await self.handlers[command](params)
        except NodeError as error:
            raise NodeRefused(error.code, error.message) from error
        if command == "imessage.send" and self.lost:
            self.lost -= 1
            raise NodeRefused("NOT_CONNECTED", "the node disconnected", outside=False)
        return answer


class MacNodes:
    """The transport of the Macs."""

    name = "macs"

    async def start(self, connect: Connect) -> None:
        self.connect = connect

    async def stop(self) -> None: ...


def registry_of_nodes(tasks: TaskOwner) -> NodeRegistry:
    """Return a registry that permits what the page of the channel says."""
    bus, clock = EventBus(tasks), Clock()
    surfaces = NodeSurfaces(bus, clock.time, NodeRecords())
    registry = NodeRegistry(bus, clock.time, surfaces, PendingWork(clock.time), tasks)
    registry.configure(CommandRules(allow=("imessage.*",)))
    return registry


class IMessageNodeRig(Rig):
    """Ada and Eve write in direct messages and in one group, where the assistant is called Homarus."""

    name = "imessage"
    can = frozenset({Can.GROUPS, Can.MEDIA, Can.TWO_ACCOUNTS, Can.OFFERS_AGAIN})
    troubles = frozenset(FAULTS)
    named = frozenset({Named.HEARD, Named.RENAMED, Named.LISTED})
    room_name = "Family"
    has_login = False
    is_in_process = True
    way = "node program"

    async def start(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.tasks = TaskOwner("macs")
        self.registry, transport = registry_of_nodes(self.tasks), MacNodes()
        await self.registry.add(transport)
        self.nodes: dict[str, MacNode] = {}
        self.gone: dict[str, Disconnect] = {}
        for account in ("default", "second"):
            node = self.nodes[account] = MacNode(account, MessagesMac(Path(self._folder.name, account)))
            node.mac.chat(GROUP, "Family")
            self.gone[account] = transport.connect(node)
            self.registry.surfaces.admit(self.registry.surfaces.require(account))
        self.node = self.nodes["default"]

    async def stop(self) -> None:
        await self.tasks.cancel_all()
        self._folder.cleanup()

    def writes_to(self, account: str) -> None:
        self.node = self.nodes[account]

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        config = IMessageAccount(account, node=f"Mac of {account}", names=("Homarus",))
        return NodeIMessageChannel(config, clock, self.registry)

    def section(self, account: str = "default") -> dict[str, Any]:
        return {"account": account, "node": f"Mac of {account}"}

    def identity(self, who: str) -> str:
        return f"imessage:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("imessage", GROUP, chat_type=ChatType.GROUP)
        return Address("imessage", f"iMessage;-;{PEOPLE[who]}")

    async def says(
        self,
        text: str,
        who: str = ADA,
        *,
        group: bool = False,
        thread: str | None = None,
        mention: bool = True,
        media: bytes | None = None,
    ) -> str:
        if group and mention:
            text = f"Homarus, {text}"
        place: dict[str, Any] = {"who": PEOPLE[who], "chat": GROUP if group else None}
        if media is not None:
            self.node.mac.sends_file("a.png", media, f"\ufffc{text}", **place)
            sql = "SELECT guid FROM message ORDER BY ROWID DESC LIMIT 1"
            self.last = {"guid": self.node.mac.rows(sql)[0][0]}
        else:
            self.last = {"guid": self.node.mac.says(text, **place)}
        self.last |= {"text": text, **place}
        return str(self.last["guid"])

    async def says_again(self) -> None:
        # As iCloud does, which takes a message away and gives it back in another row.
        self.node.mac.write("DELETE FROM message WHERE guid = ?", self.last["guid"])
        self.node.mac.says(**self.last)

    async def renames(self, name: str) -> None:
        self.node.mac.write("UPDATE chat SET display_name = ? WHERE guid = ?", name, GROUP)

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        return [each for each in self.node.mac.sent(self.address(who, group=group).peer) if each != "\ufffc"]

    def uploads(self) -> list[bytes]:
        sql = "SELECT a.filename FROM attachment a JOIN message_attachment_join j ON j.attachment_id = a.ROWID "
        sql += "JOIN message m ON m.ROWID = j.message_id WHERE m.is_from_me"
        return [Path(path).read_bytes() for (path,) in self.node.mac.rows(sql)]

    def attempts(self) -> int:
        return self.node.sends

    def fetches(self) -> int:
        return len(self.node.mac.fetched)

    def revokes(self, account: str = "default") -> None:
        raise AssertionError("a node has no login of the platform")

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            if each is Trouble.REFUSED_FOR_NOW:
                self.node.busy += 1
            elif each is Trouble.ANSWER_LOST:
                self.node.lost += 1
            else:
                self.node.mac.fail(FAULTS[each])
