"""Feishu for the test-kit: our API with its long connection, one for each of two apps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.capabilities import CanDelete
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.feishu.channel import FeishuAccount, FeishuChannel
from integrations.channels.feishu.emoji import emoji_of, name_of
from integrations.channels.feishu.webhook import BODY_BYTES, NONCE, SIGNATURE, STAMP, FeishuWebhook, signature_of
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Named, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.feishu_server import ADA as ADAS_ID, APP_SECRET, EVE as EVES_ID, GROUP, FeishuServer, buttons_of

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
PING_S = 3.0
KEY = "an-encrypt-key-of-many-words"
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "code": 99991400, "headers": {"x-ogw-ratelimit-reset": "1"}},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "code": 5000},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.MARKUP_REFUSED: {"status": 400, "code": 230099},
    Trouble.FORBIDDEN: {"status": 400, "code": 230013},
    Trouble.REMOVED: {"status": 400, "code": 230002},
}


class FeishuRig(DoubleRig[FeishuServer]):
    """An app for each account; Ada and Eve write in direct messages and in one group."""

    name = "feishu"
    hears_deletions = True
    can = frozenset(Can) - {Can.VOTES, Can.EDITS, Can.MOVES}
    named = frozenset(Named)
    room_name = "The family"
    troubles = frozenset(FAULTS)
    forges = frozenset(Forged)

    def __init__(self) -> None:
        super().__init__(FeishuServer(), FeishuServer("cli_d4e5f6"))

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        server = self.servers[account]
        self._clock = clock
        return FeishuChannel(
            FeishuAccount(account, server.app_id, Secret(APP_SECRET), server.root), clock, ping_s=PING_S
        )

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        return {"account": account, "app_id": server.app_id, "app_secret": APP_SECRET, "api_root": server.root}

    def identity(self, who: str) -> str:
        return f"feishu:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            root = None if thread is None else f"om_{thread}"
            return Address("feishu", GROUP, chat_type=ChatType.GROUP, thread=root)
        return Address("feishu", PEOPLE[who])

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
        content: Any = text
        if thread is not None:
            root = f"om_{thread}"
            self.server.messages.setdefault(root, {"message_id": root, "chat_id": GROUP, "sender": "", "msg_type": ""})
            more |= {"root_id": root, "parent_id": root, "thread_id": "omt_1"}
        if media is not None:
            self.server.files["file_v3_a"] = media
            content, more["kind"] = {"file_key": "file_v3_a", "file_name": "a.png"}, "file"
        elif group and mention:
            content = f"@_user_1 {text}"
            more["mentions"] = [{"key": "@_user_1", "id": {"open_id": self.server.me}, "name": "Homarus"}]
        self.last = await self.server.say(content, PEOPLE[who], GROUP if group else None, **more)
        return str(self.last["message"]["message_id"])

    async def says_in_disorder(self, *texts: str) -> None:
        self.server.is_silent = True
        said = [await self._said(text) for text in texts]
        self.server.is_silent = False
        for event in reversed(said):
            await self.server.tell("im.message.receive_v1", event)

    async def _said(self, text: str) -> dict[str, Any]:
        await self.says(text)
        return self.last

    async def speaks(self, sound: bytes) -> None:
        self.server.files["file_v3_v"] = sound
        await self.server.say({"file_key": "file_v3_v", "duration": 3_000}, ADAS_ID, None, kind="audio")

    async def says_again(self) -> None:
        await self.server.tell("im.message.receive_v1", self.last)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        message = [each for each in self._ours(who, group) if buttons_of(json.loads(each["content"]))][-1]
        value = buttons_of(json.loads(message["content"]))[label]
        context = {"open_message_id": message["message_id"], "open_chat_id": message["chat_id"]}
        action = {"value": value, "tag": "button"}
        operator = self.server.ids(PEOPLE[who])
        await self.server.tell("card.action.trigger", {"operator": operator, "action": action, "context": context})

    async def reacts(self, emoji: str) -> None:
        id = self._ours(ADA, group=False)[-1]["message_id"]
        reaction = {"message_id": id, "reaction_type": {"emoji_type": name_of(emoji)}, "operator_type": "user"}
        event = {**reaction, "user_id": self.server.ids(ADAS_ID), "action_time": "1"}
        await self.server.tell("im.message.reaction.created_v1", event)

    async def renames(self, name: str) -> None:
        self.server.groups[GROUP] = name
        await self.server.tell("im.chat.updated_v1", {"chat_id": GROUP, "after_change": {"name": name}})

    async def deletes(self, channel: CanDelete, address: Address, id: str) -> None:
        chat = self.server.messages[id]["chat_id"]
        await channel.delete(address, id)
        recalled = {"message_id": id, "chat_id": chat, "recall_type": "group_owner"}
        await self.server.tell("im.message.recalled_v1", recalled)

    def notices(self) -> list[str]:
        return self.server.notices

    def _ours(self, who: str, group: bool) -> list[dict[str, Any]]:
        chat = GROUP if group else self.server.chat_with(PEOPLE[who])
        messages = self.server.messages.values()
        ours = [each for each in messages if each["chat_id"] == chat and each["sender"] == self.server.app_id]
        return [each for each in ours if each["msg_type"] == "interactive"]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        chat = GROUP if group else self.server.chat_with(PEOPLE[who])
        return self.server.shown(chat, None if thread is None else f"om_{thread}")

    def reactions(self, id: str) -> list[str]:
        return [emoji_of(each["reaction_type"]["emoji_type"]) for each in self.server.messages[id]["reactions"]]

    def uploads(self) -> list[bytes]:
        return [content for _, content in self.server.uploaded.values()]

    def voices(self) -> list[bytes]:
        chat = self.server.chat_with(ADAS_ID)
        said = [each for each in self.server.messages.values() if each["chat_id"] == chat]
        ours = [each for each in said if each["sender"] == self.server.app_id and each["msg_type"] == "audio"]
        return [self.server.uploaded[json.loads(each["content"])["file_key"]][1] for each in ours]

    def attempts(self) -> int:
        return len(self.server.calls("POST", "/im/v1/messages"))

    def fetches(self) -> int:
        return len(self.server.fetched)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail("/im/v1/messages", **FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].revoke()

    async def delivers_forged(self, forged: Forged) -> int:
        webhook = FeishuWebhook("default", Secret(KEY), self._clock)
        host = WebhookHost(lambda: [webhook.route()])
        await host.start()
        body = b"x" * (BODY_BYTES + 1) if forged is Forged.TOO_LONG else b"{"
        stamp = str(int(self._clock.time()) - (360 if forged is Forged.REPLAYED else 0))
        key = "the-key-of-another-app" if forged is Forged.FOREIGN else KEY
        signature = signature_of(key, stamp, "n", b"{}" if forged is Forged.CHANGED else body)
        headers = {STAMP: stamp, NONCE: "n", SIGNATURE: "0" * 64 if forged is Forged.WRONG else signature}
        status = await host.post(webhook.route().path, body, {} if forged is Forged.UNSIGNED else headers)
        await host.stop()
        return status
