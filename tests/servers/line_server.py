"""LINE's Messaging API, and the deliveries of its webhook: real sockets, faults as told.

Written after LINE's documentation. It checks what is sent as the API does, fetches the files whose addresses it is
given, and delivers again, in order, what was not answered with 200.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
from aiohttp import web

from hub.security.webhook_signature import SignatureForm, sign

TOKEN, SECRET = "line-access-token", "8c570fa6dd201bb328f1c1eac23a96d8"
ADA, EVE = "U4af4980629deadbeefdeadbeefdead01", "U4af4980629deadbeefdeadbeefdead02"
GROUP = "Ca56f94637cdeadbeefdeadbeefdead03"
NAMES = {ADA: "Ada", EVE: "Eve"}
FORM = SignatureForm(header="x-line-signature", prefix="", encoding="base64")
PUBLIC_URL = "https://hub.test"
RETRY_S = 0.02

Json = dict[str, Any]


@dataclass
class LineFault:
    """What goes wrong with the next message; without a status the line breaks."""

    status: int = 0
    message: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False


class LineServer:
    """One official account; people exist when they are spoken of."""

    def __init__(self, bot: str = "U0000000000000000000000000000b071") -> None:
        self.bot = bot
        self.token = TOKEN
        self.secret = SECRET
        self.hub: str | None = None
        """Where the webhook is."""
        self.public: str | None = None
        """What `PUBLIC_URL` stands for."""
        self.sent: list[Json] = []
        """Messages, each with `id`, `to` and `by` (reply or push)."""
        self.asked: list[Json] = []
        self.typing: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.processing: dict[str, int] = {}
        """How often a file is not prepared yet."""
        self.fetched: list[str] = []
        self.downloads: list[bytes] = []
        self.faults: list[LineFault] = []
        self.answers: list[int] = []
        self.settings: Json = {"chatMode": "bot", "active": True, "value": 200, "totalUsage": 0}
        self.group_name = "Family"
        self.named: list[str] = []
        """Paths of the names that were asked for."""
        self._reply_tokens: dict[str, str] = {}
        self._keys: dict[str, Json] = {}
        self._count = itertools.count(461_230_966_842_064_897)
        self._deliveries: asyncio.Queue[tuple[bytes, str]] = asyncio.Queue()
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=110_000_000, middlewares=[self._authorized])
        for path in ("info", "channel/webhook/endpoint", "message/quota", "message/quota/consumption"):
            application.router.add_get(f"/v2/bot/{path}", self._setting)
        application.router.add_get("/v2/bot/{place:(profile|group|room)}/{rest:.*}", self._name)
        application.router.add_post("/v2/bot/message/{by:(reply|push)}", self._message)
        application.router.add_post("/v2/bot/chat/loading/start", self._loading)
        application.router.add_get("/v2/bot/message/{id}/content", self._content)
        application.router.add_get("/v2/bot/message/{id}/content/transcoding", self._transcoding)
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
        self.faults.append(LineFault(**more))

    # --- the webhook ---

    def id(self) -> str:
        """Return a new id."""
        return str(next(self._count))

    def says(self, message: Json, who: str = ADA, group: str | None = None) -> str:
        """Let somebody write; return the message's id."""
        message = {"id": self.id(), "quoteToken": f"quote-{self.id()}", **message}
        self.happens({"type": "message", "message": message}, who, group)
        return str(message["id"])

    def happens(self, event: Json, who: str | None = ADA, group: str | None = None) -> Json:
        """Deliver an event of somebody's; return it."""
        token = uuid.uuid4().hex
        self._reply_tokens[token] = group or who or ""
        kind = {"C": "group", "R": "room"}.get((group or "U")[0], "user")
        source = {"type": kind} | ({"userId": who} if who else {}) | ({f"{kind}Id": group} if group else {})
        whole = {
            "mode": "active",
            "timestamp": int(time.time() * 1_000),
            "source": source,
            "webhookEventId": f"01FZ{self.id()}",
            "deliveryContext": {"isRedelivery": False},
            "replyToken": token,
            **event,
        }
        self.deliver([whole])
        return whole

    def deliver(self, events: list[Json], destination: str | None = None) -> None:
        """Deliver events."""
        self.post_raw(json.dumps({"destination": destination or self.bot, "events": events}).encode())

    def post_raw(self, body: bytes) -> None:
        """Deliver any bytes, signed."""
        self._deliveries.put_nowait((body, sign(self.secret, body, FORM)))

    def forget_tokens(self) -> None:
        """Let the reply tokens so far be too old."""
        self._reply_tokens.clear()

    async def _deliver(self) -> None:
        while True:
            body, signature = await self._deliveries.get()
            status = 0
            while status not in (200, 400, 401):
                try:
                    headers = {"X-Line-Signature": signature, "Content-Type": "application/json"}
                    async with self._client.post(str(self.hub), data=body, headers=headers) as answer:
                        status = answer.status
                except aiohttp.ClientError:
                    status = 0
                self.answers.append(status)
                body = body.replace(b'"isRedelivery": false', b'"isRedelivery": true')
                signature = sign(self.secret, body, FORM)
                await asyncio.sleep(0 if status == 200 else RETRY_S)

    # --- the API ---

    @web.middleware
    async def _authorized(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _refused(401, "Authentication failed. Confirm that the access token in the header is valid.")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _setting(self, request: web.Request) -> web.Response:
        who = {"userId": self.bot, "displayName": "Home", "basicId": "@000home"}
        return web.json_response({**who, "type": "limited", "endpoint": "https://hub.test/line", **self.settings})

    async def _name(self, request: web.Request) -> web.Response:
        self.named.append(request.path)
        last = request.path.rpartition("/")[2]
        if last == "summary":
            return web.json_response({"groupId": GROUP, "groupName": self.group_name})
        if last not in NAMES:
            return _refused(404, "Not found")
        return web.json_response({"userId": last, "displayName": NAMES[last]})

    async def _loading(self, request: web.Request) -> web.Response:
        body = await request.json()
        if not body["chatId"].startswith("U") or body["loadingSeconds"] not in range(5, 61, 5):
            return _refused(400, "The request body is invalid")
        self.typing.append(body)
        return web.json_response({}, status=202)

    async def _content(self, request: web.Request) -> web.Response:
        id = request.match_info["id"]
        if id not in self.files:
            return _refused(404, "Not found")
        if self.processing.get(id):
            return web.Response(status=202)
        self.fetched.append(id)
        return web.Response(body=self.files[id])

    async def _transcoding(self, request: web.Request) -> web.Response:
        id = request.match_info["id"]
        left = self.processing[id] = max(0, self.processing.get(id, 0) - 1)
        return web.json_response({"status": "processing" if left else "succeeded"})

    async def _message(self, request: web.Request) -> web.StreamResponse:
        by, body = request.match_info["by"], await request.json()
        self.asked.append({"by": by, **body})
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not fault.done:
            return self._broken(request, fault)
        key = request.headers.get("X-Line-Retry-Key")
        if key is not None:
            if by == "reply" or not _is_uuid(key):
                return _refused(400, "The value for the X-Line-Retry-Key header is invalid")
            if key in self._keys:
                told = {"message": "The retry key is already accepted", **self._keys[key]}
                return web.json_response(told, status=409, headers={"X-Line-Accepted-Request-Id": "r"})
        if problem := _problem(body["messages"]):
            return _refused(400, "A message (messages[0]) in the request body is invalid", problem)
        if by == "reply":
            if (to := self._reply_tokens.pop(body["replyToken"], None)) is None:
                return _refused(400, "Invalid reply token")
        elif not re.fullmatch(r"[UCR][0-9a-f]{32}", to := body["to"]):
            return _refused(400, "The property, 'to', in the request body is invalid (line: -, column: -)")
        answer = {"sentMessages": [self._take(each, to, by, body) for each in body["messages"]]}
        if key is not None:
            self._keys[key] = answer
        return web.json_response(answer) if fault is None else self._broken(request, fault)

    def _take(self, message: Json, to: str, by: str, body: Json) -> Json:
        id = self.id()
        silent = body.get("notificationDisabled", False)
        self.sent.append({**message, "id": id, "to": to, "by": by, "silent": silent})
        for address in re.findall(re.escape(PUBLIC_URL) + r"\S+", json.dumps(message).replace('"', " ")):
            task = asyncio.create_task(self._download(address))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return {"id": id, "quoteToken": f"quote-{id}"}

    async def _download(self, address: str) -> None:
        async with self._client.get(address.replace(PUBLIC_URL, str(self.public))) as answer:
            if answer.status == 200:
                self.downloads.append(await answer.read())

    def _broken(self, request: web.Request, fault: LineFault) -> web.StreamResponse:
        if fault.status and fault.message is None:
            return web.Response(status=fault.status, text="<html>bad gateway</html>", headers=fault.headers)
        if fault.status:
            return _refused(fault.status, str(fault.message), headers=fault.headers)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _problem(messages: list[Json]) -> str | None:
    if not 0 < len(messages) <= 5:
        return "Size must be between 1 and 5"
    for message in messages:
        match message["type"]:
            case "text":
                if not 0 < _units(message["text"]) <= 5_000:
                    return "Length must be between 0 and 5000"
                items = message.get("quickReply", {"items": [{"action": None}]})["items"]
                actions = [each["action"] for each in items if each["action"]]
                if not 0 < len(items) <= 13:
                    return "Size must be between 1 and 13"
            case "template":
                actions = message["template"]["actions"]
                fits = 0 < len(actions) <= 4 and 0 < _units(message["template"]["text"]) <= 160
                if not fits or not 0 < _units(message["altText"]) <= 400 or "quoteToken" in message:
                    return "May not be empty"
            case "image" | "audio" as kind:
                actions = []
                keys = {"image": ("originalContentUrl", "previewImageUrl"), "audio": ("originalContentUrl",)}[kind]
                if not all(message[key].startswith("https://") for key in keys):
                    return "Must be a valid HTTPS URL"
                if kind == "audio" and not message["duration"] > 0:
                    return "Must be greater than 0"
            case _:
                return "Unknown message type"
        for action in actions:
            if not 0 < _units(action["label"]) <= 20 or not 0 < len(action["data"]) <= 300:
                return "Length must be between 1 and 20"
    return None


def _is_uuid(key: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", key) is not None


def _refused(
    status: int, message: str, detail: str | None = None, headers: dict[str, str] | None = None
) -> web.Response:
    told: Json = {"message": message}
    if detail:
        told["details"] = [{"message": detail, "property": "messages[0]"}]
    return web.json_response(told, status=status, headers=headers)
