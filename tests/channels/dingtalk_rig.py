"""DingTalk for the test-kit: our API with its Stream mode, one for each of two apps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.dingtalk.channel import DingTalkAccount, DingTalkChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Named, Trouble
from tests.servers.dingtalk_server import (
    ADA as ADAS_ID,
    CLIENT_SECRET,
    EVE as EVES_ID,
    GROUP,
    GROUP_NAME,
    DingTalkServer,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
PING_S = 3.0
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 200, "body": {"errcode": 130101, "errmsg": "send too fast"}},
    Trouble.REFUSED_FOR_NOW: {"status": 200, "body": {"errcode": -1, "errmsg": "system busy"}},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.REMOVED: {"status": 200, "body": {"errcode": 400106, "errmsg": "robot 不存在"}},
}


class DingTalkRig(DoubleRig[DingTalkServer]):
    """An app for each account; Ada and Eve write alone, and in one group."""

    name = "dingtalk"
    listed_person = "Ada"
    can = frozenset({Can.GROUPS, Can.MEDIA, Can.OFFERS_AGAIN, Can.DEAF, Can.TWO_ACCOUNTS, Can.MALFORMED, Can.VOICE})
    named = frozenset({Named.HEARD, Named.RENAMED})
    room_name = GROUP_NAME
    troubles = frozenset({*FAULTS, Trouble.FORBIDDEN})

    def __init__(self) -> None:
        super().__init__(DingTalkServer(), DingTalkServer("dingdef456"))

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        return DingTalkChannel(account_on(self.servers[account], account), clock, ping_s=PING_S)

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        login = {"client_id": server.client_id, "client_secret": CLIENT_SECRET}
        return {"account": account, **login, "api_root": server.root, "oapi_root": server.root}

    def identity(self, who: str) -> str:
        return f"dingtalk:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("dingtalk", GROUP, chat_type=ChatType.GROUP)
        return Address("dingtalk", PEOPLE[who])

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
            self.server.files["code"] = media
            more = {"msgtype": "file", "content": {"downloadCode": "code", "fileName": "a.png"}}
        self.last = self.server.message(text, PEOPLE[who], group=group, **more)
        if mention or not group:  # the robot is told of nothing else
            await self.server.tell(self.last)
        return str(self.last["msgId"])

    async def says_in_disorder(self, *texts: str) -> None:
        for message in reversed([self.server.message(text) for text in texts]):
            await self.server.tell(message)

    async def speaks(self, sound: bytes) -> None:
        self.server.files["code"] = sound
        content = {"downloadCode": "code", "duration": 3_000, "recognition": "hello"}
        await self.server.tell(self.server.message("", ADAS_ID, msgtype="audio", content=content))

    async def says_again(self) -> None:
        await self.server.tell(self.last)

    async def renames(self, name: str) -> None:
        self.server.group_name = name

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        return [each.replace("  \n", "\n") for each in self.server.shown(GROUP if group else PEOPLE[who])]

    def uploads(self) -> list[bytes]:
        return [content for _, content in self.server.uploaded.values()]

    def voices(self) -> list[bytes]:
        return [self.server.uploaded[each["mediaId"]][1] for each in self.server.sent if each["kind"] == "voice"]

    def attempts(self) -> int:
        return len(self.server.calls("/sendBySession") or self.server.calls("/batchSend"))

    def fetches(self) -> int:
        return len(self.server.fetched)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            if each is Trouble.FORBIDDEN:
                self.server.has_sessions = False
                body = {"code": "staffId.notExisted", "message": "there is no such person"}
                self.server.fail("/batchSend", 400, body=body)
            else:
                self.server.fail("/sendBySession", **FAULTS[each])

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].revoke()


def account_on(server: DingTalkServer, account: str = "default") -> DingTalkAccount:
    """Return the configuration of an account on a server."""
    roots = server.root, server.root
    return DingTalkAccount(account, server.client_id, Secret(CLIENT_SECRET), server.client_id, roots)
