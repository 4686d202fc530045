"""`homarus browser attach`: passes messages between a Chrome of this machine and a hub."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from hub.core.errors import Unavailable
from integrations.tools.browser.chromium import endpoint

HEARTBEAT_S = 20.0
FAILED = (OSError, ValueError, KeyError, aiohttp.ClientError)


Way = tuple[str, str | None, dict[str, Any], Path | None]
"""To the hub: an address, a token, further options, and the Unix socket where there is one."""


async def attach(way: Way, chrome: str, say: Callable[[str], None]) -> None:
    """Attach it again after each use, until this is cancelled.

    Raises:
        Unavailable: The hub or the Chrome cannot be reached, or the hub refuses.
    """
    url, token, options, path = way
    connector = aiohttp.UnixConnector(str(path)) if path is not None else None
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        aiohttp.ClientSession(connector=connector, trust_env=False) as hub_session,
        aiohttp.ClientSession(trust_env=False) as session,
    ):
        while True:
            await _endpoint(chrome)
            try:
                hub = await hub_session.ws_connect(
                    url, headers=headers, heartbeat=HEARTBEAT_S, max_msg_size=0, **options
                )
            except FAILED as error:
                raise Unavailable(f"the hub refuses it: {error}") from error
            async with hub:
                say(f"The Chrome at {chrome} is attached. Ctrl-C ends that.")
                first = await hub.receive()
                if first.type is not aiohttp.WSMsgType.TEXT:
                    raise Unavailable("the hub has closed the connection")
                try:
                    browser = await session.ws_connect(await _endpoint(chrome), max_msg_size=0)
                except FAILED as error:
                    raise Unavailable(f"the Chrome at {chrome} refuses it: {error}") from error
                async with browser:
                    await browser.send_str(first.data)
                    both = [asyncio.create_task(_pass(*each)) for each in ((hub, browser), (browser, hub))]
                    try:
                        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        for each in both:
                            each.cancel()
                        await asyncio.wait(both)


async def _endpoint(chrome: str) -> str:
    try:
        return await endpoint(chrome)
    except FAILED as error:
        why = f"no Chrome answers at {chrome}: {error}; start it with --remote-debugging-port"
        raise Unavailable(why) from error


async def _pass(source: aiohttp.ClientWebSocketResponse, target: aiohttp.ClientWebSocketResponse) -> None:
    async for message in source:
        if message.type is aiohttp.WSMsgType.TEXT:
            await target.send_str(message.data)
