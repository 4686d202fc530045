"""A BlueBubbles server: real sockets, faults as told.

Written after its source. It checks what is sent as it does, has a history, and tells a webhook once, whatever that
answers.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote

import aiohttp
from aiohttp import web

ME, ADA, EVE = "me@icloud.example", "+4915122222222", "+4915166666666"
GROUP = "iMessage;+;chat123456789"
REACTIONS = {"love", "like", "dislike", "laugh", "emphasize", "question"}

Json = dict[str, Any]


@dataclass
class BlueBubblesFault:
    """What goes wrong with the next message; without a status the line breaks."""

    status: int = 0
    type: str = ""
    message: str = ""
    data: Json | None = None
    done: bool = False


class BlueBubblesServer:
    """One Mac.

    Attributes:
        rows: The messages of its database, by their rows.
        private_api: Whether the Private API is there.
    """

    def __init__(self, me: str = ME) -> None:
        self.me = me
        self.password = "mac-password"
        self.private_api = True
        self.group_name = "Family"
        self.rows: list[Json] = []
        self.asked: list[tuple[str, Json]] = []
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.uploaded: list[bytes] = []
        self.voices: list[bytes] = []
        self.reactions: dict[str, str] = {}
        self.typing: list[str] = []
        self.read: list[str] = []
        self.hooks: list[Json] = []
        self.hooked: list[int] = []
        self.faults: list[BlueBubblesFault] = []
        self.garbled = self.deaf = False
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=200_000_000)
        application.router.add_route("*", "/api/v1/{path:.*}", self._handle)
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

    # --- what people do ---

    def row(self, chat: str, who: str | None, text: str | None, **more: Any) -> Json:
        """Put a message into the database; return it."""
        service = chat.partition(";")[0]
        row = {
            "originalROWID": len(self.rows) + 1,
            "guid": more.pop("guid", None) or f"A{len(self.rows) + 1:07d}-0000-4000-8000-000000000000",
            "text": text,
            "handle": {"address": who, "service": service} if who else None,
            "isFromMe": who is None,
            "dateCreated": int(time.time() * 1_000),
            "chats": [{"guid": chat, "displayName": self.group_name if ";+;" in chat else ""}],
            "attachments": [],
            "itemType": 0,
            "associatedMessageGuid": None,
            "threadOriginatorGuid": None,
            **more,
        }
        self.rows.append(row)
        return row

    def says(self, text: str | None, who: str = ADA, chat: str | None = None, **more: Any) -> Json:
        """Let somebody write; return the message."""
        row = self.row(chat or f"iMessage;-;{who}", who, text, **more)
        self.tell("new-message", row)
        return row

    def tell(self, event: str, data: Json) -> None:
        """Deliver an event to the webhooks, once."""
        for hook in self.hooks:
            if event in hook["events"]:
                task = asyncio.get_running_loop().create_task(self._post(hook["url"], {"type": event, "data": data}))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def _post(self, url: str, body: Json) -> None:
        try:
            async with self._client.post(url, json=body) as answer:
                self.hooked.append(answer.status)
        except aiohttp.ClientError:
            self.hooked.append(0)

    def fail(self, **more: Any) -> None:
        """Let the next message fail."""
        self.faults.append(BlueBubblesFault(**more))

    def sent(self) -> list[Json]:
        """Return the account's messages that are there."""
        return [each for each in self.rows if each["isFromMe"] and not each.get("dateRetracted")]

    # --- the API ---

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        if request.query.get("password") != self.password:
            return _error(401, "Authentication Error", "You are not authorized to access this resource")
        if self.deaf and path == "message/query":
            self.deaf = False
            await asyncio.sleep(30)
        if self.garbled and path == "message/query":
            self.garbled = False
            return web.Response(text='{"status": 200, "da', content_type="application/json")
        parts = [unquote(each) for each in request.raw_path.partition("?")[0].removeprefix("/api/v1/").split("/")]
        match request.method, *parts:
            case "GET", "server", "info":
                api = {"private_api": self.private_api, "helper_connected": self.private_api}
                return _ok({**api, "server_version": "1.9.9", "detected_icloud": self.me})
            case "GET", "webhook":
                return _ok(self.hooks)
            case "POST", "webhook":
                self.hooks.append(await request.json())
                return _ok(self.hooks[-1])
            case "POST", "message", "query":
                return self._query(await request.json())
            case "POST", "chat", "query":
                chats = {each["chats"][0]["guid"]: each["chats"][0] for each in self.rows}
                return _ok(list(chats.values()))
            case "GET", "contact":
                return _ok(
                    [{"firstName": "Ada", "lastName": "Lovelace", "phoneNumbers": [{"address": ADA}], "emails": []}]
                )
            case "GET", "attachment", guid, "download":
                self.fetched.append(guid)
                if guid not in self.files:
                    return _error(404, "Database Error", "Attachment does not exist!")
                return web.Response(body=self.files[guid])
            case "POST", "message", "text":
                return await self._send(request, await request.json(), None)
            case "POST", "message", "attachment":
                form = await request.post()
                file = form["attachment"]
                assert isinstance(file, web.FileField)
                body = {key: value for key, value in form.items() if isinstance(value, str)}
                return await self._send(request, body, file.file.read())
        if not self.private_api:
            return _error(500, "iMessage Error", "iMessage Private API is not enabled!")
        return await self._handle_private(request, parts)

    async def _handle_private(self, request: web.Request, parts: list[str]) -> web.StreamResponse:
        match request.method, *parts:
            case "POST", "message", "react":
                return self._react(await request.json())
            case "POST", "message", guid, "edit":
                body = await request.json()
                assert body["backwardsCompatibilityMessage"]
                self._own(guid)["text"] = body["editedMessage"]
                return _ok(self._own(guid))
            case "POST", "message", guid, "unsend":
                self._own(guid)["dateRetracted"] = int(time.time() * 1_000)
                return _ok(None)
            case "POST", "chat", chat, "typing":
                self.typing.append(chat)
                return _ok(None)
            case "POST", "chat", chat, "read":
                self.read.append(chat)
                return _ok(None)
        return _error(404, "Database Error", f"no such route: {parts}")

    def _own(self, guid: str) -> Json:
        return next(each for each in self.rows if each["guid"] == guid and each["isFromMe"])

    def _query(self, body: Json) -> web.StreamResponse:
        assert 1 <= body.get("limit", 100) <= 1_000
        found = [each for each in self.rows if each["dateCreated"] >= body.get("after", 0)]
        if "chatGuid" in body:
            found = [each for each in found if each["chats"][0]["guid"] == body["chatGuid"]]
        for each in body.get("where", ()):
            assert each["statement"] == "message.ROWID > :row"
            found = [row for row in found if row["originalROWID"] > each["args"]["row"]]
        found = sorted(found, key=lambda row: row["dateCreated"], reverse=body.get("sort") == "DESC")
        return _ok(found[: body.get("limit", 100)])

    def _react(self, body: Json) -> web.StreamResponse:
        name = body["reaction"]
        if name.removeprefix("-") not in REACTIONS:
            return _error(400, "Validation Error", "The reaction is invalid")
        if name.startswith("-"):
            self.reactions.pop(body["selectedMessageGuid"], None)
        else:
            self.reactions[body["selectedMessageGuid"]] = name
        return _ok({"guid": "tapback"})

    async def _send(self, request: web.Request, body: Json, file: bytes | None) -> web.StreamResponse:
        self.asked.append((str(body["tempGuid"]), body))
        fault = self.faults.pop(0) if self.faults else BlueBubblesFault(done=True, status=200)
        if body["method"] == "private-api" and not self.private_api:
            return _error(500, "iMessage Error", "iMessage Private API is not enabled!")
        if file is None and not body["message"]:
            return _error(400, "Validation Error", "A 'message' is required")
        row: Json = {}
        if fault.done:
            row = self.row(
                body["chatGuid"], None, body.get("message"), threadOriginatorGuid=body.get("selectedMessageGuid")
            )
            if file is not None:
                self.uploaded.append(file)
                if body.get("isAudioMessage") == "true":
                    self.voices.append(file)
                row["attachments"] = [{"guid": "sent", "transferName": body["name"]}]
            if body["chatGuid"].endswith(self.me):
                self.says(body.get("message"), self.me, body["chatGuid"])
            self.tell("new-message", row)
        if fault.status == 0:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault.status != 200:
            if not fault.type:
                return web.Response(status=fault.status, text="bad gateway")
            return _error(fault.status, fault.type, fault.message, fault.data)
        return _ok(row)


def _ok(data: Any) -> web.Response:
    return web.json_response({"status": 200, "message": "Success", "data": data})


def _error(status: int, type: str, message: str, data: Json | None = None) -> web.Response:
    body = {"status": status, "message": "refused", "error": {"type": type, "message": message}, "data": data}
    return web.Response(status=status, text=json.dumps(body), content_type="application/json")
