"""A small web shop on loopback, where a table is booked; and a canary that nothing may reach."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from aiohttp import web

from tests.integrations.tools.test_file_pdf import pdf

START = """<title>Café</title><h1>Tables</h1><ul><li><a href="/book?table=4">Table 4</a></ul>
<a href="https://elsewhere.example/">Elsewhere</a><a href="file:///etc/passwd">A file</a>
<button type=button onclick="document.title = confirm('Sure?') ? 'yes' : 'no'">Ask</button>
<button type=button onclick="console.log('hello from the page')">Log</button>
<div><div><p>Open until ten.</p><p>Closed on Mondays.</p></div><p>Dogs welcome.</p></div>"""
BOOK = """<title>Booking</title><form method=post action=/book enctype=multipart/form-data>
<label>Name <input name=name></label>
<label>Guests <select name=guests><option>1<option>2<option>3</select></label>
<label>Picture <input type=file name=picture></label><button>Book now</button></form>"""
DONE = """<title>Booked</title><p role=status>{name}, {guests} guests, picture of {size} bytes</p>
<a href="/confirmation.pdf" download>Confirmation</a>"""


class Shop:
    """The shop; what it was sent is in `booked`."""

    def __init__(self) -> None:
        self.booked: list[dict[str, Any]] = []
        self.pages: dict[str, str] = {"/": START, "/book": BOOK}
        self.redirects: dict[str, str] = {}
        self.port = 0

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}"

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/book", self._book)
        app.router.add_get("/confirmation.pdf", self._confirmation)
        app.router.add_route("*", "/{path:.*}", self._page)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _page(self, request: web.Request) -> web.Response:
        if request.path in self.redirects:
            raise web.HTTPFound(self.redirects[request.path])
        text = self.pages.get(request.path)
        if text is None:
            raise web.HTTPNotFound
        kind = "text/javascript" if request.path.endswith(".js") else "text/html"
        return web.Response(text=text, content_type=kind, headers={"Service-Worker-Allowed": "/"})

    async def _book(self, request: web.Request) -> web.Response:
        form = await request.post()
        picture = form["picture"]
        assert isinstance(picture, web.FileField)
        data = picture.file.read()
        self.booked.append({"name": form["name"], "guests": form["guests"], "file": picture.filename, "data": data})
        text = DONE.format(name=form["name"], guests=form["guests"], size=len(data))
        return web.Response(text=text, content_type="text/html")

    async def _confirmation(self, request: web.Request) -> web.Response:
        named = {"Content-Disposition": 'attachment; filename="../../evil name.pdf"'}
        return web.Response(body=pdf("Table 4 is yours"), content_type="application/pdf", headers=named)


class Canary:
    """A place that is not to be reached: it counts what comes by TCP and by UDP."""

    def __init__(self) -> None:
        self.reached = 0
        self.heard = b""
        self.port = 0

    async def start(self) -> None:
        canary = self

        class Datagrams(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: Any) -> None:
                canary.reached += 1

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.reached += 1
            with suppress(OSError):
                self.heard += await reader.read(1_000)
            writer.close()

        self._server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        self._udp, _ = await loop.create_datagram_endpoint(Datagrams, local_addr=("127.0.0.1", self.port))

    async def stop(self) -> None:
        self._server.close()
        self._udp.close()
