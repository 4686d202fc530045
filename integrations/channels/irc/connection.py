"""One connection to an IRC server: registration, the lines that come, and the pace of those that go."""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.ids import new_id
from hub.core.secret import Secret
from integrations.channels.irc.protocol import IrcLine, parse, safe
from integrations.channels.reconnecting import AccountRefused

LINE_LIMIT = 16 * 1024
NICK_TRIES = 8
BURST_LINES = 5
CLOSE_S = 1.0
TYPING_S = 3.0
"""So often at most a client may say that it is typing (ircv3.net/specs/client-tags/typing)."""
QUEUE_S = 30.0
"""A message that had to wait longer for its turn is tried later instead."""
_WANTED = {"server-time", "message-tags", "account-tag"}
_REFUSED = {"464": "the server's password is wrong", "465": "the server has banned us"}
_SASL_FAILED = {"902", "904", "905", "906", "908"}
_NICK_TAKEN = {"432", "433", "436", "437"}
_NO_CHANNEL = {"403", "405", "471", "473", "474", "475", "476", "477", "489"}

logger = logging.getLogger(__name__)


class IrcAccount(Struct, frozen=True):
    """An account as it is configured."""

    name: str
    host: str
    nick: str
    port: int
    tls: bool = True
    password: Secret | None = None
    sasl_user: str | None = None
    sasl_password: Secret | None = None
    channels: tuple[str, ...] = ()
    trust_nicks: bool = False
    lines_per_second: float = 1.0

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> IrcAccount:
        """Read a validated section."""
        keys = ("host", "nick", "tls", "password", "sasl_user", "sasl_password", "trust_nicks", "lines_per_second")
        stated = {key: config[key] for key in keys if key in config}
        port = config.get("port") or (6697 if config["tls"] else 6667)
        return cls(config["account"], port=port, channels=tuple(config["channels"]), **stated)


class IrcTiming(Struct, frozen=True):
    """Seconds: for connecting and registering, of silence before the server is asked, and for its answer then."""

    connect_s: float = 60.0
    silence_s: float = 120.0
    answer_s: float = 30.0


USUAL_TIMING = IrcTiming()


