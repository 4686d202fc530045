"""Discord's REST API and gateway, version 10, as far as a bot uses them: real sockets, faults as told.

Written after https://discord.com/developers/docs; a nonce is kept, sessions are resumed from what was sent in them.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import BodyPartReader, WSMsgType, web

TOKEN = "bot-token"
BOT: dict[str, Any] = {"id": "900", "username": "homarus", "bot": True}
GUILD = "500"
BOT_ROLE = "501"
ROOM = "600"
THREAD = "601"
FORUM = "650"
FORUM_KINDS = {15, 16}
PERSON = "7"
DM = "17"
HEARTBEAT_MS = 41_250
ANSWER, EPHEMERAL = 4, 64
VOICE = 1 << 13
WAVEFORM_POINTS = 256
THREAD_KINDS = {10, 11, 12}
EPOCH_MS = 1_420_070_400_000

Json = dict[str, Any]
BODY: web.RequestKey[Any] = web.RequestKey("body", object)


@dataclass
class Fault:
    """What goes wrong with a request, before or after (`done`) it was carried out; without a status the line breaks."""

    match: str
    status: int = 0
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False
    times: int = 1


@dataclass
class _Session:
    id: str
    sent: list[Json] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None


class DiscordServer:
    """One bot's Discord: a server with a room and a thread, and direct messages with anybody."""

    def __init__(self, bot_id: str = BOT["id"]) -> None:
        self.bot = {**BOT, "id": bot_id}
        self.requests: list[tuple[str, str, Any]] = []
        self.faults: list[Fault] = []
        self.token = TOKEN
        self.content_intent = True
        self.heartbeat_ms = HEARTBEAT_MS
        self.deaf = False
        """Whether the gateway answers nothing any more, with its sockets open; over with the next connection."""
        self.garbled = False
        """Whether the next event is preceded by what is not JSON."""
        self.fetched = 0
        self.identified = self.resumed = 0
        self.published: list[Json] = []
        self.originals: dict[str, Json] = {}
        self.interactions: dict[str, int] = {}
        self.notices: list[str] = []
        self.files: dict[str, bytes] = {}
        self.takes_voices = True
        """Whether the bot may send voice messages."""
        self.channels: dict[str, Json] = {
            ROOM: {"id": ROOM, "type": 0, "guild_id": GUILD, "parent_id": "599", "name": "general"},
            THREAD: {"id": THREAD, "type": 11, "guild_id": GUILD, "parent_id": ROOM, "name": "a thread"},
            FORUM: {"id": FORUM, "type": 15, "guild_id": GUILD, "parent_id": "599", "name": "ideas"},
            DM: {"id": DM, "type": 1, "recipients": [{"id": PERSON}]},
        }
        self.messages: dict[str, list[Json]] = {room: [] for room in self.channels}
        self._nonces: dict[str, Json] = {}
        self.guilds = {"Home": 1 << 3}
        """The permissions of the bot, by the name of a server."""
        self.members: list[Json] = [
            {"user": {"id": PERSON, "username": "ada"}, "nick": "Ada L"},
            {"user": {**self.bot, "username": "adabot"}},
        ]
        self.flags = 1 << 19
        """Of its application: it may read what is written, as a bot of few servers."""
        self._sessions: dict[str, _Session] = {}
        self._last_id = 0

    # --- for tests ---

    async def __aenter__(self) -> Self:
        application = web.Application(middlewares=[self._faulty])
        add = application.router.add_route
        add("GET", "/api/gateway/bot", self._gateway_bot)
        add("GET", "/api/users/@me", self._me)
        add("POST", "/api/users/@me/channels", self._open_dm)
        add("GET", "/api/users/@me/guilds", self._guilds)
        add("GET", "/api/applications/@me", self._application)
        add("GET", "/api/channels/{channel}", self._channel)
        add("GET", "/api/channels/{channel}/messages", self._history)
        add("POST", "/api/channels/{channel}/messages", self._post)
        add("*", "/api/channels/{channel}/messages/{message}", self._message)
        add("*", "/api/channels/{channel}/messages/{message}/reactions/{emoji}/@me", self._react)
        add("POST", "/api/channels/{channel}/typing", self._nothing)
        add("POST", "/api/channels/{channel}/threads", self._open_thread)
        add("GET", "/api/guilds/{guild}/channels", self._rooms)
        add("GET", "/api/guilds/{guild}/threads/active", self._active)
        add("GET", "/api/guilds/{guild}/members/search", self._search)
        add("GET", "/api/guilds/{guild}/members/{user}", self._member)
        add("POST", "/api/interactions/{id}/{token}/callback", self._callback)
        add("PATCH", "/api/webhooks/{application}/{token}/messages/@original", self._original)
        add("PUT", "/api/applications/{application}/commands", self._commands)
        add("GET", "/cdn/{name}", self._file)
        add("GET", "/gateway", self._gateway)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.address = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.root = f"http://{self.address}/api"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()
        await self._runner.cleanup()

    def fail(self, match: str, status: int = 0, **more: Any) -> None:
        """Let the next request whose `METHOD path` matches fail."""
        self.faults.append(Fault(match, status, **more))

    def asked(self, match: str) -> list[Any]:
        """Return the bodies of the requests whose `METHOD path` matches."""
        return [body for method, path, body in self.requests if re.search(match, f"{method} {path}")]

    def new_id(self) -> str:
        """Return a snowflake of now, greater than the last."""
        self._last_id = max(self._last_id + 1, (time.time_ns() // 1_000_000 - EPOCH_MS) << 22)
        return str(self._last_id)

    async def say(self, text: str, room: str = ROOM, who: str = PERSON, *, heard: bool = True, **more: Any) -> Json:
        """Write a message as somebody; `heard` is whether the gateway brings it."""
        channel = self.channels.setdefault(room, {"id": room, "type": 1, "recipients": [{"id": who}]})
        message = self._new_message(room, {"id": who, "username": f"user{who}"}, {"content": text, **more})
        if heard:
            place = {"guild_id": GUILD, "member": {"roles": ["77"]}} if "guild_id" in channel else {}
            await self.emit("MESSAGE_CREATE", {**message, **place})
        return message

    async def open_post(self, title: str, text: str, who: str = PERSON, **more: Any) -> Json:
        """Open a post in the forum as somebody; return it."""
        post: Json = {
            "id": self.new_id(),
            "type": 11,
            "guild_id": GUILD,
            "parent_id": FORUM,
            "name": title,
            "owner_id": who,
        }
        self.channels[post["id"]] = post
        await self.emit("THREAD_CREATE", {**post, "newly_created": True})
        message = self._new_message(post["id"], {"id": who, "username": f"user{who}"}, {"content": text, **more})
        message["id"] = post["id"]
        await self.emit("MESSAGE_CREATE", {**message, "guild_id": GUILD, "member": {"roles": ["77"]}})
        return post

    async def emit(self, event: str, data: Json) -> None:
        """Send an event to every session; one without a socket gets it when it is resumed."""
        for session in self._sessions.values():
            frame = {"op": 0, "t": event, "s": len(session.sent) + 1, "d": data}
            session.sent.append(frame)
            if session.socket is not None and not self.deaf:
                if self.garbled:
                    self.garbled = False
                    await session.socket.send_str('{"op": 0, "t": "MESSA')
                await session.socket.send_json(frame)

    async def frame(self, frame: Json | str) -> None:
        """Send a frame as it is."""
        for session in self._sessions.values():
            if session.socket is not None:
                await session.socket.send_str(frame if isinstance(frame, str) else json.dumps(frame))

    async def cut(self, code: int | None = None) -> None:
        """End the connections: with a code, or as a broken line does."""
        if code is None:
            self.cut_now()
        for session in self._sessions.values():
            if session.socket is not None:
                await session.socket.close(code=code or 1000)

    def cut_now(self) -> None:
        """Break the connections."""
        for session in self._sessions.values():
            socket, session.socket = session.socket, None
            if socket is not None and socket._req is not None and socket._req.transport is not None:
                socket._req.transport.abort()

    def forget_sessions(self) -> None:
        """Lose the sessions, as Discord does after a while."""
        self._sessions.clear()

    @property
    def connected(self) -> bool:
        """Whether a session has a socket."""
        return any(session.socket is not None for session in self._sessions.values())

    # --- REST ---

    @web.middleware
    async def _faulty(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        path = request.path.removeprefix("/api")
        if path == "/gateway" or path.startswith("/cdn"):
            return await handler(request)
        body = await self._body(request)
        request[BODY] = body
        self.requests.append((request.method, path, body))
        fault = next((each for each in self.faults if re.search(each.match, f"{request.method} {path}")), None)
        if fault is not None:
            fault.times -= 1
            if not fault.times:
                self.faults.remove(fault)
            if fault.done:
                await handler(request)
            if not fault.status and request.transport is not None:
                request.transport.abort()
            text = fault.body if isinstance(fault.body, str) else json.dumps(fault.body)
            return web.Response(status=fault.status or 500, text=text, headers=fault.headers)
        if request.headers.get("Authorization") != f"Bot {self.token}" and "/interactions/" not in request.path:
            return _refused(401, 0, "401: Unauthorized")
        return await handler(request)

    async def _body(self, request: web.Request) -> Any:
        if not request.content_type.startswith("multipart/"):
            raw = await request.read()
            return json.loads(raw) if raw else None
        body: Any = None
        files = []
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            content = bytes(await part.read())
            if part.name == "payload_json":
                body = json.loads(content)
                continue
            name = part.filename or ""
            self.files[name] = content
            files.append({"id": self.new_id(), "filename": name, "url": f"http://{self.address}/cdn/{name}"})
        told = {int(each["id"]): each for each in body.get("attachments", ())}
        return {**body, "attachments": [{**told.get(at, {}), **each} for at, each in enumerate(files)]}

    async def _gateway_bot(self, _: web.Request) -> web.Response:
        return web.json_response({"url": f"ws://{self.address}/gateway", "shards": 1})

    async def _me(self, _: web.Request) -> web.Response:
        return web.json_response(self.bot)

    async def _guilds(self, _: web.Request) -> web.Response:
        return web.json_response(
            [
                {"id": str(at) if at else GUILD, "name": name, "permissions": str(bits)}
                for at, (name, bits) in enumerate(self.guilds.items())
            ]
        )

    async def _application(self, _: web.Request) -> web.Response:
        return web.json_response({"id": self.bot["id"], "flags": self.flags})

    async def _nothing(self, _: web.Request) -> web.Response:
        return web.Response(status=204)

    async def _open_dm(self, request: web.Request) -> web.Response:
        person = request[BODY]["recipient_id"]
        if person in self.channels:
            return _refused(400, 50033, "Invalid Recipient(s)")
        found = next((each for each in self.channels.values() if each.get("recipients") == [{"id": person}]), None)
        if found is None:
            found = {"id": f"1{person}", "type": 1, "recipients": [{"id": person}]}
            self.channels[found["id"]] = found
        return web.json_response(found)

    async def _channel(self, request: web.Request) -> web.Response:
        found = self.channels.get(request.match_info["channel"])
        return web.json_response(found) if found else _refused(404, 10003, "Unknown Channel")

    async def _history(self, request: web.Request) -> web.Response:
        channel = request.match_info["channel"]
        if channel not in self.channels:
            return _refused(404, 10003, "Unknown Channel")
        after, limit = int(request.query.get("after", 0)), int(request.query.get("limit", 50))
        found = [each for each in self.messages.get(channel, []) if int(each["id"]) > after][:limit]
        return web.json_response(found[::-1])

    async def _post(self, request: web.Request) -> web.Response:
        channel, body = request.match_info["channel"], request[BODY]
        if channel not in self.channels:
            return _refused(404, 10003, "Unknown Channel")
        if self.channels[channel]["type"] in FORUM_KINDS:
            return _refused(400, 50008, "Cannot send messages in a non-text channel")
        if len(body.get("content", "").encode("utf-16-le")) // 2 > 2_000:
            return _refused(400, 50035, "Invalid Form Body")
        if body.get("flags", 0) & VOICE and (refused := self._voice_refused(body)) is not None:
            return refused
        nonce = body.get("nonce")
        if nonce is not None and len(nonce) > 25:
            return _refused(400, 50035, "Invalid Form Body")
        if nonce is not None and body.get("enforce_nonce") and nonce in self._nonces:
            return web.json_response(self._nonces[nonce])
        message = self._new_message(channel, self.bot, body)
        if nonce is not None:
            self._nonces[nonce] = message
        await self.emit("MESSAGE_CREATE", message)
        return web.json_response(message)

    def _voice_refused(self, body: Json) -> web.Response | None:
        files = body.get("attachments", ())
        if not self.takes_voices:
            return _refused(400, 50173, "Cannot send voice messages in this channel")
        if body.get("content") or body.get("components"):
            return _refused(400, 50160, "Voice messages do not support additional content")
        if len(files) != 1:
            return _refused(400, 50161, "Voice messages must have a single audio attachment")
        waveform = base64.b64decode(files[0].get("waveform", ""), validate=True)
        if not 0 < len(waveform) <= WAVEFORM_POINTS or not files[0].get("duration_secs", 0) > 0:
            return _refused(400, 50162, "Voice messages must have supporting metadata")
        return None

    async def _open_thread(self, request: web.Request) -> web.Response:
        room, body = self.channels.get(request.match_info["channel"]), request[BODY]
        if room is None:
            return _refused(404, 10003, "Unknown Channel")
        if "guild_id" not in room or room["type"] in THREAD_KINDS:
            return _refused(400, 50024, "Cannot execute action on this channel type")
        first, in_forum = body.get("message"), room["type"] in FORUM_KINDS
        if not 1 <= len(body.get("name", "")) <= 100 or in_forum is not isinstance(first, dict):
            return _refused(400, 50035, "Invalid Form Body")
        if in_forum:
            return await self._open_forum_post(
                room, body["name"], {**first, "attachments": body.get("attachments", [])}
            )
        if body.get("type") not in THREAD_KINDS:
            return _refused(400, 50035, "Invalid Form Body")
        opened = {"id": self.new_id(), "type": body["type"], "guild_id": GUILD, "parent_id": room["id"]}
        opened |= {"name": body["name"], "owner_id": self.bot["id"]}
        self.channels[opened["id"]] = opened
        self.messages[opened["id"]] = []
        await self.emit("THREAD_CREATE", {**opened, "newly_created": True})
        notice = self._new_message(room["id"], self.bot, {"type": 18, "content": body["name"]})
        await self.emit("MESSAGE_CREATE", {**notice, "guild_id": GUILD})
        return web.json_response(opened, status=201)

    async def _open_forum_post(self, forum: Json, title: str, first: Json) -> web.Response:
        """Nonces do not count here; the first message has the id of its post."""
        if len(first.get("content", "").encode("utf-16-le")) // 2 > 2_000 or not (
            first["content"] or first["attachments"]
        ):
            return _refused(400, 50035, "Invalid Form Body")
        opened = {"id": self.new_id(), "type": 11, "guild_id": GUILD, "parent_id": forum["id"]}
        opened |= {"name": title, "owner_id": BOT["id"]}
        self.channels[opened["id"]] = opened
        await self.emit("THREAD_CREATE", {**opened, "newly_created": True})
        message = self._new_message(opened["id"], BOT, first)
        message["id"] = opened["id"]
        await self.emit("MESSAGE_CREATE", {**message, "guild_id": GUILD})
        return web.json_response({**opened, "message": message}, status=201)

    async def _active(self, request: web.Request) -> web.Response:
        found = [each for each in self.channels.values() if each["type"] in THREAD_KINDS and "owner_id" in each]
        return web.json_response({"threads": found, "members": []})

    async def _message(self, request: web.Request) -> web.Response:
        channel, id = request.match_info["channel"], request.match_info["message"]
        found = next((each for each in self.messages.get(channel, []) if each["id"] == id), None)
        if found is None:
            return _refused(404, 10008, "Unknown Message")
        if request.method == "DELETE":
            self.messages[channel].remove(found)
            return web.Response(status=204)
        if request.method == "PATCH":
            found |= {"content": request[BODY]["content"], "edited_timestamp": "2026-11-23T00:00:00+00:00"}
        return web.json_response(found)

    async def _react(self, request: web.Request) -> web.Response:
        channel, id, emoji = (request.match_info[each] for each in ("channel", "message", "emoji"))
        for message in self.messages[channel]:
            if message["id"] == id:
                name, _, emoji_id = emoji.partition(":")
                shown = {"emoji": {"name": name, "id": emoji_id or None}, "me": True, "count": 1}
                reactions = [each for each in message.get("reactions", []) if each != shown]
                message["reactions"] = [*reactions, shown] if request.method == "PUT" else reactions
                return web.Response(status=204)
        return _refused(404, 10008, "Unknown Message")

    async def _rooms(self, request: web.Request) -> web.Response:
        """Channels, without threads, of every server alike."""
        rooms = [each for each in self.channels.values() if each["type"] not in (1, *THREAD_KINDS)]
        return web.json_response([{"id": "599", "type": 4, "name": "general things"}, *rooms])

    async def _search(self, request: web.Request) -> web.Response:
        """Members whose name or nick begins with the query, in any case."""
        query, limit = request.query["query"].casefold(), int(request.query["limit"])
        if not query:
            return _refused(400, 50035, "Invalid Form Body")
        names = [(each, each.get("nick") or each["user"]["username"]) for each in self.members]
        found = [each for each, name in names if name.casefold().startswith(query)]
        return web.json_response(found[:limit])

    async def _member(self, request: web.Request) -> web.Response:
        return web.json_response({"user": {"id": request.match_info["user"]}, "roles": ["77"]})

    async def _callback(self, request: web.Request) -> web.Response:
        if request.match_info["id"] in self.interactions:
            return _refused(400, 40060, "Interaction has already been acknowledged.")
        self.interactions[request.match_info["id"]] = request[BODY]["type"]
        if request[BODY]["type"] == ANSWER:
            assert request[BODY]["data"]["flags"] == EPHEMERAL
            self.notices.append(request[BODY]["data"]["content"])
        return web.Response(status=204)

    async def _original(self, request: web.Request) -> web.Response:
        token = request.match_info["token"]
        message = self._new_message(token.removeprefix("at-"), self.bot, request[BODY])
        self.originals[token] = message
        return web.json_response(message)

    async def _commands(self, request: web.Request) -> web.Response:
        self.published = request[BODY]
        return web.json_response(self.published)

    async def _file(self, request: web.Request) -> web.Response:
        self.fetched += 1
        name = request.match_info["name"]
        if name not in self.files:
            return web.Response(status=404)
        return web.Response(body=self.files[name])

    def _new_message(self, room: str, author: Json, body: Json) -> Json:
        message: Json = {
            "id": self.new_id(),
            "channel_id": room,
            "type": 0,
            "author": author,
            "timestamp": "2026-11-23T00:00:00+00:00",
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            **{key: value for key, value in body.items() if key not in ("nonce", "enforce_nonce")},
        }
        self.messages.setdefault(room, []).append(message)
        return message

    # --- gateway ---

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.deaf = False
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": self.heartbeat_ms}})
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                break
            if self.deaf:
                continue
            said = json.loads(frame.data)
            match said["op"]:
                case 1:
                    await socket.send_json({"op": 11})
                case 2:
                    await self._identify(socket, said["d"])
                case 6:
                    await self._resume(socket, said["d"])
        for session in self._sessions.values():
            if session.socket is socket:
                session.socket = None
        return socket

    async def _identify(self, socket: web.WebSocketResponse, said: Json) -> None:
        self.identified += 1
        if said["token"] != self.token:
            await socket.close(code=4004)
            return
        if not self.content_intent and said["intents"] & 1 << 15:
            await socket.close(code=4014)
            return
        session = _Session(f"session{self.identified}", socket=socket)
        self._sessions = {session.id: session}
        ready = {
            "session_id": session.id,
            "resume_gateway_url": f"ws://{self.address}/gateway",
            "user": self.bot,
            "application": {"id": "901"},
        }
        await self.emit("READY", ready)
        room, thread = self.channels[ROOM], self.channels[THREAD]
        roles = [{"id": BOT_ROLE, "tags": {"bot_id": self.bot["id"]}}, {"id": "77"}]
        about = {"id": GUILD, "name": next(iter(self.guilds)), "roles": roles}
        await self.emit("GUILD_CREATE", {**about, "channels": [room, self.channels[FORUM]], "threads": [thread]})

    async def _resume(self, socket: web.WebSocketResponse, said: Json) -> None:
        session = self._sessions.get(said["session_id"])
        if said["token"] != self.token:
            await socket.close(code=4004)
            return
        if session is None:
            await socket.send_json({"op": 9, "d": False})
            return
        self.resumed += 1
        session.socket = socket
        for frame in session.sent[said["seq"] :]:
            await socket.send_json(frame)
        await self.emit("RESUMED", {})


def _refused(status: int, code: int, message: str) -> web.Response:
    return web.json_response({"message": message, "code": code}, status=status)
