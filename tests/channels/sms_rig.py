"""SMS for the test-kit: our Twilio, which delivers to the webhooks of the channels."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import Address, Channel
from integrations.channels.public_files import PublicFiles
from integrations.channels.sms.channel import SmsAccount, SmsChannel
from integrations.channels.twilio_signature import sign
from integrations.channels.webhook_delivery import BODY_BYTES
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.twilio_server import ADA as ADAS_NUMBER, EVE as EVES_NUMBER, PUBLIC_URL, SID, TOKEN, TwilioServer

PEOPLE = {ADA: ADAS_NUMBER, EVE: EVES_NUMBER}
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "code": 20429},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "code": 20500},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 400, "code": 21610},
}


class SmsRig(DoubleRig[TwilioServer]):
    """Two accounts with a number each."""

    name = "sms"
    can = frozenset({Can.MEDIA, Can.OFFERS_AGAIN, Can.MALFORMED, Can.TWO_ACCOUNTS})
    troubles = frozenset(FAULTS)
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.CHANGED, Forged.TOO_LONG})

    def __init__(self) -> None:
        second = TwilioServer("+15550008888")
        second.token, second.hook = "of-the-second-account-0123", "/sms/second"
        super().__init__(TwilioServer(), second)
        self.channels: dict[str, SmsChannel] = {}
        self.files: dict[str, PublicFiles] = {}
        self.reached: list[tuple[str, str | None]] = []
        self.host = WebhookHost(
            lambda: [
                *(route for each in self.channels.values() for route in each.routes()),
                *(each.route() for each in self.files.values()),
            ]
        )
        self._running: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        await super().start()
        url = await self.host.start()
        for server in self.servers.values():
            server.hub = url

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await super().stop()
        await self.host.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        server = self.servers[account]
        config = SmsAccount(account, SID, Secret(server.token), PUBLIC_URL, server.url, server.number, mms=True)
        self.files.setdefault("all", PublicFiles("sms", JsonStorage(folder / "files.json"), clock))
        self.channels[account] = channel = SmsChannel(
            config, self.files["all"], clock, lambda person, error: self.reached.append((person, error))
        )
        return channel

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        secrets = {"account_sid": SID, "auth_token": server.token}
        return {
            "account": account,
            **secrets,
            "number": server.number,
            "public_url": PUBLIC_URL,
            "api_root": server.url,
        }

    def hub_at(self, url: str, home: Path) -> None:
        for server in self.servers.values():
            server.hub = url

    def identity(self, who: str) -> str:
        return f"sms:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("sms", PEOPLE[who])

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
        self.last = {"text": text, "who": PEOPLE[who], "media": media}
        self.last["sid"] = self.server.says(**self.last)
        return str(self.last["sid"])

    async def says_again(self) -> None:
        self.server.says(**self.last)

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        return [each["Body"] for each in self.server.sent if each["To"] == PEOPLE[who] and "Body" in each]

    def uploads(self) -> list[bytes]:
        return self.server.downloads

    def attempts(self) -> int:
        return len(self.server.asked)

    def fetches(self) -> int:
        return len(self.server.fetched)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(**FAULTS[each])

    async def delivers_forged(self, forged: Forged) -> int:
        form = {
            "MessageSid": "SM1",
            "From": ADAS_NUMBER,
            "Body": "x" * (BODY_BYTES if forged is Forged.TOO_LONG else 1),
        }
        token = self.servers["second"].token if forged is Forged.FOREIGN else TOKEN
        signed = list((form | {"Body": "y"} if forged is Forged.CHANGED else form).items())
        headers = {"X-Twilio-Signature": sign(token, f"{PUBLIC_URL}/sms/default", signed)}
        if forged is Forged.UNSIGNED:
            headers = {}
        if forged is Forged.WRONG:
            headers = {"X-Twilio-Signature": "A" * 27 + "="}
        return await self.host.post("/sms/default", urlencode(form).encode(), headers)

    def garbles(self) -> None:
        self.server.spawn(self.server.hook, {"MessageSid": "SM1"})

    def revokes(self, account: str = "default") -> None:
        self.servers[account].token = "another"
        # Twilio is asked every five minutes; a person asks now.
        self._running.add(asyncio.get_running_loop().create_task(self.channels[account].probe()))
