"""Zalo's Bot API: real sockets, faults as told.

Written after Zalo's documentation. A poll answers one update, which is then gone, and after a time without any with the
code 408; where a webhook is set, updates are delivered there.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
from aiohttp import web

TOKEN = "123456789:zalo-bot-token"
ADA, EVE, GROUP = "6ede9afa66b88fe6d6a9", "7ede9afa66b88fe6d6a9", "zg0000000000000000"
NAMES = {ADA: "Ada", EVE: "Eve"}
PUBLIC_URL = "https://hub.test"

Json = dict[str, Any]


@dataclass
class ZaloFault:
    """What goes wrong with the next message; without a status the line breaks."""

    status: int = 0
    code: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False


class ZaloServer:
    """One bot."""

    def __init__(self, bot: str = "1459232241454765289") -> None:
        self.bot = bot
        self.token = TOKEN
        self.public: str | None = None
        """What `PUBLIC_URL` stands for."""
        self.hook: Json | None = None
        self.sent: list[Json] = []
        self.asked: list[Json] = []
        self.typing: list[Json] = []
        self.photos: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.downloads: list[bytes] = []
        self.faults: list[ZaloFault] = []
        self.deaf = False
        self.garbled = False
        self.idle_s = 0.3
        self._updates: asyncio.Queue[Json] = asyncio.Queue()
        self._count = itertools.count(1)
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_post("/bot{token}/{method}", self._method)
        application.router.add_get("/photo/{id}", self._photo)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._client = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._running:
            task.cancel()
        await self._client.close()
        await self._runner.cleanup()

    def fail(self, **more: Any) -> None:
        """Let the next message fail."""
        self.faults.append(ZaloFault(**more))

    def id(self) -> str:
        """Return a new id."""
        return f"{next(self._count):016x}"

    def says(self, who: str = ADA, group: str | None = None, event: str = "text", **content: Any) -> str:
        """Let somebody write; return the message's id."""
        message = {
            "message_id": self.id(),
            "from": {"id": who, "display_name": NAMES.get(who), "is_bot": False},
            "chat": {"id": group or who, "chat_type": "GROUP" if group else "PRIVATE"},
            "date": int(time.time() * 1_000),
            **content,
        }
        self.update({"event_name": f"message.{event}.received", "message": message})
        return str(message["message_id"])

    def update(self, update: Json) -> None:
        """Tell the hub something."""
        if self.hook is None:
            self._updates.put_nowait(update)
        else:
            self._spawn(self._deliver(update, self.hook))

    async def _deliver(self, update: Json, hook: Json) -> None:
        headers = {"X-Bot-Api-Secret-Token": hook["secret_token"]}
        body = {"ok": True, "result": update}
        async with self._client.post(hook["url"].replace(PUBLIC_URL, str(self.public)), json=body, headers=headers):
            pass

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    # --- the API ---

    async def _method(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return _refused(401, "Unauthorized")
        given = await request.json()
        match request.match_info["method"]:
            case "getMe":
                me = {"id": self.bot, "account_name": "bot.home", "display_name": "Home", "can_join_groups": False}
                return _answer(me)
            case "getUpdates":
                return await self._poll(request, given)
            case "setWebhook":
                if not given["url"].startswith("https://") or not 8 <= len(given["secret_token"]) <= 256:
                    return _refused(400, "Bad Request")
                self.hook = given
                return _answer({"url": given["url"], "updated_at": 1})
            case "deleteWebhook":
                self.hook = None
                return _answer({"url": "", "updated_at": 1})
            case "sendChatAction":
                self.typing.append(given)
                return _answer({})
            case "sendMessage" | "sendPhoto" as method:
                return self._message(request, method, given)
        return _refused(404, "Not Found")

    async def _poll(self, request: web.Request, given: Json) -> web.StreamResponse:
        if self.hook is not None:
            return _refused(409, "Conflict: a webhook is set")
        if self.garbled:
            self.garbled = False
            return web.Response(text='{"ok": tr')
        if self.deaf:
            self.deaf = False
            await asyncio.sleep(60)
        try:
            update = await asyncio.wait_for(self._updates.get(), min(self.idle_s, float(given["timeout"])))
        except TimeoutError:
            return web.json_response({"ok": False, "error_code": 408, "description": "Request timeout"})
        if request.transport is None or request.transport.is_closing():  # nobody waits here any more
            self._updates.put_nowait(update)
        return _answer(update)

    def _message(self, request: web.Request, method: str, given: Json) -> web.StreamResponse:
        self.asked.append(given)
        fault = self.faults.pop(0) if self.faults else None
        if fault is None or fault.done:
            text, photo = given.get("text", ""), given.get("photo", "https://")
            if not (0 < len(text) <= 2_000 if method == "sendMessage" else photo.startswith("https://")):
                return _refused(400, "Bad Request: message text is empty or too long")
            sent = {**given, "message_id": self.id(), "date": int(time.time() * 1_000)}
            self.sent.append(sent)
            for word in (*text.split(), given.get("photo", "")):
                if word.startswith(PUBLIC_URL):
                    self._spawn(self._download(word))
            if fault is None:
                return _answer({"message_id": sent["message_id"], "date": sent["date"]})
        if fault.code is not None:
            return _refused(fault.code, "as told", fault.status, fault.headers)
        if fault.status:
            return web.Response(status=fault.status, text="<html>bad gateway</html>")
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def _download(self, address: str) -> None:
        async with self._client.get(address.replace(PUBLIC_URL, str(self.public))) as answer:
            if answer.status == 200:
                self.downloads.append(await answer.read())

    async def _photo(self, request: web.Request) -> web.Response:
        self.fetched.append(request.match_info["id"])
        return web.Response(body=self.photos[request.match_info["id"]])


def _answer(result: Any) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def _refused(code: int, text: str, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """As Zalo does: the code is in the body."""
    body = {"ok": False, "error_code": code, "description": text}
    return web.json_response(body, status=status or 200, headers=headers)
