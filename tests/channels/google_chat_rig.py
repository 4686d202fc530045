"""Google Chat for the test-kit: our Chat API, one for each of two apps, by endpoint and by Pub/Sub."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.core.surfaces import Route
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.google_chat.api import GoogleChatAccount
from integrations.channels.google_chat.channel import GoogleChatChannel
from integrations.channels.google_chat.events import CHOICE
from integrations.channels.google_chat.webhook import BODY_BYTES
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Named, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.google_chat_server import (
    ADA as ADAS_ID,
    ADAS_DM,
    EVE as EVES_ID,
    EVES_DM,
    PROJECT,
    ROOM,
    SUBSCRIPTION,
    GoogleChatServer,
    service_account,
)

PEOPLE = {ADA: ADAS_ID, EVE: EVES_ID}
DMS = {ADA: ADAS_DM, EVE: EVES_DM}
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "state": "RESOURCE_EXHAUSTED"},
    Trouble.REFUSED_FOR_NOW: {"status": 503, "state": "UNAVAILABLE"},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"done": True},
    Trouble.FORBIDDEN: {"status": 403, "state": "PERMISSION_DENIED"},
    Trouble.REMOVED: {"status": 403, "state": "PERMISSION_DENIED"},
}


class GoogleChatRig(DoubleRig[GoogleChatServer]):
    """Ada and Eve write in direct messages and in one space, where the app hears what mentions it."""

    name = "google_chat"
    can = frozenset(
        {*(Can.GROUPS, Can.THREADS, Can.MEDIA, Can.BUTTONS, Can.VOTES), *(Can.TWO_ACCOUNTS, Can.MALFORMED, Can.GONE)}
    )
    troubles = frozenset(FAULTS)
    named = frozenset({Named.HEARD, Named.LISTED})
    room_name = "Kitchen"
    way = "HTTP endpoint"
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.TOO_LONG})

    def __init__(self) -> None:
        super().__init__(
            GoogleChatServer(PROJECT), GoogleChatServer("210987654321", "second@work.iam.gserviceaccount.com")
        )
        self.channels: dict[str, GoogleChatChannel] = {}
        self.host = WebhookHost(self._routes)
        self._running: set[asyncio.Task[Any]] = set()

    def _routes(self) -> list[Route]:
        return [each.webhook.route() for each in self.channels.values() if each.webhook is not None]

    async def start(self) -> None:
        await super().start()
        url = await self.host.start()
        for account, server in self.servers.items():
            server.hub = f"{url}/google_chat/{account}"

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await super().stop()
        await self.host.stop()

    def reached_by(self, account: str) -> dict[str, str]:
        """Return how Google reaches the hub."""
        return {"audience": self.servers[account].audience}

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        url, key = server.url, service_account(email=server.email)
        places = {"api_root": url, "pubsub_root": url, "token_url": f"{url}/token", "certs_url": f"{url}/certs"}
        return {"account": account, "service_account": key, **places, **self.reached_by(account)}

    def hub_at(self, url: str, home: Path) -> None:
        for account, server in self.servers.items():
            server.hub = f"{url}/google_chat/{account}"

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        section = self.section(account)
        config = GoogleChatAccount(**section | {"service_account": Secret(section["service_account"])})
        self.channels[account] = GoogleChatChannel(config, clock)
        return self.channels[account]

    def identity(self, who: str) -> str:
        return f"google_chat:user:{PEOPLE[who].removeprefix('users/')}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("google_chat", ROOM, chat_type=ChatType.CHANNEL, thread=thread and named(thread))
        return Address("google_chat", DMS[who])

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
            self.server.files["media/1"] = media
            data = {"resourceName": "media/1"}
            more = {"attachment": [{"contentName": "a.png", "contentType": "image/png", "attachmentDataRef": data}]}
        if group and not mention:
            return "spaces/nobody/messages/heard"
        self.last = self.server.says(
            text, ROOM if group else DMS[who], PEOPLE[who], thread=thread and named(thread), **more
        )
        return str(self.last["name"])

    async def says_again(self) -> None:
        self.server.event("MESSAGE", self.last)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        message = next(each for each in self._newest(who, group=group) if label in buttons_of(each))
        self.server.clicks(message, buttons_of(message)[label], PEOPLE[who])

    async def votes(self, option: int) -> None:
        message = next(each for each in self._newest(ADA) if "selectionInput" in str(each.get("cardsV2")))
        inputs = {CHOICE: {"stringInputs": {"value": [str(option)]}}}
        self.server.clicks(message, buttons_of(message)["Vote"], ADAS_ID, inputs)

    def _newest(self, who: str, *, group: bool = False) -> list[dict[str, Any]]:
        space = ROOM if group else DMS[who]
        return [each for each in reversed(self.server.messages) if each["space"]["name"] == space]

    def notices(self) -> list[str]:
        return [told["text"] for _, told in self.server.answers if isinstance(told, dict) and told.get("text")]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        found = reversed(self._newest(who, group=group))
        return [each["text"] for each in found if thread is None or each["thread"]["name"] == named(thread)]

    def attempts(self) -> int:
        return len(self.server.asked)

    def fetches(self) -> int:
        return len(self.server.fetched)

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.server.fail(**FAULTS[each])

    async def delivers_forged(self, forged: Forged) -> int:
        body = b"x" * (BODY_BYTES + 1) if forged is Forged.TOO_LONG else b"{"
        good = self.server.token()
        token = {
            Forged.WRONG: good[:-8] + ("A" * 8),
            Forged.FOREIGN: self.server.token(aud=self.servers["second"].audience),
            Forged.TOO_LONG: good,
        }
        headers = {"Authorization": f"Bearer {token[forged]}"} if forged in token else {}
        return await self.host.post("/google_chat/default", body, headers)

    def garbles(self) -> None:
        self.server.deliver_raw(b'{"type": "MESS')

    def revokes(self, account: str = "default") -> None:
        self.servers[account].revoked = True
        self.servers[account].tokens.clear()
        # Nobody asks Google anything by itself; a person does.
        self._running.add(asyncio.get_running_loop().create_task(self.channels[account].probe()))


class GoogleChatPullRig(GoogleChatRig):
    """The same, with events that wait in Pub/Sub until they are acknowledged."""

    can = GoogleChatRig.can | {Can.OFFERS_AGAIN}
    forges = frozenset()
    way = "Pub/Sub"

    async def start(self) -> None:
        await super().start()
        for server in self.servers.values():
            server.hub = None

    def hub_at(self, url: str, home: Path) -> None: ...

    def reached_by(self, account: str) -> dict[str, str]:
        return {"subscription": SUBSCRIPTION}

    def notices(self) -> list[str]:
        asked = self.server.asked
        return [each["text"] for each in asked if "button" in each.get("text", "") and "cardsV2" not in each]


def named(thread: str) -> str:
    """Return the name of a thread of the space."""
    return thread if "/" in thread else f"{ROOM}/threads/{thread}"


def buttons_of(message: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the parameters of each button of a message, by its label."""
    cards = [each["card"] for each in message.get("cardsV2") or ()]
    widgets = [each for card in cards for section in card["sections"] for each in section["widgets"]]
    buttons = [button for each in widgets for button in each.get("buttonList", {}).get("buttons", ())]
    return {each["text"]: {p["key"]: p["value"] for p in each["onClick"]["action"]["parameters"]} for each in buttons}
