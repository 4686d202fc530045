"""Slack's Web API and Socket Mode, as far as an app uses them: real sockets, faults as told.

Written after https://docs.slack.dev; an envelope that is not acknowledged is sent again on the next connection.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import WSMsgType, web

BOT_TOKEN, APP_TOKEN = "xoxb-1", "xapp-1"
TEAM, ME, ADA = "T1", "U900", "U7"
ROOM, DM = "C1", "D7"

Json = dict[str, Any]


@dataclass
class SlackFault:
    """What goes wrong with a method, before or after (`done`) it was carried out; without a status the line breaks."""

    method: str
    status: int = 0
    body: Any = None
    retry_after: int | None = None
    done: bool = False
    times: int = 1


class SlackServer:
    """One workspace with a channel, and direct messages with Ada."""

    def __init__(self, me: str = ME) -> None:
        self.me = me
        self.people: list[Json] = [{"id": ADA, "name": "ada", "profile": {"display_name": "Ada"}}]
        self.rooms: list[Json] = [{"id": ROOM, "name": "general", "is_member": True}]
        self.scopes = "chat:write,channels:read"
        self.calls: list[tuple[str, Json]] = []
        self.notices: list[str] = []
        self.faults: list[SlackFault] = []
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.messages: dict[str, list[Json]] = {ROOM: [], DM: []}
        self.files: dict[str, Json] = {}
        self.contents: dict[str, bytes] = {}
        self.connections = 0
        self.deaf = False
        """Whether the socket answers nothing any more, though it is open; over with the next connection."""
        self.garbled = False
        """Whether the next envelope is preceded by what is not JSON."""
        self.fetched = 0
        self.impatient = False
        """Whether the history is given only once the client answers a ping over the socket."""
        self.statuses: list[Json] = []
        self.views: dict[str, Json] = {}
        """The app's home as people see it, by their ids."""
        self.assistant = True
        """Whether the app may show a status."""
        self.moved: dict[str, str] = {}
        """Files that are elsewhere, and where."""
        self.acknowledged: list[str] = []
        self._socket: web.WebSocketResponse | None = None
        self._request: web.Request | None = None
        self._waiting: dict[str, Json] = {}
        self._ponged = asyncio.Event()
        self._count = 0

    # --- for tests ---

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_post("/api/{method}", self._api)
        application.router.add_post("/upload/{file}", self._upload)
        application.router.add_get("/files/{file}", self._file)
        application.router.add_get("/socket", self._serve_socket)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.address = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.root = f"http://{self.address}/api"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        await self._runner.cleanup()

    def fail(self, method: str, status: int = 0, **more: Any) -> None:
        """Let the next call of a method fail."""
        self.faults.append(SlackFault(method, status, **more))

    def asked(self, method: str) -> list[Json]:
        """Return the arguments of the calls of a method."""
        return [arguments for name, arguments in self.calls if name == method]

    def new_ts(self) -> str:
        """Return a timestamp of now, greater than the last."""
        self._count += 1
        return f"{int(time.time())}.{self._count:06d}"

    async def say(self, text: str, room: str = ROOM, who: str = ADA, *, heard: bool = True, **more: Any) -> Json:
        """Write a message as somebody; `heard` is whether an event brings it."""
        message = {"type": "message", "user": who, "text": text, "ts": self.new_ts(), "team": TEAM, **more}
        self.messages.setdefault(room, []).append(message)
        if heard:
            place = {"channel": room, "channel_type": "im" if room.startswith("D") else "channel"}
            await self.event({**message, **place})
        return message

    async def move(self, old: str, new: str) -> None:
        """Give a channel another id, as when it is shared with another workspace."""
        self.messages[new] = self.messages.pop(old)
        for room in self.rooms:
            room["id"] = new if room["id"] == old else room["id"]
        await self.event({"type": "channel_id_changed", "old_channel_id": old, "new_channel_id": new})

    @property
    def waiting(self) -> int:
        """How many envelopes are not acknowledged."""
        return len(self._waiting)

    async def event(self, event: Json, event_id: str | None = None) -> str:
        """Send an event of the Events API; return its id."""
        event_id = event_id or f"Ev{self._count}.{len(self._waiting)}.{len(self.acknowledged)}"
        await self.envelope("events_api", {"team_id": TEAM, "event_id": event_id, "event": event})
        return event_id

    async def envelope(self, kind: str, payload: Json) -> str:
        """Send an envelope, now or with the next connection; return its id."""
        self._count += 1
        envelope = {"envelope_id": f"env{self._count}", "type": kind, "payload": payload}
        self._waiting[envelope["envelope_id"]] = envelope  # type: ignore[index]
        if self._socket is not None and not self._socket.closed and not self.deaf:
            if self.garbled:
                self.garbled = False
                await self._socket.send_str('{"envelope_id": "env')
            await self._socket.send_json(envelope)
        return str(envelope["envelope_id"])

    async def frame(self, frame: Json | str) -> None:
        """Send a frame as it is."""
        assert self._socket is not None
        await self._socket.send_str(frame if isinstance(frame, str) else json.dumps(frame))

    def cut(self) -> None:
        """Break the connection."""
        if self._request is not None and self._request.transport is not None:
            self._request.transport.abort()
        self._socket = self._request = None

    # --- Web API ---

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = {key: _decoded(key, str(value)) for key, value in (await request.post()).items()}
        self.calls.append((method, arguments))
        fault = next((each for each in self.faults if each.method == method), None)
        if self.impatient and self._socket is not None and method.startswith("conversations.hist"):
            self._ponged.clear()
            await self._socket.ping(b"are you there")
            await self._ponged.wait()
        if fault is not None:
            fault.times -= 1
            if not fault.times:
                self.faults.remove(fault)
            if fault.done:
                await self._answer(request, method, arguments)
            if not fault.status and request.transport is not None:
                request.transport.abort()
            text = fault.body if isinstance(fault.body, str) else json.dumps(fault.body)
            headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            return web.Response(status=fault.status or 500, text=text, headers=headers)
        return await self._answer(request, method, arguments)

    async def _answer(self, request: web.Request, method: str, arguments: Json) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        wanted = self.app_token if method == "apps.connections.open" else self.bot_token
        if token != wanted:
            return _refused("invalid_auth")
        handlers: dict[str, Callable[[Json], Json | str]] = {
            "auth.test": lambda _: {
                "user_id": self.me,
                "team_id": TEAM,
                "user": "homarus",
                "team": "Home",
                "bot_id": "B1",
            },
            "apps.connections.open": lambda _: {"url": f"ws://{self.address}/socket"},
            "conversations.open": self._open_dm,
            "users.info": lambda given: _found("user", self.people, given, "user_not_found"),
            "conversations.info": lambda given: _found("channel", self.rooms, given, "channel_not_found"),
            "conversations.list": lambda given: self._page("channels", self.rooms, given),
            "users.list": lambda given: self._page("members", self.people, given),
            "conversations.history": self._history,
            "conversations.replies": self._history,
            "chat.postMessage": self._post,
            "chat.postEphemeral": self._post_ephemeral,
            "chat.update": self._update,
            "chat.delete": self._delete,
            "assistant.threads.setStatus": self._set_status,
            "views.publish": self._publish,
            "reactions.add": self._react,
            "reactions.remove": self._unreact,
            "reactions.get": lambda given: {"message": self._find(given)},
            "files.getUploadURLExternal": self._place,
            "files.completeUploadExternal": self._complete,
            "files.delete": self._delete_file,
            "files.info": lambda given: {"file": self.files[given["file"]]},
        }
        answer = handlers[method](arguments)
        if isinstance(answer, str):
            return _refused(answer)
        return web.json_response({"ok": True, **answer}, headers={"X-OAuth-Scopes": self.scopes})

    def _history(self, given: Json) -> Json | str:
        if given["channel"] not in self.messages:
            return "channel_not_found"
        thread, oldest = given.get("ts"), str(given.get("oldest", "0"))
        found = [
            each
            for each in self.messages[given["channel"]]
            if each["ts"] > oldest and (each.get("thread_ts") == thread or each["ts"] == thread)
        ]
        start, limit = int(given.get("cursor") or 0), int(given["limit"])
        page = (found if thread else found[::-1])[start : start + limit]
        more = str(start + limit) if start + limit < len(found) else ""
        return {"messages": page, "response_metadata": {"next_cursor": more}}

    def _page(self, key: str, entries: list[Json], given: Json) -> Json:
        """Return one entry a page, whatever is asked for, as Slack may."""
        start = int(given.get("cursor") or 0)
        more = str(start + 1) if start + 1 < len(entries) else ""
        return {key: entries[start : start + 1], "response_metadata": {"next_cursor": more}}

    def _open_dm(self, given: Json) -> Json:
        id = f"D{given['users'][1:]}"
        self.messages.setdefault(id, [])
        return {"channel": {"id": id}}

    def _post(self, given: Json) -> Json | str:
        if given["channel"] not in self.messages:
            return "channel_not_found"
        message = {**given, "ts": self.new_ts(), "user": self.me, "bot_id": "B1", "type": "message"}
        self.messages[given["channel"]].append(message)
        return {"ts": message["ts"], "channel": given["channel"]}

    def _post_ephemeral(self, given: Json) -> Json | str:
        if given["channel"] not in self.messages:
            return "channel_not_found"
        self.notices.append(given["text"])
        return {"message_ts": self.new_ts()}

    def _set_status(self, given: Json) -> Json | str:
        if not self.assistant:
            return "missing_scope"
        if given["channel_id"] not in self.messages:
            return "channel_not_found"
        if not self._find({"channel": given["channel_id"], "ts": given["thread_ts"]}):
            return "invalid_thread_ts"
        self.statuses.append(given)
        return {}

    def _publish(self, given: Json) -> Json | str:
        view = given["view"]
        if view["type"] != "home" or not 1 <= len(view["blocks"]) <= 100:
            return "invalid_arguments"
        self.views[given["user_id"]] = view
        return {}

    def _find(self, given: Json) -> Json:
        ts = given.get("ts") or given.get("timestamp")
        return next((each for each in self.messages[given["channel"]] if each["ts"] == str(ts)), {})

    def _update(self, given: Json) -> Json | str:
        message = self._find(given)
        if not message:
            return "message_not_found"
        message |= {"text": given["text"], "blocks": given["blocks"]}
        return {"ts": message["ts"]}

    def _delete(self, given: Json) -> Json | str:
        message = self._find(given)
        if not message:
            return "message_not_found"
        self.messages[given["channel"]].remove(message)
        return {}

    def _react(self, given: Json) -> Json | str:
        reactions = self._find(given).setdefault("reactions", [])
        if any(each["name"] == given["name"] for each in reactions):
            return "already_reacted"
        reactions.append({"name": given["name"], "users": [self.me]})
        return {}

    def _unreact(self, given: Json) -> Json:
        message = self._find(given)
        message["reactions"] = [each for each in message["reactions"] if each["name"] != given["name"]]
        return {}

    def _place(self, given: Json) -> Json:
        id = f"F{len(self.files) + 1}"
        self.files[id] = {"id": id, "name": given["filename"], "url_private": f"http://{self.address}/files/{id}"}
        return {"upload_url": f"http://{self.address}/upload/{id}", "file_id": id}

    def _complete(self, given: Json) -> Json:
        files = [{"id": each["id"]} for each in given["files"]]
        text = given.get("initial_comment", "")
        message = {
            "type": "message",
            "user": self.me,
            "bot_id": "B1",
            "text": text,
            "files": files,
            "ts": self.new_ts(),
        }
        self.messages[given["channel_id"]].append(message)
        return {"files": files}

    def _delete_file(self, given: Json) -> Json:
        del self.files[given["file"]]
        return {}

    async def _upload(self, request: web.Request) -> web.Response:
        self.contents[request.match_info["file"]] = await request.read()
        return web.Response(text="OK")

    async def _file(self, request: web.Request) -> web.Response:
        self.fetched += 1
        if request.headers.get("Authorization") != f"Bearer {self.bot_token}":
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        if place := self.moved.get(request.match_info["file"]):
            raise web.HTTPFound(place)
        return web.Response(body=self.contents[request.match_info["file"]])

    # --- Socket Mode ---

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        self.connections += 1
        self.deaf = False
        self._socket, self._request = socket, request
        await socket.send_json({"type": "hello", "connection_info": {"app_id": "A1"}})
        for envelope in list(self._waiting.values()):
            await socket.send_json({**envelope, "retry_attempt": 1})
        async for frame in socket:
            if self.deaf:
                continue
            if frame.type is WSMsgType.PING:
                await socket.pong(frame.data)
            elif frame.type is WSMsgType.PONG:
                self._ponged.set()
            elif frame.type is WSMsgType.TEXT:
                id = json.loads(frame.data)["envelope_id"]
                self.acknowledged.append(id)
                self._waiting.pop(id, None)
        if self._socket is socket:
            self._socket = None
        return socket


def _found(kind: str, entries: list[Json], given: Json, otherwise: str) -> Json | str:
    found = next((each for each in entries if each["id"] == given[kind]), None)
    return otherwise if found is None else {kind: found}


def _decoded(name: str, value: str) -> Any:
    is_words = name == "text" or not re.match(r"[\[{]|(true|false)$", value)
    return value if is_words else json.loads(value)


def _refused(error: str) -> web.Response:
    return web.json_response({"ok": False, "error": error})
