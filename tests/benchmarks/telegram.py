"""Messages through Telegram, from the update to the answer in the chat, and the bare relay in turns with it."""

from __future__ import annotations

import asyncio
import statistics
import time

from tests.benchmarks.homes import bench_hub
from tests.benchmarks.message import MESSAGES, WARM, Client
from tests.benchmarks.relay import relay
from tests.benchmarks.table import Row, row
from tests.benchmarks.throughput import load
from tests.servers.telegram_server import TelegramServer, TelegramThread

CHATS = 100
LOAD = 2_000
ROUNDS = 5
"""In turns, so that whatever else the machine does slows down both."""
RATE_GOAL = 250 / 1_685
"""Of the relay's rate."""


def measure() -> list[Row]:
    """One message after the other in one chat, then a hundred chats, each writing again when it has its answer."""
    relayed, waits, many = [], [], []
    relay_rates, rates = [], []
    with relay() as (served, _), TelegramThread() as thread, bench_hub(_configuration(thread.server)):
        telegram, client = thread.server, Client(served)
        thread.run(_talk(telegram, 1, WARM))
        for number in range(ROUNDS):
            relayed += [_asked(client) for _ in range(MESSAGES // ROUNDS)]
            waits += thread.run(_talk(telegram, 1 + number, MESSAGES // ROUNDS))
        client.close()
        for _ in range(ROUNDS):
            relay_rates.append(asyncio.run(load(served, CHATS, LOAD // ROUNDS))[0])
            begun = time.perf_counter()
            many += thread.run(_talk_all(telegram))
            rates.append(LOAD / ROUNDS / (time.perf_counter() - begun))
    round_ms, relay_rate = statistics.median(relayed), statistics.median(relay_rates)
    return [
        row("telegram: update in → answer in the chat", "ms", waits, f"p50 < {6 * round_ms:.1f} (6 × relay)"),
        row(
            f"telegram: {CHATS} chats at once",
            "msg/s",
            rates,
            f"> {RATE_GOAL * relay_rate:.0f} (relay: {relay_rate:.0f})",
        ),
        row(f"telegram: {CHATS} chats at once: wait for an answer", "ms", many),
    ]


def _asked(client: Client) -> float:
    """Return how long the relay took for a message, in milliseconds."""
    begun = time.perf_counter()
    client.ask("hello")
    return (time.perf_counter() - begun) * 1000


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
    found = await asyncio.gather(*(_talk(telegram, chat, LOAD // ROUNDS // CHATS) for chat in range(1, CHATS + 1)))
    return [wait for waits in found for wait in waits]
