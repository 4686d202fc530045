"""Matrix for the test-kit: a real Synapse, which all tests of a process share with its people and rooms."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from hub.core.clock import Clock
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.capabilities import CanDelete
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.matrix.channel import MatrixChannel
from integrations.channels.matrix.choices import KEYS
from integrations.channels.matrix.listening import Waits
from integrations.channels.matrix.login import MatrixAccount
from tests.channels.kit import ADA, EVE, Can, Named, Rig, Trouble
from tests.servers import shared
from tests.servers.matrix_proxy import MatrixProxy
from tests.servers.synapse import Credentials
from tests.until import until

BOT = "bot"
SEND, SYNC = r"PUT .*/send/m\.room\.message/", r"GET .*/sync\?"
LATER_SYNC = r"GET .*/sync\?.*since="
"""One of an account that knows where it is: what is said before that is never answered."""
WAITS = Waits(poll_s=0.5, grace_s=4.0, first_s=15.0)
"""Who is given no more time than an idle machine needs connects again and again on a busy one."""
LIMITED = json.dumps({"errcode": "M_LIMIT_EXCEEDED", "error": "Too many", "retry_after_ms": 1_000})
FAULTS: dict[Trouble, dict[str, Any]] = {
    Trouble.RATE_LIMITED: {"status": 429, "body": LIMITED},
    Trouble.REFUSED_FOR_NOW: {"status": 500, "body": '{"errcode": "M_UNKNOWN", "error": "Internal server error"}'},
    Trouble.PROXY_PAGE: {"status": 502},
    Trouble.ANSWER_LOST: {"drops": True, "passes": True},
    Trouble.FORBIDDEN: {"status": 403, "body": '{"errcode": "M_FORBIDDEN", "error": "Not here"}'},
}


class _Caller:
    """Requests to the homeserver, one after the other; it answers within milliseconds."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)

    def __call__(self, who: Credentials, method: str, path: str, body: Any = None) -> Any:
        return json.loads(
            self.raw(who, method, f"/_matrix/client/v3/{path}", None if body is None else json.dumps(body))
        )

    def raw(self, who: Credentials, method: str, path: str, body: str | bytes | None = None) -> bytes:
        self._connection.request(method, path, body, {"Authorization": f"Bearer {who.token}"})
        answer = self._connection.getresponse()
        data = answer.read()
        assert answer.status == 200, (method, path, data)
        return data


@dataclass
class _Town:
    """The people, and the rooms where they meet the assistant: one with each, and one with both."""

    url: str
    call: _Caller
    people: dict[str, Credentials]
    rooms: dict[str, str]
    title: str = "Everybody"

    def name_group(self, name: str) -> None:
        """Give the room of both a name."""
        self.call(self.people[ADA], "PUT", f"rooms/{quote(self.rooms['group'])}/state/m.room.name", {"name": name})
        self.title = name


@cache
def _town() -> _Town:
    server = shared.synapse()
    call = _Caller(server.url)
    people = {each: server.register() for each in (BOT, ADA, EVE)}

    def room(*members: str) -> str:
        first, *others = (people[each] for each in members)
        invited = [each.user_id for each in others]
        id = str(call(first, "POST", "createRoom", {"preset": "private_chat", "invite": invited})["room_id"])
        for each in others:
            call(each, "POST", f"join/{quote(id)}", {})
        return id

    town = _Town(server.url, call, people, {ADA: room(ADA, BOT), EVE: room(EVE, BOT), "group": room(ADA, EVE, BOT)})
    town.name_group(town.title)
    return town


@dataclass
class _Shown:
    """A message of the assistant's as people see it."""

    text: str
    thread: str | None
    reactions: list[str] = field(default_factory=list)


