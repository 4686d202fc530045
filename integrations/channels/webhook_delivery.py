"""The route that a platform delivers to: nothing is read before it is known to be the platform's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import orjson
from aiohttp import web

from hub.core.errors import InvalidRequest, Unauthorized
from hub.core.surfaces import HttpCall, Open, Route

BODY_BYTES = 1_048_576

T = TypeVar("T")


def delivery_route(
    path: str,
    owner: str,
    is_genuine: Callable[[bytes, Mapping[str, str]], bool],
    take: Callable[[T], Awaitable[None]],
    *,
    read: Callable[[bytes], T] = orjson.loads,
    answer: Callable[[], web.StreamResponse] = web.Response,
) -> Route:
    """Return a route for POST; what it took is on disk when it answers 200.

    Args:
        is_genuine: Judges the raw body by its headers, by their names in lower case.
        take: Stores what was delivered; raises ValueError if it is nothing of the platform's, and a `HubError` to
            have it delivered again.
        read: Parses a genuine body; raises ValueError.
    """

    async def deliver(call: HttpCall) -> web.StreamResponse:
        body = bytes(call.body or b"")
        if not is_genuine(body, {name.lower(): value for name, value in call.request.headers.items()}):
            raise Unauthorized("the signature is missing, or was not made with the secret of the configuration")
        try:
            await take(read(body))
        except ValueError as error:
            raise InvalidRequest(f"this is not what {owner} delivers: {error}") from error
        return answer()

    return Route("POST", path, deliver, owner, Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES)
