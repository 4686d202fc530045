"""XMPP for the test-kit: a real prosody, people who are logged in there, and proxies before it for the assistant."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from aiohttp import web

from hub.core.clock import Clock
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.xmpp.channel import STATES, XmppChannel
from integrations.channels.xmpp.connection import (
    BOOKMARKS,
    FORM,
    PUBSUB,
    USUAL_TIMING,
    XmppAccount,
    XmppConnection,
    XmppTiming,
)
from integrations.channels.xmpp.events import CLIENT, OOB, REACTIONS, RECEIPTS, REPLACE, RETRACT, bare, stanza_id
from tests.channels.kit import ADA, EVE, Can, Rig, Trouble
from tests.servers import shared
from tests.servers.prosody import PASSWORD, ROOMS
from tests.servers.tcp_proxy import TcpProxy
from tests.until import until

TIMING = XmppTiming(connect_s=20.0, answer_s=2.0, silence_s=0.5, resume_s=5.0)


class XmppProxy(TcpProxy):
    """Passes a stream without lines; what the client sends at once is a line."""

    _servers: list[asyncio.StreamWriter]

    def end_sessions(self) -> None:
        """Let the server believe that the clients log out."""
        for server in self._servers:
            server.write(b"</stream:stream>")

    def pings(self) -> int:
        """Return how often the client asked whether the server is there."""
        return b"".join(self.lines).count(b"urn:xmpp:ping")

    def acknowledged(self) -> int:
        """Return how much the client said that it took, at last."""
        found = re.findall(rb"<a [^>]*\bh=.(\d+)", b"".join(self.lines))
        return int(found[-1]) if found else 0

    async def _up(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        self._servers = [server]
        while piece := await reader.read(65_536):
            self.lines.append(piece)
            server.write(piece)
            await server.drain()
            if self.cut_after is not None and self.cut_after(piece):
                self.cut_after = None
                client.transport.abort()
                return


class XmppPerson:
    """Somebody with a client; `heard` is what came, in order."""

    def __init__(self, jid: str, port: int, room: str) -> None:
        self.heard: list[Element] = []
        nick = jid.partition("@")[0]
        account = XmppAccount(nick, jid, Secret(PASSWORD), "127.0.0.1", port, True, (room,), nick)
        self.connection = XmppConnection(account, USUAL_TIMING, lambda: None)

    async def open(self) -> None:
        await self.connection.open()
        self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        self._reading.cancel()
        await self.connection.close()

    async def say(self, stanza: Element) -> str:
        """Send a stanza; return the id that others know it by."""
        echo = await self.connection.deliver(stanza)
        archived = None if echo is None else stanza_id(echo, stanza.get("to", ""))
        return archived or str(stanza.get("id"))

    async def _read(self) -> None:
        while (stanza := await self.connection.next()) is not None:
            self.heard.append(stanza)


class XmppRig(Rig):
    """An account for each login, and one room that shows addresses."""

    name = "xmpp"
    can = frozenset({Can.GROUPS, Can.EDITS, Can.MEDIA, Can.OFFERS_AGAIN, Can.DEAF, Can.REACTS, Can.TWO_ACCOUNTS})
    troubles = frozenset({Trouble.ANSWER_LOST, Trouble.REMOVED})

    async def start(self) -> None:
        self._server = shared.prosody()
        names = {each: f"{each}{new_id()[-8:].lower()}" for each in (ADA, EVE, "default", "second")}
        self._jids = {each: self._server.add(name) for each, name in names.items()}
        self._room = f"room{new_id()[-8:].lower()}@{ROOMS}"
        self._people = {who: XmppPerson(self._jids[who], self._server.port, self._room) for who in (ADA, EVE)}
        for person in self._people.values():
            await person.open()
        self._proxies = {each: await XmppProxy(self._server.port).__aenter__() for each in ("default", "second")}
        self._written_to = "default"
        self._last: Element | None = None
        self._files: list[bytes] = []
        self._fetched = 0
        application = web.Application()
        application.router.add_get("/{at}/{name}", self._file)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        for person in self._people.values():
            await person.close()
        for proxy in self._proxies.values():
            await proxy.__aexit__(None, None, None)
        await self._runner.cleanup()

    async def _file(self, request: web.Request) -> web.Response:
        self._fetched += 1
        return web.Response(body=self._files[int(request.match_info["at"])])

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        jid, port = self._jids[account], self._proxies[account].port
        nick = jid.partition("@")[0]
        config = XmppAccount(account, jid, Secret(PASSWORD), "127.0.0.1", port, True, (self._room,), nick)
        return XmppChannel(config, clock, TIMING)

    def section(self, account: str = "default") -> dict[str, Any]:
        where = {"host": "127.0.0.1", "port": self._proxies[account].port, "plaintext": True, "rooms": [self._room]}
        return {"account": account, "jid": self._jids[account], "password": PASSWORD, **where}

    def account(self, **more: Any) -> XmppAccount:
        """Return the assistant's first account, with other settings."""
        where = {"host": "127.0.0.1", "port": self._proxies["default"].port, "plaintext": True, "nick": self.nick}
        return XmppAccount("default", self._jids["default"], Secret(PASSWORD), **{**where, **more})

    async def bookmarks(self, rooms: dict[str, str]) -> None:
        """Let somebody with the assistant's password bookmark rooms, each with whether to join it."""
        other = XmppConnection(self.account(), USUAL_TIMING, lambda: None)
        await other.open()
        for room, autojoin in rooms.items():
            query = Element(f"{PUBSUB}pubsub")
            item = SubElement(SubElement(query, f"{PUBSUB}publish", {"node": BOOKMARKS}), f"{PUBSUB}item", {"id": room})
            SubElement(item, f"{{{BOOKMARKS}}}conference", {"autojoin": autojoin})
            options = SubElement(SubElement(query, f"{PUBSUB}publish-options"), f"{FORM}x", {"type": "submit"})
            prefix = "http://jabber.org/protocol/pubsub#"
            wanted = {"FORM_TYPE": f"{prefix}publish-options", "pubsub#persist_items": "true", "pubsub#max_items": "9"}
            for name, value in wanted.items():
                SubElement(SubElement(options, f"{FORM}field", {"var": name}), f"{FORM}value").text = value
            assert (await other.ask("set", None, query)).get("type") == "result"
        await other.close()

    def occupants(self) -> list[str]:
        """Return the nicks that Ada sees in the room."""
        return [nick for room, nick in self._people[ADA].connection.occupants if room == self._room]

    def leaves_room(self, channel: XmppChannel) -> None:
        """Let the room let the assistant go."""
        client = channel._connection._client
        client.send_presence(pto=f"{self._room}/{self.nick}", ptype="unavailable")

    def writes_to(self, account: str) -> None:
        self._written_to = account

    @property
    def nick(self) -> str:
        """The assistant's name in the room."""
        return self._bot.partition("@")[0]

    @property
    def _bot(self) -> str:
        return self._jids[self._written_to]

    def identity(self, who: str) -> str:
        return f"xmpp:user:{self._jids[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        if group:
            return Address("xmpp", self._room, chat_type=ChatType.GROUP)
        return Address("xmpp", self._jids[who])

    def _stanza(self, body: str | None = None, *, group: bool = False) -> Element:
        to, kind = (self._room, "groupchat") if group else (self._bot, "chat")
        stanza = Element(f"{CLIENT}message", {"to": to, "type": kind, "id": new_id()})
        if body is not None:
            SubElement(stanza, f"{CLIENT}body").text = body
        return stanza

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
        person, nick = self._people[who], self._bot.partition("@")[0]
        if group:
            await until(lambda: (self._room, nick) in person.connection.occupants)
        if media is not None:
            self._files.append(media)
            url = f"{self._url}/{len(self._files) - 1}/file.png"
            file = self._stanza(url, group=group)
            SubElement(SubElement(file, f"{OOB}x"), f"{OOB}url").text = url
            await person.say(file)
        self._last = self._stanza(f"{nick}: {text}" if group and mention else text, group=group)
        return await person.say(self._last)

    async def says_again(self) -> None:
        assert self._last is not None
        await self._people[ADA].say(self._last)

    async def asks_for_receipt(self, text: str, who: str) -> str:
        """Let somebody write, and ask to be told that it arrived."""
        stanza = self._stanza(text)
        SubElement(stanza, f"{RECEIPTS}request")
        return await self._people[who].say(stanza)

    async def gives_receipt(self, id: str, who: str) -> None:
        """Let somebody tell that a message arrived."""
        stanza = self._stanza()
        SubElement(stanza, f"{RECEIPTS}received", {"id": id})
        await self._people[who].say(stanza)

    def receipts(self, who: str) -> list[str]:
        """Return the ids of the messages that the assistant told to have arrived."""
        found = [each.find(f"{RECEIPTS}received") for each in self._of_bot(who)]
        return [each.get("id", "") for each in found if each is not None]

    def asked_for_receipts(self) -> list[str]:
        """Return the texts of the assistant's messages that ask Ada for a receipt, in private and in the room."""
        heard = [*self._of_bot(ADA), *self._of_bot(ADA, group=True)]
        return [each.findtext(f"{CLIENT}body") or "" for each in heard if each.find(f"{RECEIPTS}request") is not None]

    async def edits(self, id: str, text: str) -> None:
        stanza = self._stanza(text)
        SubElement(stanza, REPLACE, {"id": id})
        await self._people[ADA].say(stanza)

    async def reacts(self, emoji: str) -> None:
        newest = next(each for each in reversed(self._of_bot(ADA)) if each.find(f"{CLIENT}body") is not None)
        stanza = self._stanza()
        reactions = SubElement(stanza, f"{REACTIONS}reactions", {"id": newest.get("id", "")})
        SubElement(reactions, f"{REACTIONS}reaction").text = emoji
        await self._people[ADA].say(stanza)

    def _of_bot(self, who: str, *, group: bool = False) -> list[Element]:
        source = f"{self._room}/{self._bot.partition('@')[0]}" if group else self._bot
        heard = self._people[who].heard
        return [each for each in heard if (each.get("from", "") if group else bare(each.get("from", ""))) == source]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        shown: dict[str, str] = {}
        ids: dict[str, str] = {}
        for each in self._of_bot(who, group=group):
            id, body = each.get("id", ""), each.findtext(f"{CLIENT}body")
            ids[stanza_id(each, self._room) or id] = id
            if (event := each.find(RETRACT)) is not None:
                shown.pop(ids[event.get("id", "")], None)
            elif (event := each.find(REPLACE)) is not None:
                assert event.get("id", "") in shown
                shown[event.get("id", "")] = body or ""
            elif body and each.find(f"{OOB}x") is None:
                shown[id] = body
        return list(shown.values())

    def reactions(self, id: str) -> list[str]:
        given = [each.find(f"{REACTIONS}reactions") for each in self._of_bot(ADA)]
        found = [each for each in given if each is not None and each.get("id") == id]
        return [emoji.text or "" for emoji in found[-1]] if found else []

    def uploads(self) -> list[bytes]:
        return self._server.uploads()

    def attempts(self) -> int:
        return sum(line.count(b"<body") for line in self._proxies["default"].lines)

    def fetches(self) -> int:
        return self._fetched

    def typing_seen(self) -> int:
        return sum(each.find(f"{STATES}composing") is not None for each in self._people[ADA].heard)

    def drafts(self) -> list[str]:
        raise AssertionError("it has no drafts")

    def trouble(self, *troubles: Trouble) -> None:
        self._proxies["default"].cut_after = lambda piece: b"<body" in piece

    async def removes(self) -> None:
        query = Element("{http://jabber.org/protocol/muc#admin}query")
        SubElement(query, f"{{{query.tag[1:].partition('}')[0]}}}item", {"affiliation": "outcast", "jid": self._bot})
        answer = await self._people[ADA].connection.ask("set", self._room, query)
        assert answer.get("type") == "result", tostring(answer)

    @property
    def proxy(self) -> XmppProxy:
        """What the assistant connects through."""
        return self._proxies["default"]

    def goes_deaf(self) -> None:
        self._proxies["default"].go_deaf()

    def revokes(self, account: str = "default") -> None:
        self._server.add(self._jids[account].partition("@")[0], "another password")
        self._proxies[account].cut()
