"""A real IRC server, and people on it who speak the protocol as it is."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from hub.core.ids import new_id
from integrations.channels.irc.protocol import IrcLine, parse
from tests.servers.ports import free_port

START_LIMIT_S = 20.0
LIMIT_S = 30.0
_CONFIGURATION = """\
[Global]
Name = irc.test
Info = For tests
Listen = 127.0.0.1
Ports = {port}
MotdPhrase = Hello
ServerUID = {uid}
ServerGID = {gid}
[Limits]
MaxConnectionsIP = 0
MaxJoins = 0
MaxNickLength = 20
MaxPenaltyTime = 0
[Options]
DNS = no
Ident = no
PAM = no
"""


class Ngircd:
    """Runs one ngircd in a process of its own."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ngircd-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        program = shutil.which("ngircd", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
        assert program is not None, "ngircd is not installed: script/system-package ngircd 'try the IRC channel'"
        self.port = free_port()
        configuration = self._folder / "ngircd.conf"
        configuration.write_text(_CONFIGURATION.format(port=self.port, uid=os.getuid(), gid=os.getgid()))
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen((program, "-n", "-f", str(configuration)), stdout=log, stderr=log)
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.02)
        raise AssertionError(f"ngircd did not start:\n{(self._folder / 'log').read_text()[-4000:]}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def person(self, nick: str | None = None, *channels: str) -> IrcPerson:
        """Connect somebody, under a nick that is free, and let them join channels."""
        person = IrcPerson(nick or free_nick())
        await person.connect(self.port)
        for each in channels:
            await person.join(each)
        return person


class IrcPerson:
    """Somebody with an IRC client; `heard` is what came, in order."""

    def __init__(self, nick: str) -> None:
        self.nick = nick
        self.heard: list[IrcLine] = []

    async def connect(self, port: int) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        self._reading = asyncio.create_task(self._read())
        self.write(f"NICK {self.nick}")
        self.write(f"USER {self.nick} 0 * :{self.nick}")
        await self.until("376", "422")

    def write(self, line: str) -> None:
        self._writer.write(f"{line}\r\n".encode())

    def say(self, target: str, text: str) -> None:
        self.write(f"PRIVMSG {target} :{text}")

    async def join(self, channel: str) -> None:
        self.write(f"JOIN {channel}")
        await self.until("366")

    async def settle(self) -> None:
        """Wait until the server has done what was written."""
        token = new_id()
        self.write(f"PING :{token}")
        async with asyncio.timeout(LIMIT_S):
            while not any(each.command == "PONG" and token in each.parameters for each in self.heard):  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    def said(self, nick: str, target: str | None = None) -> list[str]:
        """Return what somebody said to a channel, or to this person."""
        to = target or self.nick
        return [
            each.parameters[-1]
            for each in self.heard
            if (each.command, each.nick, each.parameter(0)) == ("PRIVMSG", nick, to)
        ]

    async def until(self, *commands: str) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not any(each.command in commands for each in self.heard):  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def close(self) -> None:
        self._reading.cancel()
        self._writer.close()
        await asyncio.wait({self._reading})

    async def _read(self) -> None:
        while raw := await self._reader.readline():
            line = parse(raw.decode(errors="replace"))
            if line.command == "PING":
                self.write(f"PONG :{line.parameter(0)}")
            self.heard.append(line)


def free_nick(prefix: str = "u") -> str:
    """Return a nick that nobody has."""
    return f"{prefix}{new_id()[-8:].lower()}"