class MatrixRig(Rig):
    """Three rooms on a homeserver, and a proxy before it for the assistant."""

    name = "matrix"
    can = frozenset({Can.GROUPS, Can.THREADS, Can.EDITS, Can.MEDIA, Can.OFFERS_AGAIN, Can.DEAF, Can.MALFORMED})
    can |= {Can.VOTES, Can.REACTS, Can.BUTTONS, Can.VOICE, Can.GONE, Can.MOVES}
    hears_deletions = True
    named = frozenset(Named)
    troubles = frozenset({*FAULTS, Trouble.REMOVED})

    async def start(self) -> None:
        self._town = _town()
        self._call, self._people = self._town.call, dict(self._town.people)
        self._threads: dict[str, str] = {}
        self._put_out = False
        self._pressed: dict[tuple[str, str, str], str] = {}
        self._since = {}
        for who, room in self._town.rooms.items():
            person = self._people[EVE if who == EVE else ADA]
            self._since[room] = self._call(person, "GET", f"rooms/{quote(room)}/messages?dir=b&limit=1")["start"]
        self.proxy = await MatrixProxy(self._town.url).__aenter__()

    async def stop(self) -> None:
        await self.proxy.__aexit__(None, None, None)
        if self._put_out:  # others meet there too
            self._call(self._people[ADA], "POST", f"{self._group_path}/invite", {"user_id": self._people[BOT].user_id})
            self._call(self._people[BOT], "POST", f"{self._group_path}/join", {})

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        if account == "default":
            who, url = self._people[BOT], self.proxy.url
            self._before = self.proxy.count(LATER_SYNC)
        else:  # past the proxy, where only the account that people write to is waited for
            who, url = shared.synapse().register(), self._town.url
            self._people[account] = who
        config = MatrixAccount(account, url, who.user_id, access_token=Secret(who.token))
        return MatrixChannel(config, JsonStorage(folder / f"{account}.json"), folder / "keys", clock, WAITS)

    def section(self, account: str = "default") -> dict[str, Any]:
        bot = self._people[BOT]
        self._before = self.proxy.count(LATER_SYNC)
        login = {"user_id": bot.user_id, "access_token": bot.token}
        return {"account": account, "homeserver": self.proxy.url, **login}

    def writes_to(self, account: str) -> None:
        raise AssertionError("the rooms have one")

    def identity(self, who: str) -> str:
        return f"matrix:user:{_town().people[who].user_id}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        kind = ChatType.GROUP if group else ChatType.DIRECT
        root = self._root(thread) if thread else None
        return Address("matrix", self._room(who, group), chat_type=kind, thread=root)

    async def says(
        self,
        text: str,
        who: str = ADA,
        *,
        group: bool = False,
        thread: str | None = None,
        mention: bool = True,
        media: bytes | None = None,
    ) -> str:
        # What is said before the account knows where it is counts as said before it came.
        await until(self.is_read)
        room, person = self._room(who, group), self._people[who]
        mentioned = [self._people[BOT].user_id] if group and mention else []
        content: dict[str, Any] = {"msgtype": "m.text", "body": text, "m.mentions": {"user_ids": mentioned}}
        if media is not None:
            content |= {"msgtype": "m.file", "filename": "a.png", "url": self._upload(person, media)}
        if thread is not None:
            content["m.relates_to"] = {"rel_type": "m.thread", "event_id": self._root(thread)}
        return self._send(person, room, "m.room.message", content)

    def is_read(self) -> bool:
        """Whether the account knows where it is."""
        return self.proxy.count(LATER_SYNC) > self._before

    def invites(self, who: str) -> str:
        """Let somebody open a room, and invite the assistant alone; return the room."""
        body = {"preset": "private_chat", "invite": [self._people[BOT].user_id]}
        return str(self._call(self._people[who], "POST", "createRoom", body)["room_id"])

    def said_in(self, room: str, who: str) -> list[str]:
        """Return what the assistant said in a room of somebody's."""
        found = self._call(self._people[who], "GET", f"rooms/{quote(room)}/messages?dir=b&limit=50")["chunk"]
        bot = self._people[BOT].user_id
        return [each["content"]["body"] for each in found if each["sender"] == bot and "body" in each["content"]]

    def members_of(self, room: str, who: str) -> int:
        """Return how many have joined a room of somebody's."""
        return len(self._call(self._people[who], "GET", f"rooms/{quote(room)}/joined_members")["joined"])

    async def says_in_disorder(self, *texts: str) -> None:
        for text in texts:
            await self.says(text)

    async def speaks(self, sound: bytes) -> None:
        address = self._upload(self._people[ADA], sound)
        content = {"msgtype": "m.audio", "body": "Voice message", "url": address, "org.matrix.msc3245.voice": {}}
        self._send(self._people[ADA], self._room(ADA, group=False), "m.room.message", content)

    async def says_again(self) -> None:
        headers = (("Content-Type", "application/json"),)
        self.proxy.fails(SYNC, status=200, body=self.proxy.last_events, headers=headers)

    async def edits(self, id: str, text: str) -> None:
        new = {"msgtype": "m.text", "body": text}
        relation = {"rel_type": "m.replace", "event_id": id}
        content = new | {"m.new_content": new, "m.relates_to": relation}
        self._send(self._people[ADA], self._room(ADA, group=False), "m.room.message", content)

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        room, person = self._room(who, group), self._people[who]
        found = [(each["event_id"], _choices(each["content"].get("body", ""))) for each in self._events(room, who)]
        about, choices = [each for each in found if each[1]][-1]
        key = next(key for key, shown in choices.items() if shown == label)

        def offers() -> bool:
            return any(_annotation(each) == (about, key) for each in self._events(room, who))

        await until(offers)
        if (pressed := self._pressed.pop((who, about, key), None)) is not None:
            path = f"rooms/{quote(room)}/redact/{quote(pressed)}/{new_id()}"
            self._call(person, "PUT", path, {})
        content = {"m.relates_to": {"rel_type": "m.annotation", "event_id": about, "key": key}}
        self._pressed[who, about, key] = self._send(person, room, "m.reaction", content)

    def notices(self) -> list[str]:
        events = self._events(self._room(ADA, group=False), ADA)
        return [each["content"]["body"] for each in events if _is_notice(each["content"])]

    async def votes(self, option: int) -> None:
        poll = self._events(self._room(ADA, group=False), ADA)[-1]
        answer = poll["content"]["org.matrix.msc3381.poll.start"]["answers"][option]["id"]
        relation = {"rel_type": "m.reference", "event_id": poll["event_id"]}
        content = {"m.relates_to": relation, "org.matrix.msc3381.poll.response": {"answers": [answer]}}
        self._send(self._people[ADA], self._room(ADA, group=False), "org.matrix.msc3381.poll.response", content)

    async def reacts(self, emoji: str) -> None:
        about = self._events(self._room(ADA, group=False), ADA)[-1]["event_id"]
        content = {"m.relates_to": {"rel_type": "m.annotation", "event_id": about, "key": emoji}}
        self._send(self._people[ADA], self._room(ADA, group=False), "m.reaction", content)

    @property
    def room_name(self) -> str:  # type: ignore[override]
        return self._town.title

    async def renames(self, name: str) -> None:
        self._town.name_group(name)

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        shown: dict[str, _Shown] = {}
        for event in self._events(self._room(who, group), who):
            content = event["content"]
            relation = content.get("m.relates_to", {})
            if relation.get("rel_type") == "m.replace":
                if relation["event_id"] not in shown:
                    continue  # it was deleted
                shown[relation["event_id"]].text = content["m.new_content"]["body"]
            elif "org.matrix.msc3381.poll.start" in content:
                question = content["org.matrix.msc3381.poll.start"]["question"]["body"]
                shown[event["event_id"]] = _Shown(question, None)
            elif "body" in content and not _is_notice(content):
                in_thread = relation["event_id"] if relation.get("rel_type") == "m.thread" else None
                shown[event["event_id"]] = _Shown(_without_choices(content["body"]), in_thread)
        root = self._root(thread) if thread else None
        return [each.text for each in shown.values() if thread is None or each.thread == root]

    def reactions(self, id: str) -> list[str]:
        relations = [
            each["content"].get("m.relates_to", {}) for each in self._events(self._room(ADA, group=False), ADA)
        ]
        return [each["key"] for each in relations if (each.get("event_id"), "key" in each) == (id, True)]

    def uploads(self) -> list[bytes]:
        events = self._events(self._room(ADA, group=False), ADA)
        addresses = [each["content"]["url"] for each in events if "url" in each["content"]]
        return [self._file(each) for each in addresses]

    def voices(self) -> list[bytes]:
        events = self._events(self._room(ADA, group=False), ADA)
        addresses = [each["content"]["url"] for each in events if "org.matrix.msc3245.voice" in each["content"]]
        return [self._file(each) for each in addresses]

    def attempts(self) -> int:
        return self.proxy.count(SEND)

    def fetches(self) -> int:
        return self.proxy.count("/download/")

    def typing_seen(self) -> int:
        return self.proxy.count("PUT .*/typing/")

    def drafts(self) -> list[str]:
        raise AssertionError("it has no drafts")

    def trouble(self, *troubles: Trouble) -> None:
        for each in troubles:
            self.proxy.fails(SEND, **FAULTS[each])

    async def removes(self) -> None:
        self._put_out = True
        self._call(self._people[ADA], "POST", f"{self._group_path}/kick", {"user_id": self._people[BOT].user_id})

    async def deletes(self, channel: CanDelete, address: Address, id: str) -> None:
        path = f"rooms/{quote(address.peer)}/redact/{quote(id)}/{new_id()}"
        self._call(self._people[ADA], "PUT", path, {})

    async def moves(self) -> None:
        new = str(
            self._call(self._people[ADA], "POST", f"{self._group_path}/upgrade", {"new_version": "10"})[
                "replacement_room"
            ]
        )
        self._town.rooms["group"] = new  # for the tests after this too
        self._since[new] = self._call(self._people[ADA], "GET", f"rooms/{quote(new)}/messages?dir=b&limit=1")["start"]
        for who in (EVE, BOT):
            self._call(self._people[ADA], "POST", f"{self._group_path}/invite", {"user_id": self._people[who].user_id})
            if who == EVE:
                self._call(self._people[who], "POST", f"{self._group_path}/join", {})

        def joined() -> bool:
            members = self._call(self._people[ADA], "GET", f"{self._group_path}/joined_members")["joined"]
            return self._people[BOT].user_id in members

        await until(joined)

    @property
    def _group_path(self) -> str:
        return f"rooms/{quote(self._town.rooms['group'])}"

    def goes_deaf(self) -> None:
        self.proxy.fails(LATER_SYNC, hangs=True)

    def garbles(self) -> None:
        self.proxy.fails(LATER_SYNC, status=200, body='{"next_batch": ')

    def revokes(self, account: str = "default") -> None:
        self._call(self._people[account], "POST", "logout", {})

    def _room(self, who: str, group: bool) -> str:
        return self._town.rooms["group" if group else who]

    def _root(self, thread: str) -> str:
        """Return the event that a thread begins with; it is nothing to the assistant."""
        if thread not in self._threads:
            content = {"msgtype": "m.notice", "body": f"Thread {thread}"}
            room = self._room(ADA, group=True)
            self._threads[thread] = self._send(self._people[ADA], room, "m.room.message", content)
        return self._threads[thread]

    def _send(self, who: Credentials, room: str, kind: str, content: dict[str, Any]) -> str:
        return str(self._call(who, "PUT", f"rooms/{quote(room)}/send/{kind}/{new_id()}", content)["event_id"])

    def _upload(self, who: Credentials, content: bytes) -> str:
        return str(json.loads(self._call.raw(who, "POST", "/_matrix/media/v3/upload", content))["content_uri"])

    def _file(self, address: str) -> bytes:
        place = f"/_matrix/client/v1/media/download/{address.removeprefix('mxc://')}"
        return self._call.raw(self._people[ADA], "GET", place)

    def _events(self, room: str, who: str) -> list[dict[str, Any]]:
        """Return the assistant's events of this test, oldest first."""
        path = f"rooms/{quote(room)}/messages?dir=f&limit=200&from={quote(self._since[room])}"
        found = self._call(self._people[who], "GET", path)["chunk"]
        return [each for each in found if each["sender"] == self._people[BOT].user_id]


def _choices(body: str) -> dict[str, str]:
    """Return the labels that the numbers below a message stand for."""
    lines = (line.partition(" ") for line in body.split("\n"))
    return {key: label for key, _, label in lines if key in KEYS}


def _without_choices(body: str) -> str:
    return "\n".join(line for line in body.split("\n") if line.partition(" ")[0] not in KEYS).rstrip("\n")


def _annotation(event: dict[str, Any]) -> tuple[str, str]:
    relation = event["content"].get("m.relates_to", {})
    return relation.get("event_id", ""), relation.get("key", "")


def _is_notice(content: dict[str, Any]) -> bool:
    return content.get("msgtype") == "m.notice" and "m.in_reply_to" in content.get("m.relates_to", {})
