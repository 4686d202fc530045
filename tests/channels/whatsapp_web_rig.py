"""WhatsApp Web for the test-kit: our double of the client of a linked device, one for each of two accounts.

The protobuf messages of neonize take most of a second to import, once for each process that tests this.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.core.clock import Clock
from hub.messaging.capabilities import CanDelete
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels import whatsapp_web
from integrations.channels.whatsapp_web.channel import WhatsAppWebChannel
from integrations.channels.whatsapp_web.events import split_id
from tests.channels.kit import ADA, EVE, Can, Named, Rig, Trouble
from tests.until import until

if TYPE_CHECKING:
    from tests.servers.whatsapp_web_double import WhatsAppWebDouble
    from tests.servers.whatsapp_web_remote import WhatsAppWebServer

PEOPLE = {ADA: "4915122222222", EVE: "4915166666666"}
GROUP = "120363000000000001@g.us"
FAULTS: dict[Trouble, tuple[str, bool]] = {
    Trouble.RATE_LIMITED: ("failed to get device list: info query returned status 429: rate-overlimit", False),
    Trouble.REFUSED_FOR_NOW: ("websocket not connected", False),
    Trouble.ANSWER_LOST: ("timed out waiting for message send response", True),
    Trouble.FORBIDDEN: ("server returned error 403", False),
    Trouble.REMOVED: ("failed to get group members: you're not participating in that group", False),
}


OVER_A_SOCKET = """\
from functools import partial


async def setup(host, config):
    from hub.messaging.schema import access_policy
    from integrations.channels.whatsapp_web.channel import WhatsAppWebChannel
    from tests.servers.whatsapp_web_remote import RemoteClient

    for each in config:
        channel = WhatsAppWebChannel(each["account"], partial(RemoteClient.open, {port}), host.clock)
        await host.channels.add(channel, access_policy(each))
"""


class WhatsAppWebRig(Rig):
    """Ada writes under her LID in the group, and under her number elsewhere."""

    name = "whatsapp_web"
    listed_person = "Ada Lovelace"
    hears_deletions = True
    can = frozenset({Can.GROUPS, Can.EDITS, Can.MEDIA, Can.VOTES, Can.REACTS, Can.TWO_ACCOUNTS, Can.VOICE, Can.GONE})
    troubles = frozenset(FAULTS)
    named = frozenset(Named)
    room_name = "Family"
    server: WhatsAppWebDouble

    def __init__(self) -> None:
        self.servers: dict[str, WhatsAppWebDouble] = {}
        self._last: Any = None
        self._remote: WhatsAppWebServer | None = None

    async def start(self) -> None:
        from tests.servers.whatsapp_web_double import SECOND, WhatsAppWebDouble

        self.servers = {"default": WhatsAppWebDouble(), "second": WhatsAppWebDouble(SECOND)}
        self.server = self.servers["default"]

    async def stop(self) -> None:
        if self._remote is not None:
            await self._remote.__aexit__()

    async def prepare(self, home: Path) -> None:
        """Put an integration in place of ours that differs in its client alone."""
        from tests.servers.whatsapp_web_remote import WhatsAppWebServer

        self._remote = await WhatsAppWebServer(self.server).__aenter__()
        folder = home / "custom_integrations" / self.name
        shutil.copytree(Path(whatsapp_web.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "__init__.py").write_text(OVER_A_SOCKET.format(port=self._remote.port))

    async def until_back(self) -> None:
        await until(lambda: self.server.client is not None)

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        return WhatsAppWebChannel(account, self.servers[account].open, clock)

    def section(self, account: str = "default") -> dict[str, Any]:
        return {"account": account, "accept_risk": True}

    def writes_to(self, account: str) -> None:
        self.server = self.servers[account]

    def identity(self, who: str) -> str:
        return f"whatsapp_web:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("whatsapp_web", GROUP, chat_type=ChatType.GROUP)
        return Address("whatsapp_web", PEOPLE[who])

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
        from tests.servers.whatsapp_web_double import LIDS, e2e

        message = e2e.Message(conversation=text)
        if media is not None:
            message = self.server.document(media, "a.png", text)
        elif group and mention:
            lid = LIDS[self.server.number]
            message = e2e.Message(extendedTextMessage=e2e.ExtendedTextMessage(text=f"@{lid} {text}"))
            message.extendedTextMessage.contextInfo.mentionedJID.append(f"{lid}@lid")
        self._last = self.server.says(message, PEOPLE[who], group=group, by_lid=group)
        return f"{self._last.Info.ID}:{PEOPLE[who]}"

    async def speaks(self, sound: bytes) -> None:
        from tests.servers.whatsapp_web_double import e2e

        file = e2e.AudioMessage(
            fileLength=len(sound),
            PTT=True,
            seconds=3,
            mimetype="audio/ogg; codecs=opus",
            mediaKey=self.server.keep(sound),
        )
        file.URL, file.directPath = "https://mmg.whatsapp.net/x", "/x"
        self.server.says(e2e.Message(audioMessage=file), PEOPLE[ADA])

    async def says_again(self) -> None:
        self.server.push(self._last)

    async def edits(self, id: str, text: str) -> None:
        from tests.servers.whatsapp_web_double import e2e

        message = e2e.Message()
        protocol = message.editedMessage.message.protocolMessage
        protocol.type = e2e.ProtocolMessage.MESSAGE_EDIT
        protocol.key.ID, protocol.key.fromMe = split_id(id)[0], True
        protocol.editedMessage.conversation = text
        self.server.says(message, PEOPLE[ADA])

    async def votes(self, option: int) -> None:
        self.server.vote(option)

    async def reacts(self, emoji: str) -> None:
        self.server.react(emoji)

    async def renames(self, name: str) -> None:
        self.server.rename(name)

    async def deletes(self, channel: CanDelete, address: Address, id: str) -> None:
        self.server.revoke(split_id(id)[0])

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        from tests.servers.whatsapp_web_double import text_of

        there = GROUP if group else f"{PEOPLE[who]}@s.whatsapp.net"
        return [text_of(message) for chat, _, message in self.server.sent if chat == there]

    def reactions(self, id: str) -> list[str]:
        return [emoji] if (emoji := self.server.reactions.get(split_id(id)[0])) else []

    def uploads(self) -> list[bytes]:
        return self.server.uploads

    def voices(self) -> list[bytes]:
        sounds = [message.audioMessage for _, _, message in self.server.sent if message.HasField("audioMessage")]
        return [self.server.files[each.mediaKey] for each in sounds if each.PTT]

    def attempts(self) -> int:
        return self.server.attempts

    def fetches(self) -> int:
        return len(self.server.downloads)

    def typing_seen(self) -> int:
        return len(self.server.typing)

    def trouble(self, *troubles: Trouble) -> None:
        self.server.faults += [FAULTS[each] for each in troubles]

    def revokes(self, account: str = "default") -> None:
        self.servers[account].log_out()
