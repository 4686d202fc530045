"""Somebody speaks to an ESPHome device: its room's lamp goes on, it answers, and it is spoken to and interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from hub.entities.description import DeviceInfo, EntityDescription
from hub.entities.entities import Command
from hub.host import HubParts, IntegrationHost
from hub.integration.registrations import Registrations
from hub.voice.contract import RATE
from hub.voice.sound import read_wav, resampled
from integrations.devices.esphome import setup
from integrations.devices.esphome.schema import CONFIG_SCHEMA
from integrations.models import offline
from integrations.tools import home as home_tools
from tests.integrations.devices.esphome.kit import at
from tests.integrations.devices.esphome.test_satellite import PLAYER
from tests.servers.esphome_device import EsphomeDouble
from tests.servers.openai_server import OpenAIServer
from tests.voice.kit import API, VoiceHome, silence, voice_home

KITCHEN, BATH = "esphome_020000aabbcc", "esphome_020000aabbdd"


class Rooms:
    """A home with a device and a lamp in the kitchen and in the bath."""

    def __init__(self, home: VoiceHome, kitchen: EsphomeDouble, bath: EsphomeDouble) -> None:
        self.home, self.kitchen, self.bath = home, kitchen, bath
        self.lit: list[str] = []
        for room in ("Kitchen", "Bath"):
            device = DeviceInfo(frozenset({room}), name=f"{room} lamp", suggested_area=room)
            description = EntityDescription("light", f"{room}", None, device=device)
            home.entities.add(description, {"turn_on": self._lights(room)}, source="test").set("off")

    def _lights(self, room: str) -> Command:
        async def turn_on(_: Mapping[str, Any]) -> None:
            self.lit.append(room)

        return turn_on

    async def speak(self, device: EsphomeDouble, words: bytes) -> None:
        """Let somebody wake a device and speak."""
        device.wake()
        await self.home.passing(lambda: "STT_START" in [name for name, _ in device.events])
        await device.hear(silence(0.1) + words + silence(1.0))


@pytest.fixture
async def rooms(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Rooms]:
    kitchen = EsphomeDouble(entities=[(PLAYER, None)], friendly_name="Kitchen voice")
    bath = EsphomeDouble(mac="02:00:00:AA:BB:DD", entities=[(PLAYER, None)], friendly_name="Bath voice")
    models = {"default": "offline/assistant", "providers": {"voice": {"api": API}}}
    async with kitchen, bath, voice_home(tmp_path, openai_server.base_url, models=models) as home:
        kitchen.clock = bath.clock = home.clock
        for area in ("Kitchen", "Bath"):
            home.entities.registry.create("area", area)
        registrations, parts = Registrations("esphome"), cast(HubParts, home)
        for each in (offline, home_tools):
            await each.setup(IntegrationHost("test", registrations, parts), None)
        config = CONFIG_SCHEMA([at(kitchen, area="Kitchen"), at(bath, area="Bath")])
        await setup(IntegrationHost("esphome", registrations, parts), config)
        await home.passing(lambda: sum(each.is_connected for each in home.satellites.all()) == 2)
        yield Rooms(home, kitchen, bath)
        await registrations.undo_all()


async def spoken(text: str) -> bytes:
    """Return a text as espeak-ng says it, as the device hears it."""
    program = await asyncio.create_subprocess_exec(
        *("espeak-ng", "-v", "en-us", "--stdout", text), stdout=asyncio.subprocess.PIPE
    )
    wav, _ = await program.communicate()
    sound = read_wav(wav)
    assert sound is not None
    return resampled(sound, RATE).samples


async def test_a_sentence_turns_on_the_lamp_of_the_room_and_is_answered_there(
    rooms: Rooms, openai_server: OpenAIServer
) -> None:
    rooms.home.ears.hears = ["Turn on the light."]

    await rooms.speak(rooms.bath, await spoken("Turn on the light."))
    turn = await rooms.home.turn()

    assert (turn.satellite, turn.text, turn.outcome, turn.wake_word) == (
        BATH,
        "Turn on the light.",
        "answered",
        "okay_nabu",
    )
    assert rooms.lit == ["Bath"]
    assert [kind for kind, _ in rooms.bath.played] == ["audio/wav"]
    assert rooms.kitchen.played == []


async def test_what_is_announced_is_played_to_its_end_and_what_is_asked_is_answered(rooms: Rooms) -> None:
    home, kitchen = rooms.home, rooms.kitchen
    announcing = asyncio.create_task(home.satellites.say(KITCHEN, "Dinner is ready."))
    await home.passing(announcing.done)
    rooms.home.ears.hears = ["Yes."]
    asking = asyncio.create_task(home.satellites.ask(KITCHEN, "Shall I close the blinds?"))
    await home.passing(lambda: kitchen.is_listening)
    await kitchen.hear(silence(0.1) + await spoken("Yes.") + silence(1.0))
    await home.passing(asking.done)

    assert announcing.result().is_whole
    assert asking.result() == "Yes."
    assert [each.start_conversation for each in kitchen.announcements] == [False, False, True]
    assert rooms.bath.announcements == []


async def test_somebody_who_speaks_breaks_off_what_is_said(rooms: Rooms) -> None:
    home, kitchen = rooms.home, rooms.kitchen
    home.ears.hears = ["Turn on the light."]
    saying = asyncio.create_task(home.satellites.say(KITCHEN, "One two three. " * 20))
    await home.passing(lambda: kitchen.played)
    await rooms.speak(kitchen, await spoken("Turn on the light."))
    await home.turn()

    assert not saying.result().is_whole
    assert rooms.lit == ["Kitchen"]


async def test_a_device_that_goes_away_while_somebody_speaks_ends_the_turn_and_hears_the_next(rooms: Rooms) -> None:
    home, kitchen = rooms.home, rooms.kitchen
    kitchen.wake()
    await home.passing(lambda: kitchen.is_listening and kitchen.says("STT_START"))
    await kitchen.hear((await spoken("Turn on"))[:8_000])
    await kitchen.switch_off()
    turn = await home.turn()
    await kitchen.switch_on()
    await home.passing(lambda: all(each.is_connected for each in home.satellites.all()))
    kitchen.events.clear()
    home.ears.hears = ["Turn on the light."]
    await rooms.speak(kitchen, await spoken("Turn on the light."))
    await home.turn(2)

    assert turn.outcome == "failed"
    assert "was disconnected" in turn.error
    assert rooms.lit == ["Kitchen"]


async def test_a_timer_is_shown_and_rings_where_it_was_said(rooms: Rooms) -> None:
    rooms.home.ears.hears = ["Set a timer for one minute."]

    await rooms.speak(rooms.bath, await spoken("Set a timer for one minute."))
    await rooms.home.turn()
    await rooms.home.passing(lambda: len(rooms.bath.timers) == 2)

    assert [(each.event_type, each.total_seconds, each.seconds_left) for each in rooms.bath.timers] == [
        (0, 60, 60),
        (3, 60, 0),
    ]
    assert rooms.kitchen.timers == []
