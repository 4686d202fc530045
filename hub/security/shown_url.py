"""The judgement of a URL that the hub does not fetch itself, but gives to a browser or a device to open."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from hub.security.egress import EgressFailed, may_be_private
from hub.security.egress_dial import Dial, LookUp, look_up as look_up_by_system
from hub.security.egress_place import is_literal, parse_url, refuse_odd_number

LOOK_UP_LIMIT_S = 10.0


async def judge_shown_url(url: str, allow_private: Collection[str], look_up: LookUp = look_up_by_system) -> str:
    """Return a URL without its fragment, when the hub would fetch it too.

    Args:
        allow_private: The private targets the owner named, as `host:port`.
        look_up: Gives the addresses of a host name.

    Raises:
        InvalidRequest: The URL cannot be.
        EgressRefused: The host may not be called.
        EgressFailed: It has no address.
    """
    target = parse_url(url)
    host, port = str(target.host), int(target.port or 0)
    refuse_odd_number(host)
    dial = Dial(host, port, look_up, private=may_be_private(target, target, allow_private))
    try:
        async with asyncio.timeout(LOOK_UP_LIMIT_S):
            addresses = [host] if is_literal(host) else [each["host"] for each in await dial.resolve(host, port)]
    except (OSError, TimeoutError) as error:
        raise EgressFailed(host, "it has no address") from error
    for address in addresses:
        dial.check(address)
    return str(target)
