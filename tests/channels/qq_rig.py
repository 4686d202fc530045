"""QQ for the test-kit: our API and gateway, one for each of two bots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.qq.api import QQLogin
from integrations.channels.qq.channel import QQChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Trouble
from tests.servers.qq_server import (
    ADA as ADAS_ID,
    ADA_IN_GROUP,
    EVE as EVES_ID,
    GROUP,
    SECRET,
    QQFault,
    QQServer,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
HEARTBEAT_MS = 3_000
FAULTS = {
    Trouble.RATE_LIMITED: QQFault(400, 22009),
    Trouble.REFUSED_FOR_NOW: QQFault(500, 50055001),
    Trouble.PROXY_PAGE: QQFault(502),
    Trouble.ANSWER_LOST: QQFault(done=True),
    Trouble.FORBIDDEN: QQFault(403, 40054002),
}


class QQRig(DoubleRig[QQServer]):
    """Ada and Eve write to the bot alone, and mention it in a group, where QQ gives them other ids."""

    name = "qq"
    can = frozenset({Can.GROUPS, Can.MEDIA, Can.OFFERS_AGAIN, Can.DEAF, Can.TWO_ACCOUNTS, Can.MALFORMED})
    troubles = frozenset(FAULTS)
    only_answers = True

    def __init__(self) -> None:
        super().__init__(QQServer(), QQServer("102000002"))
        for server in self.servers.values():
            server.heartbeat_ms = HEARTBEAT_MS

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        server = self.servers[account]
        return QQChannel(account, QQLogin(server.app_id, Secret(SECRET), server.root, server.token_url), clock)

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        login = {"app_id": self.servers[account].app_id, "app_secret": SECRET}
        return {"account": account, **login, "api_root": server.root, "token_url": server.token_url}

    def identity(self, who: str) -> str:
        return f"qq:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("qq", GROUP, chat_type=ChatType.GROUP) if group else Address("qq", PEOPLE[who])

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
            self.server.files["a.png"] = media
            file = {"content_type": "image/png", "filename": "a.png", "url": f"{self.server.root}/file/a.png"}
            more["attachments"] = [file]
        person = ADA_IN_GROUP if group and who == ADA else PEOPLE[who]
        kind = "GROUP_MESSAGE_CREATE" if group and not mention else ""
        self.last = await self.server.say(f" {text}", person, group=group, event=kind, **more)
        return str(self.last["id"])

    async def says_again(self) -> None:
        kind = "GROUP_AT_MESSAGE_CREATE" if "group_openid" in self.last else "C2C_MESSAGE_CREATE"
        await self.server.bring(kind, self.last)

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        place = f"groups/{GROUP}" if group else f"users/{PEOPLE[who]}"
        return [each["content"] for each in self.server.sent if each["place"] == place and "file" not in each]

    def uploads(self) -> list[bytes]:
        return [each["file"]["content"] for each in self.server.sent if "file" in each]

    def attempts(self) -> int:
        return self.server.attempts

    def fetches(self) -> int:
        return self.server.fetched

    def typing_seen(self) -> int:
        return len(self.server.typing)

    def trouble(self, *troubles: Trouble) -> None:
        self.server.faults += [FAULTS[each] for each in troubles]

    def goes_deaf(self) -> None:
        self.server.deaf = True

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].secret = "another"
        self.servers[account].tokens.append("nobody's")
        self.servers[account].cut()
