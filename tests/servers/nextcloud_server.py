"""A Nextcloud with Talk, as far as an account uses it: its OCS APIs and WebDAV on real sockets, faults as told.

Written after https://nextcloud-talk.readthedocs.io: what is refused there is refused here, with the same codes.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web

LOGIN, PASSWORD = "homarus@example.org", "Abcde-Fghij-Klmno-Pqrst-Uvwxy"
ME, ADA, EVE = "homarus", "ada", "eve"
ROOM, DM, EVES_DM = "grp4xyz9", "dm7ada2k", "dm3eve8w"
TEXT_LIMIT = 32_000
FEATURES = (
    "edit-messages",
    "delete-messages",
    "reactions",
    "chat-reference-id",
    "silent-send",
    "threads",
    "talk-polls",
)

Json = dict[str, Any]


@dataclass
class NextcloudFault:
    """What goes wrong with a request, before or after (`done`) it was carried out; without a status the line breaks."""

    name: str
    status: int = 0
    error: str | None = None
    headers: Mapping[str, str] | None = None
    done: bool = False


class Refused(Exception):
    """A request that the server refuses."""

    def __init__(self, status: int, error: str = "") -> None:
        super().__init__(error)
        self.status, self.error = status, error


class NextcloudServer:
    """One Nextcloud: the account, Ada and Eve; a conversation with each, and one of all.

    Attributes:
        second_s: How long a second of its waiting is.
    """

    def __init__(self, second_s: float = 0.03) -> None:
        self.second_s = second_s
        self.password = PASSWORD
        self.users = {ME: "Homarus", ADA: "Ada King", EVE: "Eve"}
        self.rooms: dict[str, Json] = {}
        self.messages: dict[str, list[Json]] = {}
        for token, type, name in ((ROOM, 2, "Family"), (DM, 1, ADA), (EVES_DM, 1, EVE)):
            self.add_room(token, type, name)
        self.features: list[str] | None = list(FEATURES)
        self.reactions: dict[int, dict[str, list[str]]] = {}
        self.threads: dict[int, str] = {}
        """Titles of the threads, by their first messages."""
        self.polls: dict[str, Json] = {}
        self.files: dict[str, bytes] = {}
        self.folders = {""}
        self.asked: list[str] = []
        self.faults: list[NextcloudFault] = []
        self.fetched = 0
        self.deaf = False
        """Whether the next request for messages is never answered."""
        self.garbled = False
        """Whether the next messages are no JSON."""
        self._ids = 1_000
        self._new = asyncio.Event()

    # --- for tests ---

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=200_000_000)
        application.router.add_route("*", "/cloud/{path:.*}", self._serve)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.home = f"127.0.0.1:{self._runner.addresses[0][1]}/cloud"
        self.url = f"http://{self.home}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._new.set()
        await self._runner.cleanup()

    def fail(self, name: str, status: int = 0, error: str | None = None, **more: Any) -> None:
        """Let the next request of a name, such as `POST chat`, fail; with an error, by Talk's own words."""
        self.faults.append(NextcloudFault(name, status, error, **more))

    def add_room(self, token: str, type: int, name: str, seen: int = 0) -> None:
        """Add a conversation of the account's."""
        self.rooms[token] = {"token": token, "type": type, "name": name, "lastReadMessage": seen, "readOnly": 0}
        self.messages[token] = []

    def say(self, text: str, token: str = DM, user: str = ADA, **more: Any) -> Json:
        """Write a message as somebody."""
        self._ids += 1
        message = {
            "id": self._ids,
            "token": token,
            "actorType": "users",
            "actorId": user,
            "actorDisplayName": self.users.get(user, user),
            "timestamp": int(time.time()),
            "message": text,
            "messageParameters": [],
            "systemMessage": "",
            "messageType": "comment",
            "referenceId": "",
            "isReplyable": True,
            "threadId": (more.get("parent") or {}).get("threadId") or self._ids,
            **more,
        }
        if (title := self.threads.get(message["threadId"])) is not None:
            message |= {"isThread": True, "threadTitle": title}
        self.messages[token].append(message)
        self._new.set()
        return message

    def notice(self, kind: str, about: Json, user: str = ADA, text: str = "", **more: Any) -> Json:
        """Write what Talk says of a change of a message."""
        parent = {key: value for key, value in about.items() if key != "parent"}
        hidden = {"systemMessage": kind, "messageType": "system", "parent": parent}
        return self.say(text or f"{kind} happened", about["token"], user, **hidden, **more)

    def change(self, id: int, text: str, user: str = ADA) -> None:
        """Change a message."""
        message = self.message(id)
        message["message"] = text
        self.notice("message_edited", message, user)

    def vote(self, poll: Json, user: str, *options: int) -> None:
        """Vote, which tells nobody for what."""
        poll["cast"][user] = options
        self._of_poll("poll_voted", poll, user)

    def close(self, poll: Json, user: str = ADA) -> None:
        """End a poll, which tells who voted for what."""
        poll["status"] = 1
        self._of_poll("poll_closed", poll, user)

    def _of_poll(self, kind: str, poll: Json, user: str) -> None:
        about = {"poll": {"type": "talk-poll", "id": poll["id"], "name": poll["question"]}}
        self.say(kind, poll["token"], user, systemMessage=kind, messageType="system", messageParameters=about)

    def message(self, id: int | str) -> Json:
        """Return a message."""
        return next(each for found in self.messages.values() for each in found if each["id"] == int(id))

    def ours(self, token: str) -> list[Json]:
        """Return what the account wrote in a conversation, as it is shown."""
        shown = ("comment", "voice-message")
        return [each for each in self.messages[token] if each["actorId"] == ME and each["messageType"] in shown]

    # --- the APIs ---

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        parts = path.removeprefix("ocs/v2.php/").removeprefix("apps/spreed/api/").split("/")
        name = f"{request.method} {parts[1] if parts[0] in ('v1', 'v4', 'cloud') else parts[0]}"
        if "files_sharing" in path:
            name = f"{request.method} shares"
        self.asked.append(name)
        fault = next((each for each in self.faults if each.name == name), None)
        if fault is not None:
            self.faults.remove(fault)
            if fault.done:
                await self._answered(request, path, parts)
            if not fault.status:
                assert request.transport is not None
                request.transport.abort()
            if fault.error is not None:
                return _ocs({"error": fault.error}, fault.status, fault.headers)
            return web.Response(status=fault.status or 500, text="<html>", headers=fault.headers)
        return await self._answered(request, path, parts)

    async def _answered(self, request: web.Request, path: str, parts: list[str]) -> web.StreamResponse:
        credentials = base64.b64encode(f"{LOGIN}:{self.password}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {credentials}":
            return _ocs({}, 401)
        try:
            if path.startswith("remote.php/dav/files/"):
                return await self._dav(request, path.removeprefix("remote.php/dav/files/"))
            if request.headers.get("OCS-APIRequest") != "true":
                return _ocs({}, 412)
            return await self._answer(request, parts)
        except Refused as refused:
            return _ocs({"error": refused.error}, refused.status)

    async def _answer(self, request: web.Request, path: list[str]) -> web.StreamResponse:
        match request.method, *path:
            case "GET", "cloud", "user":
                return _ocs({"id": ME, "display-name": self.users[ME]})
            case "GET", "cloud", "capabilities":
                spreed = {"features": self.features, "config": {"chat": {"max-length": TEXT_LIMIT}}}
                return _ocs({"capabilities": {} if self.features is None else {"spreed": spreed}})
            case "GET", "v4", "room":
                return self._list(request)
            case "POST", "v4", "room":
                return self._open(await request.json())
            case "GET", "core", "autocomplete", "get":
                query = request.query["search"].lower()
                found = [each for each in self.users.items() if query in each[1].lower() and each[0] != ME]
                return _ocs([{"id": id, "label": label, "source": "users"} for id, label in found])
            case "POST", "apps", "files_sharing", "api", "v1", "shares":
                return self._share(await request.json())
            case _, "v1", _, token, *_ if token not in self.rooms:
                raise Refused(404)
            case "GET", "v1", "chat", token:
                return await self._read(request, token)
            case "POST", "v1", "chat", token:
                return _ocs(self._post(token, await request.json()), 201)
            case "POST", "v1", "poll", token:
                return self._open_poll(token, await request.json())
            case "GET", "v1", "poll", token, id if id in self.polls:
                return _ocs(self._shown(self.polls[id]))
            case "PUT", "v1", "chat", token, id:
                return self._edit(id, await request.json())
            case "DELETE", "v1", "chat", token, id:
                return self._delete(token, id)
            case method, "v1", "reaction", token, id:
                return await self._react(method, self._existing(token, id), request)
        raise Refused(404)

    def _list(self, request: web.Request) -> web.StreamResponse:
        since = int(request.query.get("modifiedSince", "0"))
        found = []
        for token, room in self.rooms.items():
            visible = [each for each in self.messages[token] if each["messageType"] != "system"]
            active = visible[-1]["timestamp"] if visible else 0
            if active > since or not since:
                title = self.users.get(room["name"], room["name"])
                last = visible[-1] if visible else []
                found.append({**room, "displayName": title, "lastActivity": active, "lastMessage": last})
        return _ocs(found, headers={"X-Nextcloud-Talk-Modified-Before": str(int(time.time()))})

    def _open(self, given: Json) -> web.StreamResponse:
        person = given["invite"]
        if given["roomType"] != 1 or person not in self.users:
            raise Refused(404, "invite")
        token = next((t for t, room in self.rooms.items() if (room["type"], room["name"]) == (1, person)), None)
        if token is None:
            token = f"dm{len(self.rooms)}{person}"
            self.add_room(token, 1, person)
        return _ocs(self.rooms[token], 201)

    async def _read(self, request: web.Request, token: str) -> web.StreamResponse:
        query = request.query
        limit = int(query["limit"])
        if query["lookIntoFuture"] == "0":
            return _ocs(self.messages[token][::-1][:limit])
        after, wait_s = int(query["lastKnownMessageId"]), min(60, int(query["timeout"])) * self.second_s
        end = time.monotonic() + wait_s
        while not (found := [each for each in self.messages[token] if each["id"] > after][:limit]):
            if (left := end - time.monotonic()) <= 0:
                return web.Response(status=304)
            self._new.clear()
            try:
                await asyncio.wait_for(self._new.wait(), left)
            except TimeoutError:
                continue
        if self.deaf:
            self.deaf = False
            await asyncio.sleep(3_600)
        if self.garbled:
            self.garbled = False
            return web.Response(text='{"ocs": {"da')
        return _ocs(found, headers={"X-Chat-Last-Given": str(found[-1]["id"])})

    def _post(self, token: str, given: Json) -> Json:
        if self.rooms[token]["readOnly"]:
            raise Refused(403)
        if len(given["message"]) > TEXT_LIMIT:
            raise Refused(413, "message")
        if not given["message"].strip():
            raise Refused(400, "message")
        more: Json = {}
        if "replyTo" not in given and "threadId" in given:
            if given["threadId"] not in self.threads:
                raise Refused(400, "reply-to")
            more = {"threadId": given["threadId"]}
        if "replyTo" not in given and given.get("threadTitle"):
            self.threads[self._ids + 1] = given["threadTitle"]
        if "replyTo" in given:
            parent = next((each for each in self.messages[token] if each["id"] == given["replyTo"]), None)
            if parent is None:
                raise Refused(400, "reply-to")
            more = {"parent": parent}
        return self.say(given["message"], token, ME, referenceId=given.get("referenceId", ""), **more)

    def _open_poll(self, token: str, given: Json) -> web.StreamResponse:
        if self.rooms[token]["type"] == 1:
            raise Refused(400, "room")
        if len([each for each in given["options"] if each.strip()]) < 2:
            raise Refused(400, "options")
        id = str(len(self.polls) + 5)
        self.polls[id] = {"id": int(id), "token": token, "status": 0, "cast": {}, **given}
        shown = {"object": {"type": "talk-poll", "id": id, "name": given["question"]}}
        more = {"threadId": given["threadId"]} if "threadId" in given else {}
        self.say("{object}", token, ME, messageParameters=shown, **more)
        return _ocs(self._shown(self.polls[id]), 201)

    def _shown(self, poll: Json) -> Json:
        details = [
            {"actorType": "users", "actorId": user, "actorDisplayName": self.users[user], "optionId": option}
            for user, options in poll["cast"].items()
            for option in options
        ]
        shown = {key: value for key, value in poll.items() if key not in ("cast", "token")}
        return {**shown, "details": details} if poll["status"] else shown

    def _edit(self, id: str, given: Json) -> web.StreamResponse:
        message = next((e for found in self.messages.values() for e in found if e["id"] == int(id)), None)
        if message is None or message["messageType"] == "comment_deleted":
            raise Refused(404)
        if message["actorId"] != ME:
            raise Refused(403)
        self.change(int(id), given["message"], ME)
        return _ocs(message)

    def _delete(self, token: str, id: str) -> web.StreamResponse:
        message = self._existing(token, id)
        message |= {"message": "", "messageType": "comment_deleted"}
        self.notice("message_deleted", message, ME)
        return _ocs(message)

    async def _react(self, method: str, message: Json, request: web.Request) -> web.StreamResponse:
        kept = self.reactions.setdefault(message["id"], {})
        if method == "GET":
            people = {emoji: [{"actorType": "users", "actorId": u} for u in users] for emoji, users in kept.items()}
            return _ocs(people or [])
        emoji = (await request.json())["reaction"]
        if method == "POST":
            kept.setdefault(emoji, []).append(ME)
            self.notice("reaction", message, ME, emoji)
            return _ocs({}, 201)
        kept[emoji].remove(ME)
        if not kept[emoji]:
            del kept[emoji]
        self.notice("reaction_revoked", message, ME)
        return _ocs({})

    def _existing(self, token: str, id: str) -> Json:
        message = next((each for each in self.messages[token] if str(each["id"]) == id), None)
        if message is None or message["messageType"] == "comment_deleted":
            raise Refused(404)
        return message

    async def _dav(self, request: web.Request, path: str) -> web.StreamResponse:
        user, _, place = path.partition("/")
        if user != ME:
            return web.Response(status=404)
        parent = place.rpartition("/")[0]
        match request.method:
            case "MKCOL":
                if place in self.folders:
                    return web.Response(status=405)
                self.folders.add(place)
                return web.Response(status=201 if parent in self.folders else 409)
            case "PUT":
                self.files[place] = await request.read()
                return web.Response(status=201 if parent in self.folders else 409)
        self.fetched += 1
        if place not in self.files:
            return web.Response(status=404)
        return web.Response(body=self.files[place])

    def _share(self, given: Json) -> web.StreamResponse:
        path, token = given["path"].lstrip("/"), given["shareWith"]
        if path not in self.files or given["shareType"] != 10 or token not in self.rooms:
            raise Refused(404)
        name = path.rpartition("/")[2]
        shared = {"type": "file", "id": "7", "name": name, "path": path, "size": str(len(self.files[path]))}
        told = json.loads(given["talkMetaData"])
        kind = told["messageType"]
        more = {"messageParameters": {"file": shared}, "messageType": kind, "referenceId": given["referenceId"]}
        self.say("{file}", token, ME, **more, **({"threadId": told["threadId"]} if "threadId" in told else {}))
        return _ocs({"id": "1"})


def _ocs(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    meta = {"status": "ok" if status < 400 else "failure", "statuscode": status, "message": ""}
    return web.json_response({"ocs": {"meta": meta, "data": data}}, status=status, headers=headers)
