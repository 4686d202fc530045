"""iMessage for the test-kit: our BlueBubbles servers, one for each of two accounts, with the Private API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.imessage.channel import IMessageAccount, IMessageChannel, channel_for
from integrations.channels.webhook_delivery import BODY_BYTES
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Named, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.bluebubbles_server import ADA as ADAS_ID, EVE as EVES_ID, GROUP, BlueBubblesServer

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
SECRET = "secret-of-the-hook-of-default"
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "type": "Server Error", "message": "Slow down"},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "type": "Server Error", "message": "Messages is starting"},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 500, "type": "iMessage Error", "message": "failed", "data": {"error": 22}},
}


class IMessageRig(DoubleRig[BlueBubblesServer]):
    """Ada and Eve write in direct messages and in one group, where the assistant is called Homarus."""

    name = "imessage"
    listed_person = "Ada Lovelace"
    can = frozenset(
        {
            Can.GROUPS,
            Can.EDITS,
            Can.MEDIA,
            Can.DEAF,
            Can.MALFORMED,
            Can.REACTS,
            Can.TWO_ACCOUNTS,
            Can.OFFERS_AGAIN,
            Can.VOICE,
        }
    )
    troubles = frozenset(FAULTS)
    named = frozenset(Named)
    room_name = "Family"
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.TOO_LONG})

    def __init__(self) -> None:
        super().__init__(BlueBubblesServer(), BlueBubblesServer("second@icloud.example"))
        self.host = WebhookHost(lambda: [route for each in self.channels if (route := each.route()) is not None])
        self.channels: list[IMessageChannel] = []

    async def start(self) -> None:
        await super().start()
        await self.host.start()

    async def stop(self) -> None:
        await super().stop()
        await self.host.stop()

    def config(self, account: str = "default") -> IMessageAccount:
        """Return the configuration of an account, with a webhook."""
        server = self.servers[account]
        return IMessageAccount(
            account,
            server.url,
            Secret(server.password),
            private_api=True,
            names=("Homarus",),
            webhook_secret=Secret(SECRET),
            webhook_url=self.host.url,
            request_s=5.0,
        )

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        channel = channel_for(self.config(account), clock)
        self.channels = [each for each in self.channels if each.account != account] + [channel]
        return channel

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        return {"account": account, "url": server.url, "password": server.password, "private_api": True, "poll": 1}

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
        more: dict[str, Any] = {}
        if media is not None:
            self.server.files["file-1"] = media
            more["attachments"] = [{"guid": "file-1", "mimeType": "image/png", "transferName": "a.png"}]
            text = f"\ufffc{text}"
        if group and mention:
            text = f"Homarus, {text}"
        self.last = self.server.says(text, PEOPLE[who], GROUP if group else None, **more)
        return str(self.last["guid"])

    async def speaks(self, sound: bytes) -> None:
        self.server.files["file-2"] = sound
        file = {"guid": "file-2", "mimeType": "audio/amr", "transferName": "Audio Message.caf"}
        self.server.says("\ufffc", ADAS_ID, isAudioMessage=True, attachments=[file])

    async def says_again(self) -> None:
        self.server.tell("new-message", self.last)

    async def edits(self, id: str, text: str) -> None:
        row = next(each for each in self.server.rows if each["guid"] == id)
        row |= {"text": text, "dateEdited": row["dateCreated"] + 1_000}
        self.server.tell("updated-message", row)

    async def reacts(self, emoji: str) -> None:
        guid = self.server.sent()[-1]["guid"]
        assert emoji == "👍"
        self.server.says("Liked it", associatedMessageGuid=f"p:0/{guid}", associatedMessageType="like")

    async def renames(self, name: str) -> None:
        self.server.group_name = name

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        there = self.address(who, group=group).peer
        ours = [each for each in self.server.sent() if each["chats"][0]["guid"] == there]
        return [each["text"] for each in ours if each["text"]]

    def reactions(self, id: str) -> list[str]:
        return ["👍"] if self.server.reactions.get(id) == "like" else []

    def uploads(self) -> list[bytes]:
        return self.server.uploaded

    def voices(self) -> list[bytes]:
        return self.server.voices

    def attempts(self) -> int:
        return len(self.server.asked)

    def fetches(self) -> int:
        return len(self.server.fetched)

    def typing_seen(self) -> int:
        return len(self.server.typing)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(**FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True
        self.server.hooks.clear()

    async def delivers_forged(self, forged: Forged) -> int:
        channel = channel_for(replace(self.config(), private_api=False), Clock())
        host = WebhookHost(lambda: [route] if (route := channel.route()) else [])
        await host.start()
        body = b"x" * (BODY_BYTES + 1) if forged is Forged.TOO_LONG else b"{"
        given = {Forged.WRONG: "s%C3%A9cret", Forged.FOREIGN: f"{SECRET}-of-second", Forged.TOO_LONG: SECRET}
        query = f"?secret={given[forged]}" if forged in given else ""
        status = await host.post(f"/imessage/default{query}", body, {})
        await host.stop()
        return status

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].password = "another"
