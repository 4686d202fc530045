"""Mattermost's API and WebSocket, as far as a bot uses them: real sockets, faults as told.

Written after https://developers.mattermost.com/api-documentation and the server's source: what is refused there is
refused here, with the same ids.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp import WSMsgType, web

TOKEN = "the-token-of-the-bot"
ME, ADA, EVE = "mebotid7ay3rmb8mkqye3n5zqw", "adaid9w3bjf8ipnx6q4hcdykzr", "eveidk5ytgb7jmx8w1d3rs6qhc"
ROOM, DM, EVES_DM = "roomid4u8pbf9xkz6mqw1tyjrc", "dmwithadae8r5tybn3mkq1wxzh", "dmwitheves9q2wxbn7mkr4tyzc"
TEAM = "teamid6y8rbn3mkq1wxz5tpjhc"
TEXT_RUNES, FILES_LIMIT, SINCE_LIMIT, DEDUPLICATED_S = 16_383, 10, 1_000, 30.0
DEEP = "@deep@"
"""In props: stands for thousands of lists in each other."""
EMOJI = frozenset({"+1", "-1", "heart", "white_check_mark", "x", "eyes", "tada", "thinking_face"})

Json = dict[str, Any]


@dataclass
class MattermostFault:
    """What goes wrong with a request, before or after (`done`) it was carried out; without a status the line breaks."""

    name: str
    status: int = 0
    id: str = ""
    headers: Mapping[str, str] | None = None
    done: bool = False


class Refused(Exception):
    """A request that the server refuses."""

    def __init__(self, status: int, id: str) -> None:
        super().__init__(id)
        self.status, self.id = status, id


class MattermostServer:
    """One server with a bot, Ada and Eve; a channel of all, and direct messages of the bot with each."""

    def __init__(self, me: str = ME) -> None:
        self.me = me
        self.token = TOKEN
        self.users: dict[str, Json] = {
            me: {"id": me, "username": "homarus", "is_bot": True},
            ADA: {"id": ADA, "username": "ada", "first_name": "Ada", "last_name": "King", "nickname": ""},
            EVE: {"id": EVE, "username": "eve", "first_name": "", "last_name": "", "nickname": ""},
        }
        self.channels: dict[str, Json] = {
            ROOM: {"id": ROOM, "type": "O", "name": "family", "display_name": "Family", "team_id": TEAM},
            DM: {"id": DM, "type": "D", "name": f"{ADA}__{me}", "display_name": "", "team_id": ""},
            EVES_DM: {"id": EVES_DM, "type": "D", "name": f"{EVE}__{me}", "display_name": "", "team_id": ""},
        }
        self.teams: list[Json] = [{"id": TEAM}]
        self.config: Json = {"MaxPostSize": str(TEXT_RUNES), "MaxFileSize": "104857600"}
        self.posts: dict[str, Json] = {}
        self.reactions: list[Json] = []
        self.files: dict[str, tuple[Json, bytes]] = {}
        self.faults: list[MattermostFault] = []
        self.asked: list[str] = []
        self.fetched = 0
        self.typing: list[Json] = []
        self.notices: list[str] = []
        self.connections = 0
        self.deaf = False
        """Whether the socket answers nothing any more, though it is open; over with the next connection."""
        self.garbled = False
        """Whether the next event is preceded by what is not JSON."""
        self._pending: dict[str, tuple[str, float]] = {}
        self._integrations: dict[str, list[Json]] = {}
        self._socket: web.WebSocketResponse | None = None
        self._request: web.Request | None = None
        self._seq = 0
        self._now = 0
        self._ids = 0

    # --- for tests ---

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=200_000_000)
        for route in (
            web.get("/api/v4/websocket", self._serve_socket),
            web.route("*", "/api/v4/{path:.*}", self._serve),
        ):
            application.router.add_routes([route])
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        await self._runner.cleanup()

    def fail(self, name: str, status: int = 0, id: str = "", **more: Any) -> None:
        """Let the next request of a name, such as `POST posts`, fail; with an id, by the server's own error."""
        self.faults.append(MattermostFault(name, status, id, **more))

    def new_id(self) -> str:
        """Return an id as the server makes them: in no order."""
        self._ids += 1
        return base64.b32encode(hashlib.sha256(f"{self._ids}".encode()).digest()).decode().lower()[:26]

    def now(self) -> int:
        """Return the time in milliseconds, later than the last."""
        self._now = max(self._now + 1, int(time.time() * 1000))
        return self._now

    def add_file(self, content: bytes, name: str, mime_type: str) -> str:
        """Keep a file; return its id."""
        id = self.new_id()
        self.files[id] = ({"id": id, "name": name, "mime_type": mime_type, "size": len(content)}, content)
        return id

    def add_post(self, channel: str, user: str, message: str, **more: Any) -> Json:
        """Keep a post that nobody hears of yet."""
        now = self.now()
        post = {
            "id": self.new_id(),
            "create_at": now,
            "update_at": now,
            "edit_at": 0,
            "delete_at": 0,
            "user_id": user,
            "channel_id": channel,
            "root_id": "",
            "original_id": "",
            "message": message,
            "type": "",
            "props": {},
            "file_ids": [],
            **more,
        }
        self.posts[post["id"]] = post
        return post

    async def say(self, message: str, channel: str = DM, user: str = ADA, *, heard: bool = True, **more: Any) -> Json:
        """Post as somebody; `heard` is whether an event brings it."""
        post = self.add_post(channel, user, message, **more)
        if heard:
            await self.tell_post("posted", post)
        return post

    async def tell_post(self, kind: str, post: Json, **more: Any) -> None:
        """Send an event about a post."""
        channel = self.channels[post["channel_id"]]
        data = {"post": json.dumps({**post, "metadata": self._metadata(post)}), **more}
        if kind == "posted":
            data |= {
                "channel_type": channel["type"],
                "channel_name": channel["name"],
                "channel_display_name": channel["display_name"],
                "team_id": channel["team_id"],
                "sender_name": f"@{self.users[post['user_id']]['username']}",
            }
        await self.tell(kind, data, post["channel_id"])

    async def change(self, id: str, message: str) -> None:
        """Change a post of somebody's, as the server does: the old text stays behind under another id."""
        post = self.posts[id]
        now = self.now()
        old = {**post, "id": self.new_id(), "original_id": id, "delete_at": now, "update_at": now}
        self.posts[old["id"]] = old
        post |= {"message": message, "edit_at": now, "update_at": now}
        await self.tell_post("post_edited", post)

    async def remove(self, id: str) -> None:
        """Delete a post of somebody's."""
        now = self.now()
        self.posts[id] |= {"delete_at": now, "update_at": now}
        await self.tell_post("post_deleted", self.posts[id])

    async def react(self, post: str, user: str, name: str, *, added: bool = True) -> None:
        """Let somebody react."""
        reaction = {"user_id": user, "post_id": post, "emoji_name": name, "create_at": self.now()}
        kind = "reaction_added" if added else "reaction_removed"
        await self.tell(kind, {"reaction": json.dumps(reaction)}, self.posts[post]["channel_id"])

    async def press(self, post: str, label: str, user: str = ADA) -> None:
        """Let somebody press a button; what only they are told is in `notices`."""
        action = next(each for each in self._integrations[post] if each["name"] == label)
        channel = self.posts[post]["channel_id"]
        body = {
            "user_id": user,
            "user_name": self.users[user]["username"],
            "channel_id": channel,
            "team_id": self.channels[channel]["team_id"],
            "post_id": post,
            "trigger_id": base64.b64encode(self.new_id().encode()).decode(),
            "type": "button",
            "data_source": "",
            "context": action["integration"]["context"],
        }
        async with aiohttp.ClientSession() as client, client.post(action["integration"]["url"], json=body) as answer:
            if answer.status == 200 and (text := (await answer.json()).get("ephemeral_text")):
                self.notices.append(text)

    async def tell(self, kind: str, data: Json, channel: str) -> None:
        """Send an event to whoever is connected."""
        if self._socket is None or self._socket.closed or self.deaf:
            return
        if self.garbled:
            self.garbled = False
            await self._socket.send_str('{"event": "pos')
        self._seq += 1
        await self._socket.send_json(
            {"event": kind, "data": data, "broadcast": {"channel_id": channel}, "seq": self._seq}
        )

    async def frame(self, text: str) -> None:
        """Send a frame as it is."""
        assert self._socket is not None
        await self._socket.send_str(text)

    def cut(self) -> None:
        """Break the connection."""
        if self._request is not None and self._request.transport is not None:
            self._request.transport.abort()
        self._socket = self._request = None

    # --- the API ---

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        name = f"{request.method} {path}"
        self.asked.append(name)
        fault = next((each for each in self.faults if each.name == name), None)
        if fault is not None:
            self.faults.remove(fault)
            if fault.done:
                await self._answered(request, path)
            if not fault.status:
                assert request.transport is not None
                request.transport.abort()
            if fault.id:
                return _error(fault.status, fault.id, fault.headers)
            return web.Response(status=fault.status or 500, text="<html>", headers=fault.headers)
        return await self._answered(request, path)

    async def _answered(self, request: web.Request, path: str) -> web.StreamResponse:
        if path == "config/client":
            return web.json_response(self.config)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _error(401, "api.context.session_expired.app_error")
        try:
            answer = await self._answer(request, path.split("/"))
        except Refused as refused:
            return _error(refused.status, refused.id)
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer, dumps=_written)

    async def _answer(self, request: web.Request, path: list[str]) -> Any:  # noqa: PLR0912  a table of routes
        match request.method, *path:
            case "GET", "users", "me":
                return self.users[self.me]
            case "GET", "users", "me", "teams":
                return self.teams
            case "GET", "users", "me", "channels":
                return [self._channel(id) for id in self.channels]
            case "GET", "users", id:
                return self.users[id]
            case "POST", "users", "search":
                return self._search(await request.json())
            case "POST", "channels", "direct":
                return self._direct(await request.json())
            case "GET", "channels", id:
                if id not in self.channels:
                    raise Refused(404, "app.channel.get.existing.app_error")
                return self._channel(id)
            case "GET", "channels", id, "posts":
                return self._since(id, int(request.query["since"]))
            case "POST", "posts":
                return await self._post(await request.json())
            case "GET", "posts", id, "thread":
                root = self._existing(id)
                found = [each for each in self.posts.values() if root["id"] in (each["id"], each["root_id"])]
                return {"posts": {each["id"]: each for each in found}}
            case "PUT", "posts", id, "patch":
                return self._patch(id, await request.json())
            case "DELETE", "posts", id:
                self._existing(id)["delete_at"] = self.posts[id]["update_at"] = self.now()
                return {"status": "OK"}
            case "GET", "posts", id, "reactions":
                return [each for each in self.reactions if each["post_id"] == id]
            case "POST", "reactions":
                return self._reaction(await request.json())
            case "DELETE", "users", user, "posts", id, "reactions", name:
                gone = (user, id, name)
                self.reactions = [
                    each for each in self.reactions if (each["user_id"], each["post_id"], each["emoji_name"]) != gone
                ]
                return {"status": "OK"}
            case "POST", "files":
                return await self._upload(request)
            case "GET", "files", id, "info":
                return self.files[id][0]
            case "GET", "files", id:
                self.fetched += 1
                if id not in self.files:
                    raise Refused(404, "app.file_info.get.app_error")
                return web.Response(body=self.files[id][1])
        raise Refused(404, "api.context.404.app_error")

    def _channel(self, id: str) -> Json:
        last = max((each["create_at"] for each in self.posts.values() if each["channel_id"] == id), default=0)
        return {**self.channels[id], "last_post_at": last}

    def _search(self, given: Json) -> list[Json]:
        """Return those who have a name that begins so, for each word."""
        names = ("username", "first_name", "last_name", "nickname")
        return [
            each
            for each in self.users.values()
            if all(
                any(each.get(name, "").lower().startswith(word) for name in names)
                for word in given["term"].lower().split()
            )
        ]

    def _direct(self, given: list[str]) -> Json:
        name = "__".join(sorted(given))
        for each in self.channels.values():
            if sorted(each["name"].split("__")) == sorted(given):
                return each
        if given[1] not in self.users:
            raise Refused(400, "api.channel.create_direct_channel.invalid_user.app_error")
        id = self.new_id()
        self.channels[id] = {"id": id, "type": "D", "name": name, "display_name": "", "team_id": ""}
        return self.channels[id]

    def _since(self, channel: str, since: int) -> Json:
        """Return what changed in a channel, at most a thousand posts; and the first posts of their threads."""
        if channel not in self.channels:
            raise Refused(403, "api.context.permissions.app_error")
        changed = [e for e in self.posts.values() if e["channel_id"] == channel and e["update_at"] > since]
        found = sorted(changed, key=lambda each: int(each["update_at"]))[:SINCE_LIMIT]
        roots = [self.posts[each["root_id"]] for each in found if each["root_id"]]
        posts = {each["id"]: {**each, "metadata": self._metadata(each)} for each in (*found, *roots)}
        order = sorted(posts, key=lambda id: -int(posts[id]["create_at"]))
        return {"order": order, "posts": {id: posts[id] for id in order}}

    async def _post(self, given: Json) -> Json:
        pending = given.get("pending_post_id", "")
        known, at = self._pending.get(pending, ("", 0.0))
        if pending and known and time.monotonic() - at < DEDUPLICATED_S:
            return self.posts[known]
        if given["channel_id"] not in self.channels:
            raise Refused(403, "api.context.permissions.app_error")
        if len(given["message"]) > int(self.config["MaxPostSize"]):
            raise Refused(400, "model.post.is_valid.message_length.app_error")
        root = given.get("root_id", "")
        if root and (
            root not in self.posts
            or self.posts[root]["delete_at"]
            or self.posts[root]["root_id"]
            or self.posts[root]["channel_id"] != given["channel_id"]
        ):
            raise Refused(400, "api.post.create_post.root_id.app_error")
        if len(given["file_ids"]) > FILES_LIMIT or not (given["message"] or given["file_ids"] or given["props"]):
            raise Refused(400, "model.post.is_valid.file_ids.app_error")
        actions = [e for each in given["props"].get("attachments", ()) for e in each["actions"]]
        if not all(_is_action(each) for each in actions):
            raise Refused(400, "model.post.is_valid.props.app_error")
        props = {**given["props"], "from_bot": "true"}
        fields = {key: given[key] for key in ("root_id", "file_ids")}
        post = self.add_post(given["channel_id"], self.me, given["message"], props=_stripped(props), **fields)
        self._integrations[post["id"]] = actions
        self._pending[pending] = post["id"], time.monotonic()
        await self.tell_post("posted", post)
        return {**post, "pending_post_id": pending}

    def _patch(self, id: str, given: Json) -> Json:
        post = self.posts.get(id)
        if post is None or post["delete_at"] or post["user_id"] != self.me:
            raise Refused(403, "api.context.permissions.app_error")
        now = self.now()
        post |= {"message": given["message"], "edit_at": now, "update_at": now}
        if "props" in given:
            post["props"] = given["props"]
            self._integrations[id] = []
        return post

    def _reaction(self, given: Json) -> Json:
        if given["user_id"] != self.me:
            raise Refused(403, "api.context.permissions.app_error")
        if given["emoji_name"] not in EMOJI:
            raise Refused(404, "app.emoji.get_by_name.no_result")
        self._existing(given["post_id"])
        reaction = {**given, "create_at": self.now()}
        self.reactions.append(reaction)
        return reaction

    def _existing(self, id: str) -> Json:
        if id not in self.posts or self.posts[id]["delete_at"]:
            raise Refused(404, "app.post.get.app_error")
        return self.posts[id]

    async def _upload(self, request: web.Request) -> Json:
        reader, found, channel = await request.multipart(), [], ""
        while (part := await reader.next()) is not None:
            assert isinstance(part, aiohttp.BodyPartReader)
            if part.name == "channel_id":
                channel = (await part.read()).decode()
            elif part.name == "files":
                mime = part.headers.get("Content-Type", "")
                found.append(self.files[self.add_file(bytes(await part.read()), part.filename or "", mime)][0])
        if channel not in self.channels:
            raise Refused(403, "api.context.permissions.app_error")
        return {"file_infos": found}

    def _metadata(self, post: Json) -> Json:
        files = [self.files[id][0] for id in post["file_ids"] if id in self.files]
        return {"files": files} if files else {}

    # --- the WebSocket ---

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        self.connections += 1
        self.deaf = False
        async for frame in socket:
            if self.deaf:
                continue
            if frame.type is WSMsgType.PING:
                await socket.pong(frame.data)
            elif frame.type is WSMsgType.TEXT and not await self._take(json.loads(frame.data), socket, request):
                assert request.transport is not None
                request.transport.abort()
                break
        if self._socket is socket:
            self._socket = None
        return socket

    async def _take(self, given: Json, socket: web.WebSocketResponse, request: web.Request) -> bool:
        """Take an action of the client's; False when the token is wrong, which closes without a word."""
        if given["action"] == "authentication_challenge":
            if given["data"]["token"] != self.token:
                return False
            self._socket, self._request, self._seq = socket, request, 0
            await socket.send_json({"status": "OK", "seq_reply": given["seq"]})
            await socket.send_json({"event": "hello", "data": {"server_version": "10.0.0"}, "seq": 0})
        elif given["action"] == "user_typing" and self._socket is socket:
            self.typing.append(given["data"])
        return True


def _is_action(action: Json) -> bool:
    """Whether the server takes a button: its id is letters and digits, and it calls an address."""
    url = urlsplit(action["integration"]["url"])
    return action["id"].isalnum() and bool(action["name"]) and url.scheme in ("http", "https") and bool(url.netloc)


def _stripped(props: Json) -> Json:
    """Return the props without what buttons carry, which the server shows to nobody."""
    attachments = [
        {**each, "actions": [{k: v for k, v in a.items() if k != "integration"} for a in each["actions"]]}
        for each in props.get("attachments", ())
    ]
    return {**props, **({"attachments": attachments} if attachments else {})}


def _written(answer: Any) -> str:
    return json.dumps(answer).replace(f'"{DEEP}"', "[" * 5_000 + "]" * 5_000)


def _error(status: int, id: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = {"id": id, "message": f"refused: {id}", "detailed_error": "", "request_id": "r", "status_code": status}
    return web.json_response(body, status=status, headers=headers)
