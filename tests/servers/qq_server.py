"""QQ's API and gateway for official bots: real sockets, faults as told.

Written after https://bot.q.qq.com/wiki/develop/api-v2/: it checks what is sent as QQ would, counts the answers to each
message, and takes none without one.
"""

from __future__ import annotations

import base64
import json
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from aiohttp import WSMsgType, web

APP_ID, SECRET = "102000001", "app-secret"
ADA, EVE, GROUP = "9F86D081884C7D65", "E3B0C44298FC1C14", "6B86B273FF34FCE1"
ADA_IN_GROUP = "D4735E3A265E16EE"
ANSWERS = {"users": (4, 3600), "groups": (5, 300)}
CONTENT_CHARS = 4_000
DUPLICATE, USED_UP, NO_ID, NOT_FIRST, LINKS, TOO_LONG = 40054005, 40034128, 40034024, 40034105, 40054010, 40054007
RECALL_OVER = 40064004

Json = dict[str, Any]


@dataclass
class QQFault:
    """What goes wrong with a message, before or after (`done`) it was sent; without a status the line breaks."""

    status: int = 0
    code: int = 0
    done: bool = False


class QQServer:
    """One bot, direct chats and a group."""

    def __init__(self, app_id: str = APP_ID) -> None:
        self.app_id = app_id
        self.secret = SECRET
        self.tokens: list[str] = []
        self.token_s = 7_200
        self.heartbeat_ms = 41_250
        self.sent: list[Json] = []
        """What chats show: `place`, `id`, `content` or `file`."""
        self.attempts = 0
        self.typing: list[Json] = []
        self.no_typing = False
        self.no_links = False
        self.uploaded: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.fetched = 0
        self.faults: list[QQFault] = []
        self.introductions: list[Json] = []
        self.deaf = False
        self.garbled = False
        self.late_s = 0.0
        """By how much later it is for the platform."""
        self._answers: dict[str, tuple[str, float, set[int]]] = {}
        self._events: list[Json] = []
        self._session = ""
        self._close_code = 0
        self._socket: web.WebSocketResponse | None = None
        self._request: web.Request | None = None
        self._count = 0

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=32_000_000)
        application.router.add_post("/token", self._give_token)
        application.router.add_get("/socket", self._serve_socket)
        application.router.add_get("/file/{name}", self._file)
        application.router.add_get("/gateway", self._gateway)
        application.router.add_get("/users/@me", self._me)
        application.router.add_post("/v2/{kind}/{id}/messages", self._take_message)
        application.router.add_post("/v2/{kind}/{id}/files", self._take_file)
        application.router.add_delete("/v2/{kind}/{id}/messages/{message}", self._recall)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.address = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.root = f"http://{self.address}"
        self.token_url = f"{self.root}/token"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        await self._runner.cleanup()

    # --- for tests ---

    def new_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    async def say(self, content: str, who: str = ADA, *, group: bool = False, event: str = "", **more: Any) -> Json:
        """Let somebody write; return the data of the event."""
        data = {"id": self.new_id("ROBOT1.0_"), "content": content, "timestamp": datetime.now(UTC).isoformat(), **more}
        if group:
            data |= {"group_openid": GROUP, "author": {"member_openid": who, **more.get("author", {})}}
        else:
            data["author"] = {"user_openid": who, "username": "Li Ada"}
        self._answers[data["id"]] = (GROUP if group else who, self._now(), set())
        await self.bring(event or ("GROUP_AT_MESSAGE_CREATE" if group else "C2C_MESSAGE_CREATE"), data)
        return data

    async def bring(self, event: str, data: Any) -> None:
        """Send an event, or keep it until the bot is there."""
        frame = {"op": 0, "s": len(self._events) + 2, "t": event, "d": data}
        self._events.append(frame)
        if self._socket is not None and not self._socket.closed and not self.deaf:
            if self.garbled:
                self.garbled = False
                await self._socket.send_str('{"op": 0, "d"')
            await self._socket.send_json(frame)

    @property
    def is_heard(self) -> bool:
        """Whether a bot is connected and logged in."""
        return self._socket is not None

    async def frame(self, frame: Any) -> None:
        """Send a frame as it is."""
        assert self._socket is not None
        await self._socket.send_json(frame)

    async def close(self, code: int) -> None:
        """Close the connection with a code, once the bot has answered that it is there."""
        self._close_code = code
        await self.frame({"op": 1})

    def cut(self) -> None:
        """Break the connection."""
        if self._request is not None and self._request.transport is not None:
            self._request.transport.abort()
        self._socket = self._request = None

    def end_session(self) -> None:
        """Forget the session, which then cannot be resumed."""
        self._session = "ended"

    def _now(self) -> float:
        return time.time() + self.late_s

    # --- API ---

    async def _give_token(self, request: web.Request) -> web.Response:
        given = await request.json()
        if (given["appId"], given["clientSecret"]) != (self.app_id, self.secret):
            return web.json_response({"code": 100016, "message": "invalid appid or secret"})
        self.tokens.append(self.new_id("token"))
        return web.json_response({"access_token": self.tokens[-1], "expires_in": str(self.token_s)})

    def _refusal(self, request: web.Request) -> web.Response | None:
        if not self.tokens or request.headers.get("Authorization") != f"QQBot {self.tokens[-1]}":
            return _refused(401, 11244, "token not exist or expire")
        return None

    async def _gateway(self, request: web.Request) -> web.Response:
        return self._refusal(request) or web.json_response({"url": f"ws://{self.address}/socket"})

    async def _me(self, request: web.Request) -> web.Response:
        return self._refusal(request) or web.json_response({"id": "bot1", "username": "Homarus"})

    async def _file(self, request: web.Request) -> web.Response:
        self.fetched += 1
        return web.Response(body=self.files[request.match_info["name"]])

    async def _take_message(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        body, kind, id = await request.json(), request.match_info["kind"], request.match_info["id"]
        if body["msg_type"] == 6:
            if self.no_typing or kind != "users":
                return _refused(403, 11253, "no permission")
            self.typing.append(body)
            return web.json_response({"id": self.new_id("sign")})
        self.attempts += 1
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not fault.done:
            if fault.code:
                return _refused(fault.status, fault.code, "told to")
            return web.Response(status=fault.status, text="<html>Bad gateway</html>", content_type="text/html")
        answer = self._carry_out(body, kind, id)
        if fault is not None and request.transport is not None:
            request.transport.abort()
        return answer

    def answered(self, id: str, number: int) -> None:
        """Note that a message has an answer of this number."""
        self._answers[id][2].add(number)

    def _carry_out(self, body: Json, kind: str, id: str) -> web.Response:
        if "msg_id" not in body:
            return _refused(400, NOT_FIRST, "no permission to send first")
        peer, at, numbers = self._answers.get(body["msg_id"], ("", 0.0, set()))
        most, seconds = ANSWERS[kind]
        if peer != id:
            return _refused(400, NO_ID, "invalid msg_id")
        if body["msg_seq"] in numbers:
            return _refused(400, DUPLICATE, "message is a duplicate")
        if len(numbers) >= most or self._now() - at > seconds:
            return _refused(400, USED_UP, "passive reply limit")
        content = body.get("content", "")
        if len(content) > CONTENT_CHARS:
            return _refused(400, TOO_LONG, "too long")
        if self.no_links and re.search(r"\w\.\w", content):
            return _refused(400, LINKS, "url not allowed")
        shown = {"place": f"{kind}/{id}", "id": self.new_id("sent"), "content": content, "at": self._now(), **body}
        if body["msg_type"] == 7:
            file = next(each for each in self.uploaded if each["file_info"] == body["media"]["file_info"])
            if file["place"] != shown["place"]:
                return _refused(400, 304080, "invalid file info")
            shown["file"] = file
        elif not content:
            return _refused(400, 50006, "empty message")
        numbers.add(body["msg_seq"])
        self.sent.append(shown)
        return web.json_response({"id": shown["id"], "timestamp": "now"})

    async def _take_file(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        body, place = await request.json(), f"{request.match_info['kind']}/{request.match_info['id']}"
        if body["file_type"] not in (1, 2, 3, 4) or body["srv_send_msg"]:
            return _refused(400, 850019, "bad file")
        file = {
            **body,
            "place": place,
            "file_info": self.new_id("info"),
            "content": base64.b64decode(body["file_data"]),
        }
        self.uploaded.append(file)
        return web.json_response({"file_uuid": "u", "file_info": file["file_info"], "ttl": 3600})

    async def _recall(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        message = next((each for each in self.sent if each["id"] == request.match_info["message"]), None)
        if message is None or self._now() - message["at"] > 120:
            return _refused(400, RECALL_OVER, "too late to recall")
        self.sent.remove(message)
        return web.Response(status=200)

    # --- gateway ---

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": self.heartbeat_ms}})
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                continue
            data = json.loads(frame.data)
            if self._close_code:
                code, self._close_code, self._socket = self._close_code, 0, None
                await socket.close(code=code)
            elif data["op"] in (2, 6):
                await self._introduce(socket, request, data)
            elif data["op"] == 1 and not self.deaf:
                await socket.send_json({"op": 11})
        if self._socket is socket:
            self._socket = None
        return socket

    async def _introduce(self, socket: web.WebSocketResponse, request: web.Request, data: Json) -> None:
        self.introductions.append(data)
        given = data["d"]
        if not self.tokens or given["token"] != f"QQBot {self.tokens[-1]}":
            await socket.close(code=4004)
            return
        if data["op"] == 6 and given["session_id"] != self._session:
            await socket.send_json({"op": 9, "d": False})
            return
        known = given.get("seq") or 1
        if data["op"] == 2:
            if self._session:  # what came before is lost
                self._events.clear()
            self._session, known = self.new_id("session"), 1
            user = {"id": "bot1", "username": "Homarus", "bot": True}
            ready = {"version": 1, "session_id": self._session, "user": user, "shard": [0, 1]}
            await socket.send_json({"op": 0, "s": 1, "t": "READY", "d": ready})
        self._socket, self._request, self.deaf = socket, request, False
        for event in [each for each in self._events if each["s"] > known]:
            await socket.send_json(event)
        if data["op"] == 6:
            await socket.send_json({"op": 0, "s": len(self._events) + 1, "t": "RESUMED", "d": ""})


def _refused(status: int, code: int, text: str) -> web.Response:
    return web.json_response({"code": code, "err_code": code, "message": text, "trace_id": "t"}, status=status)
