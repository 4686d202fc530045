"""The network of a sandbox that may reach some hosts: an HTTP proxy of the hub on the sandbox's own loopback.

A sandbox has no other network. Programs find the proxy by their environment (`https_proxy`); it leads to the hosts of a
list, and each connection is judged as the hub's own: no name leads to a private address.
https://www.rfc-editor.org/rfc/rfc9110#name-connect
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hub.core.errors import HubError, Unavailable
from hub.sandbox.server_name import NamedTunnel
from hub.security.egress import Egress
from hub.security.tunnel import tunnel

PORT = 3128
CONNECTIONS_LIMIT = 64
HEAD_LIMIT_S = 30.0
LISTEN_LIMIT_S = 20.0
PLAIN_PORT = 80
PLAIN_PORTS = frozenset({PLAIN_PORT, 443})
"""Those of a host that is named without a port."""
ENVIRONMENT: Mapping[str, str] = dict.fromkeys(
    ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), f"http://127.0.0.1:{PORT}"
)
HOST = re.compile(r"^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?$")
EVERYWHERE, NAMED_PRIVATE = "*", "*private"
"""In place of a list, and not from a configuration: every public host at any port, or all in network.allow_private."""
_WHOLE = {EVERYWHERE: False, NAMED_PRIVATE: True}
_INSIDE = Path(__file__).with_name("listen_inside.py")
_LINE = re.compile(rb"[!-~]+ [!-~]+ HTTP/1\.[01]")
_HEADER = re.compile(rb"[!#-'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*")
"""Nothing that a server may take for a further line, which could name another of its sites."""
_HOPS = (b"connection:", b"proxy-", b"keep-alive:", b"host:")


def allowed_hosts(settings: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the hosts that an engine's settings allow; None without such a list."""
    network = settings.get("network")
    return [*network["allow"]] if isinstance(network, Mapping) else None


def reaches_out(settings: Mapping[str, Any]) -> bool:
    """Whether programs in a sandbox with these settings have network access."""
    return bool(settings.get("network", "none") != "none")


def allows(allow: Sequence[str], host: str, port: int) -> bool:
    """Whether a list allows a host: `example.org`, `example.org:8443`, or `*.example.org` for all subdomains."""
    if allow[0] in _WHOLE:
        return True
    for entry in allow:
        name, _, stated = entry.lower().partition(":")
        fits = host.endswith(name[1:]) if name.startswith("*.") else host == name
        if fits and (port == int(stated) if stated else port in PLAIN_PORTS):
            return True
    return False


class SandboxProxy:
    """The proxy of one sandbox.

    Args:
        egress: Judges and connects.
        allow: The hosts.
    """

    def __init__(self, egress: Egress, allow: Sequence[str]) -> None:
        self._egress, self._allow = egress, allow
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def open(self, process: int) -> None:
        """Listen on the loopback of a process's network namespace.

        Raises:
            Unavailable: The hub may not: it is neither root nor the creator of the network.
        """
        ours, theirs = socket.socketpair()
        with ours, theirs:
            number = str(theirs.fileno())
            helper = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_INSIDE), str(process), number, str(PORT)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=[theirs.fileno()],
            )
            try:
                async with asyncio.timeout(LISTEN_LIMIT_S):
                    _, said = await helper.communicate()
            finally:
                if helper.returncode is None:
                    helper.kill()
                    await helper.wait()
            if helper.returncode:
                why = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
                raise Unavailable(
                    f"the sandbox's network cannot be opened to network.allow: {why}. See docs/sandbox.md"
                )
            _, descriptors, *_ = socket.recv_fds(ours, 1, 1)
        self._server = await asyncio.start_server(self._accept, sock=socket.socket(fileno=descriptors[0]))

    async def close(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= CONNECTIONS_LIMIT:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer), name="connection of a sandbox")
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
                async with asyncio.timeout(HEAD_LIMIT_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                await self._tunnel(head, reader, writer)
        finally:
            writer.transport.abort()

    async def _tunnel(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            host, port, first = read_head(head)
        except ValueError:
            return await _refuse(writer, 400, "expected CONNECT host:port, or a request for an http:// address")
        place = f"{host}:{port}"
        if not allows(self._allow, host, port):
            return await _refuse(writer, 403, f"{place} is not in network.allow of this sandbox")
        if first is None and port == PLAIN_PORT and self._allow[0] not in _WHOLE:
            # In a tunnel nothing tells which of the server's hosts a plain request is for.
            return await _refuse(writer, 403, f"{place} takes plain requests, which need no tunnel")
        try:
            dialled = await self._egress.connect(place, private=_WHOLE.get(self._allow[0]))
        except (HubError, OSError, TimeoutError) as error:
            return await _refuse(writer, 502, f"{place} cannot be reached: {error}")
        if first is None:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            named = NamedTunnel(reader, lambda name: name == host or allows(self._allow, name, port))
            return await tunnel(named, writer, dialled)
        return await tunnel(reader, writer, dialled, first)


def read_head(head: bytes) -> tuple[str, int, bytes | None]:
    """Return the target of a request as host and port, and the bytes to send first; None for a tunnel.

    Raises:
        ValueError: It is not a request that a proxy takes.
    """
    line, _, rest = head.partition(b"\r\n")
    headers = [each for each in rest.split(b"\r\n") if each]
    if not _LINE.fullmatch(line) or not all(_HEADER.fullmatch(each) for each in headers):
        raise ValueError(line)
    method, target, _ = line.decode("ascii").split(" ")
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        return host.lower().rstrip("."), int(port), None
    parts = urlsplit(target)
    if parts.scheme != "http" or not parts.hostname or "@" in parts.netloc:
        raise ValueError(target)
    path = target[len("http://") + len(parts.netloc) :] or "/"
    kept = [each for each in headers if not each.lower().startswith(_HOPS)]
    lines = [f"{method} {path} HTTP/1.1".encode(), f"Host: {parts.netloc}".encode(), b"Connection: close", *kept]
    return parts.hostname.rstrip("."), parts.port or PLAIN_PORT, b"\r\n".join(lines) + b"\r\n\r\n"


async def _refuse(writer: asyncio.StreamWriter, status: int, why: str) -> None:
    body = f"{why}\n".encode()
    writer.write(
        f"HTTP/1.1 {status} Refused\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    )
    await writer.drain()
    writer.write_eof()
