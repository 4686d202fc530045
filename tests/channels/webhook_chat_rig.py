"""The webhook channel for the test-kit: a program that posts to the channel's address and takes its answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from hub.security.webhook_signature import is_signed, sign
from integrations.channels.webhook_chat.channel import BODY_LIMIT_BYTES, FORM, WebhookChannel
from tests.channels.kit import ADA, Can, Forged, Named, Rig, Trouble
from tests.channels.webhook_host import WebhookHost

SECRETS = {"default": "a-secret-of-both-sides", "second": "another-secret-of-both"}
SECRET = SECRETS["default"]
GROUP_ID = "everybody"


class WebhookRig(Rig):
    """The program; it knows a repeated message by its id, as the documentation asks."""

    name = "webhook_chat"
    named = frozenset({Named.HEARD, Named.RENAMED})
    can = frozenset({Can.GROUPS, Can.THREADS, Can.OFFERS_AGAIN, Can.BUTTONS, Can.TWO_ACCOUNTS})
    troubles = frozenset(set(Trouble) - {Trouble.MARKUP_REFUSED, Trouble.REMOVED})
    forges = frozenset(Forged)

    def __init__(self) -> None:
        self._shown: dict[str, dict[str, Any]] = {}
        self._notices: list[str] = []
        self._attempts = self._typing = self._count = 0
        self._troubles: list[Trouble] = []
        self._channels: dict[str, WebhookChannel] = {}
        self._clock = Clock()
        self._last: dict[str, Any] = {}
        self._running: set[asyncio.Task[Any]] = set()
        self._revoked: set[str] = set()
        self._runner: web.AppRunner | None = None
        self._url = ""
        self._written_to = "default"
        self._hub_url = ""
        self.host = WebhookHost(lambda: [each.route() for each in self._channels.values()])
        self.room_name = "The millers"

    async def start(self) -> None:
        application = web.Application()
        application.router.add_post("/answers", self._answered)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        await self.host.start()

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        assert self._runner is not None
        await self._runner.cleanup()
        await self.host.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        self._clock = clock
        self._channels[account] = WebhookChannel(account, Secret(SECRETS[account]), f"{self._url}/answers", clock)
        return self._channels[account]

    def section(self, account: str = "default") -> dict[str, Any]:
        return {"account": account, "secret": SECRETS[account], "url": f"{self._url}/answers"}

    def hub_at(self, url: str, home: Path) -> None:
        self._hub_url = url

    def writes_to(self, account: str) -> None:
        self._written_to = account

    def identity(self, who: str) -> str:
        return f"webhook_chat:user:{who}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("webhook_chat", GROUP_ID, chat_type=ChatType.GROUP, thread=thread)
        return Address("webhook_chat", who)

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
        self._count += 1
        message = {"id": str(self._count), "sender": who, "text": text, "mentioned": mention}
        if group:
            message |= {"peer": GROUP_ID, "chat_type": "group", "group_name": self.room_name}
        if thread is not None:
            message["thread"] = thread
        await self.posts(message)
        return str(self._count)

    async def posts(self, message: dict[str, Any], *, secret: str | None = None, age_s: int = 0) -> int:
        """Post something to the channel, and go on until it is taken; return the first status."""
        self._last = message
        status = await self._post(message, secret or SECRETS[self._written_to], age_s)
        if status >= 500:
            self._running.add(asyncio.get_running_loop().create_task(self._post_on(message)))
        return status

    async def _post_on(self, message: dict[str, Any]) -> None:
        while await self._post(message, SECRETS[self._written_to], 0) >= 500:  # noqa: ASYNC110  the other side is asked
            await asyncio.sleep(0.02)

    async def _post(self, message: dict[str, Any], secret: str, age_s: int) -> int:
        body = orjson.dumps(message)
        stamp = str(int(self._clock.time()) - age_s)  # the clock of these tests runs ahead
        headers = {"X-Homarus-Timestamp": stamp, "X-Homarus-Signature": sign(secret, body, FORM, stamp)}
        try:
            async with (
                aiohttp.ClientSession() as client,
                client.post(self._hub(self._written_to), data=body, headers=headers) as answer,
            ):
                if notice := (await answer.json()).get("notice"):
                    self._notices.append(notice)
                return answer.status
        except aiohttp.ClientError:
            return 503  # the hub is away

    def _hub(self, account: str) -> str:
        return f"{self._hub_url or self.host.url}/api/channels/webhook_chat/{account}"

    async def delivers_forged(self, forged: Forged) -> int:
        body = b"x" * (BODY_LIMIT_BYTES + 1) if forged is Forged.TOO_LONG else b"{"
        stamp = str(int(self._clock.time()) - (360 if forged is Forged.REPLAYED else 0))
        secret = SECRETS["second" if forged is Forged.FOREIGN else "default"]
        signature = sign(secret, b"{}" if forged is Forged.CHANGED else body, FORM, stamp)
        if forged is Forged.WRONG:
            signature = "sha256=" + "0" * 64
        headers = {"X-Homarus-Timestamp": stamp, "X-Homarus-Signature": signature}
        path = self._channels["default"].route().path
        return await self.host.post(path, body, {} if forged is Forged.UNSIGNED else headers)

    async def says_again(self) -> None:
        await self.posts(self._last)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        shown, value = next(
            (each, button["value"])
            for each in reversed(self._shown.values())
            for row in each["buttons"]
            for button in row
            if button["label"] == label
        )
        self._count += 1
        pressed = {"type": "button", "id": f"b{self._count}", "sender": who, "message_id": shown["id"], "value": value}
        await self.posts(pressed | ({"peer": GROUP_ID, "chat_type": "group"} if group else {}))

    async def renames(self, name: str) -> None:
        self.room_name = name

    def notices(self) -> list[str]:
        return self._notices

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        peer = GROUP_ID if group else who
        shown = [each for each in self._shown.values() if each["peer"] == peer]
        return [each["text"] for each in shown if thread is None or each["thread"] == thread]

    def revokes(self, account: str = "default") -> None:
        self._revoked.add(account)
        # Nobody asks the program anything by itself; a person does.
        self._running.add(asyncio.get_running_loop().create_task(self._channels[account].probe()))

    def attempts(self) -> int:
        return self._attempts

    def typing_seen(self) -> int:
        return self._typing

    def trouble(self, *troubles: Trouble) -> None:
        self._troubles += troubles

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        # The hub's clock runs ahead in these tests.
        data = orjson.loads(body)
        stamp = float(headers["x-homarus-timestamp"])
        assert is_signed(SECRETS[data["account"]], body, headers, FORM, stamp)
        if data["account"] in self._revoked:
            return web.Response(status=401)
        if data["type"] == "typing":
            self._typing += 1
        if data["type"] != "message":
            return web.Response()
        self._attempts += 1
        match self._troubles.pop(0) if self._troubles else None:
            case Trouble.RATE_LIMITED:
                return web.Response(status=429, headers={"Retry-After": "1"})
            case Trouble.REFUSED_FOR_NOW:
                return web.json_response({"error": "later"}, status=503)
            case Trouble.PROXY_PAGE:
                return web.Response(status=502)
            case Trouble.FORBIDDEN:
                return web.Response(status=403)
            case Trouble.ANSWER_LOST:
                self._shown.setdefault(data["id"], data)
                assert request.transport is not None
                request.transport.close()
        self._shown.setdefault(data["id"], data)
        return web.Response()
