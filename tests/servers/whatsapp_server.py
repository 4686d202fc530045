"""The Graph API of WhatsApp, and the deliveries of its webhook: real sockets, faults as told.

Written after Meta's documentation. It checks what is sent as the API does, and delivers again, in order, what was not
answered with 200.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
from aiohttp import web

from hub.security.webhook_signature import FORMS, sign

NUMBER_ID, TOKEN, APP_SECRET, VERIFY_TOKEN = "106540352242922", "EAAtoken", "an-app-secret", "a-verify-token"
ADA, ADAS_PHONE, EVES_PHONE = "US.13491208655302741918", "15550001111", "15550002222"
RETRY_S = 0.02
TYPES = frozenset(
    {
        *(f"audio/{each}" for each in ("aac", "mp4", "mpeg", "amr", "ogg", "opus")),
        *("application/pdf", "text/plain", "image/jpeg", "image/png", "image/webp", "video/mp4", "video/3gpp"),
    }
)

Json = dict[str, Any]


@dataclass
class GraphFault:
    """What goes wrong with the next request to `messages` or `media`; without a status the line breaks."""

    path: str
    status: int = 0
    code: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False


class WhatsAppServer:
    """Numbers and their tokens; people exist when they are spoken of."""

    def __init__(self) -> None:
        self.tokens = {NUMBER_ID: TOKEN}
        self.hub: str | None = None
        """Where the webhook is."""
        self.sent: list[Json] = []
        self.asked: list[Json] = []
        self.typing: list[str] = []
        self.reactions: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.uploads: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.faults: list[GraphFault] = []
        self.closed: set[str] = set()
        """People who have not written for 24 hours."""
        self.statuses: tuple[str, ...] = ("sent", "delivered")
        """The reported states of each sent message."""
        self.answers: list[int] = []
        """How the webhook answered."""
        self.scopes = ["whatsapp_business_messaging", "whatsapp_business_management"]
        self._count = itertools.count(1)
        self._deliveries: asyncio.Queue[tuple[bytes, str]] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=110_000_000)
        application.router.add_post("/v23.0/{number}/messages", self._messages)
        application.router.add_post("/v23.0/{number}/media", self._media)
        application.router.add_get("/v23.0/debug_token", self._debug_token)
        application.router.add_get("/v23.0/{id}", self._node)
        application.router.add_get("/file/{id}", self._file)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.root = f"{self.url}/v23.0"
        self.file_root = self.url
        self._delivering = asyncio.create_task(self._deliver())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._delivering.cancel()
        await self._runner.cleanup()

    def fail(self, path: str = "messages", **more: Any) -> None:
        """Let the next request fail."""
        self.faults.append(GraphFault(path, **more))

    # --- the webhook ---

    def wamid(self) -> str:
        """Return a new id of a message."""
        return f"wamid.{next(self._count):06}"

    def says(self, kind: str, body: Any, who: str = ADA, **more: Any) -> str:
        """Let somebody write; return the message's id."""
        id = more.pop("id", None) or self.wamid()
        number = more.pop("number", NUMBER_ID)
        message = {**self.written_by(who), "id": id, "type": kind, kind: body, **more}
        self.deliver(number=number, messages=[message], who=who)
        return id

    def written_by(self, who: str) -> Json:
        """Return what every message of a person has."""
        phone = ADAS_PHONE if who == ADA else who
        return {"from": phone, "timestamp": str(int(time.time()))} | ({"from_user_id": ADA} if who == ADA else {})

    def deliver(self, who: str = ADA, number: str = NUMBER_ID, **value: Any) -> Json:
        """Deliver messages or statuses; return the whole."""
        contact = {"profile": {"name": "Ada" if who == ADA else "Eve"}, "wa_id": ADAS_PHONE if who == ADA else who}
        if who == ADA:
            contact["user_id"] = ADA
        value = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": number}, **value}
        if "messages" in value:
            value.setdefault("contacts", [contact])
        return self.post({"object": "whatsapp_business_account", "entry": [_entry(value)]})

    def post(self, whole: Json) -> Json:
        """Deliver something as it is."""
        self.post_raw(json.dumps(whole).encode())
        return whole

    def post_raw(self, body: bytes, secret: str = APP_SECRET) -> None:
        """Deliver any bytes, signed."""
        self._deliveries.put_nowait((body, sign(secret, body, FORMS["github"])))

    async def _deliver(self) -> None:
        async with aiohttp.ClientSession() as client:
            while True:
                body, signature = await self._deliveries.get()
                status = 0
                while status not in (200, 400, 401):  # Meta goes on for these too; nobody wants to wait for that
                    headers = {"X-Hub-Signature-256": signature, "Content-Type": "application/json"}
                    try:
                        async with client.post(str(self.hub), data=body, headers=headers) as answer:
                            status = answer.status
                    except aiohttp.ClientError:
                        status = 0
                    self.answers.append(status)
                    await asyncio.sleep(0 if status == 200 else RETRY_S)
                self._deliveries.task_done()

    # --- the API ---

    async def _debug_token(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request, None):
            return refusal
        assert request.query["input_token"] in self.tokens.values()
        return web.json_response({"data": {"is_valid": True, "scopes": self.scopes}})

    async def _node(self, request: web.Request) -> web.StreamResponse:
        id = request.match_info["id"]
        if id in self.files:
            if refusal := self._unauthorized(request, None):
                return refusal
            self.fetched.append(id)
            return web.json_response({"url": f"{self.file_root}/file/{id}", "id": id})
        if refusal := self._unauthorized(request, id):
            return refusal
        return web.json_response({"display_phone_number": "+1 555 000 0000", "id": id})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        return self._unauthorized(request, None) or web.Response(body=self.files[request.match_info["id"]])

    async def _media(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request, request.match_info["number"]):
            return refusal
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        if form["messaging_product"] != "whatsapp" or file.content_type not in TYPES:
            return _refused(400, 100, f"Received file of type {file.content_type!r}")
        if fault := self._fault("media"):
            return self._broken(request, fault)
        id = str(next(self._count))
        self.types[id] = file.content_type
        self.uploads[id] = file.file.read()
        return web.json_response({"id": id})

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        number = request.match_info["number"]
        if refusal := self._unauthorized(request, number):
            return refusal
        body = await request.json()
        if body.get("messaging_product") != "whatsapp":
            return _refused(400, 100, "The parameter messaging_product is required.")
        if body.get("status") == "read":
            if "typing_indicator" in body:
                self.typing.append(body["message_id"])
            return web.json_response({"success": True})
        self.asked.append(body)
        fault = self._fault("messages")
        if fault is not None and not fault.done:
            return self._broken(request, fault)
        if (problem := self._problem(body)) is not None:
            return _refused(400, *problem)
        id = self._take(number, body)
        if fault is not None:
            await self._deliveries.join()  # the hub waits for the status on a clock that a test may hurry
            return self._broken(request, fault)
        person = body.get("to") or body["recipient"]
        contact = {"input": person, "wa_id": person}
        return web.json_response({"messaging_product": "whatsapp", "contacts": [contact], "messages": [{"id": id}]})

    def _take(self, number: str, body: Json) -> str:
        id = self.wamid()
        if body["type"] == "reaction":
            self.reactions[body["reaction"]["message_id"]] = body["reaction"]["emoji"]
        else:
            self.sent.append({**body, "id": id})
        for status in self.statuses:
            self.tell(id, status, body.get("to") or body["recipient"], number, body.get("biz_opaque_callback_data"))
        return id

    def tell(
        self, id: str, status: str, person: str, number: str = NUMBER_ID, data: str | None = None, **more: Any
    ) -> None:
        """Deliver the status of a message."""
        told: Json = {"id": id, "status": status, "recipient_id": person, "timestamp": "1", **more}
        if data is not None:
            told["biz_opaque_callback_data"] = data
        self.deliver(number=number, statuses=[told])

    def _problem(self, body: Json) -> tuple[int, str] | None:
        person, content = body.get("to") or body.get("recipient"), body.get(body.get("type", ""), {})
        if not person or ("to" in body and not person.isdigit()):
            return 131009, "Parameter value is not valid"
        if person in self.closed:
            return 131047, "Re-engagement message"
        match body["type"]:
            case "text":
                valid = 0 < len(content["body"]) <= 4_096
            case "interactive":
                valid = _is_interactive(content)
            case "reaction":
                valid = "message_id" in content
            case "image" | "video" | "audio" | "document" | "sticker" as kind:
                family = {"sticker": "image/webp", "document": ""}.get(kind, f"{kind}/")
                valid = self.types.get(content["id"], "-").startswith(family)
            case _:
                return 131051, "Unsupported message type"
        context = body.get("context", {"message_id": "wamid."})["message_id"]
        return None if valid and context.startswith("wamid.") else (131009, "Parameter value is not valid")

    def _unauthorized(self, request: web.Request, number: str | None) -> web.StreamResponse | None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.tokens.values() or (number in self.tokens and token != self.tokens[number]):
            return _refused(401, 190, "Error validating access token: Session has expired")
        if number is not None and number not in self.tokens:
            return _refused(400, 100, f"Object with ID '{number}' does not exist")
        return None

    def _fault(self, path: str) -> GraphFault | None:
        fault = next((each for each in self.faults if each.path == path), None)
        if fault is not None:
            self.faults.remove(fault)
        return fault

    def _broken(self, request: web.Request, fault: GraphFault) -> web.StreamResponse:
        if fault.status:
            return _refused(fault.status, fault.code, "as told", fault.headers)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


def _entry(value: Json) -> Json:
    return {"id": "102290129340398", "changes": [{"field": "messages", "value": value}]}


def _is_interactive(content: Json) -> bool:
    text, action = content["body"]["text"], content["action"]
    if content["type"] == "button":
        replies = [each["reply"] for each in action["buttons"]]
        fits = len(replies) <= 3 and len(text) <= 1_024 and all(0 < len(each["title"]) <= 20 for each in replies)
    else:
        replies = [row for section in action["sections"] for row in section["rows"]]
        fits = len(replies) <= 10 and len(text) <= 4_096 and 0 < len(action["button"]) <= 20
        fits = fits and all(0 < len(e["title"]) <= 24 and len(e.get("description", "")) <= 72 for e in replies)
    ids = {each["id"] for each in replies}
    return bool(text) and fits and len(ids) == len(replies) and all(0 < len(each) <= 256 for each in ids)


def _refused(status: int, code: int | None, message: str, headers: dict[str, str] | None = None) -> web.Response:
    if code is None:
        return web.Response(status=status, text="upstream error", headers=headers)
    error = {"message": f"(#{code}) {message}", "type": "OAuthException", "code": code, "fbtrace_id": "A"}
    return web.json_response({"error": error}, status=status, headers=headers)
