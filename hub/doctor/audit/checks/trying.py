"""The deep checks: each listener is tried, from this machine, as somebody without a credential would."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping

from msgspec import Struct

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.listening import Listener
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot
from hub.security.unverified_tls import unverified_tls

ANSWER_LIMIT_S = 3.0
EVIL = "homarus-audit.invalid"
"""A name that is never anybody's (RFC 2606)."""
_RPC = "/api/rpc"
_UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "aG9tYXJ1cy1hdWRpdC0wMA==",
}


class _Try(Struct, frozen=True):
    """A request to a listener.

    Attributes:
        tls: Whether it is made over TLS; None as the listener speaks.
        host: The Host it names, when not the address.
    """

    method: str = "GET"
    path: str = "/"
    body: bytes | None = None
    headers: Mapping[str, str] = {}
    host: str = ""
    tls: bool | None = None


def status_of(listener: Listener, request: _Try) -> int | None:
    """Return the HTTP status that a listener answers a request with; None when it answers none."""
    tls = listener.tls if request.tls is None else request.tls
    address = listener.reached_at
    if tls:
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            address, listener.port, timeout=ANSWER_LIMIT_S, context=unverified_tls()
        )
    else:
        connection = http.client.HTTPConnection(address, listener.port, timeout=ANSWER_LIMIT_S)
    headers = {**request.headers, **({"Host": request.host} if request.host else {})}
    try:
        connection.request(request.method, request.path, request.body, headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _gateways(context: AuditContext) -> Iterator[Listener]:
    yield from () if context.live is None else (each for each in context.live.listeners if each.is_gateway)


def _lets_in(context: AuditContext) -> Iterator[Spot]:
    asked = _Try("POST", _RPC, b'{"method": "status", "params": {}}', {"Content-Type": "application/json"})
    for each in _gateways(context):
        if status_of(each, asked) == 200:
            yield Spot(phrase("The hub answers at {address} without a sign-in", address=str(each)), file=str(each))


def _plain(context: AuditContext) -> Iterator[Spot]:
    for each in _gateways(context):
        if not each.local and status_of(each, _Try(path="/healthz", tls=False)) == 200:
            what = phrase("The hub answers at {address} unencrypted", address=f"{each.reached_at}:{each.port}")
            yield Spot(what, file=str(each), command="homarus tls")


def _foreign_pages(context: AuditContext) -> Iterator[Spot]:
    origin = {"Origin": f"https://{EVIL}"}
    for each in _gateways(context):
        if status_of(each, _Try(path="/ws", headers=_UPGRADE | origin)) == 101:
            what = phrase("A page of anybody can connect to the hub at {address}", address=str(each))
            yield Spot(what, file=str(each))


def _foreign_names(context: AuditContext) -> Iterator[Spot]:
    for each in _gateways(context):
        if status_of(each, _Try(path="/healthz", host=EVIL)) == 200:
            what = phrase("The hub answers at {address} to any name", address=str(each))
            yield Spot(what, file=str(each))


def _others(context: AuditContext) -> Iterator[Spot]:
    for each in () if context.live is None else context.live.listeners:
        if each.is_gateway or each.local:
            continue
        statuses = (status_of(each, _Try(tls=tls)) for tls in (False, True))
        if any(status == 200 for status in statuses):
            what = phrase("Something else of the hub shows a page to everybody at {address}", address=str(each))
            yield Spot(what, file=str(each))


CHECKS = (
    AuditCheck(
        "tried.lets_in",
        AuditSeverity.CRITICAL,
        phrase("Whether the hub answers without a sign-in"),
        phrase("Whoever reaches that address may do what you may."),
        phrase("Set http.auth.mode to token, restart the hub, and look again."),
        _lets_in,
        deep=True,
    ),
    AuditCheck(
        "tried.plain",
        AuditSeverity.WARNING,
        phrase("Whether the hub answers unencrypted"),
        phrase("Whoever shares the network can read along, take over a sign-in, and then do all that you may."),
        phrase("Make a certificate, or listen on 127.0.0.1 behind a reverse proxy with TLS."),
        _plain,
        deep=True,
    ),
    AuditCheck(
        "tried.foreign_pages",
        AuditSeverity.CRITICAL,
        phrase("Whether pages of others can connect"),
        phrase("A page that somebody in this home opens can talk to the hub in their name."),
        phrase("See what stands between browser and hub, and let it pass on the header Origin as it is."),
        _foreign_pages,
        deep=True,
    ),
    AuditCheck(
        "tried.foreign_names",
        AuditSeverity.CRITICAL,
        phrase("Whether the hub answers to any name"),
        phrase("A page can give your hub's address a name of its own, and then read what the hub shows."),
        phrase("See what stands between browser and hub, and let it pass on the header Host as it is."),
        _foreign_names,
        deep=True,
    ),
    AuditCheck(
        "tried.others",
        AuditSeverity.WARNING,
        phrase("Whether anything else answers everybody"),
        phrase("What it shows, and what it lets one do, nobody has to sign in for."),
        phrase("Find out which integration listens there, and have it listen on 127.0.0.1 or disable it."),
        _others,
        deep=True,
    ),
)
