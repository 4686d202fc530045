"""Messages through Telegram, from the update to the answer in the chat, beside the bare relay."""

from __future__ import annotations

import asyncio
import time

from tests.benchmarks.homes import bench_hub
from tests.benchmarks.message import MESSAGES, WARM, Client, measure_messages
from tests.benchmarks.relay import relay
from tests.benchmarks.table import Row, row
from tests.servers.telegram_server import TelegramServer, TelegramThread

CHATS = 100
LOAD = 2_000


def measure() -> list[Row]:
    """One message after the other in one chat, then a hundred chats, each writing again when it has its answer."""
    with relay() as (served, server):
        relayed = measure_messages(served, server, Client(served), "relay", WARM, MESSAGES)
    round_ms = next(each.median for each in relayed if "round trip" in each.what)
    with TelegramThread() as thread, bench_hub(_configuration(thread.server)):
        telegram = thread.server
        thread.run(_talk(telegram, 1, WARM))
        waits = thread.run(_talk(telegram, 1, MESSAGES))
        begun = time.perf_counter()
        many = thread.run(_talk_all(telegram))
        rate = len(many) / (time.perf_counter() - begun)
    return [
        row("telegram: update in → answer in the chat", "ms", waits, f"p50 < {6 * round_ms:.1f} (6 × relay)"),
        row(f"telegram: {CHATS} chats at once", "msg/s", [rate], "> 250"),
        row(f"telegram: {CHATS} chats at once: wait for an answer", "ms", many),
    ]


def _configuration(telegram: TelegramServer) -> str:
    people = list(range(1, CHATS + 1))
    return (
        "messages:\n  inbound: {debounce_ms: 0}\n"
        f'telegram:\n  - {{token: "{telegram.token}", api_root: "{telegram.api_root}", dm_policy: allowlist, '
        f"allow_from: {people}}}\n"
    )


async def _talk(telegram: TelegramServer, chat: int, messages: int) -> list[float]:
    """Return how long each answer took, in milliseconds."""
    waits = []
    for _ in range(messages):
        shown = len(telegram.chats.shown(chat))
        begun = time.perf_counter()
        telegram.chats.says("hello", chat=chat, who=chat)
        while len(telegram.chats.shown(chat)) == shown:
            telegram.chats.posted.clear()
            await telegram.chats.posted.wait()
        waits.append((time.perf_counter() - begun) * 1000)
    return waits


async def _talk_all(telegram: TelegramServer) -> list[float]:
    found = await asyncio.gather(*(_talk(telegram, chat, LOAD // CHATS) for chat in range(1, CHATS + 1)))
    return [wait for waits in found for wait in waits]
