"""From a wake word to a lamp and an answer aloud: satellites, a service that hears, espeak-ng, and the whole hub."""

from __future__ import annotations

import asyncio
import shutil
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from wyoming.asr import Transcript
from wyoming.audio import AudioStop
from wyoming.event import Event
from wyoming.pipeline import PipelineStage, RunPipeline
from wyoming.server import AsyncEventHandler, AsyncTcpServer
from wyoming.wake import Detection

from tests.hub_fixture import HubFixture
from tests.integrations.devices.wyoming.satellite_double import SatelliteDouble, satellite_double
from tests.until import until

pytestmark = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")

WAKE = (Detection("ok_nabu"), RunPipeline(PipelineStage.ASR, PipelineStage.TTS))
SPEECH = b"".join(struct.pack("<h", 8_000 if at // 40 % 2 else -8_000) for at in range(12_800)) + bytes(32_000)
INTEGRATIONS = ("wyoming", "voice", "demo", "home", "offline", "webchat")


class Ears(AsyncEventHandler):
    """A service that hears what it is told, in turn."""

    hears: ClassVar[list[str]] = []

    async def handle_event(self, event: Event) -> bool:
        if AudioStop.is_type(event.type):
            await self.write_event(Transcript(self.hears.pop(0)).event())
        return True


class Rooms:
    """A hub with a satellite in the kitchen and one in the bedroom."""

    def __init__(self, hub: HubFixture, kitchen: SatelliteDouble, bedroom: SatelliteDouble) -> None:
        self.hub, self.kitchen, self.bedroom = hub, kitchen, bedroom

    def state(self, entity_id: str) -> str:
        found = self.hub.states.get(entity_id)
        return "" if found is None else found.state

    async def say(self, satellite: SatelliteDouble, text: str) -> None:
        Ears.hears.append(text)
        await satellite.send(*WAKE)
        await satellite.say(SPEECH)


@pytest.fixture
async def rooms(tmp_path: Path) -> AsyncIterator[Rooms]:
    Ears.hears.clear()
    async with AsyncExitStack() as stack:
        ears = AsyncTcpServer("127.0.0.1", 0)
        await ears.start(Ears)
        stack.push_async_callback(ears.stop)
        assert isinstance(ears._server, asyncio.Server)
        port = ears._server.sockets[0].getsockname()[1]
        kitchen, bedroom = [
            await stack.enter_async_context(satellite_double(SatelliteDouble(f"{each} box", each)))
            for each in ("Kitchen", "Bedroom")
        ]
        sections: dict[str, Any] = {
            "models": {
                "default": "offline/homarus",
                "providers": {"ears": {"api": "wyoming", "base_url": f"tcp://127.0.0.1:{port}"}},
            },
            "messages": {"media": {"transcription_model": "ears/auto"}},
            "voice": {"tts": "espeak-ng"},
            "demo": {},
            "wyoming": {
                "satellites": [{"url": kitchen.url, "id": "kitchen"}, {"url": bedroom.url, "id": "bedroom"}],
            },
        }
        hub = HubFixture(tmp_path, "", sections=sections, integrations=INTEGRATIONS)
        rooms = Rooms(await stack.enter_async_context(hub), kitchen, bedroom)
        await until(
            lambda: rooms.state("assist_satellite.kitchen") == rooms.state("assist_satellite.bedroom") == "idle"
        )
        yield rooms


async def test_the_light_of_the_room_goes_on_and_the_answer_is_heard_there(rooms: Rooms) -> None:
    await rooms.say(rooms.kitchen, "turn on the light")
    await rooms.kitchen.got("audio-stop")
    await until(lambda: rooms.state("assist_satellite.kitchen") == "idle")

    lamps = {each: rooms.state(f"light.{each}") for each in ("kitchen_lamp", "bedside_lamp", "hall_lamp")}
    assert lamps == {"kitchen_lamp": "on", "bedside_lamp": "off", "hall_lamp": "off"}
    types = rooms.kitchen.types()
    assert types[:4] == ["run-satellite", "transcribe", "voice-stopped", "transcript"]
    assert {"synthesize", "audio-start", "audio-chunk", "audio-stop"} <= set(types)
    assert any(any(each.payload or b"") for each in rooms.kitchen.heard)
    assert rooms.bedroom.types() == ["run-satellite"]


async def test_each_of_two_rooms_has_its_own(rooms: Rooms) -> None:
    await rooms.say(rooms.kitchen, "turn on the light")
    await rooms.kitchen.got("audio-stop")
    await rooms.say(rooms.bedroom, "turn on the light")
    await rooms.bedroom.got("audio-stop")

    assert (rooms.state("light.kitchen_lamp"), rooms.state("light.bedside_lamp")) == ("on", "on")
    assert rooms.state("light.hall_lamp") == "off"


async def test_its_word_breaks_off_what_is_said(rooms: Rooms) -> None:
    await rooms.say(rooms.kitchen, "what can you do")
    await rooms.kitchen.got("audio-chunk")
    await until(lambda: rooms.state("assist_satellite.kitchen") == "responding")
    before = len(rooms.kitchen.heard)

    await rooms.say(rooms.kitchen, "turn on the light")
    await until(lambda: rooms.state("light.kitchen_lamp") == "on")

    after = [each.type for each in rooms.kitchen.heard[before:]]
    assert after.index("audio-stop") < after.index("transcript")


async def test_one_that_goes_while_it_is_spoken_to_comes_back_idle(rooms: Rooms) -> None:
    await rooms.kitchen.send(*WAKE)
    await rooms.kitchen.say(SPEECH[:20_000])
    await until(lambda: rooms.state("assist_satellite.kitchen") == "listening")

    await rooms.kitchen.stop()
    await until(lambda: rooms.state("assist_satellite.kitchen") == "unavailable")
    await rooms.kitchen.start()

    await until(lambda: rooms.state("assist_satellite.kitchen") == "idle")
    await rooms.say(rooms.kitchen, "turn on the light")
    await until(lambda: rooms.state("light.kitchen_lamp") == "on")
