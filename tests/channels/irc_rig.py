"""IRC for the test-kit: a real ngircd, with people who are connected to it, and proxies before it for the assistant."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.messaging.contract import Address, Channel, ChatType
from integrations.channels.irc.channel import IrcChannel
from integrations.channels.irc.connection import IrcAccount, IrcTiming
from integrations.channels.irc.protocol import fold, parse
from tests.channels.kit import ADA, EVE, Can, Named, Rig, Trouble
from tests.servers import shared
from tests.servers.ngircd import IrcPerson, free_nick
from tests.servers.tcp_proxy import TcpProxy
from tests.until import until

TIMING = IrcTiming(connect_s=20.0, silence_s=20.0, answer_s=20.0)


class IrcRig(Rig):
    """A nick for each account, and one channel."""

    name = "irc"
    named = frozenset({Named.HEARD, Named.LISTED})
    can = frozenset({Can.GROUPS, Can.MALFORMED, Can.TWO_ACCOUNTS})
    troubles = frozenset({Trouble.REFUSED_FOR_NOW, Trouble.ANSWER_LOST, Trouble.FORBIDDEN, Trouble.REMOVED})

    async def start(self) -> None:
        server = shared.ngircd()
        self.room_name = self._room = f"#{free_nick('room')}"
        self._nicks = {each: free_nick("bot") for each in ("default", "second")}
        self._people: dict[str, IrcPerson] = {who: await server.person(None, self._room) for who in (ADA, EVE)}
        self._proxies = {each: await TcpProxy(server.port).__aenter__() for each in self._nicks}
        for proxy in self._proxies.values():
            proxy.answer = partial(self._answer, proxy)
        self.writes_to("default")
        self._refusals: list[str] = []
        self._refused: set[int] = set()

    async def stop(self) -> None:
        for proxy in self._proxies.values():
            await proxy.__aexit__(None, None, None)
        for person in self._people.values():
            await person.close()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        port = self._proxies[account].port
        nick = self._nicks[account]
        config = IrcAccount(account, "127.0.0.1", nick, port, tls=False, channels=(self._room,), trust_nicks=True)
        return IrcChannel(config, clock, TIMING)

    def section(self, account: str = "default") -> dict[str, Any]:
        where = {"host": "127.0.0.1", "port": self._proxies[account].port, "tls": False}
        return {
            **where,
            "account": account,
            "nick": self._nicks[account],
            "channels": [self._room],
            "trust_nicks": True,
        }

    def writes_to(self, account: str) -> None:
        self._written_to, self._lines = account, self._proxies[account].lines

    def identity(self, who: str) -> str:
        joined = next(each for each in self._people[who].heard if each.command == "JOIN")
        return f"irc:nick:{fold(joined.source)}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        kind = ChatType.GROUP if group else ChatType.DIRECT
        return Address("irc", self._target(who, group), chat_type=kind)

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
        person, bot = self._people[who], self._nicks[self._written_to]
        await until(lambda: any((each.command, each.nick) == ("JOIN", bot) for each in person.heard))
        person.say(self._room if group else bot, f"{bot}: {text}" if group and mention else text)
        await person.settle()
        return ""

    async def says_in_disorder(self, *texts: str) -> None:
        for text in texts:
            await self.says(text)

    async def says_again(self) -> None:
        """Do nothing: IRC says nothing twice."""

    async def edits(self, id: str, text: str) -> None:
        raise AssertionError("IRC has no edits")

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        """Return what was heard; lines that were written one behind the other are one message."""
        target = self._target(who, group)
        heard = self._people[who].said(self._nicks[self._written_to], self._room if group else None)
        messages: list[list[str]] = [[]]
        passed = [line for at, line in enumerate(self._lines) if at not in self._refused]
        for each in map(parse, (line.decode() for line in passed)):
            if each.command in ("PING", "NICK"):  # the last may come on another connection
                messages.append([])
            elif (each.command, each.parameter(0)) == ("PRIVMSG", target) and each.parameters[-1] in heard:
                messages[-1].append(each.parameters[-1])
        return ["\n".join(each) for each in messages if each]

    def reactions(self, id: str) -> list[str]:
        return []

    def uploads(self) -> list[bytes]:
        return []

    def attempts(self) -> int:
        return sum(line.startswith(b"PRIVMSG") for line in self._lines)

    def fetches(self) -> int:
        return 0

    def typing_seen(self) -> int:
        """Return how often it was told; the proxy has the capability for it, which ngircd lacks."""
        return sum(line.startswith(b"@+typing=active TAGMSG ") for line in self._lines)

    def drafts(self) -> list[str]:
        raise AssertionError("it has no drafts")

    def trouble(self, *troubles: Trouble) -> None:
        proxy = self._proxies["default"]
        for each in troubles:
            if each is Trouble.ANSWER_LOST:
                proxy.cut_after = lambda line: line.startswith(b"PRIVMSG")
            else:
                self._refusals.append("404" if each is Trouble.FORBIDDEN else "439")

    async def removes(self) -> None:
        bot = self._nicks[self._written_to]
        for line in (f"MODE {self._room} +b {bot}!*@*", f"KICK {self._room} {bot}"):
            self._people[ADA].write(line)
        await self._people[ADA].settle()

    def goes_deaf(self) -> None:
        self._proxies["default"].go_deaf()

    def garbles(self) -> None:
        self._proxies["default"].inject(b"\xff\xfe :\x01\r\n:a!b@c PRIVMSG\r\n")

    def revokes(self, account: str = "default") -> None:
        self._proxies[account].greeting = b":irc.test 465 * :You are banned\r\n"
        self._proxies[account].cut()

    def _target(self, who: str, group: bool) -> str:
        return self._room if group else self._people[who].nick

    def _answer(self, proxy: TcpProxy, line: bytes) -> bytes | None:
        said = parse(line.decode())
        if said.command == "TAGMSG":
            return b""
        if (said.command, said.parameter(0)) == ("CAP", "LS"):
            proxy.inject(b":irc.test CAP * LS * :message-tags\r\n")  # the last part is ngircd's
        if said.parameters == ("REQ", "message-tags"):
            return b":irc.test CAP * ACK :message-tags\r\n"
        if said.command != "PRIVMSG":
            return None
        if not self._refusals:
            return None
        self._refused.add(len(self._lines) - 1)
        return f":irc.test {self._refusals.pop(0)} bot {said.parameter(0)} :Cannot send\r\n".encode()
