"""What is said in rooms that nobody asked for: announcements, questions and talks, at satellites and at players."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Context, system_context
from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.services import TAINTED
from hub.entities.description import EntityDescription
from hub.host import IntegrationHost
from hub.integration.registrations import Registrations
from hub.tools.contract import ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.voice.announcements import understood
from hub.voice.chimes import Chime, chime
from hub.voice.contract import Sound
from hub.voice.sound import as_wav
from integrations.tools import media
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import Kiosk, VoiceHome, voice_home

CHIME_S = round(chime(Chime.ANNOUNCE).seconds, 2)
ANSWERS = [
    {"id": "yes", "sentences": ["yes [please]", "(sure|of course)"]},
    {"id": "music", "sentences": ["play {album} by {artist}"]},
]


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    async with voice_home(tmp_path, openai_server.base_url) as home:
        registry = home.entities.registry
        below = registry.create("floor", "Downstairs").id
        for name, floor in (("Kitchen", below), ("Living room", below), ("Bedroom", None)):
            registry.create("area", name, floor_id=floor)
        yield home


def room(home: VoiceHome, id: str) -> Kiosk:
    kiosk = home.kiosk(id)
    home.entities.registry.update("entity", f"assist_satellite.{id}", area_id=id)
    return kiosk


async def call(home: VoiceHome, name: str, data: Mapping[str, Any], **more: Any) -> Any:
    """Call a service of satellites while time passes."""
    domain, _, service = name.rpartition(".")
    work = home.services.call(domain or "assist_satellite", service, data, context=system_context(), **more)
    task = asyncio.create_task(work)
    await home.passing(task.done)
    return task.result()


def words(home: VoiceHome) -> list[str]:
    return [text for _, text, *_ in home.ears.spoken]


@pytest.mark.parametrize(
    ("target", "rooms"),
    [
        ({"entity_id": "assist_satellite.kitchen"}, {"kitchen"}),
        ({"area_id": ["kitchen", "bedroom"]}, {"kitchen", "bedroom"}),
        ({"floor_id": "downstairs"}, {"kitchen"}),
        ({"entity_id": "all"}, {"kitchen", "bedroom"}),
    ],
)
async def test_an_announcement_is_said_at_its_target_after_a_chime(
    home: VoiceHome, target: Mapping[str, Any], rooms: set[str]
) -> None:
    kiosks = {id: room(home, id) for id in ("kitchen", "bedroom")}

    await call(home, "announce", {**target, "message": "Dinner."})
    await call(home, "announce", {**target, "message": "Now.", "preannounce": False})

    for id, kiosk in kiosks.items():
        assert kiosk.played == ([CHIME_S, 0.42, 0.24] if id in rooms else [])


async def test_one_satellite_that_is_away_is_named_and_the_others_speak(home: VoiceHome) -> None:
    kitchen, bedroom = room(home, "kitchen"), room(home, "bedroom")
    bedroom.line.connected(is_connected=False)

    with pytest.raises(Unavailable, match="Bedroom: The bedroom is away"):
        await call(home, "announce", {"entity_id": "all", "message": "Dinner."})
    with pytest.raises(NotFound, match="not a voice satellite; there are: assist_satellite"):
        await call(home, "announce", {"entity_id": "assist_satellite.attic", "message": "Dinner."})
    with pytest.raises(InvalidRequest, match="expected message or media_id"):
        await call(home, "announce", {"entity_id": "all"})

    assert kitchen.played == [CHIME_S, 0.42]


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
async def test_a_recording_of_the_home_is_played(home: VoiceHome) -> None:
    kitchen = room(home, "kitchen")
    folder = home.home.path / "media"
    folder.mkdir(exist_ok=True)
    (folder / "gong.wav").write_bytes(as_wav(Sound(bytes(22_050), 22_050)))
    (folder / "bad.wav").write_bytes(b"no sound")
    where = {"entity_id": "assist_satellite.kitchen"}
    local = "media-source://media_source/local/gong.wav"

    for id in (local, {"media_content_id": "/media/local/gong.wav", "media_content_type": "audio/wav"}):
        await call(home, "announce", {**where, "media_id": id, "preannounce": False})
    await call(home, "announce", {**where, "message": "Dinner.", "preannounce_media_id": local})
    for id in ("media/none.wav", "media/bad.wav", "/etc/passwd"):
        with pytest.raises(HubError):
            await call(home, "announce", {**where, "media_id": id})

    assert kitchen.played == [0.5, 0.5, 0.5, 0.42]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Yes, please!", {"id": "yes", "slots": {}}),
        ("play Aja by Steely Dan", {"id": "music", "slots": {"album": "Aja", "artist": "Steely Dan"}}),
        ("maybe", {"id": None, "slots": {}}),
    ],
)
async def test_a_question_is_answered_by_one_of_its_answers(
    home: VoiceHome, said: str, answer: Mapping[str, Any]
) -> None:
    kitchen = room(home, "kitchen")
    home.ears.hears = [said]
    notes: dict[str, Any] = {}

    async def speak() -> None:
        await until(lambda: kitchen.listens)
        kitchen.say()

    asked = asyncio.create_task(speak())
    data = {"entity_id": "assist_satellite.kitchen", "question": "Shall I?", "answers": ANSWERS}
    found = await call(home, "ask_question", data, wants_response=True, notes=notes)
    await asked

    assert found == {**answer, "sentence": said}
    assert notes[TAINTED]


def test_answers_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="answers"):
        understood("yes", [{"id": "a", "sentences": ["(yes"]}])


async def test_a_talk_that_the_hub_begins_goes_on_with_the_agent(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("Then I leave it open.")
    kitchen = room(home, "kitchen")
    home.ears.hears = ["no, leave it"]

    start = {"start_message": "Shall I close the window?", "extra_system_prompt": "It rains."}
    await call(home, "start_conversation", {"area_id": "kitchen", **start})
    kitchen.say()
    turn = await home.turn()

    assert (turn.text, turn.answer) == ("no, leave it", "Then I leave it open.")
    sent = json.dumps(openai_server.requests()[0]["body"]["messages"])
    assert "It rains." in sent
    assert "Shall I close the window?" in sent


async def test_every_room_hears_an_announcement_at_a_satellite_else_at_a_player(home: VoiceHome) -> None:
    kitchen = room(home, "kitchen")
    played = await players(home)

    first = await announce(home, message="Dinner.")
    second = await announce(home, message="Supper.", rooms=["downstairs"])
    third = await announce(home, message="Tea.", rooms=["the Bedroom"])
    nowhere = await announce(home, message="Tea.", rooms=["Attic"])

    assert json.loads(first.output) == {"said_in": ["Kitchen", "Living room"]}
    assert json.loads(second.output) == {"said_in": ["Kitchen", "Living room"]}
    assert json.loads(third.output) == {"said_in": ["Bedroom"]}
    assert "nothing that speaks in 'Attic'; there is in: Bedroom, Kitchen, Living room" in nowhere.output
    assert kitchen.played == [CHIME_S, 0.42, CHIME_S, 0.42]
    assert played == ["media_player.hifi", "media_player.hifi", "media_player.tv"]


async def test_a_room_hears_it_at_the_satellite_of_another_hub(home: VoiceHome) -> None:
    kitchen, said = room(home, "kitchen"), list[tuple[str, Any]]()
    for name, area in (("Bedroom voice", "bedroom"), ("Living voice", "living_room")):

        async def speak(data: Mapping[str, Any], name: str = name) -> None:
            said.append((name, data))

        about = EntityDescription("assist_satellite", name, name)
        handle = home.entities.add(about, {"announce": speak}, source="homeassistant")
        handle.available(name != "Living voice")
        home.entities.registry.update("entity", handle.entity_id, area_id=area)

    everywhere = await call(home, "voice.announce", {"message": "Dinner."}, wants_response=True)
    named = {"message": "Tea.", "rooms": ["bedroom", "living_room", "Bedroom voice"]}
    by_name = await call(home, "voice.announce", named, wants_response=True)

    assert everywhere == {"rooms": ["Kitchen", "Bedroom"], "failed": {}}
    assert by_name == {"rooms": ["Bedroom"], "failed": {"Living room": "Living voice is away"}}
    assert said == [("Bedroom voice", {"message": "Dinner."}), ("Bedroom voice", {"message": "Tea."})]
    assert kitchen.played == [CHIME_S, 0.42]


async def test_what_is_away_is_told_beside_where_it_was_said(home: VoiceHome) -> None:
    room(home, "kitchen")
    room(home, "bedroom").line.connected(is_connected=False)

    told = await announce(home, message="Dinner.", rooms=["Kitchen", "Bedroom"])

    assert json.loads(told.output) == {"said_in": ["Kitchen"], "not_said": {"Bedroom": "The bedroom is away"}}


async def test_a_home_without_satellites_has_neither_tools_nor_services(home: VoiceHome) -> None:
    assert home.tools.get("timer") is None
    assert home.services.get("voice", "announce") is None


async def announce(home: VoiceHome, **arguments: Any) -> ToolResult:
    context = Context(home.people.owner_authority())
    request = ToolCallRequest("c", "announce", arguments, context, "main", "agent:main:main", "r")
    task = asyncio.create_task(invoke_tool(home.tools, request))
    await home.passing(task.done)
    return task.result()


async def players(home: VoiceHome) -> list[str]:
    """Add a player that is on, and one that is off; return which was asked to play."""
    home.models.register_api("speaker", lambda name, config: home.ears, provides=True, speaks=True)
    hub: HubFixture = home
    await media.setup(IntegrationHost("media", Registrations("media"), hub), {})
    played: list[str] = []
    for name, area, state in (("Hifi", "living_room", "idle"), ("TV", "bedroom", "off")):

        async def play(data: Mapping[str, Any], name: str = name) -> None:
            played.append(f"media_player.{name.lower()}")

        handle = home.entities.add(EntityDescription("media_player", name, name), {"play_media": play}, source="test")
        handle.set(state)
        home.entities.registry.update("entity", handle.entity_id, area_id=area)
    return played
