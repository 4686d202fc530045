"""Twilio's REST API for messages, and the deliveries of its webhooks: real sockets, faults as told.

Written after Twilio's documentation. A message is delivered once, whatever the answer, and stays in the list.
"""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, Self
from urllib.parse import urlencode
from uuid import uuid4

import aiohttp
from aiohttp import web

from integrations.channels.twilio_signature import sign

SID, TOKEN = "AC" + "0123456789abcdef" * 2, "auth-token-0123456789abcdef"
NUMBER, ADA, EVE = "+15550009999", "+491570000001", "+491570000002"
PUBLIC_URL = "https://hub.test"

Json = dict[str, Any]


@dataclass
class TwilioFault:
    """What goes wrong with the next message; without a status the line breaks."""

    status: int = 0
    code: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False


class TwilioServer:
    """One account with one number."""

    def __init__(self, number: str = NUMBER) -> None:
        self.number = number
        self.token = TOKEN
        self.status = "active"
        self.hub: str | None = None
        """What `PUBLIC_URL` stands for."""
        self.hook = "/sms/default"
        self.messages: list[Json] = []
        self.sent: list[Json] = []
        self.asked: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.downloads: list[bytes] = []
        self.faults: list[TwilioFault] = []
        self.answers: list[tuple[int, str]] = []
        """How the webhook answered."""
        self.fates: tuple[str, ...] = ("sent", "delivered")
        self.ahead_s = 0.0
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        root = f"/2010-04-01/Accounts/{SID}"
        application = web.Application(middlewares=[self._authorized])
        application.router.add_get(f"{root}.json", self._account)
        application.router.add_get(f"{root}/IncomingPhoneNumbers.json", self._numbers)
        application.router.add_get(f"{root}/Messages.json", self._list)
        application.router.add_post(f"{root}/Messages.json", self._send)
        application.router.add_get(f"{root}/Messages/{{sid}}/Media.json", self._media)
        application.router.add_get(f"{root}/Messages/{{sid}}/Media/{{id}}", self._file)
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
        self.faults.append(TwilioFault(**more))

    # --- the webhook ---

    def says(self, text: str, who: str = ADA, sid: str | None = None, media: bytes | None = None, **more: str) -> str:
        """Let somebody write; return the message's id."""
        sid = sid or f"SM{uuid4().hex}"
        form = {"MessageSid": sid, "AccountSid": SID, "From": who, "To": self.number, "Body": text, "NumMedia": "0"}
        if media is not None:
            self.files["ME1"] = media
            address = f"{self.url}/2010-04-01/Accounts/{SID}/Messages/{sid}/Media/ME1"
            form |= {"NumMedia": "1", "MediaUrl0": address, "MediaContentType0": "image/png"}
        if all(each["sid"] != sid for each in self.messages):
            self.messages.append(self._row(sid, who, self.number, text, "inbound", form["NumMedia"]))
        self.spawn(self.hook, form | more)
        return sid

    def _row(self, sid: str, sender: str, to: str, text: str, direction: str, media: str = "0") -> Json:
        made = formatdate(time.time() + self.ahead_s)
        row = {"sid": sid, "from": sender, "to": to, "body": text, "direction": direction, "date_created": made}
        return {**row, "num_media": media, "messaging_service_sid": None}

    def spawn(self, path: str, form: Json) -> None:
        """Deliver a form, once."""
        task = asyncio.get_running_loop().create_task(self.deliver(path, form))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def deliver(self, path: str, form: Json) -> None:
        """Deliver a form."""
        headers = {"X-Twilio-Signature": sign(self.token, PUBLIC_URL + path, list(form.items()))}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            async with self._client.post(f"{self.hub}{path}", data=urlencode(form), headers=headers) as answer:
                self.answers.append((answer.status, await answer.text()))
        except aiohttp.ClientError:
            self.answers.append((0, ""))

    # --- the API ---

    @web.middleware
    async def _authorized(self, request: web.Request, handler: Any) -> web.StreamResponse:
        login = base64.b64encode(f"{SID}:{self.token}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {login}":
            return _refused(401, 20003, "Authenticate")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _account(self, request: web.Request) -> web.Response:
        return web.json_response({"sid": SID, "friendly_name": "Home", "status": self.status})

    async def _numbers(self, request: web.Request) -> web.Response:
        numbers = [{"phone_number": self.number, "sms_url": PUBLIC_URL + self.hook + "#rc=2"}]
        wanted = request.query["PhoneNumber"]
        return web.json_response({"incoming_phone_numbers": [e for e in numbers if e["phone_number"] == wanted]})

    async def _list(self, request: web.Request) -> web.Response:
        to, sender = request.query.get("To"), request.query.get("From")
        found = [e for e in self.messages if to in (None, e["to"]) and sender in (None, e["from"])]
        return web.json_response({"messages": found[::-1][: int(request.query["PageSize"])]})

    async def _media(self, request: web.Request) -> web.Response:
        uri = f"{request.path.removesuffix('.json')}/ME1.json"
        return web.json_response({"media_list": [{"sid": "ME1", "content_type": "image/png", "uri": uri}]})

    async def _file(self, request: web.Request) -> web.Response:
        self.fetched.append(request.match_info["id"])
        return web.Response(body=self.files[request.match_info["id"]])

    async def _send(self, request: web.Request) -> web.StreamResponse:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(form)
        fault = self.faults.pop(0) if self.faults else None
        if fault is None or fault.done:
            if not form.get("Body") and not form.get("MediaUrl"):
                return _refused(400, 21602, "Message body is required")
            if len(form.get("Body", "").encode("utf-16-le")) > 3_200:
                return _refused(400, 21617, "The concatenated message body exceeds the 1600 character limit")
            if form.get("From", self.number) != self.number or not form["To"].startswith("+"):
                return _refused(400, 21211, "Invalid 'To' Phone Number")
            sid = f"SM{uuid4().hex}"
            self.sent.append({**form, "sid": sid})
            self.messages.append(self._row(sid, self.number, form["To"], form.get("Body", ""), "outbound-api"))
            for word in (form.get("MediaUrl", ""), *form.get("Body", "").split()):
                if word.startswith(PUBLIC_URL):
                    task = asyncio.create_task(self._download(word))
                    self._running.add(task)
                    task.add_done_callback(self._running.discard)
            for fate in self.fates:
                self.tell(sid, fate, form["To"], form["StatusCallback"].removeprefix(PUBLIC_URL))
            if fault is None:
                return web.json_response({"sid": sid, "status": "queued", "error_code": None}, status=201)
        if fault.status:
            return _refused(fault.status, fault.code, "as told", fault.headers)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    def tell(self, sid: str, fate: str, person: str, path: str = "/sms/default/status", code: str = "") -> None:
        """Tell the fate of a message."""
        form = {"MessageSid": sid, "MessageStatus": fate, "To": person, "From": self.number, "AccountSid": SID}
        self.spawn(path, form | ({"ErrorCode": code} if code else {}))

    async def _download(self, address: str) -> None:
        async with self._client.get(address.replace(PUBLIC_URL, str(self.hub))) as answer:
            if answer.status == 200:
                self.downloads.append(await answer.read())


def _refused(status: int, code: int | None, message: str, headers: dict[str, str] | None = None) -> web.Response:
    if code is None:
        return web.Response(status=status, text="<html>bad gateway</html>", headers=headers)
    return web.json_response({"code": code, "message": message, "status": status}, status=status, headers=headers)
