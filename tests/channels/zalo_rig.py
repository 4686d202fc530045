"""Zalo for the test-kit: our Bot API, which is polled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.public_files import PublicFiles
from integrations.channels.webhook_delivery import BODY_BYTES
from integrations.channels.zalo.channel import HEADER, PollTiming, ZaloAccount, ZaloChannel
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.zalo_server import ADA as ADAS_ID, EVE as EVES_ID, GROUP as GROUP_ID, PUBLIC_URL, ZaloServer

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
SECRET = "secret-of-default"
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"code": 429, "status": 429, "headers": {"Retry-After": "1"}},
    Trouble.REFUSED_FOR_NOW: {"code": 500},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"code": 403},
}
TIMING = PollTiming(poll_s=1, answer_s=5.0)


class ZaloRig(DoubleRig[ZaloServer]):
    """Two bots, for which people have the same ids."""

    name = "zalo"
    can = frozenset({Can.GROUPS, Can.MEDIA, Can.MALFORMED, Can.DEAF, Can.TWO_ACCOUNTS})
    troubles = frozenset(FAULTS)
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.TOO_LONG})

    def __init__(self) -> None:
        second = ZaloServer("2459232241454765289")
        second.token = "987654321:another"
        super().__init__(ZaloServer(), second)
        self.channels: dict[str, ZaloChannel] = {}
        self.files: dict[str, PublicFiles] = {}
        self.host = WebhookHost(lambda: [*self._routes(), *(each.route() for each in self.files.values())])

    def _routes(self) -> list[Any]:
        return [route for each in self.channels.values() if (route := each.route()) is not None]

    async def start(self) -> None:
        await super().start()
        url = await self.host.start()
        for server in self.servers.values():
            server.public = url

    async def stop(self) -> None:
        await super().stop()
        await self.host.stop()

    def config(self, account: str = "default") -> ZaloAccount:
        """Return the configuration of a bot that is polled."""
        server = self.servers[account]
        return ZaloAccount(account, Secret(server.token), server.url, PUBLIC_URL)

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        return self.channel_of(self.config(account), folder, clock)

    def channel_of(self, config: ZaloAccount, folder: Path, clock: Clock) -> ZaloChannel:
        """Return a channel for a configuration."""
        self.files.setdefault("zalo", PublicFiles("zalo", JsonStorage(folder / "files.json"), clock))
        channel = ZaloChannel(config, self.files["zalo"], clock, TIMING)
        self.channels[config.account] = channel
        return channel

    def section(self, account: str = "default") -> dict[str, Any]:
        return {"account": account, "token": self.servers[account].token, "api_root": self.servers[account].url}

    def identity(self, who: str) -> str:
        return f"zalo:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("zalo", GROUP_ID, chat_type=ChatType.GROUP)
        return Address("zalo", PEOPLE[who])

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
        self.last = {"text": f"@Home {text}" if group and mention else text, "message_id": self.server.id()}
        self.last |= {"who": PEOPLE[who], "group": GROUP_ID if group else None, "event": "text"}
        if media is not None:
            self.server.photos["1"] = media
            self.last |= {"event": "image", "photo_url": f"{self.server.url}/photo/1", "caption": self.last.pop("text")}
        return self.server.says(**self.last)

    async def says_again(self) -> None:
        self.server.says(**self.last)

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        to = GROUP_ID if group else PEOPLE[who]
        return [each["text"] for each in self.server.sent if each["chat_id"] == to and "text" in each]

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

    def goes_deaf(self) -> None:
        self.server.deaf = True

    async def delivers_forged(self, forged: Forged) -> int:
        config = replace(self.config(), webhook_secret=Secret(SECRET))
        route = ZaloChannel(config, self.files["zalo"], Clock()).route()
        host = WebhookHost(lambda: [route] if route else [])
        await host.start()
        body = b"x" * (BODY_BYTES + 1) if forged is Forged.TOO_LONG else b"{"
        given = {Forged.WRONG: "sécret", Forged.FOREIGN: "secret-of-second", Forged.TOO_LONG: SECRET}
        status = await host.post("/zalo/default", body, {HEADER: given[forged]} if forged in given else {})
        await host.stop()
        return status

    def garbles(self) -> None:
        self.server.garbled = True

    def revokes(self, account: str = "default") -> None:
        self.servers[account].token = "0:revoked"
