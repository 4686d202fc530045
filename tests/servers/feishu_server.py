"""Feishu's API and its long connection, as far as a bot uses them: real sockets, faults as told.

Written after https://open.feishu.cn/document and the vendor's libraries. It checks what is sent as the API does, and
delivers again what was not acknowledged.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import WSMsgType, web

from integrations.channels.feishu.frames import CONTROL, DATA, Frame, decode, encode

APP_ID, APP_SECRET = "cli_a1b2c3", "secret-of-the-app"
ADA, EVE = "on_ada", "on_eve"
GROUP, GROUP_NAME = "oc_9e0f", "The family"
SERVICE = 7
RETRY_S = 0.02
CARD_BYTES = 30 * 1024
FILE_TYPES = frozenset({"opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"})
TAGS = frozenset({"markdown", "div", "column_set"})

Json = dict[str, Any]


@dataclass
class FeishuFault:
    """What goes wrong with a request whose path ends so; without a status the line breaks."""

    end: str
    status: int = 0
    code: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False


class Refused(Exception):
    """A refusal of the API."""

    def __init__(self, code: int, message: str, status: int = 400) -> None:
        self.code, self.message, self.status = code, message, status


class FeishuServer:
    """One app in an organisation with Ada and Eve."""

    def __init__(self, app_id: str = APP_ID) -> None:
        self.app_id, self.secret = app_id, APP_SECRET
        self.me = f"ou_{app_id}_me"
        self.names = {ADA: "Ada", EVE: "Eve"}
        self.groups = {GROUP: GROUP_NAME}
        self.scopes: dict[str, int] = {}
        self.messages: dict[str, Json] = {}
        self.files: dict[str, bytes] = {}
        self.uploaded: dict[str, tuple[str, bytes]] = {}
        self.fetched: list[str] = []
        self.asked: list[tuple[str, str, Json]] = []
        self.notices: list[str] = []
        self.answers: list[int] = []
        self.faults: list[FeishuFault] = []
        self.cards: dict[str, Json] = {}
        self.tokens: set[str] = set()
        self.deaf = self.garbled = False
        self.is_silent = False
        """Whether events wait for the next connection."""
        self.parts = 1
        self.connections = 0
        self._count = 0
        self._waiting: dict[str, bytes] = {}
        self._socket: web.WebSocketResponse | None = None
        self._request: web.Request | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # --- for tests ---

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=40_000_000)
        application.router.add_get("/ws", self._serve_socket)
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.address = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.root = f"http://{self.address}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        self.cut()
        await self._runner.cleanup()

    def fail(self, end: str, status: int = 0, **more: Any) -> None:
        """Let the next request whose path ends so fail."""
        self.faults.append(FeishuFault(end, status, **more))

    def calls(self, method: str, end: str) -> list[Json]:
        """Return the bodies of the requests to a path."""
        return [body for each, path, body in self.asked if each == method and path.endswith(end)]

    def open_id(self, person: str) -> str:
        """Return the id of somebody for this app alone."""
        return f"ou_{self.app_id}_{person.removeprefix('on_')}"

    def ids(self, person: str) -> Json:
        """Return the ids of somebody as events have them."""
        return {"open_id": self.open_id(person), "union_id": person, "user_id": None}

    def chat_with(self, person: str) -> str:
        """Return the direct chat with somebody."""
        return f"oc_{self.app_id}_{person.removeprefix('on_')}"

    def new_id(self, kind: str = "om") -> str:
        """Return an id."""
        self._count += 1
        return f"{kind}_{self.app_id}_{self._count:05}"

    async def say(self, content: Any, who: str = ADA, chat: str | None = None, kind: str = "text", **more: Any) -> Json:
        """Let somebody write; return the event."""
        content = {"text": content} if isinstance(content, str) else content
        chat = chat or self.chat_with(who)
        message = {
            "message_id": self.new_id(),
            "create_time": str(int(time.time() * 1000)),
            "chat_id": chat,
            "chat_type": "group" if chat in self.groups else "p2p",
            "message_type": kind,
            "content": json.dumps(content),
            **more,
        }
        self.messages[message["message_id"]] = {**message, "msg_type": kind, "sender": who, "reactions": []}
        event = {"sender": {"sender_id": self.ids(who), "sender_type": "user", "tenant_key": "t"}, "message": message}
        await self.tell("im.message.receive_v1", event)
        return event

    async def tell(self, kind: str, event: Json, event_id: str | None = None) -> None:
        """Send an event, now or with the next connection."""
        header = {"event_id": event_id or self.new_id("ev"), "event_type": kind, "app_id": self.app_id, "token": ""}
        await self.deliver(json.dumps({"schema": "2.0", "header": header, "event": event}).encode())

    async def deliver(self, payload: bytes) -> None:
        """Send an event as it is."""
        id = self.new_id("frame")
        self._waiting[id] = payload
        if not self.is_silent:
            await self._push(id)

    async def _push(self, id: str) -> None:
        if self._socket is None or self._socket.closed or self.deaf or id not in self._waiting:
            return
        if self.garbled:
            self.garbled = False
            await self._socket.send_bytes(b"\x0a\xff\xff\xff\xff\x0f{")
            await self._socket.send_bytes(encode(self._frame("frame_none", b'{"header": {"ev', 0, 1)))
        payload, total = self._waiting[id], self.parts
        size = -(-len(payload) // total)
        for number in reversed(range(total)):
            part = payload[number * size : (number + 1) * size]
            await self._socket.send_bytes(encode(self._frame(id, part, number, total)))

    def _frame(self, id: str, payload: bytes, number: int, total: int) -> Frame:
        headers = {"type": "event", "message_id": id, "sum": str(total), "seq": str(number), "trace_id": "t"}
        return Frame(1, 2, SERVICE, DATA, tuple(headers.items()), payload=payload)

    def cut(self) -> None:
        """Break the connection."""
        if self._request is not None and self._request.transport is not None:
            self._request.transport.abort()
        self._socket = self._request = None

    def revoke(self) -> None:
        """Give the app another secret."""
        self.secret = "another"
        self.tokens.clear()
        self.cut()

    def shown(self, chat: str, root: str | None = None) -> list[str]:
        """Return the texts of the bot's messages in a chat."""
        ours = [each for each in self.messages.values() if each["chat_id"] == chat and each["sender"] == self.app_id]
        return [
            text_of_card(json.loads(each["content"]))
            for each in ours
            if each["msg_type"] == "interactive" and root in (None, each.get("root_id"))
        ]

    # --- long connection ---

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.connections += 1
        self.deaf = False
        self._socket, self._request = socket, request
        for id in list(self._waiting):
            await self._push(id)
        async for message in socket:
            if message.type is WSMsgType.BINARY and not self.deaf:
                await self._hear(socket, decode(message.data))
        if self._socket is socket:
            self._socket = None
        return socket

    async def _hear(self, socket: web.WebSocketResponse, frame: Frame) -> None:
        if frame.method == CONTROL:
            assert (frame.header("type"), frame.service) == ("ping", SERVICE)
            config = json.dumps({"PingInterval": 120, "ReconnectCount": -1}).encode()
            await socket.send_bytes(encode(Frame(method=CONTROL, headers=(("type", "pong"),), payload=config)))
            return
        answer, id = json.loads(frame.payload), frame.header("message_id")
        self.answers.append(answer["code"])
        if answer["code"] != 200:
            self._later(id)
            return
        self._waiting.pop(id, None)
        if "data" in answer:
            self.notices.append(json.loads(base64.b64decode(answer["data"]))["toast"]["content"])

    def _later(self, id: str) -> None:
        async def again() -> None:
            await asyncio.sleep(RETRY_S)
            await self._push(id)

        task = asyncio.get_running_loop().create_task(again())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- API ---

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        form = request.content_type == "multipart/form-data"
        body: Json = dict(await request.post()) if form else (await request.json() if request.can_read_body else {})
        self.asked.append((request.method, path, body))
        fault = next((each for each in self.faults if path.endswith(each.end)), None)
        if fault is not None:
            self.faults.remove(fault)
            if not fault.done:
                return _broken(request, fault)
        try:
            answer = self._handle(request, path, body)
        except Refused as refused:
            return _json({"code": refused.code, "msg": refused.message}, refused.status)
        if fault is not None:
            return _broken(request, fault)
        return answer if isinstance(answer, web.Response) else _json({"code": 0, "msg": "success", **answer})

    def _handle(self, request: web.Request, path: str, body: Json) -> Json | web.Response:
        if path == "/callback/ws/endpoint":
            if (body.get("AppID"), body.get("AppSecret")) != (self.app_id, self.secret):
                raise Refused(1000040345, "app_id or app_secret is invalid", 200)
            url = f"ws://{self.address}/ws?device_id=1&service_id={SERVICE}"
            return {"data": {"URL": url, "ClientConfig": {"PingInterval": 120, "ReconnectCount": -1}}}
        if path == "/open-apis/auth/v3/tenant_access_token/internal":
            if (body.get("app_id"), body.get("app_secret")) != (self.app_id, self.secret):
                raise Refused(10014, "app secret invalid", 200)
            token = self.new_id("t")
            self.tokens.add(token)
            return {"tenant_access_token": token, "expire": 7200}
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            raise Refused(99991663, "Invalid access token for authorization")
        parts = path.removeprefix("/open-apis/").split("/")
        match request.method, *parts:
            case "GET", "bot", "v3", "info":
                return {"bot": {"open_id": self.me, "app_name": "Homarus", "activate_status": 2}}
            case "GET", "application", "v6", "scopes":
                found = [{"scope_name": name, "grant_status": state} for name, state in self.scopes.items()]
                return {"data": {"scopes": found}}
            case "GET", "contact", "v3", "users", person:
                if "contact:user.base:readonly" in self.scopes and not self.scopes["contact:user.base:readonly"]:
                    raise Refused(99991672, "Access denied")
                return {"data": {"user": {"name": self.names[person]}}}
            case "GET", "im", "v1", "chats":
                return {"data": self._page(request)}
            case "GET", "im", "v1", "chats", chat:
                kind = {"chat_mode": "group" if chat in self.groups else "p2p"}
                return {"data": {"name": self.groups.get(chat, ""), **kind}}
            case "POST", "im", "v1", "images":
                return {"data": {"image_key": self._upload("image", body, body.get("image_type") == "message")}}
            case "POST", "im", "v1", "files":
                type = str(body["file_type"])
                return {"data": {"file_key": self._upload(type, body, type in FILE_TYPES and bool(body["file_name"]))}}
            case method, "im", "v1", "messages", *rest:
                return self._message(method, rest, request, body)
            case method, "cardkit", "v1", "cards", *rest:
                return self._card(method, rest, body)
        raise Refused(99991404, f"no such path: {path}", 404)

    def _page(self, request: web.Request) -> Json:
        """Return one group a page, whatever is asked for."""
        start, all = int(request.query.get("page_token", "0")), list(self.groups.items())
        items = [{"chat_id": id, "name": name} for id, name in all[start : start + 1]]
        return {"items": items, "has_more": start + 1 < len(all), "page_token": str(start + 1)}

    def _upload(self, kind: str, body: Json, valid: bool) -> str:
        file = body.get("image") or body.get("file")
        content = file.file.read() if isinstance(file, web.FileField) else b""
        if not valid or not content:
            raise Refused(234001, "Invalid request param.")
        key = self.new_id("img_v3" if kind == "image" else "file_v3")
        self.uploaded[key] = (kind, content)
        return key

    def _message(self, method: str, rest: list[str], request: web.Request, body: Json) -> Json | web.Response:
        if method == "POST" and not rest:
            return {"data": self._send(self._chat(request.query.get("receive_id_type", ""), body), body)}
        message = self.messages.get(rest[0])
        if message is None:
            raise Refused(230001, "Your request contains an invalid request parameter, ext=invalid message_id")
        if message.get("deleted"):
            raise Refused(230011, "The message was withdrawn.")
        match method, *rest[1:]:
            case "POST", "reply":
                root = message.get("root_id") or message["message_id"]
                threaded = bool(body.get("reply_in_thread"))
                more = {"root_id": root, "parent_id": message["message_id"], "thread_id": "omt_1" if threaded else None}
                return {"data": self._send(message["chat_id"], body, **more)}
            case ["GET"]:
                item = {**message, "body": {"content": message["content"]}}
                return {"data": {"items": [item]}}
            case ["PATCH"]:
                self._own(message)
                self._check_card(body["content"])
                message["content"] = body["content"]
                return {"data": {}}
            case ["DELETE"]:
                self._own(message)
                message["deleted"] = True
                self.messages[rest[0]] = {**message, "chat_id": "", "content": "{}"}
                return {"data": {}}
            case "POST", "reactions":
                reaction = {
                    "reaction_id": self.new_id("r"),
                    "operator": {"operator_type": "app", "operator_id": self.app_id},
                    "reaction_type": body["reaction_type"],
                }
                message["reactions"].append(reaction)
                return {"data": reaction}
            case "GET", "reactions":
                return {"data": {"items": message["reactions"], "has_more": False}}
            case "DELETE", "reactions", id:
                message["reactions"] = [each for each in message["reactions"] if each["reaction_id"] != id]
                return {"data": {}}
            case "GET", "resources", key:
                self.fetched.append(key)
                return web.Response(body=self.files[key])
        raise Refused(99991404, "no such path", 404)

    def _chat(self, kind: str, body: Json) -> str:
        id = str(body.get("receive_id"))
        if kind == "union_id" and id in self.names:
            return self.chat_with(id)
        if kind == "open_id" and id in map(self.open_id, self.names):
            return self.chat_with(f"on_{id.rpartition('_')[2]}")
        if kind == "chat_id" and id in self.groups:
            return id
        if kind == "chat_id":
            raise Refused(230002, "Bot can NOT be out of the chat.")
        raise Refused(230001, "Your request contains an invalid request parameter, ext=invalid receive_id")

    def _send(self, chat: str, body: Json, **more: Any) -> Json:
        kind, content, uuid = body["msg_type"], body["content"], body.get("uuid", "")
        if len(uuid) > 50:
            raise Refused(230001, "Your request contains an invalid request parameter, ext=invalid uuid")
        if uuid:
            for known in self.messages.values():
                if known.get("uuid") == uuid:
                    return known
        if kind == "interactive":
            self._check_card(content)
        elif kind in ("image", "file", "audio", "media"):
            key = json.loads(content)["image_key" if kind == "image" else "file_key"]
            wanted = {"image": {"image"}, "audio": {"opus"}, "media": {"mp4"}}.get(kind, FILE_TYPES - {"opus", "mp4"})
            if key not in self.uploaded or self.uploaded[key][0] not in wanted:
                raise Refused(230055, "The type of file upload does not match the type of message being sent.")
        elif kind != "text":
            raise Refused(230001, "Your request contains an invalid request parameter, ext=invalid msg_type")
        message = {"message_id": self.new_id(), "chat_id": chat, "msg_type": kind, "content": content, "uuid": uuid}
        self.messages[message["message_id"]] = {**message, "sender": self.app_id, "reactions": [], **more}
        return message

    def _check_card(self, content: str) -> None:
        card = json.loads(content)
        if len(json.dumps(content, ensure_ascii=False).encode()) > CARD_BYTES:
            raise Refused(230025, "The length of the message content reaches its limit.")
        elements = card["body"]["elements"]
        if card.get("schema") != "2.0" or not elements or {each["tag"] for each in elements} - TAGS:
            raise Refused(230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: unknown element")
        if sum(each.get("content", "").count("|---") > 0 for each in elements) > 5:
            raise Refused(
                230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit"
            )

    def _own(self, message: Json) -> None:
        if message["sender"] != self.app_id:
            raise Refused(230071, "The operator is not the sender of the message.")

    def _card(self, method: str, rest: list[str], body: Json) -> Json:
        if rest == ["id_convert"]:
            message = body["message_id"]
            if message not in self.messages:
                raise Refused(300301, "message not found")
            id = f"7355{message[-5:]}"
            self.cards.setdefault(id, {"message": message, "streaming": False, "sequence": 0, "settings": []})
            return {"data": {"card_id": id}}
        card = self.cards[rest[0]]
        if not (0 < body["sequence"] < 2**31 and body["sequence"] > card["sequence"]) or len(body["uuid"]) > 64:
            raise Refused(300317, "sequence number compare failed")
        card["sequence"] = body["sequence"]
        if rest[1:] == ["settings"]:
            card["streaming"] = json.loads(body["settings"])["config"]["streaming_mode"]
            card["settings"].append(card["streaming"])
            return {"data": {}}
        if method != "PUT" or rest[1] != "elements" or rest[3] != "content":
            raise Refused(99991404, "no such path", 404)
        if not card["streaming"]:
            raise Refused(300309, "Card streaming mode is closed")
        message = self.messages[card["message"]]
        if message.get("deleted"):
            return {"data": {}}  # the card is there, and nobody is shown it
        content = json.loads(message["content"])
        element = next(each for each in content["body"]["elements"] if each.get("element_id") == rest[2])
        element["content"] = body["content"]
        message["content"] = json.dumps(content)
        return {"data": {}}


def text_of_card(card: Json) -> str:
    """Return the text of a card, as a person reads it."""
    element = card["body"]["elements"][0]
    text = element["text"]["content"] if element["tag"] == "div" else element["content"]
    return str(text).replace("&#60;", "<")


def buttons_of(card: Json) -> dict[str, Json]:
    """Return what the buttons of a card tell, by their labels."""
    rows = [each for each in card["body"]["elements"] if each["tag"] == "column_set"]
    buttons = [button for row in rows for column in row["columns"] for button in column["elements"]]
    return {each["text"]["content"]: each["behaviors"][0]["value"] for each in buttons}


def _json(body: Json, status: int = 200) -> web.Response:
    return web.json_response(body, status=status)


def _broken(request: web.Request, fault: FeishuFault) -> web.StreamResponse:
    if fault.status:
        if fault.code is None:
            return web.Response(status=fault.status, text="upstream error", headers=fault.headers)
        body = {"code": fault.code, "msg": "as told"}
        return web.json_response(body, status=fault.status, headers=fault.headers)
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
