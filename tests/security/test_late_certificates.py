"""What outgoing connections trust, in a process that starts as the hub does."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.gateway.certificates import certificate

PROGRAM = """
import asyncio, ssl, sys
eager = ssl.create_default_context
from hub.security.late_certificates import import_aiohttp
import_aiohttp()
import aiohttp, aiohttp.connector
assert aiohttp.connector._SSL_CONTEXT_VERIFIED.cert_store_stats()["x509"] == 0
assert ssl.create_default_context is eager

async def ask():
    async with aiohttp.ClientSession() as session:
        try:
            async with session.get(sys.argv[1]) as answer:
                print(await answer.text())
        except aiohttp.ClientConnectorCertificateError:
            print("not trusted")

asyncio.run(ask())
"""


@pytest.mark.parametrize(("trusted", "told"), [(True, "hello"), (False, "not trusted")])
async def test_a_server_is_trusted_when_the_systems_certificates_say_so(
    tmp_path: Path, trusted: bool, told: str
) -> None:
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="hello")

    application = web.Application()
    application.router.add_get("/", answer)
    server = TestServer(application, scheme="https", host="localhost")
    await server.start_server(ssl=context)
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM, f"https://localhost:{server.port}/"),
            env=os.environ | {"SSL_CERT_FILE": str(cert) if trusted else os.devnull, "SSL_CERT_DIR": os.devnull},
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await process.communicate()
    finally:
        await server.close()

    assert said.decode().strip() == told
