"""Rooms in which somebody speaks, in real time: a Wyoming satellite and an ESPHome device, as a hub hears them."""

from __future__ import annotations

import asyncio
import random
import time
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from wyoming.pipeline import PipelineStage, RunPipeline

from hub.core.clock import Clock
from hub.voice.contract import BYTES_PER_S, Sound
from hub.voice.sound import read_wav
from tests.integrations.devices.esphome.test_satellite import PLAYER
from tests.integrations.devices.wyoming.satellite_double import SatelliteDouble
from tests.servers.esphome_device import EsphomeDouble

PIECE_BYTES = 2_048
NOISE = array("h", random.Random(1).choices(range(-20, 21), k=BYTES_PER_S // 2)).tobytes()
"""A second of a quiet room."""


class Room(Protocol):
    """A room with a satellite.

    Attributes:
        name: Of the room.
        id: Of its satellite.
    """

    name: str
    id: str

    async def say(self, wake: bytes, words: bytes) -> float:
        """Say a wake word and words; return when the last of them had been said."""
        ...

    def heard(self) -> list[str]:
        """Return what was understood, in order."""
        ...

    def sounds(self) -> list[tuple[float, Sound]]:
        """Return what it played, with the time at which each sound began."""
        ...


class WyomingRoom:
    """A box that sends all that its microphone hears."""

    def __init__(self, name: str, id: str) -> None:
        self.name, self.id = name, id
        self.box = SatelliteDouble(f"{name} box", name)
        self._said = bytearray()
        self._silent = asyncio.Event()

    async def open_microphone(self) -> None:
        """Send what is said here, and the quiet of the room, as time passes."""
        began, at = time.monotonic(), 0
        await self.box.send(RunPipeline(PipelineStage.WAKE, PipelineStage.TTS, restart_on_end=True))
        while True:
            piece = bytes(self._said[:PIECE_BYTES])
            del self._said[:PIECE_BYTES]
            if not self._said:
                self._silent.set()
            await self.box.say(piece + NOISE[: PIECE_BYTES - len(piece)])
            at += PIECE_BYTES
            await asyncio.sleep(max(0.0, began + at / BYTES_PER_S - time.monotonic()))

    async def say(self, wake: bytes, words: bytes) -> float:
        self._silent.clear()
        self._said += wake + words
        await self._silent.wait()
        return time.monotonic()

    def heard(self) -> list[str]:
        return [text for each in self.box.heard if each.type == "transcript" and (text := each.data.get("text"))]

    def sounds(self) -> list[tuple[float, Sound]]:
        found: list[tuple[float, Sound]] = []
        for event, at in zip(self.box.heard, self.box.times, strict=True):
            if event.type == "audio-start":
                found.append((at, Sound(b"", event.data["rate"])))
            elif event.type == "audio-chunk":
                began, sound = found[-1]
                found[-1] = began, Sound(sound.samples + (event.payload or b""), sound.rate)
        return found


class EsphomeRoom:
    """A device that finds its wake word itself."""

    def __init__(self, name: str, id: str, mac: str) -> None:
        self.name, self.id = name, id
        self.device = EsphomeDouble(f"{id}-voice", mac, entities=[(PLAYER, None)], friendly_name=f"{name} voice")
        self.device.clock = Clock()
        self.word = "Okay Nabu"

    async def say(self, wake: bytes, words: bytes) -> float:
        await asyncio.sleep(len(wake) / BYTES_PER_S)
        self.device.wake(self.word)
        began = time.monotonic()
        for at in range(0, len(words), PIECE_BYTES):
            await asyncio.sleep(max(0.0, began + at / BYTES_PER_S - time.monotonic()))
            await self.device.hear(words[at : at + PIECE_BYTES])
        ended = time.monotonic()
        for at in range(0, 8 * BYTES_PER_S, PIECE_BYTES):  # its microphone stays open until it is told to end
            if not self.device.is_listening:
                break
            await asyncio.sleep(max(0.0, ended + at / BYTES_PER_S - time.monotonic()))
            await self.device.hear(NOISE[:PIECE_BYTES])
        return ended

    def heard(self) -> list[str]:
        return [text for each in self.device.says("STT_END") if (text := each.get("text"))]

    def sounds(self) -> list[tuple[float, Sound]]:
        read = [(at, read_wav(data)) for at, (_, data) in zip(self.device.times, self.device.played, strict=True)]
        return [(at, sound) for at, sound in read if sound is not None]


@asynccontextmanager
async def switched_on(*rooms: WyomingRoom | EsphomeRoom) -> AsyncIterator[None]:
    """Switch the satellites of rooms on."""
    devices = [each.box if isinstance(each, WyomingRoom) else each.device for each in rooms]
    for each in devices:
        await (each.start() if isinstance(each, SatelliteDouble) else each.switch_on())
    try:
        yield
    finally:
        for each in devices:
            await (each.stop() if isinstance(each, SatelliteDouble) else each.switch_off())
