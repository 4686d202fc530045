"""`talk.session.*`: an OpenClaw client speaks through the gateway, is answered aloud, and interrupts."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from hub.voice.contract import Sound
from hub.voice.mouth import REWIND_S
from hub.voice.sound import resampled
from tests.gateway.rig import Client, connected
from tests.servers.openai_server import OpenAIServer
from tests.voice.kit import LETTER_S, Listeners, VoiceHome, silence, speech, voice_home
from tests.voice.methods.test_talk import asked

PIECE = 9_600
Told = dict[str, Any]


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    """A home that hears and speaks as it is told."""
    async with voice_home(tmp_path, openai_server.base_url) as hub:
        hub.models.register_api("mouth", lambda name, config: hub.ears, provides=True, speaks=True)
        yield hub


async def told(home: VoiceHome, client: Client, find: Callable[[Told], bool]) -> Told:
    """Return the next event of a talk that fits, letting time pass."""
    waiting = asyncio.create_task(client.event("talk.event", find))
    await home.passing(waiting.done)
    return (await waiting)["payload"]  # type: ignore[no-any-return]


def of(type: str) -> Callable[[Told], bool]:
    return lambda event: event.get("type") == type


async def begin(home: VoiceHome, client: Client, **params: Any) -> Told:
    session = await asked(client, "talk.session.create", sessionKey="agent:main:main", **params)
    await told(home, client, of("ready"))
    return session  # type: ignore[no-any-return]


async def say(client: Client, id: str, sound: bytes = silence(0.3) + speech(0.8) + silence(1.2)) -> None:
    """Speak as a client's microphone hears it."""
    samples = resampled(Sound(sound), 24_000).samples
    for at in range(0, len(samples), PIECE):
        piece = base64.b64encode(samples[at : at + PIECE]).decode()
        await asked(client, "talk.session.appendAudio", sessionId=id, audioBase64=piece)


