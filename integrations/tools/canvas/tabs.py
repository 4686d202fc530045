"""The tabs of the dashboard that show a canvas: the hub sends them what to show, and queries its content."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import orjson
from aiohttp import web
from msgspec import Meta, Struct

from hub.core.errors import HubError, TimedOut, Unavailable
from hub.core.ids import new_id
from hub.core.surfaces import HttpCall

TABS_LIMIT = 32
QUEUE_LIMIT = 64
FRAME_LIMIT_BYTES = 6_291_456
HEARTBEAT_S = 20.0
ASK_LIMIT_S = 15.0
CLOSE_GOING_AWAY = 1001
CLOSE_LIMIT_S = 1.0


class TabAnswer(Struct):
    """A tab's answer: a value as JSON or text, and a picture as a data URL."""

    id: Annotated[str, Meta(max_length=64)]
    ok: bool
    value: Annotated[str, Meta(max_length=200_000)] = ""
    image: Annotated[str, Meta(max_length=FRAME_LIMIT_BYTES)] = ""


@dataclass(eq=False)
class _Tab:
    agent: str
    socket: web.WebSocketResponse
    queue: asyncio.Queue[str] = field(default_factory=lambda: asyncio.Queue(QUEUE_LIMIT))
    asked: dict[str, asyncio.Future[TabAnswer]] = field(default_factory=dict)


class CanvasTabs:
    """The open tabs.

    Args:
        opened: Is called when a tab was opened, and when one was closed.
    """

    def __init__(self, opened: Callable[[], None] = lambda: None) -> None:
        self._tabs: list[_Tab] = []
        self._opened = opened

    @property
    def agents(self) -> set[str]:
        """The agents whose canvas is open in a tab."""
        return {tab.agent for tab in self._tabs}

    async def serve(self, call: HttpCall, agent: str, first: Mapping[str, Any]) -> web.StreamResponse:
        """Answer the WebSocket of a tab, whose first frame shows the whole canvas.

        Raises:
            Unavailable: Too many are open.

        Cancelling it closes the socket.
        """
        if len(self._tabs) >= TABS_LIMIT:
            raise Unavailable(f"{TABS_LIMIT} tabs show the canvas already; close one", retry_after_s=30)
        socket = web.WebSocketResponse(
            compress=False, max_msg_size=FRAME_LIMIT_BYTES, heartbeat=HEARTBEAT_S, timeout=CLOSE_LIMIT_S
        )
        await socket.prepare(call.request)
        tab = _Tab(agent, socket)
        self._tabs.append(tab)
        tab.queue.put_nowait(orjson.dumps(first).decode())
        self._opened()
        try:
            async with asyncio.TaskGroup() as tasks:
                sender = tasks.create_task(_send(tab), name="canvas tab")
                await _receive(tab)
                sender.cancel()
        finally:
            self._tabs.remove(tab)
            self._opened()
            for each in tab.asked.values():
                if not each.done():
                    each.set_exception(Unavailable("the tab that showed the canvas was closed"))
        return socket

    async def close(self) -> None:
        """Close all sockets; the tabs reconnect by themselves."""
        for tab in list(self._tabs):
            await tab.socket.close(code=CLOSE_GOING_AWAY)

    def send(self, agent: str, frame: Mapping[str, Any]) -> None:
        """Send a frame to the viewers of an agent's canvas; those who cannot keep up start over."""
        text = orjson.dumps(frame).decode()
        for tab in [each for each in self._tabs if each.agent == agent]:
            try:
                tab.queue.put_nowait(text)
            except asyncio.QueueFull:
                tab.socket.force_close()

    async def ask(self, agent: str, what: str, script: str = "", timeout_s: float = ASK_LIMIT_S) -> TabAnswer:
        """Ask the tab that was opened last.

        Raises:
            Unavailable: Nobody looks at the canvas.
            TimedOut: The tab did not answer in time.
            HubError: It could not do it.
        """
        tab = next((each for each in reversed(self._tabs) if each.agent == agent), None)
        if tab is None:
            raise Unavailable("nobody looks at the canvas: ask the person to open the page Canvas of the dashboard")
        id = new_id()
        answer: asyncio.Future[TabAnswer] = asyncio.get_running_loop().create_future()
        tab.asked[id] = answer
        try:
            tab.queue.put_nowait(orjson.dumps({"t": "ask", "id": id, "what": what, "script": script}).decode())
            async with asyncio.timeout(timeout_s):
                found = await answer
        except asyncio.QueueFull as error:
            raise Unavailable("the tab that shows the canvas does not keep up") from error
        except TimeoutError as error:
            raise TimedOut(f"the tab that shows the canvas did not answer within {timeout_s:g} s") from error
        finally:
            tab.asked.pop(id, None)
        if not found.ok:
            raise HubError(f"the canvas answered: {found.value or 'it failed'}", outside=True)
        return found


async def _send(tab: _Tab) -> None:
    try:
        while True:
            await tab.socket.send_str(await tab.queue.get())
    except ConnectionError:
        tab.socket.force_close()


async def _receive(tab: _Tab) -> None:
    async for message in tab.socket:
        if message.type is not web.WSMsgType.TEXT:
            return
        try:
            answer = msgspec.json.decode(message.data, type=TabAnswer)
        except msgspec.DecodeError:
            return
        asked = tab.asked.get(answer.id)
        if asked is not None and not asked.done():
            asked.set_result(answer)
