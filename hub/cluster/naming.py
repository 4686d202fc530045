"""Which home a request names: by its host, its path, or its token. Pure functions.

A home has host names of its own, and pages only there. On a host that homes share (the domain itself, the machine's
address), programs name it by `/homes/NAME` before the path or by a token, and no cookie goes in or out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import Struct

from hub.core.errors import Forbidden, HubError, InvalidRequest
from hub.gateway.access.auth import KEY_HEADER, offered_token
from hub.gateway.access.hosts import LOOPBACK_NAMES, split_host
from hub.security.credentials import home_named_by

HOME_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""A label of a host name."""
_TARGET = re.compile(r"/[!\"$-~]*")
"""Printable ASCII, without `#`."""
_PREFIX = re.compile(r"/homes/([a-z0-9-]{1,63})(?=[/?]|$)")


class Misdirected(HubError):
    """The request names a host that no home here has."""

    code = "MISDIRECTED"
    http_status = 421


class HomeNames(Struct, frozen=True):
    """The host names of all homes, lower case.

    Attributes:
        domains: Each home is `NAME.DOMAIN` in each of them; the domain itself is shared by all.
        hosts: The homes of further host names.
    """

    domains: frozenset[str] = frozenset()
    hosts: Mapping[str, str] = {}


class Destination(Struct, frozen=True):
    """What a request names.

    Attributes:
        home: The home; None when it names none, on a shared host.
        target: Path and query as the home's hub is asked for them.
        prefix: What was taken off the path.
        shared: Whether the host is shared by homes.
    """

    home: str | None
    target: str
    prefix: str = ""
    shared: bool = False


def destination(request: web.BaseRequest, names: HomeNames, own_address: str) -> Destination:
    """Return what a request names.

    Args:
        request: Only its first line and headers are looked at.
        names: The host names of the homes.
        own_address: At which the connection was accepted.

    Raises:
        InvalidRequest: It names a host twice or not at all, or its target is no path.
        Misdirected: No home has this host name.
        Forbidden: It names two homes.
    """
    host, target = _host_and_target(request)
    tokens = {home for each in _tokens(request.headers) if (home := home_named_by(each)) is not None}
    own = _home_of_host(host, names)
    if own is not None:
        return Destination(_one_of({own, *tokens}), target)
    if host not in names.domains and host not in LOOPBACK_NAMES and host != own_address:
        raise Misdirected(f"no home here has the name {host[:80]!r}", details={"reason": "host"})
    prefix = _PREFIX.match(target)
    if prefix is None:
        return Destination(_one_of(tokens), target, shared=True)
    rest = target[prefix.end() :]
    return Destination(
        _one_of({prefix[1], *tokens}), rest if rest.startswith("/") else f"/{rest}", prefix[0], shared=True
    )


def _host_and_target(request: web.BaseRequest) -> tuple[str, str]:
    given = request.headers.getall("Host", [])
    host = split_host(given[0]) if len(given) == 1 else None
    if host is None:
        raise InvalidRequest("a request needs one Host header, with the name of a host")
    target = request._message.path
    if not target.startswith("/"):
        target = _path_of(target, host)
    if not _TARGET.fullmatch(target):
        raise InvalidRequest("the target of the request is not a path")
    return host[0], target


def _path_of(target: str, host: tuple[str, int | None]) -> str:
    """Return the path of a target that is a whole address."""
    try:
        named = urlsplit(target)
    except ValueError:
        named = urlsplit("")
    if named.scheme not in ("http", "https"):
        raise InvalidRequest("the target of the request is not a path")
    if split_host(named.netloc) != host:
        raise InvalidRequest("the request names one host in its first line and another in its Host header")
    return target[len(named.scheme) + 3 + len(named.netloc) :] or "/"


def _home_of_host(host: str, names: HomeNames) -> str | None:
    if (home := names.hosts.get(host)) is not None:
        return home
    label, _, domain = host.partition(".")
    return label if domain in names.domains and HOME_NAME.fullmatch(label) else None


def _tokens(headers: Mapping[str, str]) -> tuple[str, ...]:
    scheme, _, bearer = headers.get("Authorization", "").partition(" ")
    return (
        bearer.strip() if scheme.lower() == "bearer" else "",
        headers.get(KEY_HEADER, "").strip(),
        offered_token(headers.get("Sec-WebSocket-Protocol", "")),
    )


def _one_of(homes: set[str]) -> str | None:
    if len(homes) > 1:
        raise Forbidden("the request names two homes, one of them by its token", details={"reason": "home"})
    return next(iter(homes), None)
