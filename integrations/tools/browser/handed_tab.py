"""One tab that a person has handed over with the extension, as Playwright sees it: a browser that has nothing else.

What is about a whole browser is answered here and never sent; in the tab only the commands of `extension/allowed.json`
are sent, which the extension judges again.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from integrations.tools.browser.attached import AttachedChrome

FOLDER = Path(__file__).with_name("extension")
CONTEXT, MAIN = "tab", "tab-1"
"""The browser context that Playwright sees, and its first session of the tab."""
CHILDREN = ("iframe", "worker")
AUTO_ATTACH = "Target.setAutoAttach"
INSIDE: Mapping[str, Any] = {
    "autoAttach": True,
    "waitForDebuggerOnStart": True,
    "flatten": True,
    "filter": [*({"type": each} for each in CHILDREN), {"exclude": True}],
}
"""The frames of other sites and the workers that are in the tab, and nothing else."""
REFUSED = -32000


class Told(msgspec.Struct, frozen=True):
    """A tab, as the extension describes it."""

    id: str
    url: str
    title: str = ""


class Hello(msgspec.Struct, frozen=True, rename="camel"):
    """The first message of the extension."""

    tab: Told
    user_agent: str


class _Said(msgspec.Struct, frozen=True, rename="camel"):
    """A message of the extension: an answer, an event, or a sign of life."""

    id: int | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    method: str | None = None
    params: dict[str, Any] = {}
    session_id: str | None = None
    ping: bool = False


class _Asked(msgspec.Struct, frozen=True, rename="camel"):
    """A message of Playwright."""

    id: int
    method: str
    params: dict[str, Any] = {}
    session_id: str | None = None


@cache
def allowed() -> frozenset[str]:
    """Return the commands that are sent to a tab."""
    return frozenset(msgspec.json.decode((FOLDER / "allowed.json").read_bytes(), type=list[str]))


def is_refused(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a command reaches beyond the tab: other targets, files, the browser itself."""
    if method not in allowed():
        return True
    if method == "Page.navigate":
        url = str(params.get("url"))
        return url != "about:blank" and urlsplit(url).scheme not in ("http", "https")
    if method == "Input.dispatchDragEvent":
        return bool((params.get("data") or {}).get("files"))
    return False


async def read_hello(socket: web.WebSocketResponse, limit_s: float) -> Hello | None:
    """Return the first message of an extension; None if it is none, or does not come."""
    try:
        return msgspec.json.decode(await socket.receive_str(timeout=limit_s), type=Hello)
    except (TimeoutError, TypeError, msgspec.DecodeError):
        return None


class HandedTab(AttachedChrome):
    """The connection of the extension.

    Args:
        socket: Its WebSocket.
        hello: Its first message.
        credential_id: What it came with; the same may come again after a break, no other.
    """

    def __init__(self, socket: web.WebSocketResponse, hello: Hello, credential_id: str) -> None:
        super().__init__(socket)
        self.credential_id = credential_id
        self.released = asyncio.Event()
        """Set when it is over, and its profile is stopped."""
        self._hello = hello
        self._asked: dict[int, str] = {}
        """The sessions of the requests that are under way."""
        self._sessions, self._children = {MAIN}, set[str]()
        self._numbers = itertools.count(2)

    async def send(self, message: str) -> None:
        """Answer a request of Playwright, or send it to the tab."""
        asked = msgspec.json.decode(message, type=_Asked)
        session, method, params = asked.session_id, asked.method, asked.params
        of_tab = session in self._sessions or session in self._children
        if method == "Target.detachFromTarget":
            self._sessions.discard(str(params.get("sessionId")))
            await self._answer(asked, {})
        elif not of_tab:
            await self._as_browser(asked)
        elif is_refused(method, params):
            await self._refuse(asked)
        else:
            self._asked[asked.id] = str(session)
            sent = {"id": asked.id, "method": method, "params": INSIDE if method == AUTO_ATTACH else params}
            if session in self._children:
                sent["sessionId"] = session
            await super().send(_encoded(sent))

    async def _as_browser(self, asked: _Asked) -> None:
        """Answer as a browser whose only page is the tab."""
        match asked.method:
            case "Browser.getVersion":
                agent = self._hello.user_agent
                version = agent.partition("Chrome/")[2].partition(" ")[0] or "0"
                told = {"protocolVersion": "1.3", "product": f"Chrome/{version}", "revision": "", "userAgent": agent}
                await self._answer(asked, told)
            case "Browser.setDownloadBehavior":  # what is downloaded stays with the person
                await self._answer(asked, {})
            case "Target.getTargetInfo":
                await self._answer(asked, {"targetInfo": self._target})
            case "Target.setAutoAttach":
                about = {"sessionId": MAIN, "targetInfo": self._target, "waitingForDebugger": False}
                await self._put({"method": "Target.attachedToTarget", "params": about})
                await self._answer(asked, {})
            case "Target.attachToBrowserTarget":
                await self._answer(asked, {"sessionId": f"browser-{next(self._numbers)}"})
            case "Target.attachToTarget" if asked.params.get("targetId") == self._hello.tab.id:
                session = f"tab-{next(self._numbers)}"
                self._sessions.add(session)
                await self._answer(asked, {"sessionId": session})
            case _:
                await self._refuse(asked)

    @property
    def _target(self) -> Mapping[str, Any]:
        tab = self._hello.tab
        about = {"targetId": tab.id, "type": "page", "title": tab.title, "url": tab.url}
        return {**about, "attached": True, "canAccessOpener": False, "browserContextId": CONTEXT}

    async def _heard(self, message: str) -> Sequence[str]:
        said = msgspec.json.decode(message, type=_Said)
        if said.ping:
            await super().send('{"pong":true}')
        elif said.id is not None:
            session = self._asked.pop(said.id, None)
            if session is not None:
                answer = {"result": said.result or {}} if said.error is None else {"error": said.error}
                return (_encoded({"id": said.id, "sessionId": session, **answer}),)
        elif said.method is not None:
            return self._event(said.method, said)
        return ()

    def _event(self, method: str, said: _Said) -> Sequence[str]:
        """Return an event for each session of the tab, or for the one of a frame or worker in it."""
        params = said.params
        if method == "Target.attachedToTarget":
            if params.get("targetInfo", {}).get("type") not in CHILDREN:
                return ()
            self._children.add(str(params.get("sessionId")))
        elif method == "Target.detachedFromTarget":
            self._children.discard(str(params.get("sessionId")))
        if said.session_id is not None and said.session_id not in self._children:
            return ()
        sessions = sorted(self._sessions) if said.session_id is None else [said.session_id]
        return [_encoded({"method": method, "params": params, "sessionId": each}) for each in sessions]

    async def _refuse(self, asked: _Asked) -> None:
        why = f"{asked.method} reaches beyond the tab that was handed over"
        await self._put({"id": asked.id, "sessionId": asked.session_id, "error": {"code": REFUSED, "message": why}})

    async def _answer(self, asked: _Asked, result: Mapping[str, Any]) -> None:
        await self._put({"id": asked.id, "sessionId": asked.session_id, "result": result})

    async def _put(self, message: Mapping[str, Any]) -> None:
        await self._said.put(_encoded({key: value for key, value in message.items() if value is not None}))


def _encoded(message: Mapping[str, Any]) -> str:
    return msgspec.json.encode(message).decode()
