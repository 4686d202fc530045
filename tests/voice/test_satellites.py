"""Turns at satellites, from the wake word to the last word of the answer, and all that can go wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Context
from hub.core.errors import Conflict, InvalidRequest, NotFound, TimedOut, Unavailable
from hub.core.surfaces import Caller
from hub.messaging.contract import Address
from hub.voice.chimes import Chime, chime
from hub.voice.contract import Sound, Stage
from hub.voice.engines import HEARING_S
from hub.voice.line import SatelliteLine
from hub.voice.sound import as_wav
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import LETTER_S, Listeners, VoiceHome, silence, speech, voice_home

ERROR_S, WAKE_S = round(chime(Chime.ERROR).seconds, 2), round(chime(Chime.WAKE).seconds, 2)


def spoken(text: str) -> float:
    return round(LETTER_S * len(text), 2)


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    async with voice_home(tmp_path, openai_server.base_url) as home:
        yield home


async def test_what_is_said_is_answered_aloud(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("It is noon.")
    kitchen = home.kiosk()
    home.ears.hears = ["What time is it?"]

    kitchen.line.wake("hey_jarvis")
    kitchen.say()
    turn = await home.turn()

    assert (turn.text, turn.answer, turn.outcome, turn.wake_word) == (
        "What time is it?",
        "It is noon.",
        "answered",
        "hey_jarvis",
    )
    assert list(turn.stages) == ["heard", "text", "answer", "speech", "done"]
    assert kitchen.played == [spoken("It is noon.")]
    assert [each["stage"] for each in home.told] == ["wake", "heard", "text", "answer", "speech", "done"]
    assert all(each.authority.tainted and not each.authority.owner for each in home.contexts)
    await until(lambda: kitchen.shown[-1] == (Stage.IDLE, ""))
    assert (Stage.PROCESSING, "What time is it?") in kitchen.shown


async def test_speech_begins_with_the_first_sentence(home: VoiceHome, openai_server: OpenAIServer) -> None:
    first, rest = "The first sentence is there.", "And here is the rest."
    openai_server.queue([{"text": f"{first} "}, {"hold": "rest"}, {"text": rest}])
    kitchen = home.kiosk()
    home.ears.hears = ["Talk"]

    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.played)

    assert kitchen.played == [spoken(first)]
    openai_server.release("rest")
    turn = await home.turn()
    assert turn.answer == f"{first}\n{rest}"
    assert len(kitchen.played) == 2


async def test_four_satellites_speak_at_once(home: VoiceHome, openai_server: OpenAIServer) -> None:
    kiosks = [home.kiosk(id) for id in ("bath", "hall", "kitchen", "attic")]
    for each in kiosks:
        openai_server.rule(each.info.id, each.info.id)
    home.ears.hears = [each.info.id for each in kiosks]

    for each in kiosks:
        each.line.wake()
        each.say()
    await home.turn(4)

    assert {each.satellite: each.text for each in home.satellites.turns()} == {
        each.info.id: each.info.id for each in kiosks
    }
    assert [each.played for each in kiosks] == [[spoken(each.info.id)] for each in kiosks]
    assert [each.text for each in home.satellites.turns("hall")] == ["hall"]


async def test_a_new_word_breaks_off_an_answer_and_the_agent_is_told_what_was_heard(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    openai_server.queue("one two three four five six seven eight nine ten", "Yes.")
    kitchen = home.kiosk()
    home.ears.hears = ["Count", "Stop counting"]
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.begun)
    await home.clock.advance(LETTER_S * 20)

    kitchen.line.wake()
    kitchen.say()
    await home.turn(2)

    first = home.satellites.turns()[1]
    assert first.outcome == "interrupted"
    assert kitchen.played == [spoken("Yes.")]
    system = openai_server.requests()[-1]["body"]["messages"][0]["content"]
    assert "this much of it was heard: “one two three four" in system
    assert "five six" not in system


async def test_touching_it_ends_the_answer_and_the_work(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "Here it begins and so on. "}, {"hold": "never"}])
    kitchen = home.kiosk()
    home.ears.hears = ["Tell me a story"]
    ended: list[str] = []
    home.bus.listen("run_finished", lambda event: ended.append(event.data["status"]))
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.begun)

    kitchen.line.stop()

    turn = await home.turn()
    assert turn.outcome == "interrupted"
    await until(lambda: ended == ["aborted"])
    assert home.stopped[-1] == "kitchen"
    assert home.states.get("assist_satellite.kitchen").state == "idle"  # type: ignore[union-attr]
    assert kitchen.played == []


@pytest.mark.parametrize("word", ["Stop!", "停", "够了。"])
async def test_the_word_stop_asks_nobody(home: VoiceHome, openai_server: OpenAIServer, word: str) -> None:
    kitchen = home.kiosk()
    home.ears.hears = [word]

    kitchen.line.wake()
    kitchen.say()
    turn = await home.turn()

    assert (turn.text, turn.answer, turn.outcome) == (word, "", "answered")
    assert home.stopped[-1] == "kitchen"
    assert openai_server.requests() == []


async def test_two_who_press_a_button_are_both_answered(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.rule("", "Yes.")
    hall, kitchen = home.kiosk("hall"), home.kiosk("kitchen")
    home.ears.hears = ["one", "two"]

    for each in (hall, kitchen):
        each.line.wake()
        each.say()
    await home.turn(2)

    assert [each.outcome for each in home.satellites.turns()] == ["answered", "answered"]


async def test_silence_and_noise_ask_nobody(home: VoiceHome, openai_server: OpenAIServer) -> None:
    kitchen = home.kiosk()
    home.ears.hears = ["  "]

    kitchen.line.wake()
    silent = await home.turn()
    kitchen.line.wake()
    kitchen.line.feed(silence(0.2) + speech(0.08) + silence(1.0))
    click = await home.turn(2)
    kitchen.line.wake()
    kitchen.say()
    rustle = await home.turn(3)

    assert (silent.outcome, click.outcome, rustle.outcome) == ("silence", "noise", "noise")
    assert (len(home.ears.heard), openai_server.requests(), kitchen.played) == (1, [], [])
    assert kitchen.shown[-1] == (Stage.IDLE, "")


async def test_a_device_that_sends_no_more_has_said_all(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("Yes.")
    kitchen = home.kiosk()
    home.ears.hears = ["Are you there"]

    kitchen.line.wake()
    kitchen.line.feed(silence(0.1) + speech(0.6))
    turn = await home.turn()

    assert turn.outcome == "answered"


@pytest.mark.parametrize(
    ("heard", "why"),
    [(None, "did not say what was said within 30 s"), (Unavailable("it is out of order"), "it is out of order")],
)
async def test_what_hears_may_fail_or_hang(home: VoiceHome, heard: Exception | None, why: str) -> None:
    kitchen = home.kiosk()
    home.ears.hears = [heard]  # type: ignore[list-item]

    kitchen.line.wake()
    kitchen.say()
    turn = await home.turn()

    assert turn.outcome == "failed"
    assert why in turn.error
    assert any(stage is Stage.IDLE and why in text for stage, text in kitchen.shown)
    await home.passing(lambda: kitchen.played == [ERROR_S, spoken("Sorry, that did not work.")])


async def test_what_hears_may_take_long_to_start(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("Yes.")
    kitchen = home.kiosk()
    home.ears.hears = ["Are you there"]
    home.ears.is_ready.clear()
    kitchen.line.wake()
    kitchen.say()
    await home.clock.advance(HEARING_S + 5)
    assert home.satellites.turns() == []

    home.ears.is_ready.set()

    assert (await home.turn()).outcome == "answered"


async def test_what_speaks_may_fail_and_espeak_speaks_instead(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("Yes.")
    home.models.register_api("floor", lambda name, config: home.ears, provides=True, speaks=True)
    kitchen = home.kiosk()
    home.ears.hears = ["Are you there"]
    home.ears.broken = {"auto"}

    kitchen.line.wake()
    kitchen.say()
    turn = await home.turn()

    assert turn.outcome == "answered"
    assert [each[0] for each in home.ears.spoken] == ["auto", "espeak-ng"]


async def test_an_answer_that_nothing_speaks_is_shown(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("Yes.")
    kitchen = home.kiosk()
    home.ears.hears = ["Are you there"]
    home.ears.broken = {"auto"}

    kitchen.line.wake()
    kitchen.say()
    turn = await home.turn()

    assert (turn.outcome, turn.answer, turn.error) == ("failed", "Yes.", "it has lost its voice")
    assert (Stage.RESPONDING, "Yes.") in kitchen.shown
    await home.passing(lambda: kitchen.played == [ERROR_S])


async def test_a_satellite_that_goes_away_ends_its_turn(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("This is a long answer that nobody hears to its end.")
    kitchen = home.kiosk()
    home.ears.hears = ["Tell me"]
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.begun)

    kitchen.line.connected(is_connected=False)

    turn = await home.turn()
    assert (turn.outcome, turn.error) == ("failed", "The kitchen was disconnected")
    assert home.states.get("assist_satellite.kitchen").state == "unavailable"  # type: ignore[union-attr]
    with pytest.raises(Unavailable, match="The kitchen is away"):
        await home.satellites.say("kitchen", "Hello")


async def test_an_answer_that_comes_late_is_said_when_it_comes(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "late"}, {"text": "Done at last."}])
    kitchen = home.kiosk()
    home.ears.hears = ["Work"]

    kitchen.line.wake()
    kitchen.say()
    turn = await home.turn()

    assert (turn.outcome, "it is said when it comes" in turn.error) == ("failed", True)
    openai_server.release("late")
    await home.passing(lambda: kitchen.played[-1:] == [spoken("Done at last.")])


async def test_it_listens_on_when_the_answer_asks(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("Which lamp?", "It is on.")
    kitchen = home.kiosk()
    home.ears.hears = ["Turn on the lamp", "The red one"]
    kitchen.line.wake()
    kitchen.say()
    await home.turn()
    await home.passing(lambda: home.satellites.get("kitchen").stage is Stage.LISTENING)  # type: ignore[union-attr]

    kitchen.say()
    turn = await home.turn(2)

    assert (kitchen.listens, turn.text, turn.answer, turn.outcome) == (1, "The red one", "It is on.", "answered")
    assert home.satellites.get("kitchen").stage is Stage.IDLE  # type: ignore[union-attr]


async def test_a_question_that_cannot_be_listened_for_ends_the_turn(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    openai_server.queue("哪盏灯？")
    kitchen = home.kiosk()
    kitchen.cannot_listen = Unavailable("it wakes by its word alone")
    home.ears.hears = ["开灯"]

    kitchen.line.wake()
    kitchen.say()
    await home.turn()
    await home.passing(lambda: kitchen.listens)

    assert home.satellites.get("kitchen").stage is Stage.IDLE  # type: ignore[union-attr]
    asking = asyncio.ensure_future(home.satellites.ask("kitchen", "Who?"))
    await home.passing(asking.done)
    with pytest.raises(Unavailable, match="by its word alone"):
        await asking


async def test_the_hub_asks_and_is_answered(home: VoiceHome, openai_server: OpenAIServer) -> None:
    kitchen = home.kiosk()
    home.ears.hears = ["At seven"]

    asking = asyncio.ensure_future(home.satellites.ask("kitchen", "When?"))
    await home.passing(lambda: kitchen.listens)
    kitchen.line.wake()  # as a device that tells that it listens now
    kitchen.say()
    await home.passing(asking.done)

    assert await asking == "At seven"
    assert (kitchen.played, openai_server.requests()) == ([spoken("When?")], [])
    asking = asyncio.ensure_future(home.satellites.ask("kitchen", "When?", timeout_s=3.0))
    await home.passing(asking.done)
    with pytest.raises(TimedOut, match="within 3 s"):
        await asking


async def test_what_the_hub_says_comes_in_turn_and_can_be_stopped(home: VoiceHome) -> None:
    kitchen = home.kiosk()

    saying = asyncio.ensure_future(home.satellites.say("kitchen", "Dinner is ready", chime=True))
    ringing = asyncio.ensure_future(home.satellites.play("kitchen", chime(Chime.RING)))
    await home.passing(lambda: len(kitchen.played) == 2)
    home.satellites.stop("kitchen")

    assert (await saying).is_whole
    assert not await ringing
    assert home.stopped == ["kitchen"]
    with pytest.raises(NotFound, match="there are kitchen"):
        await home.satellites.say("The kitchen", "Hello")


async def test_what_was_begun_to_be_said_is_reported_by_whole_words(home: VoiceHome) -> None:
    home.kiosk()
    saying = asyncio.ensure_future(home.satellites.say("kitchen", "alpha beta gamma delta epsilon"))
    await home.passing(lambda: home.states.get("assist_satellite.kitchen").state == "responding")  # type: ignore[union-attr]
    await home.clock.advance(LETTER_S * 12)

    home.satellites.stop("kitchen")

    heard = await saying
    assert (heard.text, heard.is_whole) == ("alpha beta", False)


async def test_a_message_to_a_satellite_is_spoken(home: VoiceHome) -> None:
    kitchen = home.kiosk()
    owner = Context(home.people.owner_authority())

    sent = await home.outbox.send(Address("voice", "kitchen"), "**Dinner** is ready", owner)
    gone = await home.outbox.send(Address("voice", "cellar"), "Dinner is ready", owner)
    await home.passing(lambda: kitchen.played)

    assert home.ears.spoken[0][1] == "Dinner is ready"
    states = [(await home.outbox.outcome([id], 5.0))[0].state for id in (*sent, *gone)]
    assert states == ["sent", "dead"]


# --- whose words they are ---


def offered(server: OpenAIServer) -> set[str]:
    return {each["function"]["name"] for each in server.requests()[-1]["body"].get("tools", ())}


@pytest.mark.parametrize(
    ("settings", "about", "person", "remembers"),
    [
        ({}, {}, None, False),
        ({}, {"person": "me"}, "me", True),
        ({"person": "anna"}, {}, "anna", False),
        ({"person": "anna", "personal": True}, {}, "anna", True),
        ({"personal": False}, {"person": "me"}, "me", False),
        ({"person": "gone"}, {}, None, False),
    ],
)
async def test_what_belongs_to_a_person_is_not_for_a_room(
    tmp_path: Path,
    openai_server: OpenAIServer,
    settings: dict[str, object],
    about: dict[str, str],
    person: str | None,
    remembers: bool,
) -> None:
    openai_server.queue("Yes.")
    async with voice_home(tmp_path, openai_server.base_url, integrations=("notes", "reminders")) as home:
        home.voice.configure({"transcription_model": "voice/auto", "satellites": [{"id": "kitchen", **settings}]})
        kitchen = home.kiosk(**about)
        contexts: list[Context] = []
        home.bus.listen("message_received", lambda event: contexts.append(event.context))

        kitchen.line.heard("What do you know?")
        await home.turn()

        assert [(each.authority.person, each.authority.owner) for each in contexts] == [(person, False)]
        assert ("memory_search" in offered(openai_server)) is remembers
        assert ("schedule" in offered(openai_server)) is remembers


async def test_settings_of_one_come_before_those_of_its_person_and_of_all(home: VoiceHome) -> None:
    kitchen, phone = home.kiosk(name="厨房"), home.kiosk("phone", person="anna", language="fr")

    home.voice.configure(
        {
            "silence_ms": 900,
            "voice": "joe",
            "satellites": [{"id": "kitchen", "silence_ms": 400, "area": "Küche"}],
            "people": [{"id": "anna", "voice": "anna", "language": "zh-CN"}],
        }
    )
    area = home.entities.registry.create("area", "Küche")

    lines = [each.line for each in (kitchen, phone) if isinstance(each.line, SatelliteLine)]
    assert [(each.settings.silence_ms, each.settings.voice, each.language) for each in lines] == [
        (400, "joe", "en"),
        (900, "anna", "zh-CN"),
    ]
    assert home.satellites.get("kitchen").area_id == area.id  # type: ignore[union-attr]


# --- wake words that are found here ---


async def test_who_always_sends_is_heard_while_it_speaks(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("one two three four five six seven eight nine ten", "Yes.")
    kitchen = home.kiosk(wakes_itself=False, always_sends=True)
    home.ears.hears = ["Count", "That is enough for now"]
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.begun == 2)  # the chime, and the answer

    kitchen.say()
    turn = await home.turn(2)

    assert (turn.text, turn.answer, turn.wake_word) == ("That is enough for now", "Yes.", None)
    assert home.satellites.turns()[1].outcome == "interrupted"


# --- the registry ---


async def test_a_satellite_is_an_entity_in_the_room_of_its_device(home: VoiceHome) -> None:
    from hub.entities.description import DeviceInfo

    registry = home.entities.registry
    area = registry.create("area", "厨房")
    device = registry.device_for("kiosk", DeviceInfo(frozenset({"02:00"}), suggested_area="厨房"))

    kitchen = home.kiosk("kitchen_2", name="Küche", device_id=device.id)

    state = home.states.get("assist_satellite.kitchen_2")
    assert state is not None
    assert (state.state, state.attributes["friendly_name"]) == ("idle", "Küche")
    assert registry.area_of(registry.entities["assist_satellite.kitchen_2"]) == area
    assert [each.area_id for each in home.satellites.all()] == [area.id]
    with pytest.raises(Conflict, match="already, of kiosk"):
        home.kiosk("kitchen_2")
    with pytest.raises(InvalidRequest, match="no id of a satellite"):
        home.kiosk("Küche")
    kitchen.remove()
    assert (home.states.get("assist_satellite.kitchen_2"), home.satellites.all()) == (None, [])
    home.kiosk("kitchen_2")


# --- the timeline ---


async def timeline(home: VoiceHome, method: str, **params: object) -> Any:
    caller = Caller(home.people.owner_authority(), "hub", "127.0.0.1", local=True)
    found, prepared = home.gateway.dispatcher.prepare(f"timeline.{method}", params, caller)
    return await home.gateway.dispatcher.run(found, prepared)


async def test_words_that_come_while_somebody_speaks_are_told_where_they_cost_nothing(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    home.ears = ears = Listeners()
    ears.hears = ["What time is it?"]
    openai_server.queue("It is noon.")
    kitchen = home.kiosk()
    kitchen.line.wake("okay_nabu")
    kitchen.line.feed(silence(0.1))
    for _ in range(3):
        kitchen.line.feed(speech(0.2))
        await until(lambda: [each for each in home.told if each["stage"] == "hearing"])
    kitchen.line.feed(silence(0.8))
    turn = await home.turn()

    told = [each["text"] for each in home.told if each["stage"] == "hearing"]
    assert told[0] == "1 words"
    assert [each["stage"] for each in home.told][:2] == ["wake", "hearing"]
    assert (ears.eager, turn.text, "hearing" in turn.stages) == ([False], "What time is it?", False)
    assert ears.heard == [(len(as_wav(Sound(silence(0.1) + speech(0.2) * 3 + silence(0.7)))), "en")]


async def test_the_timeline_shows_how_long_each_stage_took(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("It is noon.")
    kitchen = home.kiosk()
    home.ears.hears = ["What time is it?", Unavailable("it is out of order")]
    kitchen.line.wake("okay_nabu")
    kitchen.say()
    answered = await home.turn()
    kitchen.line.wake()
    kitchen.say()
    await home.turn(2)
    await home.history.read(lambda connection: None, None)  # behind what waits to be written

    rows = (await timeline(home, "list"))["happenings"]
    whole = await timeline(home, "get", id=f"run.{answered.run_id}")

    failed = next(each for each in rows if each["title"] == "The kitchen could not do what was said")
    assert (failed["outcome"], failed["reason"]) == ("failed", "it is out of order")
    assert [each["title"] for each in whole["steps"]][:: len(whole["steps"]) - 1] == [
        "Heard by The kitchen",
        "Spoken by The kitchen",
    ]
    lanes = {each["label"]: each["durationMs"] for each in whole["lanes"]}
    assert lanes["Listening"] == answered.stages["heard"]
    assert lanes["Speaking"] == answered.stages["done"] - answered.stages["speech"]
    assert [whole["steps"][each["step"]]["title"] for each in whole["lanes"] if each["label"] == "Model"] == [
        "The model wrote the answer"
    ]
