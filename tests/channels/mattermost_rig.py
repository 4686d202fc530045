"""Mattermost for the test-kit: our API and WebSocket, one server for each of two bots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Button, Channel, ChatType
from integrations.channels.emoji_names import emoji_of, name_of
from integrations.channels.mattermost.buttons import BODY_BYTES, attachment
from integrations.channels.mattermost.channel import MattermostAccount, MattermostChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Named, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.mattermost_server import (
    ADA as ADAS_ID,
    DM,
    EVE as EVES_ID,
    EVES_DM,
    ROOM,
    TEAM,
    TOKEN,
    MattermostServer,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
ROOMS = {ADA: DM, EVE: EVES_DM}
PING_S = 3.0
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "headers": {"X-Ratelimit-Reset": "1"}},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "id": "api.post.deduplicate_create_post.pending"},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 403, "id": "api.context.permissions.app_error"},
    Trouble.REMOVED: {"status": 403, "id": "api.context.permissions.app_error"},
}


class MattermostRig(DoubleRig[MattermostServer]):
    """A server for each account; Ada and Eve write in direct messages and in one channel."""

    name = "mattermost"
    listed_person = "Ada King"
    can = frozenset(Can) - {Can.VOTES, Can.VOICE, Can.MOVES}
    named = frozenset({Named.HEARD, Named.LISTED})
    room_name = "Family"
    troubles = frozenset(FAULTS)
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.CHANGED, Forged.TOO_LONG})

    def __init__(self) -> None:
        super().__init__(MattermostServer(), MattermostServer("secondbotidrmb8mkqye3n5zqw"))
        self.channels: dict[str, MattermostChannel] = {}
        self.host = WebhookHost(lambda: [each.route() for each in self.channels.values()])

    async def start(self) -> None:
        await super().start()
        for account, server in self.servers.items():
            server.token = f"{TOKEN}-{account}"
        await self.host.start()

    async def stop(self) -> None:
        await super().stop()
        await self.host.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        token = Secret(f"{TOKEN}-{account}")
        config = MattermostAccount(account, self.servers[account].url, token, self.host.url)
        self.channels[account] = channel = MattermostChannel(config, clock, ping_s=PING_S)
        return channel

    def section(self, account: str = "default") -> dict[str, Any]:
        return {"account": account, "url": self.servers[account].url, "token": self.servers[account].token}

    def identity(self, who: str) -> str:
        return f"mattermost:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("mattermost", ROOM, chat_type=ChatType.CHANNEL, thread=thread, space=TEAM)
        return Address("mattermost", PEOPLE[who])

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
        if thread is not None and thread not in self.server.posts:
            self.server.add_post(ROOM, EVES_ID, "", id=thread, type="system_purpose_change")
        more: dict[str, Any] = {} if thread is None else {"root_id": thread}
        if media is not None:
            more["file_ids"] = [self.server.add_file(media, "a.png", "image/png")]
        written = f"@homarus {text}" if group and mention else text
        room = ROOM if group else ROOMS[who]
        self.last = await self.server.say(written, room, PEOPLE[who], heard=heard, **more)
        return str(self.last["id"])

    async def says_in_disorder(self, *texts: str) -> None:
        said = []
        for text in texts:
            await self.says(text, heard=False)
            said.append(self.last)
        for post in reversed(said):
            await self.server.tell_post("posted", post)

    async def says_again(self) -> None:
        await self.server.tell_post("posted", self.last)

    async def edits(self, id: str, text: str) -> None:
        await self.server.change(id, text)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        posts = self._ours(who, group=group)
        id = [each["id"] for each in posts if each["props"].get("attachments")][-1]
        await self.server.press(id, label, PEOPLE[who])

    async def reacts(self, emoji: str) -> None:
        await self.server.react(self._ours(ADA)[-1]["id"], ADAS_ID, name_of(emoji))

    def notices(self) -> list[str]:
        return self.server.notices

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        posts = self._ours(who, group=group)
        return [each["message"] for each in posts if thread in (None, each["root_id"])]

    def _ours(self, who: str, *, group: bool = False) -> list[dict[str, Any]]:
        room = ROOM if group else ROOMS[who]
        posts = [each for each in self.server.posts.values() if each["channel_id"] == room and not each["delete_at"]]
        return [each for each in posts if each["user_id"] == self.server.me]

    def reactions(self, id: str) -> list[str]:
        return [emoji_of(each["emoji_name"]) for each in self.server.reactions if each["post_id"] == id]

    def uploads(self) -> list[bytes]:
        return [content for _, content in self.server.files.values()]

    def attempts(self) -> int:
        return self.server.asked.count("POST posts")

    def fetches(self) -> int:
        return self.server.fetched

    def typing_seen(self) -> int:
        return len(self.server.typing)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail("POST posts", **FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].token = "another"
        self.servers[account].cut()

    async def delivers_forged(self, forged: Forged) -> int:
        return await self.host.post("/mattermost/default", forged_press(forged), {})


def forged_press(forged: Forged) -> bytes:
    """Return a call of a button that the server never made: what is signed comes within it."""
    if forged is Forged.TOO_LONG:
        return b"x" * (BODY_BYTES + 1)
    token = f"{TOKEN}-{'second' if forged is Forged.FOREIGN else 'default'}"
    button = attachment([[Button("Yes", "yes")]], "", Secret(token), DM)["actions"][0]
    context = dict(button["integration"]["context"])
    if forged is Forged.UNSIGNED:
        del context["signature"]
    if forged is Forged.WRONG:
        context["signature"] = "0" * 64
    if forged is Forged.CHANGED:
        context["value"] = "no"
    return json.dumps({"user_id": ADAS_ID, "channel_id": DM, "post_id": "p", "context": context}).encode()
