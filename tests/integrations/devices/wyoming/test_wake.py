"""Wake words that a Wyoming service finds: a connection for each satellite, opened again when it breaks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import Unavailable
from hub.core.tasks import TaskOwner
from hub.voice.wake import WakeWord
from integrations.devices.wyoming.wake import PENDING_BYTES, RETRY_S, WyomingWake
from integrations.devices.wyoming.wire import EVENT_LIMIT_BYTES, WyomingEvent, encode, read_event
from tests.until import as_time_passes, until

WORDS = ("ok_nabu_v0.1", "hey_jarvis_v0.1")


class WakeServer:
    """A service as wyoming-openwakeword is one: it finds the names of its words in the bytes, asked for or not.

    Attributes:
        events: Type and data of what came, but for the sound.
        sound: What came.
        info: What it says of itself.
    """

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.sound = bytearray()
        self.info: Any = {
            "wake": [
                {
                    "name": "openwakeword",
                    "models": [
                        {"name": each, "phrase": each.replace("_", " "), "languages": ["en"], "installed": True}
                        for each in WORDS
                    ],
                }
            ]
        }
        self.writers: list[asyncio.StreamWriter] = []
        self.server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=EVENT_LIMIT_BYTES)
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self.server is not None
        self.server.close()
        for each in self.writers:
            each.close()
        self.writers.clear()
        await self.server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        while (event := await read_event(reader, 30.0)) is not None:
            if event.type == "describe":
                writer.write(encode(WyomingEvent("info", self.info)))
            elif event.type == "audio-chunk":
                assert event.data == {"rate": 16_000, "width": 2, "channels": 1}
                self.sound += event.payload
                for each in WORDS:
                    if each.encode() in event.payload:
                        writer.write(encode(WyomingEvent("detection", {"name": each, "timestamp": None})))
            else:
                self.events.append((event.type, dict(event.data)))
        writer.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def server() -> AsyncIterator[WakeServer]:
    server = WakeServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def engine(server: WakeServer, clock: ManualClock) -> AsyncIterator[WyomingWake]:
    tasks = TaskOwner("test")
    yield WyomingWake(f"tcp://127.0.0.1:{server.port}", clock, tasks.spawn)
    await tasks.cancel_all()


async def test_a_service_says_what_it_finds_and_finds_it(engine: WyomingWake, server: WakeServer) -> None:
    heard: list[str] = []
    words = await engine.words()
    stream = engine.open("kitchen", WORDS[:1], 0.5, lambda word, _: heard.append(word))

    stream.feed(bytes(1_024) + WORDS[1].encode())  # another word, which it was not asked for
    stream.feed(b"\0" + WORDS[0].encode())
    await until(lambda: heard)
    stream.close()
    await until(lambda: not server.server or len(server.sound) > 1_024)

    assert words == [WakeWord(each, each.replace("_", " "), ("en",)) for each in WORDS]
    assert heard == [WORDS[0]]
    assert server.events == [
        ("detect", {"names": [WORDS[0]]}),
        ("audio-start", {"rate": 16_000, "width": 2, "channels": 1}),
    ]


async def test_a_service_that_went_is_found_again_and_old_sound_is_dropped(
    engine: WyomingWake, server: WakeServer, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    stream = engine.open("kitchen", WORDS, 0.5, lambda word, _: heard.append(word))
    stream.feed(WORDS[0].encode())
    await until(lambda: heard)

    await server.stop()
    await until(lambda: "kitchen are not found" in caplog.text)
    stream.feed(WORDS[0].encode() + bytes(PENDING_BYTES))
    stream.feed(WORDS[1].encode() + b"\0")
    server.sound.clear()
    await server.start()
    await as_time_passes(clock, RETRY_S, lambda: len(heard) == 2)

    assert heard == [WORDS[0], WORDS[1]]
    assert len(server.sound) == PENDING_BYTES
    assert [each.levelno for each in caplog.records if "were dropped" in each.getMessage()] == [logging.WARNING]


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ({"asr": []}, "finds no wake words"),
        ({"wake": [{"models": [{"name": "a", "installed": False}]}]}, "finds no wake words"),
        ({"wake": ["openwakeword"]}, "is no Wyoming service"),
    ],
)
async def test_what_is_no_such_service_is_said(engine: WyomingWake, server: WakeServer, info: Any, words: str) -> None:
    server.info = info

    with pytest.raises(Unavailable, match=words):
        await engine.words()


async def test_a_service_that_is_away_is_said(engine: WyomingWake, server: WakeServer) -> None:
    await server.stop()

    with pytest.raises(Unavailable, match=r"tcp://127.0.0.1:\d+ does not answer: "):
        await engine.words()
    await server.start()
