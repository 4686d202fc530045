"""Timers that are asked of Home Assistant's Assist ring at its satellite, over the bridge, or reach a chat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Context
from hub.voice.ringing import GRACE_S
from tests.integrations.devices.home_assistant.core_double import TOKEN, CoreDouble
from tests.servers.ports import free_port
from tests.voice.kit import VoiceHome
from tests.voice.test_timers import timers, transcript

PE = {"satellite_id": "assist_satellite.pe", "device_id": "d1"}
PHONE = {"device_id": "a phone"}


class AssistHome(VoiceHome):
    """A home without satellites of its own, beside a Home Assistant that has one in the kitchen."""

    def __init__(self, folder: Path, core: CoreDouble) -> None:
        self.core, self.assist_port = core, free_port()
        sections = {
            "home_assistant": {"url": core.url, "token": TOKEN},
            "wyoming": {"listen": "127.0.0.1", "port": self.assist_port, "person": "anna"},
            "models": {"default": "offline/homarus"},
        }
        super().__init__(
            folder, "http://127.0.0.1:9", sections, "home_assistant", "media", "wyoming", "offline", "home"
        )

    async def ask(self, text: str, about: dict[str, str]) -> str:
        """Say something as Assist passes it on, and return what is answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.assist_port)
        told = json.dumps({"text": text, "context": {"conversation_id": "c1", **about}}).encode()
        head = {"type": "transcript", "version": "1.10.2", "data_length": len(told)}
        writer.write(json.dumps(head).encode() + b"\n" + told)
        async with asyncio.timeout(30):
            while True:
                head = json.loads(await reader.readline())
                data = json.loads(await reader.readexactly(head["data_length"])) if "data_length" in head else {}
                if head["type"] in ("handled", "not-handled"):
                    writer.close()
                    return str(data["text"])

    def told_in_chat(self) -> list[str]:
        return [text for _, text in transcript(self)]

    def announced(self) -> list[dict[str, Any]]:
        return [each for each in self.core.called if each["service"] == "announce"]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[AssistHome]:
    async with CoreDouble() as core:
        core.registries["area"] = [{"area_id": "k", "name": "Kitchen", "aliases": []}]
        core.registries["device"] = [{"id": "d1", "name": "Voice PE", "area_id": "k"}]
        core.registries["entity"] = [{"id": "e1", "entity_id": "assist_satellite.pe", "device_id": "d1"}]
        await core.add("assist_satellite.pe", "idle", friendly_name="Voice PE", supported_features=1)
        home = AssistHome(tmp_path, core)
        async with home:
            await home.passing(lambda: home.states.get("assist_satellite.pe") is not None)
            yield home


async def test_a_timer_is_announced_where_it_was_asked_for_until_somebody_wakes_that_satellite(
    home: AssistHome,
) -> None:
    said = await home.ask("set a pizza timer for 5 minutes", PE)
    listed = await home.ask("what timers are there", {"device_id": "d1"})
    await home.clock.advance(301)
    await home.passing(lambda: len(home.announced()) >= 3)

    before = len(home.announced())
    await home.core.change("assist_satellite.pe", "listening")
    await home.passing(lambda: not timers(home).all())
    rung = len(home.announced())
    quiet = await home.ask("stop", PE)
    put_off = await home.ask("five more minutes", PE)
    await home.clock.advance(299)
    waited = len(home.announced())
    await home.clock.advance(2)
    await home.passing(lambda: len(home.announced()) > rung)

    assert (said, quiet, put_off) == ("pizza timer, 5 minutes, starting now.", "", "Put off for 5 minutes.")
    assert listed == "pizza timer: 5 minutes left."
    assert rung <= before + 1  # it does not ring out its two minutes
    assert waited == rung
    assert home.core.called[0] == {
        "domain": "assist_satellite",
        "service": "announce",
        "service_data": {"message": "Your pizza timer is done."},
        "target": {"entity_id": "assist_satellite.pe"},
    }
    assert home.told_in_chat() == []


async def test_a_satellite_of_home_assistant_that_stays_busy_or_away_leaves_it_to_a_chat(home: AssistHome) -> None:
    await home.ask("set a pizza timer for 5 minutes", PE)
    home.core.refuses = "the satellite is busy"
    await home.clock.advance(301)
    for _ in range(GRACE_S):
        await home.clock.advance(1)
    await home.passing(lambda: not timers(home).all())

    assert home.told_in_chat() == ["The pizza timer in Kitchen is done."]


async def test_a_satellite_that_is_busy_for_a_moment_announces_it_then(home: AssistHome) -> None:
    await home.ask("set a pizza timer for 5 minutes", PE)
    home.core.refuses = "the satellite is busy"
    await home.clock.advance(303)
    home.core.refuses = None
    await home.passing(lambda: len(home.announced()) >= 1)

    assert home.told_in_chat() == []


async def test_a_timer_that_was_asked_of_a_phone_is_told_in_a_chat(home: AssistHome) -> None:
    await home.ask("set a pizza timer for 5 minutes", PHONE)
    await home.clock.advance(301)
    await home.passing(lambda: not timers(home).all())

    assert home.told_in_chat() == ["Your pizza timer is done."]
    assert home.announced() == []


async def test_its_satellites_announce_by_the_service_of_this_home_too(home: AssistHome) -> None:
    by = Context(home.people.owner_authority())
    data = {"entity_id": "assist_satellite.pe", "message": "Dinner is ready", "preannounce": False}

    await home.services.call("assist_satellite", "announce", data, context=by)

    assert [each["service_data"] for each in home.announced()] == [{"message": "Dinner is ready", "preannounce": False}]
