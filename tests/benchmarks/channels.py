"""Each channel with a double of its platform: the time to an answer, and to the first words of a streamed one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from hub.core.clock import Clock
from hub.messaging.capabilities import Capability, capabilities_of
from tests.benchmarks.homes import ANSWER, BenchHub, empty_home, write_configuration
from tests.benchmarks.table import Row, row
from tests.channels.kit import ADA, Rig
from tests.channels.registry import RIGS
from tests.servers.openai_server import OpenAIServerProcess

MESSAGES = 10
BEGUN = "This is how it begins"
STREAMED: Sequence[dict[str, Any]] = [{"text": f"{BEGUN} "}, {"delay_s": 2.0}, {"text": "and ends."}]
"""Longer than any platform's pause between two edits, so that the first words stand alone."""
LOOK_S = 0.002
LIMIT_S = 30.0
FIRST_MS = 300
SETTINGS = "messages:\n  inbound: {debounce_ms: 0}\n"


def measure() -> list[Row]:
    """One message after the other, on every channel whose double is a server."""
    return [row for make in RIGS if not (rig := make()).is_in_process for row in asyncio.run(_measure(rig))]


async def _measure(rig: Rig) -> list[Row]:
    await rig.start()
    try:
        with empty_home() as home, OpenAIServerProcess() as server:
            server.set_default({"text": ANSWER})
            person = {"id": "me", "name": "Me", "owner": True, "identities": [rig.identity(ADA)]}
            section = {**rig.section(), "streaming": "partial"}
            sections = {"people": [person], rig.name: [section]}
            more = "".join(f"{key}: {orjson.dumps(value).decode()}\n" for key, value in sections.items())
            write_configuration(home, server.base_url, SETTINGS + more)
            hub = BenchHub(home)
            try:
                return await _rows(rig, hub, server)
            finally:
                await asyncio.to_thread(hub.stop)
    finally:
        await rig.stop()


async def _rows(rig: Rig, hub: BenchHub, server: OpenAIServerProcess) -> list[Row]:
    await asyncio.to_thread(hub.start)
    rig.hub_at(hub.url, Path(hub.home))
    async with asyncio.timeout(LIMIT_S):
        while not await asyncio.to_thread(_is_connected, rig, hub):  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(LOOK_S)
    await rig.until_back()
    able = capabilities_of(rig.channel(Path(hub.home), Clock()))
    drafts = Capability.DRAFT in able
    await _answered(rig, ANSWER, drafts=drafts)
    waits = [await _answered(rig, ANSWER, drafts=drafts) for _ in range(MESSAGES)]
    name = type(rig).__name__.removesuffix("Rig")
    found = [row(f"{name}: message → answer", "ms", waits)]
    if able & {Capability.EDIT, Capability.DRAFT}:
        server.set_default(STREAMED)
        first = [await _answered(rig, BEGUN, drafts=drafts) for _ in range(MESSAGES // 3)]
        goal = f"≤ {found[0].median + FIRST_MS:.0f} (answer + {FIRST_MS})"
        found.append(row(f"{name}: message → first words", "ms", first, goal))
    return found


def _is_connected(rig: Rig, hub: BenchHub) -> bool:
    (account,) = hub.rpc("channels.status")["channelAccounts"][rig.name]
    return bool(account["connected"])


async def _answered(rig: Rig, text: str, *, drafts: bool) -> float:
    """Return how long it took until Ada saw something more with this text, in milliseconds."""
    before = _seen(rig, text, drafts=drafts)
    ended = f"{BEGUN} and ends."
    whole = _seen(rig, ended, drafts=False)
    begun = time.perf_counter()
    await rig.says("hello")
    await _until(lambda: _seen(rig, text, drafts=drafts) > before)
    waited = (time.perf_counter() - begun) * 1_000
    if text == BEGUN:
        await _until(lambda: _seen(rig, ended, drafts=False) > whole)
    return waited


def _seen(rig: Rig, text: str, *, drafts: bool) -> int:
    return sum(text in each for each in [*rig.shows(), *(rig.drafts() if drafts else [])])


async def _until(find: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not find():  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(LOOK_S)
