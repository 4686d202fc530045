"""Content from outside, read in processes of their own: real processes, and content made to hurt."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from hub.automation.blueprints.foreign import blueprint_of_text
from hub.automation.services.web_text import PageText, read_page
from hub.core.errors import InvalidRequest, NotFound, TimedOut
from hub.security.outside_reader import OutsideReader, ReadLimits
from hub.security.outside_worker import RETIRE_BYTES
from integrations.tools.rss.feeds import read_feed

TURNS = 10
"""The event loop turns at least so often in a second of another process, also on a machine that is busy."""
PAGE = {"content-type": "text/html"}


def grow() -> int:
    """Use memory without end."""
    held = [b"x" * 50_000_000]
    while True:
        held.append(held[0] + b"x")


def sleep() -> None:
    """Take long without using the processor."""
    time.sleep(3_600)


def crash() -> None:
    """Take the process down, as a broken parser in C would."""
    os.kill(os.getpid(), signal.SIGSEGV)


def nest() -> None:
    """Recurse without end."""
    nest()


def refuse(kind: str) -> None:
    """Refuse the content."""
    raise NotFound("there is none") if kind == "none" else InvalidRequest("it is wrong")


def write(path: str) -> None:
    """Write a file."""
    Path(path).write_text("x" * 10, encoding="utf-8")


def talk() -> int:
    """Print, and return the process."""
    print("hello")
    return os.getpid()


def pid() -> int:
    """Return the process."""
    return os.getpid()


@pytest.fixture
async def reader() -> AsyncIterator[OutsideReader]:
    made = OutsideReader(ReadLimits(cpu_s=1, deadline_s=300.0))
    yield made
    await made.close()


COSTLY_PAGE = b"<svg></svg>" * 2_000_000
COSTLY_FEED = b'<rss version="2.0"><channel><item><description>' + b"<a " * 600_000
COSTLY_BLUEPRINT = (
    "blueprint:\n  name: B\n  domain: automation\n  input:\n"
    + "".join(f"    {'ab' * 25}{n}:\n" for n in range(300))
    + "a:\n"
    + "".join(f"- !input {'ba' * 25}{n}\n" for n in range(5_000))
)
"""Each name that no input has is compared with all names that inputs have."""


async def test_a_costly_page_does_not_hold_the_event_loop_and_is_given_up_at_the_limit(reader: OutsideReader) -> None:
    turns = count()

    async def watch() -> None:
        for _ in turns:
            await asyncio.sleep(0.01)

    watching = asyncio.create_task(watch())
    told = "the page takes more than 1 s of processor time to read; reading it was stopped"
    with pytest.raises(InvalidRequest, match=told):
        await reader.read("the page", read_page, COSTLY_PAGE, PAGE, returns=PageText)
    watching.cancel()

    assert next(turns) > TURNS


async def test_a_costly_feed_and_a_costly_blueprint_are_given_up() -> None:
    reader = OutsideReader(ReadLimits(deadline_s=0.2))

    with pytest.raises(TimedOut, match=r"the feed could not be read within 0\.2 s"):
        await read_feed(COSTLY_FEED, reader)
    with pytest.raises(TimedOut, match=r"the blueprint could not be read within 0\.2 s"):
        await blueprint_of_text(reader, COSTLY_BLUEPRINT)

    await reader.close()


async def test_the_next_call_has_a_new_process(reader: OutsideReader) -> None:
    first = await reader.read("it", pid, returns=int)
    with pytest.raises(InvalidRequest):
        await reader.read("it", crash, returns=type(None))

    assert await reader.read("it", pid, returns=int) != first


async def test_an_idle_process_is_used_again_and_what_prints_does_no_harm(reader: OutsideReader) -> None:
    first = await reader.read("it", talk, returns=int)

    assert await reader.read("it", talk, returns=int) == first != os.getpid()


async def test_a_process_of_a_large_hub_is_used_again_too(reader: OutsideReader) -> None:
    large = bytearray(RETIRE_BYTES)
    first = await reader.read("it", pid, returns=int)

    assert await reader.read("it", pid, returns=int) == first
    assert len(large) == RETIRE_BYTES


async def test_too_much_memory_is_told() -> None:
    reader = OutsideReader(ReadLimits(cpu_s=20, deadline_s=300.0))

    with pytest.raises(InvalidRequest, match="the feed cannot be read"):
        await reader.read("the feed", grow, returns=int)

    await reader.close()


async def test_endless_recursion_is_told(reader: OutsideReader) -> None:
    with pytest.raises(InvalidRequest, match=r"the page cannot be read \(RecursionError\)"):
        await reader.read("the page", nest, returns=type(None))


async def test_what_is_refused_is_refused_in_its_words(reader: OutsideReader) -> None:
    with pytest.raises(NotFound, match="there is none"):
        await reader.read("it", refuse, "none", returns=type(None))
    with pytest.raises(InvalidRequest, match="it is wrong"):
        await reader.read("it", refuse, "wrong", returns=type(None))


async def test_nothing_is_written_to_files(reader: OutsideReader, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest):
        await reader.read("it", write, str(tmp_path / "made"), returns=type(None))

    assert not (tmp_path / "made").exists() or (tmp_path / "made").read_bytes() == b""


async def test_what_takes_longer_than_its_deadline_is_stopped() -> None:
    reader = OutsideReader(ReadLimits(deadline_s=0.2))

    with pytest.raises(TimedOut, match=r"the page could not be read within 0\.2 s; reading it was stopped"):
        await reader.read("the page", sleep, returns=type(None))

    await reader.close()


def runs(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


async def test_an_idle_process_ends() -> None:
    reader = OutsideReader(ReadLimits(idle_s=0.0))
    used = await reader.read("it", pid, returns=int)

    async with asyncio.timeout(30):
        while runs(used):  # noqa: ASYNC110  the system's doing
            await asyncio.sleep(0.01)

    assert await reader.read("it", pid, returns=int) != used
    await reader.close()


async def test_a_cancelled_call_takes_its_process_with_it(reader: OutsideReader) -> None:
    used = await reader.read("it", pid, returns=int)
    call = asyncio.create_task(reader.read("it", sleep, returns=type(None)))
    await asyncio.sleep(0)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call

    assert not runs(used)
