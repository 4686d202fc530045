"""Somebody speaks in a room, by Piper, to a hub that runs as at home: real wake words, Whisper and Piper.

A long run with HOMARUS_VOICE, a home with engines, has it. It prints what it measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hub.core.clock import Clock
from hub.models.contract import AUTO
from hub.models.speech import SpeechRequest
from hub.voice.contract import RATE, Sound
from hub.voice.sound import as_wav, read_wav, resampled
from integrations.models.voice.engine_process import WORKER
from integrations.models.voice.installed import VoiceFolder
from integrations.models.voice.provider import VoiceProvider, VoiceSettings
from tests.integrations.models.voice.test_real_engines import cpu_s
from tests.lengths import LONG
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.whole.rooms import EsphomeRoom, Room, WyomingRoom, switched_on

REAL = os.environ.get("HOMARUS_VOICE")
EAR = os.environ.get("HOMARUS_VOICE_STT", AUTO)
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not (LONG and REAL), reason="a long run, with HOMARUS_VOICE=HOME, has them"),
    pytest.mark.timeout(900),
]
LIMIT_S = 120.0
WAKE = "Okay Nabu."
LAMPS = {"kitchen": "kitchen_lamp", "hall": "hall_lamp", "bedroom": "bedside_lamp", "living_room": "ceiling_lamp"}
STORY = (
    "Once upon a time there was a lobster who lived in a blue house by the sea. "
    "Every morning the lobster counted the boats in the harbour and wrote their names into a book. "
    "One day there was a boat without a name, and nobody knew where it had come from. "
    "So the lobster went on board and found a very old map of the whole ocean."
)


class Home:
    """A hub in a process of its own, and four rooms in which it is spoken to."""

    def __init__(self, hub: HubProcess, mouth: VoiceProvider, model: OpenAIServer) -> None:
        self.hub, self.mouth, self.model = hub, mouth, model
        self.kitchen, self.hall = WyomingRoom("Kitchen", "kitchen"), WyomingRoom("Hall", "hall")
        self.bedroom = EsphomeRoom("Bedroom", "esphome_020000aabbcc", "02:00:00:AA:BB:CC")
        self.living_room = EsphomeRoom("Living room", "esphome_020000aabbdd", "02:00:00:AA:BB:DD")
        self.rooms = (self.kitchen, self.hall, self.bedroom, self.living_room)

    async def speech(self, text: str) -> bytes:
        """Return what Piper says, as a microphone hears it."""
        sound = read_wav(await self.mouth.speak(SpeechRequest(AUTO, text, "", "wav", "en")))
        assert sound is not None
        return resampled(sound, RATE).samples

    async def warm_up(self) -> None:
        """Have whatever hears and speaks started: what a hub has that runs for a day."""
        for room, wake in ((self.kitchen, WAKE), (self.hall, "Hey Jarvis.")):
            while not room.sounds():
                await self.said(room, "What time is it?", wake)
                await asyncio.sleep(5)
            await self.quiet(room)

    async def said(self, room: Room, text: str, wake: str = WAKE) -> float:
        """Say something after a wake word; return when the last word had been said."""
        return await room.say(await self.speech(wake), await self.speech(text))

    async def words_of(self, room: Room, after: float) -> str:
        """Return what Whisper hears of all that a room has played after a time."""
        sound = b"".join(resampled(each, RATE).samples for at, each in room.sounds() if at > after)
        return await self.mouth.transcribe(EAR, as_wav(Sound(sound)), "played.wav", "en")

    def state(self, entity_id: str) -> str:
        found = self.hub.rpc("state.get", {"entity_id": entity_id})
        return str(found["state"])

    def lamps(self) -> dict[str, str]:
        return {room: self.state(f"light.{lamp}") for room, lamp in LAMPS.items()}

    def turns(self, room: Room, after: float) -> list[dict[str, Any]]:
        """Return the turns of a satellite that began after a time of the wall clock, and have ended."""
        with sqlite3.connect(f"file:{self.hub.home}/.storage/history.db?mode=ro", uri=True) as database:
            rows = database.execute("SELECT data FROM events WHERE type = 'voice_turn' ORDER BY id").fetchall()
        found = [json.loads(row[0]) for row in rows]
        return [each for each in found if each["satellite"] == room.id and each["began_ms"] > after * 1_000]

    async def ended(self, room: Room, after: float, count: int = 1) -> dict[str, Any]:
        """Wait until so many turns have ended there; return the last."""
        await holds(lambda: len(self.turns(room, after)) >= count)
        await self.quiet(room)
        turn = self.turns(room, after)[count - 1]
        print(f"\n{room.name}: {room.heard()[-1:]} {turn['outcome']} {turn['stages']}")
        return turn

    def cpu_s(self) -> dict[str, float]:
        """Return the seconds that the hub and its engines have computed, which a busy machine does not change."""
        found = {"hub": cpu_s(self.hub.pid)}
        children = Path(f"/proc/{self.hub.pid}/task/{self.hub.pid}/children").read_text().split()
        for each in children:
            command = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
            if str(WORKER).encode() in command:
                found[command[command.index(str(WORKER).encode()) + 1].decode()] = cpu_s(int(each))
        return found

    async def quiet(self, room: Room) -> None:
        await holds(lambda: self.state(f"assist_satellite.{room.id}") == "idle")


async def holds(check: Callable[[], bool]) -> None:
    """Wait until something of the hub holds, without hurry: the machine is busy with speech."""
    async with asyncio.timeout(LIMIT_S):
        while not await asyncio.to_thread(check):  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(0.2)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    folder = tmp_path_factory.mktemp("voice") / "home"
    (folder / ".storage").mkdir(parents=True)
    (folder / ".storage/voice").symlink_to(Path(REAL or "") / ".storage/voice")
    mouth = VoiceProvider("voice", VoiceFolder(folder), VoiceSettings(timeout_s=300.0), Clock())
    with OpenAIServer() as model:
        home = Home(HubProcess(folder), mouth, model)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(mouth.close)
            await stack.enter_async_context(switched_on(*home.rooms))
            (folder / "configuration.yaml").write_text(configuration(home))
            await asyncio.to_thread(home.hub.start)
            stack.push_async_callback(asyncio.to_thread, home.hub.stop)
            for each in home.rooms:
                await home.quiet(each)
            for box in (home.kitchen, home.hall):
                stack.push_async_callback(cancelled, asyncio.create_task(box.open_microphone()))
            await home.warm_up()
            yield home


def configuration(home: Home) -> str:
    test = {"api": "openai", "base_url": home.model.base_url, "api_key": "test-key-0123456789"}
    boxes = [{"url": each.box.url, "id": each.id} for each in (home.kitchen, home.hall)]
    devices = [
        {"host": "127.0.0.1", "port": each.device.port, "area": each.name} for each in (home.bedroom, home.living_room)
    ]
    sections = {
        "models": {"default": "offline/homarus", "providers": {"test": test}},
        "agents": [{"id": "main", "default": True}, {"id": "teller", "model": "test/scripted"}],
        "memory": {"embeddings": {"provider": "none"}},
        "demo": {},
        "voice": {"stt": EAR, "satellites": [{"id": "hall", "wake_words": ["hey_jarvis"], "agent": "teller"}]},
        "wyoming": {"satellites": boxes},
        "esphome": devices,
    }
    return "".join(f"{name}: {json.dumps(each)}\n" for name, each in sections.items())  # JSON is YAML


async def cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("where", ["kitchen", "bedroom"])
async def test_the_lamp_of_the_room_goes_on_and_the_answer_is_heard_there(home: Home, where: str) -> None:
    room: Room = getattr(home, where)
    before, began, begun = home.lamps(), time.time(), time.monotonic()
    await home.said(room, "Turn on the light.")
    await home.ended(room, began)
    lamps, lit = home.lamps(), await home.words_of(room, begun)
    question = await home.speech("What time is it?")
    begun, computed = time.monotonic(), home.cpu_s()
    ended = await room.say(await home.speech(WAKE), question)
    await home.ended(room, began, 2)
    took_s, spent = time.monotonic() - begun, home.cpu_s()
    first = next(at for at, _ in room.sounds() if at > ended)
    told = await home.words_of(room, begun)

    shares = ", ".join(f"{name} {spent[name] - computed.get(name, 0.0):.2f} s" for name in spent)
    print(f"{where}: computed in {took_s:.0f} s: {shares}")
    print(f"{where}: {first - ended:.2f} s from the last word to the first sound; it said {lit!r}, {told!r}")
    assert lamps == {**before, where: "on"}
    assert re.search(r"\d", told)
    assert not [each for each in home.rooms if each is not room and home.turns(each, began)]


async def test_a_timer_rings_where_it_was_set_until_somebody_says_the_wake_word(home: Home) -> None:
    began, begun = time.time(), time.monotonic()
    others = {each.id: len(each.sounds()) for each in home.rooms if each is not home.kitchen}
    await home.said(home.kitchen, "Set a timer for fifteen seconds.")
    await home.ended(home.kitchen, began)
    answer, count = await home.words_of(home.kitchen, begun), len(home.kitchen.sounds())
    await until(lambda: len(home.kitchen.sounds()) >= count + 3, LIMIT_S)
    await home.kitchen.say(await home.speech(WAKE), await home.speech("Stop."))
    await home.ended(home.kitchen, began, 2)
    rung = len(home.kitchen.sounds())
    await asyncio.sleep(10)

    print(f"it said {answer!r}, and rang with {rung - count} sounds")
    assert "15" in answer or "fifteen" in answer.lower()
    assert len(home.kitchen.sounds()) == rung
    assert {each.id: len(each.sounds()) for each in home.rooms if each is not home.kitchen} == others


async def test_what_is_interrupted_is_not_said_and_the_agent_is_told(home: Home) -> None:
    home.model.queue(STORY, "Yes, I am listening.")
    began, begun = time.time(), time.monotonic()
    await home.said(home.hall, "Tell me a story.", "Hey Jarvis.")
    await until(lambda: any(at > begun and sound.seconds > 4 for at, sound in home.hall.sounds()), LIMIT_S)
    await home.said(home.hall, "Are you listening?", "Hey Jarvis.")
    broken, answered = await home.ended(home.hall, began), await home.ended(home.hall, began, 2)
    told = json.dumps(home.model.requests()[-1]["body"]["messages"], ensure_ascii=False)
    heard = await home.words_of(home.hall, begun)

    note = re.search("Your last answer was broken off[^”]*”", told)
    print(f"it said {heard!r}; the agent was told {note and note[0]!r}")
    assert (broken["outcome"], answered["outcome"]) == ("interrupted", "answered")
    assert "lobster" in heard.lower()
    assert "map" not in heard.lower()
    assert "listening" in heard.lower()
    assert note is not None
    assert "lobster" in note[0]


async def test_four_are_spoken_to_at_once(home: Home) -> None:
    home.model.queue("It is sunny.")
    home.living_room.word = "Hey Mycroft"
    began = time.time()
    ended = await asyncio.gather(
        home.said(home.kitchen, "Turn the light off."),
        home.said(home.hall, "What is the weather like?", "Hey Jarvis."),
        home.said(home.bedroom, "Switch off the bedside lamp, please."),
        home.said(home.living_room, "Turn on the ceiling lamp."),
    )
    turns = await asyncio.gather(*(home.ended(each, began) for each in home.rooms))

    first = [
        next(at for at, _ in sounds if at > end)
        for sounds, end in zip([each.sounds() for each in home.rooms], ended, strict=True)
    ]
    print("four at once: " + ", ".join(f"{at - end:.1f} s" for at, end in zip(first, ended, strict=True)))
    assert [each["outcome"] for each in turns] == ["answered"] * 4
    lamps = home.lamps()
    assert (lamps["kitchen"], lamps["bedroom"], lamps["living_room"]) == ("off", "off", "on")
