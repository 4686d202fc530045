"""A bare relay: aiohttp server, an SQLite commit before and after, aiohttp client, one line of JSON; nothing else.

What it costs on a machine is the limit for whatever stands between a request and a model there.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

import aiohttp
import orjson
from aiohttp import web


async def serve(base_url: str) -> None:
    """Listen on a free port, print it as JSON, and relay `POST /v1/chat/completions`."""
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "relay.db", isolation_level=None)
        database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE log(text TEXT)")
        transcript = (Path(folder) / "relay.jsonl").open("ab")
        async with aiohttp.ClientSession() as client:

            async def relay(request: web.Request) -> web.Response:
                body = orjson.loads(await request.read())
                database.execute("INSERT INTO log VALUES ('asked')")
                asked = {**body, "model": "instant", "stream": True}
                text = ""
                async with client.post(f"{base_url}/chat/completions", json=asked) as response:
                    async for line in response.content:
                        if line.startswith(b"data: {"):
                            for choice in orjson.loads(line[6:])["choices"]:
                                text += choice["delta"].get("content") or ""
                transcript.write(orjson.dumps({"text": text}) + b"\n")
                transcript.flush()
                database.execute("INSERT INTO log VALUES ('answered')")
                return web.json_response({"choices": [{"message": {"content": text}}]})

            application = web.Application()
            application.router.add_post("/v1/chat/completions", relay)
            runner = web.AppRunner(application)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            sys.stdout.write(json.dumps({"port": runner.addresses[0][1]}) + "\n")
            sys.stdout.flush()
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
