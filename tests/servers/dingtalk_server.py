"""DingTalk's API and its Stream mode, as far as a robot uses them: real sockets, faults as told.

Written after https://open.dingtalk.com/document and the vendor's libraries. It checks what is sent as the API does, and
delivers again what was not acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import ClientConnectionError, WSMsgType, web

CLIENT_ID, CLIENT_SECRET = "dingabc123", "secret-of-the-app"
ADA, EVE = "manager7", "user8"
GROUP, GROUP_NAME = "cidGroup+1/x==", "The family"
RETRY_S = 1.0
BODY_BYTES = 20_000
KINDS = {"sampleImageMsg": "image", "sampleAudio": "voice", "sampleFile": "file"}

Json = dict[str, Any]


@dataclass
class DingTalkFault:
    """What goes wrong with a request whose path ends so; without a status the line breaks."""

    end: str
    status: int = 0
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False


class Refused(Exception):
    """A refusal of the API."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        self.code, self.message, self.status = code, message, status


class DingTalkServer:
    """One app in an organisation with Ada and Eve."""

    def __init__(self, client_id: str = CLIENT_ID) -> None:
        self.client_id, self.secret = client_id, CLIENT_SECRET
        self.names = {ADA: "Ada", EVE: "Eve"}
        self.group_name = GROUP_NAME
        self.sent: list[Json] = []
        """Messages of the robot: where, which kind, the text, and how they came (`session`, `robot`, `card`)."""
        self.asked: list[tuple[str, str, Json]] = []
        self.files: dict[str, bytes] = {}
        self.uploaded: dict[str, tuple[str, bytes]] = {}
        self.fetched: list[str] = []
        self.faults: list[DingTalkFault] = []
        self.tokens: set[str] = set()
        self.sessions: dict[str, str] = {}
        self.session_s = 5_400.0
        self.has_sessions = True
        self.flow_controlled: set[str] = set()
        self.acknowledged: list[Json] = []
        self.connections = 0
        self.deaf = self.garbled = False
        self._count = 0
        self._waiting: dict[str, Json] = {}
        self._socket: web.WebSocketResponse | None = None
        self._request: web.Request | None = None
        self._tickets: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # --- for tests ---

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=40_000_000)
        application.router.add_get("/connect", self._serve_socket)
        application.router.add_get("/file/{code}", self._file)
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
        self.faults.append(DingTalkFault(end, status, **more))

    def calls(self, end: str) -> list[Json]:
        """Return the bodies of the requests to a path."""
        return [body for _, path, body in self.asked if path.endswith(end)]

    def new_id(self, kind: str = "msg") -> str:
        """Return an id."""
        self._count += 1
        return f"{kind}{self.client_id}{self._count:05}=="

    def message(self, text: str = "", who: str = ADA, *, group: bool = False, **more: Any) -> Json:
        """Return what the robot is told of a message."""
        place = GROUP if group else f"cid{who}"
        session = self.sessions.setdefault(place, f"{self.root}/robot/sendBySession?session={self.new_id('s')}")
        told = {
            "conversationId": place,
            "conversationType": "2" if group else "1",
            "chatbotUserId": "$:LWCP_v1:$robot",
            "msgId": self.new_id(),
            "senderId": f"$:LWCP_v1:${who}",
            "senderStaffId": who,
            "senderNick": self.names.get(who, who),
            "isInAtList": group,
            "createAt": int(time.time() * 1000),
            "robotCode": self.client_id,
            "msgtype": "text",
            "text": {"content": f" {text}" if group else text},
        }
        if group:
            told["conversationTitle"] = self.group_name
        if self.has_sessions:
            until = int((time.time() + self.session_s) * 1000)
            told |= {"sessionWebhook": session, "sessionWebhookExpiredTime": until}
        return told | more

    async def tell(self, message: Json) -> None:
        """Tell the robot of a message, now or with the next connection."""
        await self.push("CALLBACK", "/v1.0/im/bot/messages/get", json.dumps(message))

    async def push(self, kind: str, topic: str, data: str) -> str:
        """Send a frame that wants an acknowledgement; return its id."""
        id = self.new_id("frame")
        headers = {"topic": topic, "messageId": id, "contentType": "application/json", "time": "1"}
        self._waiting[id] = {"specVersion": "1.0", "type": kind, "headers": headers, "data": data}
        await self._send(id)
        return id

    async def _send(self, id: str) -> None:
        if self._socket is None or self._socket.closed or self.deaf or id not in self._waiting:
            return
        if self.garbled:
            self.garbled = False
            await self._socket.send_str('{"specVersion": "1.0", "ty')
        await self._socket.send_json(self._waiting[id])

        async def again() -> None:
            await asyncio.sleep(RETRY_S)
            with suppress(ClientConnectionError):  # a robot that was killed
                await self._send(id)

        task = asyncio.get_running_loop().create_task(again())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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

    def shown(self, place: str) -> list[str]:
        """Return the texts of the robot in a conversation."""
        return [each["text"] for each in self.sent if each["place"] == place and each["kind"] == "markdown"]

    # --- Stream mode ---

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=401)
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        self.connections += 1
        self.deaf = False
        self._socket, self._request = socket, request
        for id in list(self._waiting):
            await self._send(id)
        async for frame in socket:
            if self.deaf:
                continue
            if frame.type is WSMsgType.PING:
                await socket.pong(frame.data)
            elif frame.type is WSMsgType.TEXT:
                answer = json.loads(frame.data)
                assert answer["code"] == 200
                assert answer["headers"]["contentType"] == "application/json"
                if self._waiting.pop(answer["headers"]["messageId"], None) is not None:  # else it was sent twice
                    self.acknowledged.append(answer)
        if self._socket is socket:
            self._socket = None
        return socket

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
            error = {"code": refused.code, "message": refused.message, "requestid": "R"}
            return web.json_response(error, status=refused.status)
        return _broken(request, fault) if fault is not None else web.json_response(answer)

    def _handle(self, request: web.Request, path: str, body: Json) -> Json:
        match path:
            case "/v1.0/gateway/connections/open":
                if (body["clientId"], body["clientSecret"]) != (self.client_id, self.secret):
                    raise Refused("authFailed", "the app is not known, or its secret is wrong", 401)
                assert body["subscriptions"] == [{"type": "CALLBACK", "topic": "/v1.0/im/bot/messages/get"}]
                ticket = self.new_id("ticket+")
                self._tickets.add(ticket)
                return {"endpoint": f"ws://{self.address}/connect", "ticket": ticket}
            case "/v1.0/oauth2/accessToken":
                if (body["appKey"], body["appSecret"]) != (self.client_id, self.secret):
                    raise Refused("invalidClientIdOrSecret", "the Client ID or the Client Secret is wrong")
                token = self.new_id("token")
                self.tokens.add(token)
                return {"accessToken": token, "expireIn": 7200}
            case "/robot/sendBySession":
                return self._session(request, body)
            case "/media/upload":
                return self._upload(request, body)
            case "/topapi/v2/user/get":
                return {"errcode": 0, "result": {"userid": body["userid"], "name": self.names[body["userid"]]}}
        return self._signed_in(request, path, body)

    def _signed_in(self, request: web.Request, path: str, body: Json) -> Json:
        if request.headers.get("x-acs-dingtalk-access-token") not in self.tokens:
            raise Refused("InvalidAuthentication", "the access token is not valid", 401)
        match request.method, path:
            case "POST", "/v1.0/robot/oToMessages/batchSend":
                return self._robot(body, body["userIds"][0])
            case "POST", "/v1.0/robot/groupMessages/send":
                if body["openConversationId"] != GROUP:
                    raise Refused("resource.not.found", "the robot is not in that group", 404)
                return self._robot(body, GROUP)
            case "POST", "/v1.0/robot/messageFiles/download":
                assert body["robotCode"] == self.client_id
                self.fetched.append(body["downloadCode"])
                return {"downloadUrl": f"{self.root}/file/{body['downloadCode']}"}
            case "POST", "/v1.0/contact/users/search":
                found = [id for id, name in self.names.items() if body["queryWord"].casefold() in name.casefold()]
                return {"list": found[: body["size"]], "hasMore": len(found) > body["size"], "totalCount": len(found)}
            case "POST", "/v1.0/card/instances/createAndDeliver":
                return self._create_card(body)
            case "PUT", "/v1.0/card/instances":
                card = next((each for each in self.sent if each.get("card") == body["outTrackId"]), None)
                if card is None:
                    raise Refused("param.cardNotExist", "there is no such card")
                card["text"] = body["cardData"]["cardParamMap"]["content"]
                return {"success": True, "result": True}
        raise Refused("InvalidAction.NotFound", f"no such path: {path}", 404)

    def _session(self, request: web.Request, body: Json) -> Json:
        place = next((key for key, url in self.sessions.items() if url == str(request.url)), None)
        if place is None:
            return {"errcode": 300001, "errmsg": "session is not exist"}
        if len(json.dumps(body).encode()) > BODY_BYTES or not body["markdown"]["title"]:
            return {"errcode": 460101, "errmsg": "message too long, exceed 20000 bytes"}
        if body["msgtype"] != "markdown":
            return {"errcode": 40035, "errmsg": "invalid parameter"}
        self._show(place.removeprefix("cid") if place != GROUP else place, body["markdown"]["text"], "session")
        return {"errcode": 0, "errmsg": "ok"}

    def _robot(self, body: Json, place: str) -> Json:
        if body["robotCode"] != self.client_id:
            raise Refused("robot.notExisted", "there is no such robot")
        answer: Json = {"processQueryKey": self.new_id("key")}
        if place != GROUP:
            answer |= {"invalidStaffIdList": [], "flowControlledStaffIdList": []}
            if place not in self.names:
                return answer | {"invalidStaffIdList": [place]}
            if place in self.flow_controlled:
                self.flow_controlled.discard(place)
                return answer | {"flowControlledStaffIdList": [place]}
        given, key = json.loads(body["msgParam"]), body["msgKey"]
        if len(json.dumps(body, ensure_ascii=False).encode()) > BODY_BYTES:
            raise Refused("invalidParameter.msgParam.tooLong", "msgParam is too long")
        if key == "sampleMarkdown":
            if not given["title"] or not given["text"]:
                raise Refused("invalidParameter.msgParam.invalid", "title and text are needed")
            self._show(place, given["text"], "robot")
            return answer
        id = given["photoURL"] if key == "sampleImageMsg" else given["mediaId"]
        if self.uploaded[id][0] != KINDS[key] or (key == "sampleAudio" and not int(given["duration"])):
            raise Refused("invalidParameter.msgParam.invalid", "the media is of another kind")
        self.sent.append({"place": place, "kind": KINDS[key], "by": "robot", **given})
        return answer

    def _create_card(self, body: Json) -> Json:
        if not body["cardTemplateId"].endswith(".schema"):
            raise Refused("param.templateNotExist", "there is no such template")
        kind, _, place = body["openSpaceId"].removeprefix("dtv1.card//").partition(".")
        model = body["imGroupOpenDeliverModel" if kind == "IM_GROUP" else "imRobotOpenDeliverModel"]
        assert model["robotCode"] == self.client_id
        known = place == GROUP if kind == "IM_GROUP" else place in self.names
        if known:
            self._show(place, body["cardData"]["cardParamMap"]["content"], "card", card=body["outTrackId"])
        result = {
            "spaceId": place,
            "spaceType": kind,
            "success": known,
            "errorMsg": "" if known else "spaceId is illegal",
        }
        return {"success": True, "result": {"outTrackId": body["outTrackId"], "deliverResults": [result]}}

    def _show(self, place: str, text: str, by: str, **more: Any) -> None:
        self.sent.append({"place": place, "kind": "markdown", "text": text, "by": by, **more})

    def _upload(self, request: web.Request, body: Json) -> Json:
        file, kind = body["media"], body["type"]
        if request.query.get("access_token") not in self.tokens:
            return {"errcode": 40014, "errmsg": "invalid access token"}
        content = file.file.read() if isinstance(file, web.FileField) else b""
        if not content or kind not in KINDS.values() or len(content) > (2_000_000 if kind == "voice" else 20_000_000):
            return {"errcode": 40009, "errmsg": "invalid media size"}
        id = self.new_id("@lAz")
        self.uploaded[id] = (kind, content)
        return {"errcode": 0, "errmsg": "ok", "media_id": id, "type": kind}

    async def _file(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=self.files[request.match_info["code"]])


def _broken(request: web.Request, fault: DingTalkFault) -> web.StreamResponse:
    if fault.status:
        if fault.body is None:
            return web.Response(status=fault.status, text="upstream error", headers=fault.headers)
        return web.json_response(fault.body, status=fault.status, headers=fault.headers)
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
