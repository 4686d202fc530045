"""Zalo's Official Account API, its OAuth server and the deliveries of its webhook: real sockets, faults as told.

Written after Zalo's documentation. Errors come with the status 200; a refresh token works once; a delivery that is not
answered with 200 comes again.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from dataclasses import dataclass
from typing import Any, Self

import aiohttp
from aiohttp import web

from integrations.channels.zalo_oa.events import signature

APP_ID, APP_SECRET, OA_SECRET = "3456789012345678901", "an-app-secret", "oa-secret-key-0123456789"
OA_ID, ADA, EVE = "579745863508352884", "246845883529197922", "346845883529197922"
NAMES = {ADA: "Ada", EVE: "Eve"}
PUBLIC_URL = "https://hub.test"
RETRY_S = 0.02
UPLOADS = {"image": ("image/jpeg", "image/png"), "gif": ("image/gif",), "file": ("application/pdf",)}

Json = dict[str, Any]


@dataclass
class ZaloOaFault:
    """What goes wrong with the next message; without code and status the line breaks."""

    code: int = 0
    status: int = 200
    done: bool = False


class ZaloOaServer:
    """One official account."""

    def __init__(self, oa: str = OA_ID) -> None:
        self.oa = oa
        self.secret = OA_SECRET
        self.refresh_token = f"refresh-{oa}-1"
        self.access_token = "none yet"
        self.life_s = 90_000
        self.renewals = 0
        self.hub: str | None = None
        self.public: str | None = None
        """What `PUBLIC_URL` stands for."""
        self.sent: list[Json] = []
        self.asked: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.uploaded: list[bytes] = []
        self.downloads: list[bytes] = []
        self.named: list[str] = []
        self.faults: list[ZaloOaFault] = []
        self.answers: list[int] = []
        self._count = itertools.count(1)
        self._deliveries: asyncio.Queue[tuple[bytes, str]] = asyncio.Queue()
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=30_000_000)
        application.router.add_post("/v4/oa/access_token", self._renew)
        application.router.add_get("/v2.0/oa/getoa", self._me)
        application.router.add_get("/v2.0/oa/conversation", self._conversation)
        application.router.add_get("/v3.0/oa/user/detail", self._detail)
        application.router.add_post("/v2.0/oa/upload/{kind}", self._upload)
        application.router.add_post("/v3.0/oa/message/cs", self._message)
        application.router.add_get("/file/{id}", self._file)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._client = aiohttp.ClientSession()
        self._delivering = asyncio.create_task(self._deliver())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in (self._delivering, *self._running):
            task.cancel()
        await self._client.close()
        await self._runner.cleanup()

    def fail(self, **more: Any) -> None:
        """Let the next message fail."""
        self.faults.append(ZaloOaFault(**more))

    def revoke(self) -> None:
        """Let neither token be good any more."""
        self.access_token = self.refresh_token = "revoked"

    # --- the webhook ---

    def id(self) -> str:
        """Return a new id of a message."""
        return f"{next(self._count):020x}"

    def says(self, who: str = ADA, kind: str = "text", **message: Any) -> str:
        """Let somebody write; return the message's id."""
        message = {"msg_id": self.id(), **message}
        self.happens({"event_name": f"user_send_{kind}", "sender": {"id": who}, "message": message})
        return str(message["msg_id"])

    def happens(self, event: Json) -> None:
        """Deliver an event."""
        whole = {"app_id": APP_ID, "recipient": {"id": self.oa}, "timestamp": str(int(time.time() * 1_000)), **event}
        self.post_raw(json.dumps(whole).encode(), str(whole["timestamp"]))

    def post_raw(self, body: bytes, timestamp: str) -> None:
        """Deliver any bytes, signed."""
        self._deliveries.put_nowait((body, timestamp))

    async def _deliver(self) -> None:
        while True:
            body, timestamp = await self._deliveries.get()
            headers = {"X-ZEvent-Signature": f"mac={signature(APP_ID, body, timestamp, self.secret)}"}
            if b"timestamp" not in body:
                headers["X-ZEvent-Timestamp"] = timestamp
            status = 0
            while status not in (200, 400, 401):
                try:
                    async with self._client.post(str(self.hub), data=body, headers=headers) as answer:
                        status = answer.status
                except aiohttp.ClientError:
                    status = 0
                self.answers.append(status)
                await asyncio.sleep(0 if status == 200 else RETRY_S)

    # --- the API ---

    async def _renew(self, request: web.Request) -> web.Response:
        form = await request.post()
        good = request.headers.get("secret_key") == APP_SECRET and form.get("app_id") == APP_ID
        if not good or form.get("refresh_token") != self.refresh_token or self.refresh_token == "revoked":
            told = {
                "error_name": "Invalid refresh token",
                "error": -14014,
                "error_description": "Invalid refresh token",
            }
            return web.json_response(told)
        self.renewals += 1
        self.access_token, self.refresh_token = (f"{each}-{self.oa}-{self.id()}" for each in ("access", "refresh"))
        tokens = {"access_token": self.access_token, "refresh_token": self.refresh_token}
        return web.json_response({**tokens, "expires_in": str(self.life_s)})

    def _unauthorized(self, request: web.Request) -> web.Response | None:
        is_good = request.headers.get("access_token") == self.access_token != "revoked"
        return None if is_good else _refused(-216, "Access token is invalid")

    async def _me(self, request: web.Request) -> web.Response:
        return self._unauthorized(request) or _answer({"oa_id": self.oa, "name": "Home"})

    async def _detail(self, request: web.Request) -> web.Response:
        person = json.loads(request.query["data"])["user_id"]
        self.named.append(person)
        return self._unauthorized(request) or _answer({"user_id": person, "display_name": NAMES[person]})

    async def _conversation(self, request: web.Request) -> web.Response:
        wanted = json.loads(request.query["data"])
        theirs = [each for each in self.sent if each["to"] == str(wanted["user_id"])][::-1]
        told = [
            {"src": 0, "time": each["time"], "type": "text", "message": each.get("text"), "message_id": each["id"]}
            for each in theirs[wanted["offset"] :][: wanted["count"]]
        ]
        return self._unauthorized(request) or _answer(told)

    async def _upload(self, request: web.Request) -> web.Response:
        if refusal := self._unauthorized(request):
            return refusal
        kind, file = request.match_info["kind"], (await request.post())["file"]
        assert isinstance(file, web.FileField)
        content = file.file.read()
        if file.content_type not in UPLOADS[kind] or len(content) > (1_000_000 if kind == "image" else 5_000_000):
            return _refused(-201, "file is invalid")
        self.uploaded.append(content)
        return _answer({"token": "t1"} if kind == "file" else {"attachment_id": "a1"})

    async def _message(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        body = await request.json()
        self.asked.append(body)
        fault = self.faults.pop(0) if self.faults else None
        if fault is None or fault.done:
            message = body["message"]
            if "attachment" not in message and not 0 < len(message["text"]) <= 2_000:
                return _refused(-201, "text is invalid")
            sent = {**message, "to": body["recipient"]["user_id"], "id": self.id(), "time": int(time.time() * 1_000)}
            self.sent.append(sent)
            for word in str(message.get("text")).split():
                if word.startswith(PUBLIC_URL):
                    task = asyncio.create_task(self._download(word))
                    self._running.add(task)
                    task.add_done_callback(self._running.discard)
            if fault is None:
                return _answer({"message_id": sent["id"], "user_id": sent["to"]})
        if fault.code:
            return _refused(fault.code, "as told", fault.status)
        if fault.status != 200:
            return web.Response(status=fault.status, text="<html>bad gateway</html>")
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def _download(self, address: str) -> None:
        async with self._client.get(address.replace(PUBLIC_URL, str(self.public))) as answer:
            if answer.status == 200:
                self.downloads.append(await answer.read())

    async def _file(self, request: web.Request) -> web.Response:
        self.fetched.append(request.match_info["id"])
        return web.Response(body=self.files[request.match_info["id"]])


def _answer(data: Any) -> web.Response:
    return web.json_response({"error": 0, "message": "Success", "data": data})


def _refused(code: int, message: str, status: int = 200) -> web.Response:
    return web.json_response({"error": code, "message": message}, status=status)
