"""Discord for the test-kit: our gateway and REST API, one for each of two bots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.discord.channel import DiscordChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Named, Trouble
from tests.servers.discord_server import DM, GUILD, PERSON, ROOM, TOKEN, VOICE, DiscordServer

PEOPLE = {ADA: PERSON, EVE: "666"}
ROOMS = {ADA: DM, EVE: "1666"}
HEARTBEAT_MS = 3_000
POST = r"POST /channels/\d+/messages$"
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "body": {"message": "slow down", "retry_after": 0.5}},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "body": {"message": "500: Internal Server Error", "code": 0}},
    Trouble.PROXY_PAGE: {"status": 502, "body": "bad gateway"},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 403, "body": {"message": "Missing Permissions", "code": 50013}},
    Trouble.REMOVED: {"status": 403, "body": {"message": "Missing Access", "code": 50001}},
}


class DiscordRig(DoubleRig[DiscordServer]):
    """A server for each account; Ada and Eve write in direct messages and in one room."""

    name = "discord"
    listed_person = "Ada L"
    can = frozenset(Can) - {Can.MOVES}
    named = frozenset(Named)
    troubles = frozenset(FAULTS)

    def __init__(self) -> None:
        super().__init__(DiscordServer(), DiscordServer("901"))
        for server in self.servers.values():
            server.heartbeat_ms = HEARTBEAT_MS

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        return DiscordChannel(account, Secret(TOKEN), self.servers[account].root, None, clock)

    def section(self, account: str = "default") -> dict[str, Any]:
        return {"account": account, "token": TOKEN, "api_root": self.servers[account].root}

    def identity(self, who: str) -> str:
        return f"discord:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            parent = ROOM if thread else None
            return Address("discord", thread or ROOM, chat_type=ChatType.CHANNEL, space=GUILD, parent=parent)
        return Address("discord", PEOPLE[who])

    async def says(
        self,
        text: str,
        who: str = ADA,
        *,
        group: bool = False,
        thread: str | None = None,
        mention: bool = True,
        media: bytes | None = None,
        heard: bool = True,
    ) -> str:
        more: dict[str, Any] = {}
        if media is not None:
            self.server.files["a.png"] = media
            url = f"http://{self.server.address}/cdn/a.png"
            more["attachments"] = [{"id": "1", "filename": "a.png", "url": url, "content_type": "image/png"}]
        if group and mention:
            text, more["mentions"] = f"<@{self.server.bot['id']}> {text}", [self.server.bot]
        room = (thread or ROOM) if group else ROOMS[who]
        place = {"id": room, "type": 11, "guild_id": GUILD, "parent_id": ROOM, "name": "a thread"}
        if thread is not None:
            self.server.channels.setdefault(thread, place)
        self.last = await self.server.say(text, room, PEOPLE[who], heard=heard, **more)
        return str(self.last["id"])

    async def says_in_disorder(self, *texts: str) -> None:
        said = []
        for text in texts:
            await self.says(text, heard=False)
            said.append(self.last)
        for message in reversed(said):
            await self.server.emit("MESSAGE_CREATE", message)

    async def speaks(self, sound: bytes) -> None:
        self.server.files["voice-message.ogg"] = sound
        file = {"id": "1", "filename": "voice-message.ogg", "content_type": "audio/ogg", "duration_secs": 3.0}
        file["url"] = f"http://{self.server.address}/cdn/voice-message.ogg"
        await self.server.say("", DM, PERSON, flags=VOICE, attachments=[file])

    async def says_again(self) -> None:
        await self.server.emit("MESSAGE_CREATE", self.last)

    async def edits(self, id: str, text: str) -> None:
        message = next(each for each in self.server.messages[DM] if each["id"] == id)
        message |= {"content": text, "edited_timestamp": "2026-11-23T00:00:01+00:00"}
        await self.server.emit("MESSAGE_UPDATE", message)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        room = ROOM if group else ROOMS[who]
        message = [each for each in self.server.messages[room] if each.get("components")][-1]
        buttons = [each for row in message["components"] for each in row["components"]]
        data = {"custom_id": next(each["custom_id"] for each in buttons if each["label"] == label)}
        user = {"user": {"id": PEOPLE[who], "username": who}}
        pressed = {"id": self.server.new_id(), "token": "t", "type": 3, "channel_id": room}
        pressed |= {"guild_id": GUILD, "member": user} if group else user
        await self.server.emit("INTERACTION_CREATE", {**pressed, "message": message, "data": data})

    async def votes(self, option: int) -> None:
        vote = {"user_id": PERSON, "channel_id": DM, "message_id": self._newest()["id"], "answer_id": option + 1}
        await self.server.emit("MESSAGE_POLL_VOTE_ADD", vote)

    async def reacts(self, emoji: str) -> None:
        reaction = {"user_id": PERSON, "channel_id": DM, "message_id": self._newest()["id"]}
        await self.server.emit("MESSAGE_REACTION_ADD", {**reaction, "emoji": {"id": None, "name": emoji}})

    @property
    def room_name(self) -> str:  # type: ignore[override]
        return str(self.server.channels[ROOM]["name"])

    async def renames(self, name: str) -> None:
        self.server.channels[ROOM]["name"] = name
        await self.server.emit("CHANNEL_UPDATE", self.server.channels[ROOM])

    def notices(self) -> list[str]:
        return self.server.notices

    def _newest(self) -> dict[str, Any]:
        return [each for each in self.server.messages[DM] if each["author"] == self.server.bot][-1]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        in_guild = [id for id, room in self.server.channels.items() if "guild_id" in room]
        rooms = [thread] if thread else in_guild if group else [ROOMS[who]]
        messages = [each for room in rooms for each in self.server.messages.get(room, [])]
        ours = [each for each in messages if each["author"] == self.server.bot]
        return [each["poll"]["question"]["text"] if "poll" in each else each.get("content", "") for each in ours]

    def reactions(self, id: str) -> list[str]:
        message = next(each for each in self.server.messages[DM] if each["id"] == id)
        return [each["emoji"]["name"] for each in message.get("reactions", ())]

    def uploads(self) -> list[bytes]:
        return list(self.server.files.values())

    def voices(self) -> list[bytes]:
        voices = [
            each
            for each in self.server.messages[DM]
            if each["author"] == self.server.bot and each.get("flags", 0) & VOICE
        ]
        return [self.server.files[each["attachments"][0]["filename"]] for each in voices]

    def attempts(self) -> int:
        return len(self.server.asked(POST))

    def fetches(self) -> int:
        return self.server.fetched

    def typing_seen(self) -> int:
        return len(self.server.asked("/typing$"))

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(POST, **FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].token = "revoked"
        self.servers[account].cut_now()
