"""Hosts and ports in URLs, and their check before dialling."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.security.addresses import Reach
from hub.security.egress_dial import Dial, EgressRefused, LookUp, judge_from_here

if TYPE_CHECKING:
    from yarl import URL

URL_LENGTH_LIMIT = 8_192
_PLACE = re.compile(r"(?:\[[^][/?#@]+\]|[^][/?#@:]+):[0-9]{1,5}")


class JudgedPlace(Struct, frozen=True):
    """A permitted host and port, with its addresses."""

    dial: Dial
    addresses: tuple[str, ...]
    port: int

    async def connect(self) -> socket.socket:
        """Return a socket connected to the first address that answers.

        Raises:
            OSError: No address answers.
        """
        loop, failed = asyncio.get_running_loop(), OSError("no address")
        for address in self.addresses:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            made = self.dial.make_socket((family, socket.SOCK_STREAM, 0, "", (address, self.port)))
            try:
                made.setblocking(False)
                await loop.sock_connect(made, (address, self.port))
            except OSError as error:
                made.close()
                failed = error
            except BaseException:
                made.close()
                raise
            else:
                return made
        raise failed


async def judge_place(
    place: str, look_up: LookUp, named: Collection[str] | None, *, apart: bool = False
) -> JudgedPlace:
    """Check `host:port`.

    Args:
        named: The private targets that the owner named: only those may be called then; None: only public ones.
        apart: Whether this machine itself is refused.

    Raises:
        InvalidRequest: It is not a host and a port.
        EgressRefused: It may not be called.
        OSError: It has no address.
    """
    url = parse_url(f"http://{place}/")
    if not _PLACE.fullmatch(place):  # with a path or a fragment, whoever judged the text read another host than a URL
        raise InvalidRequest(f"{place!r:.200} is not a host and a port")
    host, port = str(url.host), int(url.port or 0)
    refuse_odd_number(host)
    if named is not None and place_of(url) not in named:
        raise EgressRefused(host, "only the targets in network.allow_private are reached from here")
    dial = Dial(host, port, look_up, private=named is not None, apart=apart)
    addresses = [host] if is_literal(host) else [each["host"] for each in await dial.resolve(host, port)]
    for address in addresses:
        dial.check(address)
        if named is not None and judge_from_here(address).reach is Reach.PUBLIC:
            raise EgressRefused(host, "it is a public address, and only private ones are reached from here")
    return JudgedPlace(dial, tuple(addresses), port)


def place_of(url: URL) -> str:
    """Return `host:port`, as `network.allow_private` names it."""
    host = str(url.host)
    return f"[{host}]:{url.port}".lower() if ":" in host else f"{host}:{url.port}".lower()


def parse_url(text: Any) -> URL:
    """Return an http or https URL.

    Raises:
        InvalidRequest: It is none, names a user, or has characters that browsers and libraries read differently.
    """
    from yarl import URL

    if not isinstance(text, str) or not 0 < len(text) <= URL_LENGTH_LIMIT:
        raise InvalidRequest(f"a URL is a text of at most {URL_LENGTH_LIMIT} characters")
    if "\\" in text or any(ord(each) <= 0x20 or ord(each) == 0x7F for each in text):
        raise InvalidRequest("expected a URL without blanks, control characters and backslashes")
    try:
        url = URL(text)
        port = url.port
    except ValueError as error:
        raise InvalidRequest(f"this is not a URL: {error}") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise InvalidRequest("only http:// and https:// addresses with a host are fetched")
    if url.user is not None or url.password is not None:
        raise InvalidRequest("a URL with a user name or password in it is not fetched")
    if not port:
        raise InvalidRequest("a URL names a port from 1 to 65535, or none")
    return url.with_fragment(None)


def is_literal(host: str) -> bool:
    """Whether a host is an IP address in its usual form."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except (OSError, ValueError):
            continue
        return True
    return False


def refuse_odd_number(host: str) -> None:
    """Refuse a host that some libraries read as an address and others as a name: 127.1, 0x7f000001, 2130706433.

    Raises:
        EgressRefused: It is one.
    """
    last = host.rstrip(".").rpartition(".")[2].lower()
    if (last.isdigit() or last.startswith("0x")) and not is_literal(host):
        raise EgressRefused(host, "it is an address that is not written in its usual form")
