"""Slack for the test-kit: our Web API and Socket Mode, one for each of two apps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.emoji_names import emoji_of, name_of
from integrations.channels.slack.channel import SlackChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Named, Trouble
from tests.servers.slack_server import ADA as ADAS_ID, APP_TOKEN, BOT_TOKEN, DM, ROOM, TEAM, SlackServer
from tests.until import until

PEOPLE = {ADA: ADAS_ID, EVE: "U666"}
ROOMS = {ADA: DM, EVE: "D666"}
PING_S = 3.0
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "retry_after": 1},
    Trouble.REFUSED_FOR_NOW: {"status": 200, "body": {"ok": False, "error": "service_unavailable"}},
    Trouble.PROXY_PAGE: {"status": 503, "body": "unavailable"},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 200, "body": {"ok": False, "error": "is_archived"}},
    Trouble.REMOVED: {"status": 200, "body": {"ok": False, "error": "not_in_channel"}},
}


class SlackRig(DoubleRig[SlackServer]):
    """A workspace for each account; Ada and Eve write in direct messages and in one channel."""

    name = "slack"
    listed_person = "Ada"
    can = frozenset(Can) - {Can.VOICE}
    named = frozenset(Named)
    troubles = frozenset(FAULTS)

    def __init__(self) -> None:
        super().__init__(SlackServer(), SlackServer("U901"))
        self._room = ROOM

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        tokens = Secret(BOT_TOKEN), Secret(APP_TOKEN)
        return SlackChannel(account, *tokens, self.servers[account].root, clock, ping_s=PING_S)

    def section(self, account: str = "default") -> dict[str, Any]:
        tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN}
        return {"account": account, **tokens, "api_root": self.servers[account].root}

    def identity(self, who: str) -> str:
        return f"slack:user:{TEAM}/{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("slack", self._room, chat_type=ChatType.CHANNEL, thread=thread, space=TEAM)
        return Address("slack", PEOPLE[who], space=TEAM)

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
        more: dict[str, Any] = {} if thread is None else {"thread_ts": thread}
        if media is not None:
            self.server.contents["F9"] = media
            file = {"id": "F9", "name": "a.png", "mimetype": "image/png"}
            self.server.files["F9"] = {**file, "url_private": f"http://{self.server.address}/files/F9"}
            more |= {"subtype": "file_share", "files": [file]}
        room = self._room if group else ROOMS[who]
        written = f"<@{self.server.me}> {text}" if group and mention else text
        message = await self.server.say(written, room, PEOPLE[who], heard=heard, **more)
        self.last = {**message, "channel": room, "channel_type": "channel" if group else "im"}
        return str(message["ts"])

    async def says_in_disorder(self, *texts: str) -> None:
        said = []
        for text in texts:
            await self.says(text, heard=False)
            said.append(self.last)
        for message in reversed(said):
            await self.server.event(message)

    async def says_again(self) -> None:
        await self.server.event(self.last)

    async def edits(self, id: str, text: str) -> None:
        message = next(each for each in self.server.messages[DM] if each["ts"] == id)
        message |= {"text": text, "edited": {"user": ADAS_ID, "ts": self.server.new_ts()}}
        changed = {"type": "message", "subtype": "message_changed", "message": message}
        await self.server.event({**changed, "channel": DM, "channel_type": "im"})

    async def votes(self, option: int) -> None:
        message = [each for each in self.server.messages[DM] if each.get("blocks")][-1]
        button = message["blocks"][-1]["elements"][option]
        user = {"id": ADAS_ID, "team_id": TEAM, "username": ADA}
        payload = {"type": "block_actions", "user": user, "channel": {"id": DM}, "message": message}
        await self.server.envelope(
            "interactive", {**payload, "actions": [{**button, "action_ts": self.server.new_ts()}]}
        )

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        room = self._room if group else ROOMS[who]
        message = [each for each in self.server.messages[room] if each.get("blocks")][-1]
        buttons = [each for block in message["blocks"] for each in block.get("elements", ())]
        button = next(each for each in buttons if each["text"]["text"] == label)
        user = {"id": PEOPLE[who], "team_id": TEAM, "username": who}
        payload = {"type": "block_actions", "user": user, "channel": {"id": room}}
        action = {**button, "action_ts": self.server.new_ts()}
        await self.server.envelope("interactive", {**payload, "message": message, "actions": [action]})

    async def reacts(self, emoji: str) -> None:
        ts = [each for each in self.server.messages[DM] if each["user"] == self.server.me][-1]["ts"]
        item = {"type": "message", "channel": DM, "ts": ts}
        await self.server.event({"type": "reaction_added", "user": ADAS_ID, "reaction": name_of(emoji), "item": item})

    @property
    def room_name(self) -> str:  # type: ignore[override]
        return str(self.server.rooms[0]["name"])

    async def renames(self, name: str) -> None:
        self.server.rooms[0]["name"] = name
        await self.server.event({"type": "channel_rename", "channel": {"id": self._room, "name": name}})

    async def moves(self) -> None:
        old, self._room = self._room, "C2"
        await self.server.move(old, self._room)
        await until(lambda: not self.server.waiting)

    def notices(self) -> list[str]:
        return self.server.notices

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        messages = self.server.messages.get(self._room if group else ROOMS[who], [])
        ours = [each for each in messages if each["user"] == self.server.me]
        return [each["text"] for each in ours if thread in (None, each.get("thread_ts"))]

    def reactions(self, id: str) -> list[str]:
        message = next(each for each in self.server.messages[DM] if each["ts"] == id)
        return [emoji_of(each["name"]) for each in message.get("reactions", ())]

    def uploads(self) -> list[bytes]:
        return list(self.server.contents.values())

    def attempts(self) -> int:
        return len(self.server.asked("chat.postMessage"))

    def typing_seen(self) -> int:
        return len(self.server.statuses)

    def fetches(self) -> int:
        return self.server.fetched

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail("chat.postMessage", **FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].bot_token = "revoked"
        self.servers[account].cut()
