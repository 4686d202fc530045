"""A spoken turn: the hub's own share between the end of speech and the first sound of a short offline answer."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hub.core.clock import Clock
from hub.voice.contract import SatelliteInfo, Sound
from tests.benchmarks.table import Row, row
from tests.hub_fixture import HubFixture
from tests.voice.kit import API, Ears, Kiosk, VoiceHome

TURNS = 60
WARM = 5


class _Quick(VoiceHome):
    """A home whose engines take no time, and whose clock is the real one."""

    def __init__(self, folder: Path) -> None:
        self.ears = Ears()
        models = {"default": "offline/homarus", "providers": {"voice": {"api": API}}}
        integrations = ("webchat", "offline", "home")
        HubFixture.__init__(self, folder, "", sections={"models": models}, integrations=integrations, clock=Clock())
        self.models.register_api(API, lambda name, config: self.ears, provides=False)


class _Still(Kiosk):
    """A satellite that has played a sound at once."""

    async def play(self, sound: Sound) -> None:
        self.played.append(sound.seconds)


def measure() -> list[Row]:
    """Ask for the time again and again."""
    with tempfile.TemporaryDirectory() as folder:
        took = asyncio.run(_turns(Path(folder) / "home"))
    return [row("spoken turn: end of speech to the first sound, without what hears and speaks", "ms", took, "≤ 60")]


async def _turns(folder: Path) -> list[float]:
    home, took = _Quick(folder), list[float]()
    async with home:
        home.voice.configure({"transcription_model": "voice/auto", "speech_model": "voice/auto"})
        kitchen = _Still(home, SatelliteInfo("kitchen", "Kitchen", "kiosk"))
        kitchen.line.connected(is_connected=True)
        for turn in range(WARM + TURNS):
            home.ears.hears = ["What time is it?"]
            ended = asyncio.ensure_future(home.bus.wait_for("voice_turn"))
            await asyncio.sleep(0)
            kitchen.line.wake()
            kitchen.say()
            await ended
            stages = home.satellites.turns()[0].stages
            if turn >= WARM:
                took.append(stages["speech"] - stages["heard"])
    return took