class IrcConnection:
    """A connection; `connect`, then `lines`."""

    def __init__(self, account: IrcAccount, clock: Clock, timing: IrcTiming) -> None:
        self._account = account
        self._clock = clock
        self._timing = timing
        self._turn = asyncio.Lock()
        self._free_at = 0.0
        self.nick = account.nick
        self.prefix = f"{account.nick}!~{'u' * 10}@{'h' * 63}"
        """As others see it; the longest one until the server shows it."""
        self.capabilities: set[str] = set()
        """Of those that we use: what the server has agreed to."""
        self.typing_denied = False
        """Whether the server takes the tag that says that somebody is typing from nobody."""
        self.joined: dict[str, set[str]] = {}
        """The channels, each with the nicks in it."""
        self.id = new_id()
        self._typed: dict[str, float] = {}
        """When each target was last told that we are typing."""

    async def connect(self) -> None:
        """Connect, and register; ends when the server has accepted us.

        Raises:
            AccountRefused: It does not.
            Unavailable: It cannot be reached, or does not answer in time.
        """
        account = self._account
        tls = await asyncio.to_thread(ssl.create_default_context) if account.tls else None
        try:
            async with asyncio.timeout(self._timing.connect_s):
                self._reader, self._writer = await asyncio.open_connection(
                    account.host, account.port, ssl=tls, limit=LINE_LIMIT
                )
                await self._register()
        except (OSError, TimeoutError, EOFError, ValueError) as error:
            raise Unavailable(f"{account.host} cannot be reached: {str(error) or type(error).__name__}") from error

    async def close(self) -> None:
        """Say goodbye, if that is possible, and close."""
        writer = getattr(self, "_writer", None)
        if writer is not None:
            if not writer.is_closing():
                writer.write(b"QUIT\r\n")
            writer.close()
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await writer.wait_closed()

    async def lines(self) -> AsyncIterator[IrcLine]:
        """Yield received lines; PINGs are answered, and a silent server is asked whether it is alive.

        Raises:
            Unavailable: The connection is at its end.
        """
        while True:
            try:
                line = await self._next()
            except (OSError, TimeoutError, EOFError, ValueError) as error:
                raise Unavailable(f"the connection ended: {str(error) or type(error).__name__}") from error
            if line.command == "ERROR":
                raise Unavailable(f"the server closed the connection: {line.parameter(0)[:200]}")
            self._notice(line)
            yield line

    def write(self, line: str) -> None:
        """Write a line at once."""
        self._writer.write(f"{safe(line)}\r\n".encode())

    def write_typing(self, target: str) -> None:
        """Say that we are typing, where the server takes that; clients show it for six seconds."""
        now = self._clock.monotonic()
        if "message-tags" not in self.capabilities or self.typing_denied:
            return
        self._typed = {each: at for each, at in self._typed.items() if now - at < TYPING_S}
        if target not in self._typed:
            self._typed[target] = now
            self.write(f"@+typing=active TAGMSG {target}")

    def wait_s(self) -> float:
        """Return how long the next line waits for its turn."""
        return max(0.0, self._free_at - self._clock.monotonic() - BURST_LINES / self._account.lines_per_second)

    async def write_in_turn(self, line: str) -> None:
        """Write a line as soon as the pace allows; lines of several writers take turns.

        Raises:
            OSError: The connection is at its end.
        """
        async with self._turn:
            await self._clock.sleep(self.wait_s())
            self._free_at = max(self._free_at, self._clock.monotonic()) + 1 / self._account.lines_per_second
            self._writer.write(f"{line}\r\n".encode())
            await self._writer.drain()

    async def _next(self) -> IrcLine:
        """Return the next line that is not a PING."""
        while True:
            try:
                async with asyncio.timeout(self._timing.silence_s):
                    raw = await self._reader.readuntil(b"\n")
            except TimeoutError:
                self.write("PING :alive")
                async with asyncio.timeout(self._timing.answer_s):
                    raw = await self._reader.readuntil(b"\n")
            line = parse(raw.decode(errors="replace"))
            if line.command != "PING":
                return line
            self.write(f"PONG :{line.parameter(0)}")

    async def _register(self) -> None:
        account, offered = self._account, set[str]()
        self.write("CAP LS 302")
        if account.password is not None:
            self.write(f"PASS :{account.password.reveal()}")
        self.write(f"NICK {account.nick}")
        self.write(f"USER {account.nick} 0 * :{account.nick}")
        tries = 0
        while True:
            line = await self._next()
            match line.command:
                case "CAP":
                    self._negotiate(line, offered)
                case "AUTHENTICATE":
                    self._authenticate()
                case "903":
                    self.write("CAP END")
                case "005":
                    self._support(line)
                case "001":
                    if account.sasl_password is not None and not offered & {"sasl"}:
                        raise AccountRefused("the server offers no login to services (SASL); remove sasl_password")
                    self.nick = line.parameter(0)
                case "376" | "422":
                    return
                case command if command in _NICK_TAKEN and tries < NICK_TRIES:
                    tries += 1
                    self.nick = f"{account.nick}{'_' * tries}" if tries < 4 else f"{account.nick[:5]}{new_id()[-4:]}"
                    self.write(f"NICK {self.nick}")
                case command if command in _SASL_FAILED:
                    raise AccountRefused(f"services refuse the login: {line.parameters[-1]}")
                case command if command in _REFUSED:
                    raise AccountRefused(f"{_REFUSED[command]}: {line.parameters[-1]}")
                case "ERROR":
                    raise OSError(line.parameter(0)[:200])

    def _negotiate(self, line: IrcLine, offered: set[str]) -> None:
        """Ask for those capabilities that the server has and we use."""
        kind, listed = line.parameter(1), line.parameters[-1].split()
        if kind == "LS":
            offered |= {each.partition("=")[0] for each in listed}
            if line.parameter(2) == "*":
                return
            sasl = {"sasl"} if self._account.sasl_password is not None else set()
            wanted = offered & (_WANTED | sasl)
            self.write(f"CAP REQ :{' '.join(sorted(wanted))}" if wanted else "CAP END")
            return
        if kind == "ACK":
            self.capabilities |= set(listed)
        if kind == "ACK" and "sasl" in listed:
            self.write("AUTHENTICATE PLAIN")
        elif kind in ("ACK", "NAK"):
            self.write("CAP END")

    def _support(self, line: IrcLine) -> None:
        """Read what the server says that it supports: `CLIENTTAGDENY` names tags, `*` for all but those after a `-`."""
        for each in line.parameters:
            name, _, value = each.partition("=")
            if name == "CLIENTTAGDENY":
                denied = set(value.split(","))
                self.typing_denied = "typing" in denied or ("*" in denied and "-typing" not in denied)

    def _authenticate(self) -> None:
        account = self._account
        password = account.sasl_password.reveal() if account.sasl_password is not None else ""
        user = account.sasl_user or account.nick
        told = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
        for start in range(0, len(told) + 1, 400):
            self.write(f"AUTHENTICATE {told[start : start + 400] or '+'}")

    def _count(self, line: IrcLine) -> None:
        """Keep count of who is in the channels."""
        room = self.joined.get(line.parameter(2 if line.command == "353" else 0))
        match line.command:
            case "353" if room is not None:
                room |= {each.lstrip("~&@%+") for each in line.parameters[-1].split()}
            case "JOIN" if room is not None:
                room.add(line.nick)
            case "PART" | "KICK" if room is not None:
                room.discard(line.parameter(1) if line.command == "KICK" else line.nick)
            case "QUIT" | "NICK":
                for nicks in self.joined.values():
                    if line.nick in nicks:
                        nicks.discard(line.nick)
                        nicks.update([line.parameter(0)] if line.command == "NICK" else ())

    def _notice(self, line: IrcLine) -> None:
        """Remember what a line reveals about ourselves."""
        own = line.nick == self.nick
        self._count(line)
        if own and "!" in line.source:
            self.prefix = line.source
        if line.command == "CAP" and line.parameter(1) == "DEL":
            self.capabilities -= set(line.parameters[-1].split())
        if line.command == "NICK" and own:
            self.nick = line.parameter(0)
        elif line.command == "JOIN" and own:
            self.joined[line.parameter(0)] = set()
        elif (line.command == "PART" and own) or (line.command == "KICK" and line.parameter(1) == self.nick):
            self.joined.pop(line.parameter(0), None)
        elif line.command in _NO_CHANNEL:
            logger.warning("irc: %s cannot be joined: %s", line.parameter(1), line.parameters[-1])