async def test_somebody_speaks_and_is_answered_aloud(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("It is dry.")
    home.ears.hears.append("Is it raining?")
    async with connected(home) as phone:
        session = await begin(home, phone)
        await say(phone, session["sessionId"])
        asked_for = await told(home, phone, of("transcript"))
        answer = await told(home, phone, of("transcript"))
        mark = await told(home, phone, of("mark"))
        audio = [each["payload"] for each in phone.events if each["payload"].get("type") == "audio"]
        await asked(phone, "talk.session.acknowledgeMark", sessionId=session["sessionId"], markName=mark["markName"])
        done = await told(home, phone, of("audioDone"))
        history = (await asked(phone, "chat.history", sessionKey="agent:main:main"))["messages"]
        await asked(phone, "talk.session.close", sessionId=session["sessionId"])
        closed = await told(home, phone, of("close"))

    seconds = sum(len(base64.b64decode(each["audioBase64"])) for each in audio) / 48_000
    assert session["audio"]["inputSampleRateHz"] == session["audio"]["outputSampleRateHz"] == 24_000
    assert (asked_for["role"], asked_for["text"]) == ("user", "Is it raining?")
    assert (answer["role"], answer["text"]) == ("assistant", "It is dry.")
    assert seconds == pytest.approx(LETTER_S * len("It is dry."), abs=0.01)
    assert "Is it raining?" in str(history)
    assert {each["talkEvent"]["turnId"] for each in (asked_for, answer, mark, done)} == {"turn-1"}
    assert closed["talkEvent"]["type"] == "session.closed"


async def test_what_is_said_is_broken_off_by_the_client_and_by_speaking(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    openai_server.queue("A very long answer, which nobody wants to hear to its end.", "Yes?", "Well.")
    home.ears.hears.extend(["Tell me a story", "Stop it"])
    async with connected(home) as phone:
        id = (await begin(home, phone))["sessionId"]
        idle = await asked(phone, "talk.session.cancelOutput", sessionId=id)
        await say(phone, id)
        mark = await told(home, phone, of("mark"))
        stale = await asked(phone, "talk.session.cancelOutput", sessionId=id, turnId="turn-9")
        applied = await asked(phone, "talk.session.cancelOutput", sessionId=id, reason="touched")
        clear = await told(home, phone, lambda event: event.get("type") == "clear" and event["reason"] == "touched")
        await say(phone, id)
        again = await told(home, phone, of("mark"))
        typed = await asked(phone, "talk.session.steer", sessionId=id, text="and be brief")
        cancelled = await asked(phone, "talk.session.steer", sessionId=id, text="stop", mode="cancel")

    assert (idle["status"], stale["status"]) == ("idle", "stale")
    assert applied == {"ok": True, "status": "applied", "turnId": "turn-1"}
    assert clear["talkEvent"]["turnId"] == mark["talkEvent"]["turnId"] == "turn-1"
    assert again["talkEvent"]["turnId"] == "turn-2"
    assert typed["queued"]
    assert cancelled["aborted"]


async def test_what_is_no_word_over_an_answer_lets_it_go_on_where_it_was(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    text = "An answer which everybody wants to hear to its end."
    openai_server.queue(text)
    home.ears.hears.extend(["Tell me a story", "everybody wants to hear"])
    async with connected(home) as phone:
        id = (await begin(home, phone))["sessionId"]
        await say(phone, id)
        await told(home, phone, of("mark"))
        played = LETTER_S * len(text) / 2
        await home.clock.advance(played)
        await say(phone, id, speech(0.8))
        paused = await told(home, phone, of("clear"))
        await home.clock.advance(10.0)
        phone.events.clear()
        await say(phone, id, silence(1.2))
        mark = await told(home, phone, of("mark"))
        rest = [each["payload"] for each in phone.events if each["payload"].get("type") == "audio"]
        done = await told(home, phone, of("audioDone"))
        turns = home.voice.turns.all("talk")

    seconds = sum(len(base64.b64decode(each["audioBase64"])) for each in rest) / 48_000
    assert paused["reason"] == "barge-in"
    assert played < seconds < played + 2 * REWIND_S + 0.2
    assert {each["talkEvent"]["turnId"] for each in (paused, mark, done)} == {"turn-1"}
    assert [each.outcome for each in turns] == ["answered", "noise"]


async def test_words_are_told_while_they_are_spoken(home: VoiceHome, openai_server: OpenAIServer) -> None:
    openai_server.queue("It is dry.")
    home.ears = ears = Listeners()
    ears.hears.extend(["Is it raining?", "Buy milk."])
    async with connected(home) as phone:
        id = (await begin(home, phone))["sessionId"]
        await say(phone, id)
        part = await told(home, phone, of("transcript"))
        whole = await told(home, phone, lambda event: event.get("role") == "user" and event["final"])
        await asked(phone, "talk.session.close", sessionId=id)

        id = (await begin(home, phone, mode="transcription"))["sessionId"]
        loud = bytes([0xFF]) * 2_400 + (bytes([0x10]) * 40 + bytes([0x90]) * 40) * 80
        await asked(phone, "talk.session.appendAudio", sessionId=id, audioBase64=base64.b64encode(loud).decode())
        dictated = await told(home, phone, of("partial"))
        await asked(phone, "talk.session.close", sessionId=id)
        written = await told(home, phone, lambda event: event.get("text") == "Buy milk.")

    assert (part["role"], part["text"], part["final"]) == ("user", "1 words", False)
    assert part["talkEvent"]["type"] == "transcript.delta"
    assert "final" not in part["talkEvent"]
    assert (whole["text"], whole["talkEvent"]["turnId"]) == ("Is it raining?", part["talkEvent"]["turnId"])
    assert (dictated["text"], dictated["talkEvent"]["type"]) == ("1 words", "transcript.delta")
    assert (written["type"], written["final"]) == ("transcript", True)
    assert ears.eager == [True, True]


async def test_the_timeline_shows_how_long_each_stage_of_a_talk_took(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    openai_server.queue("It is dry.")
    home.ears.hears.append("Is it raining?")
    async with connected(home) as phone:
        session = await begin(home, phone)
        await say(phone, session["sessionId"])
        await told(home, phone, of("audioDone"))
        (turn,) = home.voice.turns.all("talk")
        await home.history.read(lambda connection: None, None)  # behind what waits to be written
        whole = await asked(phone, "timeline.get", id=f"run.{turn.run_id}")

    lanes = {each["label"]: each["durationMs"] for each in whole["lanes"]}
    assert turn.outcome == "answered"
    assert lanes["Listening"] == turn.stages["heard"]
    assert lanes["Speech to text"] == turn.stages["text"] - turn.stages["heard"]
    assert lanes["Speaking"] == turn.stages["done"] - turn.stages["speech"] > 0
    assert "Model" in lanes
    first, last = whole["steps"][0]["title"], whole["steps"][-1]["title"]
    assert (first, last) == (f"Heard by {turn.name}", f"Spoken by {turn.name}")


async def test_somebody_dictates_and_nothing_answers(home: VoiceHome, openai_server: OpenAIServer) -> None:
    home.ears.hears.extend(["Buy milk.", "And bread."])
    loud = b"".join(bytes([0x10]) * 40 + bytes([0x90]) * 40 for _ in range(80))
    async with connected(home) as mac:
        created = await asked(mac, "talk.session.create", mode="transcription")
        id = created["transcriptionSessionId"]
        await told(home, mac, of("ready"))

        async def hear(sound: bytes) -> None:
            await asked(mac, "talk.session.appendAudio", sessionId=id, audioBase64=base64.b64encode(sound).decode())

        await hear(bytes([0xFF]) * 2_400 + loud + bytes([0xFF]) * 8_000)
        first = await told(home, mac, of("transcript"))
        await hear(loud)
        refused = await mac.call("talk.session.steer", {"sessionId": id, "text": "hello"})
        await asked(mac, "talk.session.close", sessionId=id)
        second = await told(home, mac, of("transcript"))
        closed = await told(home, mac, of("close"))

    assert created["audio"] == {"inputEncoding": "g711_ulaw", "inputSampleRateHz": 8_000}
    assert (first["text"], first["talkEvent"]["turnId"]) == ("Buy milk.", "turn-1")
    assert second["text"] == "And bread."
    assert closed["transcriptionSessionId"] == id
    assert "nothing answers" in refused["error"]["message"]
    assert openai_server.requests() == []


async def test_a_talk_is_its_clients_own_and_ends_with_it(home: VoiceHome) -> None:
    async with connected(home) as phone, connected(home) as other:
        async with connected(home) as gone:
            left = (await begin(home, gone))["sessionId"]
        id = (await begin(home, phone, ttlMs=60_000))["sessionId"]
        foreign = await other.call("talk.session.appendAudio", {"sessionId": id, "audioBase64": "AAAA"})
        vendor = await phone.call("talk.session.create", {"transport": "webrtc"})
        await begin(home, phone)
        third = await phone.call("talk.session.create", {})
        reader = await home_reader(home, phone)
        expired = await told(home, phone, lambda event: event.get("type") == "close" and event["relaySessionId"] == id)

    assert foreign["error"]["code"] == "NOT_FOUND"
    assert vendor["error"]["code"] == "INVALID_REQUEST"
    assert "too many talks" in third["error"]["message"]
    assert reader["error"]["details"]["missingScope"] == "operator.talk"
    assert expired["reason"] == "completed"
    assert left != id


async def home_reader(home: VoiceHome, phone: Client) -> Told:
    async with connected(home, scopes=["operator.read"]) as reader:
        return await reader.call("talk.session.create", {})
