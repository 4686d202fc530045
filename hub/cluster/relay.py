"""What one worker tells another about a request that it passes on: the home, the client, and proof of the secret."""

from __future__ import annotations

import hmac
from hashlib import sha256

from aiohttp import web
from msgspec import Struct

from hub.core.errors import Forbidden
from hub.core.secret import Secret

HEADER = "X-Homarus-Relay"
MOVED = "X-Homarus-Moved"
"""The answer of a worker to another one, when the home is not here any more and nothing was done."""


class Client(Struct, frozen=True):
    """Where a request came from.

    Attributes:
        address: Its IP address, after trusted proxies were taken into account.
        scheme: `http` or `https`, as the client used.
    """

    address: str
    scheme: str


class Relayed(Struct, frozen=True):
    """What another worker says about a request."""

    home: str
    client: Client


def signed(secret: Secret, method: str, host: str, target: str, relayed: Relayed) -> str:
    """Return the header that says whose a request is; it holds for this request alone, and not the secret."""
    told = f"{relayed.home} {relayed.client.address} {relayed.client.scheme}"
    return f"{told} {_signature(secret, method, host, target, told)}"


def read(secret: Secret, request: web.BaseRequest) -> Relayed | None:
    """Return what another worker says about a request; None for a request of a client.

    Raises:
        Forbidden: It claims to be from another worker, which does not have our secret.
    """
    given = request.headers.getall(HEADER, [])
    if not given:
        return None
    told, _, signature = given[0].rpartition(" ")
    expected = _signature(secret, request.method, request.headers.get("Host", ""), request._message.path, told)
    if len(given) > 1 or not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace")):
        raise Forbidden("only another worker of these homes may say whose request this is")
    home, address, scheme = told.split(" ")
    return Relayed(home, Client(address, scheme))


def _signature(secret: Secret, method: str, host: str, target: str, told: str) -> str:
    text = "\n".join(("homarus relay", method, host, target, told))
    return hmac.new(secret.reveal().encode(), text.encode("utf-8", "surrogatepass"), sha256).hexdigest()
