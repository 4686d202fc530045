"""Dialling of the egress client: resolves names, and checks each address at the moment of connecting.

A resolver alone is not enough: the HTTP library does not ask it about addresses written in numbers. So an address is
judged when a name gives it, when a socket is made for it, and once more at the connect itself.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from hub.core.errors import Forbidden
from hub.core.executors import EGRESS
from hub.security.addresses import OWN_NETWORK, Judgement, Reach, is_in_own_network, judge

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

ADDRESSES_LIMIT = 16
"""Addresses of one name that are looked at; a longer answer is refused."""

LookUp = Callable[[str, int], Awaitable[list[str]]]
"""Gives the addresses of a host name; raises `OSError` when it has none."""


class EgressRefused(Forbidden):
    """The hub does not call this host on behalf of others; the message names it and says why."""

    def __init__(self, host: str, why: str, hint: str = "") -> None:
        told = f"{host} was not called: {why}"
        super().__init__(f"{told}; {hint}" if hint else told, details={"host": host, "reason": why})


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses the system gives for a host name.

    Raises:
        OSError: It has none.
    """
    infos = await EGRESS.run(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(_numeric(family, address) for family, *_, address in infos))


def judge_from_here(address: str) -> Judgement:
    """Return the class of an IP address as seen from this machine, whose home may have public ones."""
    judgement = judge(address)
    own = source_of(address) if judgement.reach is Reach.PUBLIC else None
    return OWN_NETWORK if own is not None and is_in_own_network(address, own) else judgement


def is_of_machine(address: str) -> bool:
    """Whether an IP address is one of this machine's own, or of its link alone."""
    found = ip_address(address.partition("%")[0])
    return found.is_loopback or found.is_link_local or source_of(address) == address


def source_of(address: str) -> str | None:
    """Return the source address for a destination; None without a route. Nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return None


class Dial:
    """One connection to one host: resolver, socket factory, and their refusals.

    Args:
        host: The host as the URL names it, without brackets.
        port: The port of the URL.
        private: Whether its owner named `host:port` as a private target.
        public: Whether it may have a public address.
        look_up: Asks for the addresses of a name.
        apart: Whether this machine itself, and its link, are refused whoever named them: other homes are here.
    """

    def __init__(
        self, host: str, port: int, look_up: LookUp, *, private: bool, public: bool = True, apart: bool = False
    ) -> None:
        self._host = host
        self._port = port
        self._look_up = look_up
        self._private, self._public, self._apart = private, public, apart
        self.refused: EgressRefused | None = None

    def check(self, address: str) -> None:
        """Refuse an address that this host may not resolve to.

        Raises:
            EgressRefused: It may not be called.
        """
        judgement = judge_from_here(address)
        if self._apart and judgement.reach is not Reach.NEVER and is_of_machine(address):
            why = f"{address} is this machine itself or its link, and a worker carries other homes too"
            self.refused = EgressRefused(self._host, why)
            raise self.refused
        if judgement.reach is Reach.PUBLIC and not self._public:
            why = f"only a certificate in the network of the home may be left unverified, and {address} is not there"
            self.refused = EgressRefused(self._host, why, "leave verify_ssl out")
            raise self.refused
        if judgement.reach is Reach.PUBLIC or (judgement.reach is Reach.PRIVATE and self._private):
            return
        where = "it is" if address == self._host else f"its address {address} is"
        hint = ""
        if judgement.reach is Reach.PRIVATE:
            shown = f"[{self._host}]" if ":" in self._host else self._host
            hint = f"the owner can allow it with network: allow_private: ['{shown}:{self._port}']"
        self.refused = EgressRefused(self._host, f"{where} {judgement.kind}", hint)
        raise self.refused

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list[ResolveResult]:
        """Resolve the host for the HTTP library; if any address is refused, none is returned."""
        found = await self._look_up(host, port)
        if not found:
            raise OSError(f"{host} has no address")
        if len(found) > ADDRESSES_LIMIT:
            self.refused = EgressRefused(self._host, f"its name has more than {ADDRESSES_LIMIT} addresses")
            raise self.refused
        for address in found:
            self.check(address)
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": 0,
                "flags": socket.AI_NUMERICHOST,
            }
            for address in found
        ]

    async def close(self) -> None:
        """Do nothing: the resolver holds no resources."""

    def make_socket(self, info: tuple[Any, ...]) -> socket.socket:
        """Make the socket for an address that the HTTP library is about to dial."""
        family, kind, protocol, _, address = info
        self._judge_dialled(address)
        return _JudgedSocket(self._judge_dialled, family, kind, protocol)

    def _judge_dialled(self, address: Any) -> None:
        if not isinstance(address, tuple) or address[1] != self._port:
            raise PermissionError(f"{address!r} is not the requested address")
        try:
            self.check(str(address[0]))
        except EgressRefused as error:  # the library knows how to end a dial that the system refuses
            raise PermissionError(error.message) from error


class _JudgedSocket(socket.socket):
    """A socket that checks the address it connects to."""

    def __init__(self, judge_dialled: Callable[[Any], None], family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._judge_dialled = judge_dialled

    def connect(self, address: Any) -> None:
        """Connect to an address that may be called."""
        self._judge_dialled(address)
        super().connect(address)

    def connect_ex(self, address: Any) -> int:
        """Connect to an address that may be called; return an error number."""
        self._judge_dialled(address)
        return super().connect_ex(address)


def _numeric(family: int, address: tuple[Any, ...]) -> str:
    """Return the address with its zone, when it has one."""
    text = str(address[0])
    if family == socket.AF_INET6 and len(address) > 3 and address[3] and "%" not in text:
        return f"{text}%{address[3]}"
    return text
