"""The web chat page for the test-kit: browsers that do what the page's script does, before the gateway's own guard."""

from __future__ import annotations

import asyncio
import html
import re
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import aiohttp
import orjson
from aiohttp import web

from hub.core.clock import Clock
from hub.core.surfaces import HttpCall
from hub.gateway.access.guard import Guard, GuardedServer
from hub.gateway.calls.settings import GatewayLimits
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import Address, Channel
from hub.messaging.conversation import PastMessage
from integrations.channels.public_files import PublicFiles
from integrations.channels.webchat_page.channel import WebchatPage
from integrations.channels.webchat_page.uploads import Uploads
from integrations.channels.webchat_page.visitors import Visitors
from tests.channels.kit import ADA, EVE, Can, Rig, Trouble
from tests.until import until

VISITORS = {ADA: "adaadaadaadaadaa", EVE: "eveeveeveeveevee"}
KEY = b"a key of this test"


class PageInBrowser:
    """One browser: it keeps what it wrote until the hub shows it, and comes back when it is cut off."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.token = token
        self.pending: dict[str, dict[str, Any]] = {}
        self.frames: list[dict[str, Any]] = []
        self.ours: dict[str, dict[str, Any]] = {}
        self.closed_because: list[int | None] = []
        self.files: list[bytes] = []
        self.sounds: list[bytes] = []
        self.held: dict[str, list[bytes]] = {}
        """What it has of the files that it offers, by message."""
        self.garbles = False
        self.cuts_off = 0
        """How often it is cut off instead of sending a piece of a file."""
        self._url = url
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._task = asyncio.get_running_loop().create_task(self._live())

    @property
    def is_open(self) -> bool:
        """Whether the hub has welcomed it."""
        return self._socket is not None and not self._socket.closed

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    async def say(self, id: str, text: str, *files: tuple[dict[str, Any], bytes]) -> None:
        self.pending[id] = {"t": "say", "id": id, "text": text, "name": "Somebody"}
        if files:
            self.pending[id]["files"] = [{"size": len(content), **file} for file, content in files]
            self.held[id] = [content for _, content in files]
        await self.put(self.pending[id])

    async def put(self, frame: Any) -> None:
        if self._socket is not None and self.is_open:
            with suppress(aiohttp.ClientError):  # it is said again when the hub is back
                await self._socket.send_str('{"t": "say", "id"' if self.garbles else orjson.dumps(frame).decode())
            self.garbles = False

    async def _live(self) -> None:
        async with aiohttp.ClientSession() as client:
            while True:
                try:
                    async with client.ws_connect(self._url) as socket:
                        await socket.send_json({"t": "hello", "token": self.token})
                        await self._listen(socket, client)
                except aiohttp.ClientError:
                    pass
                self._socket = None
                await asyncio.sleep(0.02)

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse, client: aiohttp.ClientSession) -> None:
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            frame = orjson.loads(message.data)
            self.frames.append(frame)
            match frame["t"]:
                case "welcome":
                    self.token, self._socket = frame["token"], socket
                    for each in frame["history"]:
                        self._see(each)
                    for waiting in list(self.pending.values()):
                        await self.put(waiting)
                case "message":
                    self._see(frame)
                    if "file" in frame:
                        async with client.get(urljoin(self._url, frame["file"]["url"])) as answer:
                            self.files.append(await answer.read())
                        if frame["file"]["sound"]:
                            self.sounds.append(self.files[-1])
                case "want" if self.cuts_off:
                    self.cuts_off -= 1
                    await socket.close()
                case "want":
                    await socket.send_bytes(self.held[frame["id"]][frame["file"]][frame["from"] : frame["to"]])
                case "pressed":
                    del self.pending[frame["id"]]
                case "again" if frame["id"] in self.pending:
                    await self.put(self.pending[frame["id"]])
        self.closed_because.append(socket.close_code)

    def _see(self, item: dict[str, Any]) -> None:
        self.pending.pop(item["id"], None)
        if "html" in item:
            self.ours.setdefault(item["id"], item)


class WebchatPageRig(Rig):
    """The browsers of Ada and Eve."""

    name = "webchat_page"
    has_login = False
    can = frozenset({Can.OFFERS_AGAIN, Can.MALFORMED, Can.BUTTONS, Can.TWO_ACCOUNTS, Can.MEDIA, Can.VOICE})
    troubles: frozenset[Trouble] = frozenset()

    def __init__(self) -> None:
        self.browsers: dict[str, PageInBrowser] = {}
        self.url = ""
        self.history: list[PastMessage] = []
        self._files: PublicFiles | None = None
        self.key = KEY
        self.file_bytes = 20_000_000
        self._channels: dict[str, WebchatPage] = {}
        self._said: list[tuple[str, str]] = []
        self._presses = 0
        self._written_to = "default"
        self._guard = Guard(GatewayLimits())
        self._listening: asyncio.Server | None = None
        self._server: GuardedServer | None = None

    async def start(self) -> None:
        self._server = GuardedServer(self._serve, self._guard, web.Application())
        self._listening = await asyncio.get_running_loop().create_server(self._server, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        for browser in self.browsers.values():
            await browser.close()
        assert self._listening is not None
        assert self._server is not None
        self._listening.close()
        await self._server.shutdown(1.0)
        self._guard.close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, web.Request)
        if request.path.startswith("/webchat_page/files/"):
            token = request.path.split("/")[3]
            assert self._files is not None
            return await self._files.route().handler(HttpCall(request, None, {"token": token}))
        channel = self._channels[request.path.rpartition("/")[2]]
        return await channel.serve(HttpCall(request, None, {}, address=request.remote or ""))

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        async def said(address: Address) -> list[PastMessage]:
            return self.history

        if self._files is None:
            self._files = PublicFiles(self.name, JsonStorage(folder / "files.json"), clock)
        uploads = Uploads(folder / "uploads" / account, clock, lambda: self.file_bytes)
        self._channels[account] = WebchatPage(
            account, Visitors(KEY, account), said, clock, lambda: self.url, self._files, uploads
        )
        return self._channels[account]

    def section(self, account: str = "default") -> dict[str, Any]:
        return {"account": account}

    def hub_at(self, url: str, home: Path) -> None:
        kept = home / ".storage" / "integrations" / self.name / "key.json"
        self.url, self.key = url, bytes.fromhex(orjson.loads(kept.read_bytes())["key"])

    def writes_to(self, account: str) -> None:
        self._written_to = account

    async def until_back(self) -> None:
        """Wait for the pages: what they missed would be in the history of the conversation, which is left out here."""
        await until(lambda: all(each.is_open for each in self.browsers.values()))

    def identity(self, who: str) -> str:
        return f"webchat_page:visitor:{VISITORS[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("webchat_page", VISITORS[who])

    def browser(self, who: str) -> PageInBrowser:
        if who not in self.browsers:
            token = Visitors(self.key, self._written_to).token(VISITORS[who])
            self.browsers[who] = PageInBrowser(f"{self.url}/webchat/{self._written_to}", token)
        return self.browsers[who]

    async def says(
        self,
        text: str,
        who: str = ADA,
        *,
        group: bool = False,
        thread: str | None = None,
        mention: bool = True,
        media: bytes | None = None,
    ) -> str:
        self._said.append((f"said-{len(self._said)}", text))
        files = [] if media is None else [({"name": "plan.png", "type": "image/png"}, media)]
        await self.browser(who).say(*self._said[-1], *files)
        return self._said[-1][0]

    async def speaks(self, sound: bytes) -> None:
        file = {"name": "voice.ogg", "type": "audio/ogg", "voice": True}
        await self.browser(ADA).say("spoken", "", (file, sound))

    async def says_again(self) -> None:
        await self.browser(ADA).say(*self._said[-1])

    async def says_in_disorder(self, *texts: str) -> None:
        for text in reversed(texts):
            await self.says(text)

    async def edits(self, id: str, text: str) -> None:
        raise AssertionError("visitors cannot")

    async def presses(self, label: str, who: str = ADA, *, group: bool = False) -> None:
        def found() -> list[tuple[str, str]]:
            shown = [(id, row) for id, each in self.browser(ADA).ours.items() for row in each["buttons"]]
            return [(id, button["value"]) for id, row in shown for button in row if button["label"] == label]

        await until(lambda: bool(found()))
        id, value = found()[-1]
        self._presses += 1
        pressed = {"t": "press", "id": f"press-{self._presses}", "message": id, "value": value}
        self.browser(ADA).pending[pressed["id"]] = pressed
        await self.browser(ADA).put(pressed)

    def notices(self) -> list[str]:
        return [each["notice"] for each in self.browser(ADA).frames if each["t"] == "pressed" and each["notice"]]

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        browser = self.browsers.get(who)
        return [] if browser is None else [_read(each["html"]) for each in browser.ours.values()]

    def reactions(self, id: str) -> list[str]:
        raise AssertionError("the page has none")

    def uploads(self) -> list[bytes]:
        return self.browser(ADA).files

    def attempts(self) -> int:
        raise AssertionError("nothing can be refused")

    def voices(self) -> list[bytes]:
        return self.browser(ADA).sounds

    def fetches(self) -> int:
        return sum(frame["t"] == "want" for each in self.browsers.values() for frame in each.frames)

    def typing_seen(self) -> int:
        return sum(each["t"] == "typing" for each in self.browser(ADA).frames)

    def drafts(self) -> list[str]:
        return [_read(each["html"]) for each in self.browser(ADA).frames if each["t"] == "draft"]

    def trouble(self, *troubles: Trouble) -> None:
        raise AssertionError("nothing can go wrong: what a page does not show is in its history")

    def goes_deaf(self) -> None:
        raise AssertionError("a page that hears nothing comes back by itself")

    def garbles(self) -> None:
        self.browser(ADA).garbles = True

    def revokes(self, account: str = "default") -> None:
        raise AssertionError("there are no credentials")


def _read(shown: str) -> str:
    """Return HTML as a person reads it."""
    return html.unescape(re.sub(r"<[^>]*>", "", shown.replace("</p>", "\n"))).strip()
