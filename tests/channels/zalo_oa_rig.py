"""Zalo's official accounts for the test-kit: our API, which delivers to the webhooks of the channels."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import Address, Channel
from integrations.channels.public_files import PublicFiles
from integrations.channels.webhook_delivery import BODY_BYTES
from integrations.channels.zalo_oa.channel import ZaloOaAccount, ZaloOaChannel
from integrations.channels.zalo_oa.events import AGE_LIMIT_S, signature
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.zalo_oa_server import (
    ADA as ADAS_ID,
    APP_ID,
    APP_SECRET,
    EVE as EVES_ID,
    OA_SECRET,
    PUBLIC_URL,
    ZaloOaServer,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"code": -32},
    Trouble.REFUSED_FOR_NOW: {"code": -200},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"code": -230},
}


class ZaloOaRig(DoubleRig[ZaloOaServer]):
    """Two official accounts of one app."""

    name = "zalo_oa"
    can = frozenset({Can.MEDIA, Can.OFFERS_AGAIN, Can.MALFORMED, Can.TWO_ACCOUNTS})
    troubles = frozenset(FAULTS)
    forges = frozenset(Forged)

    def __init__(self) -> None:
        second = ZaloOaServer("679745863508352884")
        second.secret = "of-the-second-account"
        super().__init__(ZaloOaServer(), second)
        self.first_tokens = {account: each.refresh_token for account, each in self.servers.items()}
        self.channels: dict[str, ZaloOaChannel] = {}
        self.files: dict[str, PublicFiles] = {}
        self.host = WebhookHost(
            lambda: [*(e.route() for e in self.channels.values()), *(e.route() for e in self.files.values())]
        )
        self._running: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        await super().start()
        url = await self.host.start()
        for account, server in self.servers.items():
            server.hub, server.public = f"{url}/zalo_oa/{account}", url

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await super().stop()
        await self.host.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        return self.channel_of(folder, clock, account)

    def channel_of(
        self, folder: Path, clock: Clock, account: str = "default", public_url: str | None = PUBLIC_URL
    ) -> ZaloOaChannel:
        """Return a channel, with an address for files or without."""
        server = self.servers[account]
        config = ZaloOaAccount(
            account,
            APP_ID,
            Secret(APP_SECRET),
            Secret(self.first_tokens[account]),
            Secret(server.secret),
            server.url,
            server.url,
            public_url,
        )
        self.files.setdefault("all", PublicFiles("zalo_oa", JsonStorage(folder / "files.json"), clock))
        tokens = JsonStorage(folder / f"tokens-{account}.json")
        self.channels[account] = channel = ZaloOaChannel(config, tokens, self.files["all"], clock)
        return channel

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        secrets = {"app_secret": APP_SECRET, "refresh_token": self.first_tokens[account], "oa_secret": server.secret}
        roots = {"api_root": server.url, "oauth_root": server.url}
        return {"account": account, "app_id": APP_ID, **secrets, **roots}

    def hub_at(self, url: str, home: Path) -> None:
        for account, server in self.servers.items():
            server.hub = f"{url}/zalo_oa/{account}"

    def identity(self, who: str) -> str:
        return f"zalo_oa:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("zalo_oa", PEOPLE[who])

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
        self.last = {"who": PEOPLE[who], "text": text, "msg_id": self.server.id()}
        if media is not None:
            self.server.files["1"] = media
            payload = {"url": f"{self.server.url}/file/1", "name": "a.png", "size": str(len(media)), "type": "txt"}
            self.last |= {"kind": "file", "attachments": [{"type": "file", "payload": payload}]}
        return self.server.says(**self.last)

    async def says_again(self) -> None:
        self.server.says(**self.last)

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        return [each["text"] for each in self.server.sent if each["to"] == PEOPLE[who] and "text" in each]

    def uploads(self) -> list[bytes]:
        return [*self.server.uploaded, *self.server.downloads]

    def attempts(self) -> int:
        return len(self.server.asked)

    def fetches(self) -> int:
        return len(self.server.fetched)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(**FAULTS[each])

    async def delivers_forged(self, forged: Forged) -> int:
        long_ago = forged is Forged.REPLAYED
        stamp = str(int((time.time() - (AGE_LIMIT_S + 60 if long_ago else 0)) * 1_000))
        body = b'{"timestamp":"%s' % stamp.encode()
        if forged is Forged.TOO_LONG:
            body = body.ljust(BODY_BYTES + 1)
        signed = body + b"}" if forged is Forged.CHANGED else body
        secret = self.servers["second"].secret if forged is Forged.FOREIGN else OA_SECRET
        headers = {"X-ZEvent-Signature": f"mac={signature(APP_ID, signed, stamp, secret)}"}
        if forged is Forged.UNSIGNED:
            headers = {}
        if forged is Forged.WRONG:
            headers = {"X-ZEvent-Signature": "mac=" + "0" * 64}
        return await self.host.post("/zalo_oa/default", body, headers)

    def garbles(self) -> None:
        self.server.post_raw(b'{"event_name": "user_se', str(int(time.time() * 1_000)))

    def revokes(self, account: str = "default") -> None:
        self.servers[account].revoke()
        # Zalo is asked once an hour; a person asks now.
        self._running.add(asyncio.get_running_loop().create_task(self.channels[account].probe()))
