"""A header that decides anything comes once: every header that the program reads, and those it does not know yet."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import hub
import web
from hub.gateway.access.auth import PROXY_SECRET_HEADER
from hub.gateway.access.ingress import REPEATABLE_HEADERS
from hub.gateway.calls.settings import HttpSettings
from tests.gateway.rig import Rig, running

SERVING = (Path(hub.__file__).parent / "gateway", Path(hub.__file__).parent / "automation" / "sources")
READS = re.compile(r"""headers\.(?:get|getone|getall)\(["']([A-Za-z-]+)["']""")
SHOWN_ONLY = {"accept", "accept-encoding", "accept-language"}
"""What decides how an answer is shown, and nothing else."""


def headers_read() -> set[str]:
    files = [file for folder in (*SERVING, Path(web.__file__).parent) for file in folder.rglob("*.py")]
    return {name.lower() for file in files for name in READS.findall(file.read_text("utf-8"))}


NAMES = sorted(
    (headers_read() - SHOWN_ONLY - {"host", "content-length", "last-modified", "etag"})
    | {PROXY_SECRET_HEADER.lower(), "x-person", "cookie", "x-homarus-session", "x-hub-signature-256", "idempotency-key"}
)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with running(tmp_path, HttpSettings(port=0, user_header="X-Person")) as made:
        yield made


def test_nothing_that_the_program_decides_by_may_be_repeated() -> None:
    assert len(headers_read()) > 10
    assert headers_read() & REPEATABLE_HEADERS <= SHOWN_ONLY


async def status(rig: Rig, headers: list[tuple[str, str]]) -> int:
    """Send the headers as they are: clients join some of them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    lines = ["GET /healthz HTTP/1.1", f"Host: 127.0.0.1:{rig.port}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize("name", [*NAMES, "x-of-tomorrow"])
async def test_a_repeated_header_is_refused(rig: Rig, name: str) -> None:
    assert await status(rig, [(name, "a"), (name, "b")]) == 400
    assert await status(rig, [(name, "a"), (name.title(), "b")]) == 400


async def test_headers_that_are_lists_may_come_in_pieces(rig: Rig) -> None:
    pieces = [("Accept", "text/html"), ("Accept", "*/*"), ("Via", "1.1 a"), ("Via", "1.1 b")]

    assert await status(rig, pieces) == 200
    assert await status(rig, [("X-Person", "ada")]) == 200
