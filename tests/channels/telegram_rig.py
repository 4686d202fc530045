"""Telegram for the test-kit: our Bot API server, with two bots' worth of accounts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.telegram.channel import Telegram, TelegramAccount, TelegramParts
from integrations.channels.telegram.listener import PollTiming, TelegramWebhook
from integrations.channels.telegram.webhook import HEADER, webhook_route
from tests.channels.kit import ADA, EVE, Can, Forged, Named, Rig, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.telegram_server import (
    BAD_GATEWAY,
    BAD_MARKUP,
    BLOCKED,
    DROPPED_AFTER,
    HANGS,
    MALFORMED,
    PROXY_PAGE,
    RATE_LIMITED,
    Fault,
    TelegramServer,
)

PEOPLE = {ADA: 7, EVE: 666}
GROUP_ID = -1001
TIMING = PollTiming(poll_s=1, answer_s=5.0)
SENDS = ("sendmessage", "sendphoto", "senddocument", "sendpoll")
FAULTS = {
    Trouble.RATE_LIMITED: RATE_LIMITED,
    Trouble.REFUSED_FOR_NOW: BAD_GATEWAY,
    Trouble.PROXY_PAGE: PROXY_PAGE,
    Trouble.ANSWER_LOST: DROPPED_AFTER,
    Trouble.MARKUP_REFUSED: BAD_MARKUP,
    Trouble.FORBIDDEN: BLOCKED,
    Trouble.REMOVED: Fault(403, "Forbidden: bot was kicked from the supergroup chat"),
}


def telegram_channel(
    server: TelegramServer,
    folder: Path,
    clock: Clock,
    account: str = "default",
    *,
    timing: PollTiming = TIMING,
    webhook: TelegramWebhook | None = None,
    groups: Sequence[str] = (),
) -> Telegram:
    """Return a channel for the bot of a server."""
    config = TelegramAccount(account, Secret(server.token), server.api_root, webhook, groups)
    parts = TelegramParts(clock, lambda: "(The topic was deleted.)")
    return Telegram(config, parts, timing)


class TelegramRig(Rig):
    """A Bot API server for each account."""

    name = "telegram"
    can = frozenset(Can)
    named = frozenset(Named)
    troubles = frozenset(Trouble)
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.TOO_LONG})

    def __init__(self) -> None:
        self._servers = {"default": TelegramServer(), "second": TelegramServer("second_bot", 4343)}
        self.server = self._servers["default"]
        self.timing = TIMING
        self._group = GROUP_ID
        self.bots: dict[str, Telegram] = {}

    async def start(self) -> None:
        for server in self._servers.values():
            await server.start()

    async def stop(self) -> None:
        for server in self._servers.values():
            await server.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        server, groups = self._servers[account], (str(GROUP_ID),)
        self.bots[account] = telegram_channel(server, folder, clock, account, timing=self.timing, groups=groups)
        return self.bots[account]

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self._servers[account]
        return {"account": account, "token": server.token, "api_root": server.api_root}

    def writes_to(self, account: str) -> None:
        self.server = self._servers[account]

    def identity(self, who: str) -> str:
        return f"telegram:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("telegram", str(self._group), chat_type=ChatType.GROUP, thread=thread)
        return Address("telegram", str(PEOPLE[who]))

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
        if thread is not None:
            more["thread"] = int(thread)
        if media is not None:
            more["document"] = self.server.chats.file(media, file_name="a.png", mime_type="image/png")
        written = f"@{self.server.chats.bot['username']} {text}" if group and mention else text
        message = self.server.chats.says(written, chat=self._group if group else PEOPLE[who], who=PEOPLE[who], **more)
        return str(message["message_id"])

    async def says_in_disorder(self, *texts: str) -> None:
        self.server.shuffles = random.Random(1)
        for text in texts:
            await self.says(text)

    async def speaks(self, sound: bytes) -> None:
        voice = self.server.chats.file(sound, duration=3, mime_type="audio/ogg")
        self.server.chats.says(chat=PEOPLE[ADA], who=PEOPLE[ADA], voice=voice)

    async def says_again(self) -> None:
        self.server.queue_again(self.server.last_update)

    async def edits(self, id: str, text: str) -> None:
        self.server.chats.edits(self.server.chats.messages[PEOPLE[ADA]][int(id)], text)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        self.server.chats.presses(self._group if group else PEOPLE[who], label, who=PEOPLE[who])

    async def votes(self, option: int) -> None:
        self.server.chats.votes(self._newest()["poll"]["id"], option)

    async def reacts(self, emoji: str) -> None:
        self.server.chats.reacts(PEOPLE[ADA], self._newest()["message_id"], emoji)

    @property
    def room_name(self) -> str:  # type: ignore[override]
        return str(self.server.chats.chat(self._group)["title"])

    async def renames(self, name: str) -> None:
        self.server.chats.titles[self._group] = name

    async def moves(self) -> None:
        chats, old = self.server.chats, self._group
        self._group = old - 1_000_000
        chats.says(chat=old, who=PEOPLE[ADA], migrate_to_chat_id=self._group)
        chats.migrated[old] = self._group
        chats.says(chat=self._group, who=PEOPLE[ADA], migrate_from_chat_id=old)

    def notices(self) -> list[str]:
        return self.server.chats.notices

    def _newest(self) -> dict[str, Any]:
        ours = [each for each in self.server.chats.messages[PEOPLE[ADA]].values() if each["from"]["is_bot"]]
        return ours[-1]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        return self.server.chats.shown(self._group if group else PEOPLE[who], None if thread is None else int(thread))

    def reactions(self, id: str) -> list[str]:
        return [each["emoji"] for each in self.server.chats.reactions.get((PEOPLE[ADA], int(id)), ())]

    def uploads(self) -> list[bytes]:
        return list(self.server.chats.files.values())

    def voices(self) -> list[bytes]:
        voices = [each["voice"] for each in self.server.chats.messages[PEOPLE[ADA]].values() if "voice" in each]
        said = [self.server.chats.files[each["file_id"]] for each in voices]
        return said[1:]  # the first is Ada's

    def attempts(self) -> int:
        return sum(self.server.calls[each] for each in SENDS)

    def fetches(self) -> int:
        return self.server.calls["getfile"] + self.server.calls["file"]

    def typing_seen(self) -> int:
        return len(self.server.chats.actions)

    def drafts(self) -> list[str]:
        return [text for _, _, text in self.server.chats.drafts]

    def trouble(self, *troubles: Trouble) -> None:
        self.server.fail("sendMessage", *(FAULTS[each] for each in troubles))

    def goes_deaf(self) -> None:
        self.server.fail("getUpdates", HANGS)
        self.server.cut_poll()

    async def delivers_forged(self, forged: Forged) -> int:
        route = webhook_route(self.bots["default"], Secret("secret-of-default"))
        host = WebhookHost(lambda: [route])
        await host.start()
        body = b"x" * (route.open_limit + 1) if forged is Forged.TOO_LONG else b"{"
        given = {Forged.WRONG: "sécret", Forged.FOREIGN: "secret-of-second", Forged.TOO_LONG: "secret-of-default"}
        status = await host.post(route.path, body, {HEADER: given[forged]} if forged in given else {})
        await host.stop()
        return status

    def garbles(self) -> None:
        self.server.fail("getUpdates", MALFORMED)
        self.server.cut_poll()

    def revokes(self, account: str = "default") -> None:
        self._servers[account].token = "0:revoked"
        self._servers[account].cut_poll()
