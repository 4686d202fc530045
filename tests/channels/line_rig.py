"""LINE for the test-kit: our Messaging API, which delivers to the webhooks of the channels."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import Address, Channel, ChatType
from hub.security.webhook_signature import sign
from integrations.channels.line.channel import LineAccount, LineChannel
from integrations.channels.public_files import PublicFiles
from integrations.channels.webhook_delivery import BODY_BYTES
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Named, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.line_server import (
    ADA as ADAS_ID,
    EVE as EVES_ID,
    FORM,
    GROUP as GROUP_ID,
    PUBLIC_URL,
    SECRET,
    LineServer,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
OTHER = "U0000000000000000000000000000b072"
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "message": "The API rate limit has been exceeded. Try again later."},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "message": "The service is temporarily unavailable"},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 400, "message": "The property, 'to', in the request body is invalid"},
    Trouble.REMOVED: {"status": 400, "message": "Failed to send messages"},
}


class LineRig(DoubleRig[LineServer]):
    """Two official accounts; a person has another id for nobody."""

    name = "line"
    can = frozenset({Can.GROUPS, Can.MEDIA, Can.OFFERS_AGAIN, Can.MALFORMED, Can.BUTTONS, Can.TWO_ACCOUNTS})
    troubles = frozenset(FAULTS)
    named = frozenset({Named.HEARD})
    room_name = "Family"
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.CHANGED, Forged.TOO_LONG})

    def __init__(self) -> None:
        second = LineServer(OTHER)
        second.secret, second.token = "of-the-second-account-0123456789", "second-token"
        super().__init__(LineServer(), second)
        self.channels: dict[str, LineChannel] = {}
        self.files: dict[str, PublicFiles] = {}
        self.host = WebhookHost(
            lambda: [*(e.route() for e in self.channels.values()), *(e.route() for e in self.files.values())]
        )
        self._running: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        await super().start()
        url = await self.host.start()
        for account, server in self.servers.items():
            server.hub, server.public = f"{url}/line/{account}", url

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await super().stop()
        await self.host.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        server = self.servers[account]
        config = LineAccount(account, Secret(server.token), Secret(server.secret), server.url, server.url, PUBLIC_URL)
        # One for all accounts, as `setup` makes it.
        self.files.setdefault("line", PublicFiles("line", JsonStorage(folder / "files.json"), clock))
        self.channels[account] = channel = LineChannel(config, self.files["line"], clock)
        return channel

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        secrets = {"access_token": server.token, "channel_secret": server.secret}
        return {"account": account, **secrets, "api_root": server.url, "data_root": server.url}

    def hub_at(self, url: str, home: Path) -> None:
        for account, server in self.servers.items():
            server.hub = f"{url}/line/{account}"

    def identity(self, who: str) -> str:
        return f"line:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("line", GROUP_ID, chat_type=ChatType.GROUP)
        return Address("line", PEOPLE[who])

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
        message: dict[str, Any] = {"type": "text", "text": text, "id": self.server.id()}
        if media is not None:
            self.server.files[message["id"]] = media
            message |= {"type": "file", "fileName": "a.png", "fileSize": len(media)}
        elif group and mention:
            mentionee = {"type": "user", "isSelf": True, "userId": self.server.bot, "index": 0, "length": 5}
            message |= {"text": f"@Home {text}", "mention": {"mentionees": [mentionee]}}
        self.last = {"message": message, "who": PEOPLE[who], "group": GROUP_ID if group else None}
        return self.server.says(**self.last)

    async def says_again(self) -> None:
        self.server.says(**self.last)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        message = [each for each in self.server.sent if _actions(each)][-1]
        data = next(each["data"] for each in _actions(message) if each["displayText"] == label)
        event = {"type": "postback", "postback": {"data": data}}
        self.server.happens(event, PEOPLE[who], GROUP_ID if group else None)

    def notices(self) -> list[str]:
        return [each["text"] for each in self.server.sent if each["silent"]]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        to = GROUP_ID if group else PEOPLE[who]
        return [text_of(each) for each in self.server.sent if each["to"] == to and each["type"] in ("text", "template")]

    def uploads(self) -> list[bytes]:
        return self.server.downloads

    def attempts(self) -> int:
        return len(self.server.asked)

    def fetches(self) -> int:
        return len(self.server.fetched)

    def typing_seen(self) -> int:
        return len(self.server.typing)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(**FAULTS[each])

    async def delivers_forged(self, forged: Forged) -> int:
        body = b"x" * (BODY_BYTES + 1) if forged is Forged.TOO_LONG else b"{"
        headers = {
            Forged.UNSIGNED: {},
            Forged.WRONG: {"X-Line-Signature": "A" * 43 + "="},
            Forged.FOREIGN: {"X-Line-Signature": sign(self.servers["second"].secret, body, FORM)},
            Forged.CHANGED: {"X-Line-Signature": sign(SECRET, b"{}", FORM)},
            Forged.TOO_LONG: {"X-Line-Signature": sign(SECRET, body, FORM)},
        }[forged]
        return await self.host.post("/line/default", body, headers)

    def garbles(self) -> None:
        self.server.post_raw(b'{"destination": "U00')

    def revokes(self, account: str = "default") -> None:
        self.servers[account].token = "another"
        # Nobody asks LINE anything by itself; a person does.
        self._running.add(asyncio.get_running_loop().create_task(self.channels[account].probe()))


def _actions(message: dict[str, Any]) -> list[dict[str, Any]]:
    items = message.get("quickReply", {}).get("items", ())
    return message.get("template", {}).get("actions") or [each["action"] for each in items]


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message that was sent."""
    return str(message["template"]["text"] if message["type"] == "template" else message["text"])
