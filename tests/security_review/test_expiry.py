"""A credential that ends takes with it whatever it had opened, not only the sockets that shook hands."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
from aiohttp import web

from hub.core.clock import ManualClock
from hub.core.surfaces import READ, HttpCall, Route
from tests.gateway.rig import running
from tests.until import as_time_passes

LIFE_S = 60.0


async def endless_socket(call: HttpCall) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(call.request)
    async for _ in socket:
        pass
    return socket


async def endless_answer(call: HttpCall) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(call.request)
    await response.write(b"begun")
    await asyncio.Event().wait()
    return response


async def test_a_socket_and_an_answer_end_with_the_token_that_opened_them(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running(tmp_path, clock=clock) as rig, aiohttp.ClientSession() as http:
        rig.gateway.routes.add(Route("GET", "/tab", endless_socket, "test", scope=READ, websocket=True))
        rig.gateway.routes.add(Route("GET", "/long", endless_answer, "test", scope=READ))
        _, ends = await rig.tokens.create("ends", [READ], LIFE_S)
        _, stays = await rig.tokens.create("stays", [READ])
        header, other = ({"Authorization": f"Bearer {each.reveal()}"} for each in (ends, stays))
        tab = await http.ws_connect(f"{rig.url}/tab", headers=header)
        kept = await http.ws_connect(f"{rig.url}/tab", headers=other)
        answer = await http.get(f"{rig.url}/long", headers=header)
        assert await answer.content.readexactly(5) == b"begun"

        async def closed() -> bytes:
            async for _ in tab:
                pass
            try:
                return await answer.content.read()
            except aiohttp.ClientError:
                return b""

        closing = asyncio.create_task(closed())
        await as_time_passes(clock, LIFE_S, closing.done)

        assert await closing == b""
        assert not kept.closed
        await kept.close()
