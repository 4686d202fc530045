"""A sentence of espeak-ng through an ESPHome device to Whisper: a long run with HOMARUS_VOICE, a home with engines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.entities.description import DeviceInfo, EntityDescription
from tests.integrations.devices.esphome.kit import at, home
from tests.integrations.devices.esphome.test_satellite import PLAYER
from tests.integrations.devices.esphome.test_voice_turns import spoken
from tests.lengths import LONG
from tests.servers.esphome_device import EsphomeDouble
from tests.until import until
from tests.voice.kit import silence

REAL = os.environ.get("HOMARUS_VOICE")


@pytest.mark.skipif(not (LONG and REAL), reason="a long run, with HOMARUS_VOICE=HOME, has them")
@pytest.mark.timeout(300)
async def test_a_sentence_turns_on_the_lamp_of_the_room_and_is_answered_aloud(tmp_path: Path) -> None:
    (tmp_path / "home/.storage").mkdir(parents=True)
    (tmp_path / "home/.storage/voice").symlink_to(Path(REAL or "") / ".storage/voice")
    sections = {"voice": {"tts": "espeak-ng"}, "models": {"default": "offline/assistant"}}
    integrations = ("voice", "offline", "home", "openai_compatible")
    lit: list[str] = []

    def lights(room: str) -> Any:
        async def turn_on(_: Mapping[str, Any]) -> None:
            lit.append(room)

        return turn_on

    async with EsphomeDouble(entities=[(PLAYER, None)]) as device:
        device.clock = Clock()
        config = at(device, area="Bath")
        async with home(tmp_path, config, sections=sections, integrations=integrations, clock=Clock()) as hub:
            for room in ("Kitchen", "Bath"):
                described = DeviceInfo(frozenset({room}), name=f"{room} lamp", suggested_area=room)
                description = EntityDescription("light", room, None, device=described)
                hub.entities.add(description, {"turn_on": lights(room)}, source="test").set("off")
            satellites = hub.satellites_here()
            await until(lambda: [each for each in satellites.all() if each.is_connected])
            device.wake()
            await until(lambda: device.says("STT_START"))
            await device.hear(silence(0.2) + await spoken("Turn on the light, please.") + silence(1.5))
            (turn,) = await until(satellites.turns, limit_s=240)

    print(turn)
    assert turn.outcome == "answered"
    assert lit == ["Bath"]
    assert device.played
