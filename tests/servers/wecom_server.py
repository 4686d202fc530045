"""WeCom's long connection for AI bots: real sockets, faults as told.

Written after https://developer.work.weixin.qq.com/document/path/101463: it checks what is sent as WeCom would. What is
said while no bot is connected is lost, and nothing is brought twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import WSMsgType, web
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

BOT_ID, SECRET = "aibYm90X2lk", "long-connection-secret"
ADA, GROUP = "LiAda", "wrkSFfCgAAtGR0UP"
AES_KEY = base64.b64encode(bytes(range(32))).decode().rstrip("=")
MEDIA_LIMITS = {"image": 10_000_000, "voice": 2_000_000, "video": 10_000_000, "file": 20_000_000}
PIECE_BYTES, PIECES = 512 * 1024, 100
STREAM_BYTES = 20_480
BAD_LOGIN, NOT_SUBSCRIBED, BAD_REQUEST, STREAM_OVER, BAD_TYPE, BAD_CHAT = 853000, 846609, 846605, 846608, 40008, 93006

Json = dict[str, Any]


@dataclass
class WeComFault:
    """What goes wrong with a message, before or after (`done`) it was sent; without a code the line breaks."""

    code: int = 0
    done: bool = False


class WeComServer:
    """One bot, a group, and direct chats."""

    def __init__(self, bot_id: str = BOT_ID) -> None:
        self.bot_id, self.secret = bot_id, SECRET
        self.sent: list[Json] = []
        """What chats show: `chat`, `type`, `text`, and `content` as it was sent; a stream once it is finished."""
        self.streams: dict[str, Json] = {}
        self.growing: list[str] = []
        """The texts of streams before they were finished."""
        self.asked: list[Json] = []
        self.attempts = 0
        """Messages that were asked for, streams that grow not counted."""
        self.uploaded: list[bytes] = []
        self.files: dict[str, bytes] = {}
        self.fetched = 0
        self.faults: list[WeComFault | None] = []
        """What happens to the next messages, one after the other; None for nothing."""
        self.connections = 0
        self.deaf = False
        self.garbled = False
        self._media: dict[str, Json] = {}
        self._uploads: dict[str, Json] = {}
        self._requests: dict[str, str] = {}
        self._cards: set[str] = set()
        self._chats: set[str] = set()
        self._socket: web.WebSocketResponse | None = None
        self._request: web.Request | None = None
        self._count = 0

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_get("/", self._serve)
        application.router.add_get("/file/{id}", self._file)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.address = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.url = f"ws://{self.address}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        await self._runner.cleanup()

    # --- for tests ---

    def new_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    async def say(self, body: Json, who: str = ADA, *, group: bool = False) -> Json:
        """Let somebody write to the bot; return the body of the callback."""
        whole = {"msgid": self.new_id("CAIQz7"), "aibotid": self.bot_id, "create_time": int(time.time()), **body}
        whole |= {"from": {"userid": who}, "chattype": "group" if group else "single"}
        if group:
            whole["chatid"] = GROUP
        self._chats.add(GROUP if group else who)
        await self.bring(whole)
        return whole

    async def bring(self, body: Json, command: str = "aibot_msg_callback") -> None:
        """Bring a callback to the connected bot."""
        request_id = self.new_id("req")
        self._requests[request_id] = body.get("chatid") or body["from"]["userid"]
        if command == "aibot_event_callback":
            self._cards.add(request_id)
        await self.frame({"cmd": command, "headers": {"req_id": request_id}, "body": body})

    async def event(self, event: Json, who: str = ADA, *, group: bool = False) -> None:
        """Bring an event."""
        body = {"msgid": self.new_id("EVT"), "msgtype": "event", "event": event, "from": {"userid": who}}
        body |= {"chattype": "group", "chatid": GROUP} if group else {"chattype": "single"}
        await self.bring(body, "aibot_event_callback")

    async def frame(self, frame: Json | str) -> None:
        """Send a frame as it is."""
        if self._socket is None or self._socket.closed:
            return
        if self.garbled:
            self.garbled = False
            await self._socket.send_str('{"cmd": "aib')
        await self._socket.send_str(frame if isinstance(frame, str) else json.dumps(frame))

    def encrypted_file(self, id: str, content: bytes) -> Json:
        """Hold a file for download; return what a message says about it."""
        key = bytes(range(32))
        filled = 32 - len(content) % 32
        cipher = Cipher(algorithms.AES256(key), modes.CBC(key[:16])).encryptor()
        self.files[id] = cipher.update(content + bytes([filled]) * filled) + cipher.finalize()
        return {"url": f"http://{self.address}/file/{id}", "aeskey": AES_KEY}

    def forget_requests(self) -> None:
        """Let no callback be answered any more, as after a day."""
        self._requests.clear()

    def cut(self) -> None:
        """Break the connection."""
        if self._request is not None and self._request.transport is not None:
            self._request.transport.abort()
        self._socket = self._request = None

    # --- the platform ---

    async def _file(self, request: web.Request) -> web.Response:
        self.fetched += 1
        return web.Response(body=self.files[request.match_info["id"]])

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(max_msg_size=2**22)
        await socket.prepare(request)
        subscribed = False
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                continue
            data = json.loads(frame.data)
            command, id, body = data["cmd"], data["headers"]["req_id"], data.get("body") or {}
            if command == "aibot_subscribe":
                subscribed = (body["bot_id"], body["secret"]) == (self.bot_id, self.secret)
                if not subscribed:
                    await socket.send_json(_answer(id, BAD_LOGIN, "invalid bot_id or secret"))
                    continue
                if self._socket is not None and not self._socket.closed:
                    ended = {"msgtype": "event", "event": {"eventtype": "disconnected_event"}}
                    await self.frame({"cmd": "aibot_event_callback", "headers": {"req_id": "x"}, "body": ended})
                self._socket, self._request, self.deaf = socket, request, False
                self.connections += 1
                await socket.send_json(_answer(id))
            elif not subscribed:
                await socket.send_json(_answer(id, NOT_SUBSCRIBED, "aibot websocket not subscribed"))
            elif not self.deaf:
                await self._handle(socket, request, command, id, body)
        if self._socket is socket:
            self._socket = None
        return socket

    async def _handle(
        self, socket: web.WebSocketResponse, request: web.Request, command: str, id: str, body: Json
    ) -> None:
        self.asked.append({"cmd": command, "id": id, **body})
        sends = command == "aibot_send_msg" or body.get("stream", {}).get("finish", False)
        self.attempts += sends
        fault = self.faults.pop(0) if sends and self.faults else None
        if fault is not None and not fault.done:
            await socket.send_json(_answer(id, fault.code, "told to"))
            return
        result = self._carry_out(command, id, body)
        if fault is not None:
            assert request.transport is not None
            request.transport.abort()
        else:
            answer = _answer(id, result, "refused") if isinstance(result, int) else {**_answer(id), "body": result}
            await socket.send_json(answer)

    def _carry_out(self, command: str, id: str, body: Json) -> Json | int:
        match command:
            case "ping":
                return {}
            case "aibot_respond_msg":
                return self._respond(id, body)
            case "aibot_send_msg":
                return self._send(body)
            case "aibot_upload_media_init":
                if not 5 <= body["total_size"] <= MEDIA_LIMITS[body["type"]] or body["total_chunks"] > PIECES:
                    return 40006
                upload = self.new_id("up")
                self._uploads[upload] = {**body, "pieces": {}}
                return {"upload_id": upload}
            case "aibot_upload_media_chunk":
                piece = base64.b64decode(body["base64_data"])
                if len(piece) > PIECE_BYTES:
                    return 40006
                self._uploads[body["upload_id"]]["pieces"][body["chunk_index"]] = piece
                return {}
            case "aibot_upload_media_finish":
                return self._finish(self._uploads.pop(body["upload_id"]))
        return BAD_TYPE

    def _finish(self, upload: Json) -> Json | int:
        pieces = upload["pieces"]
        content = b"".join(pieces[number] for number in sorted(pieces))
        if len(pieces) != upload["total_chunks"] or hashlib.md5(content).hexdigest() != upload["md5"]:
            return 40006
        media = self.new_id("media")
        self._media[media] = {"type": upload["type"], "content": content}
        return {"type": upload["type"], "media_id": media, "created_at": int(time.time())}

    def _respond(self, id: str, body: Json) -> Json | int:
        if id not in self._requests or id in self._cards:
            return BAD_REQUEST
        if body["msgtype"] != "stream":
            return BAD_TYPE
        stream = body["stream"]
        if len(stream["content"].encode()) > STREAM_BYTES or not stream["content"]:
            return 40058
        known = self.streams.setdefault(stream["id"], {"finished": False})
        if known["finished"]:
            return STREAM_OVER
        known["finished"] = stream["finish"]
        if stream["finish"]:
            self._show(self._requests[id], "stream", stream["content"], stream)
        else:
            self.growing.append(stream["content"])
        return {}

    def _send(self, body: Json) -> Json | int:
        kind, chat = body["msgtype"], body["chatid"]
        if chat not in self._chats or body["chat_type"] != (2 if chat == GROUP else 1):
            return BAD_CHAT
        content = body[kind]
        match kind:
            case "markdown":
                if not content["content"] or len(content["content"].encode()) > STREAM_BYTES:
                    return 40058
                self._show(chat, kind, content["content"], content)
            case "template_card":
                if not (content["task_id"] and _is_card(content)):
                    return 40058
                main = content.get("main_title", {})
                title = main.get("title", "") + main.get("desc", "") or content["sub_title_text"]
                self._show(chat, kind, title, content)
            case "image" | "voice" | "video" | "file":
                media = self._media.get(content["media_id"])
                if media is None or media["type"] != kind:
                    return 40007
                self.uploaded.append(media["content"])
                self._show(chat, kind, "", content)
            case _:
                return BAD_TYPE
        return {}

    def _show(self, chat: str, kind: str, text: str, content: Json) -> None:
        self.sent.append({"chat": chat, "type": kind, "text": text, "content": content})


def _answer(id: str, code: int = 0, text: str = "ok") -> Json:
    return {"headers": {"req_id": id}, "errcode": code, "errmsg": text}


def _is_card(card: Json) -> bool:
    if card["card_type"] == "vote_interaction":
        options = card["checkbox"]["option_list"]
        return 1 <= len(options) <= 20 and bool(card["submit_button"]["key"] and card["main_title"]["title"])
    headed = card.get("main_title", {}).get("title") or card.get("sub_title_text")
    buttons = card["button_list"]
    return bool(headed) and 1 <= len(buttons) <= 6 and all(len(each["key"].encode()) <= 1024 for each in buttons)
