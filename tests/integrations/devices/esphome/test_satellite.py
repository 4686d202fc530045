"""A device that listens and speaks: what it does reaches the line, and what the hub does reaches the device."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aioesphomeapi.client import APIClient
from aioesphomeapi.core import APIConnectionError
from aioesphomeapi.model import VoiceAssistantCommandFlag, VoiceAssistantFeature

from hub.core.errors import Unavailable
from hub.host import IntegrationHost
from hub.integration.registrations import Registrations
from hub.voice.contract import CanShowTimers, SatelliteInfo, Sound, Stage, TimerChange, TimerView
from integrations.devices.esphome.satellite import EsphomeSatellite, RingingSatellite
from integrations.devices.esphome.sounds import OfferedSounds
from tests.hub_fixture import HubFixture
from tests.integrations.devices.esphome.kit import QuickClock
from tests.servers.esphome_device import PLAYER_KEY, WITH_SPEAKER, EsphomeDouble, api
from tests.until import until

SHORT, LONG = Sound(b"\1\0" * 1_600), Sound(b"\2\0" * 16_000 * 3)
PLAYER = api.ListEntitiesMediaPlayerResponse(object_id="player", key=PLAYER_KEY, name="Player")
FLAC_PLAYER = api.ListEntitiesMediaPlayerResponse(
    object_id="player",
    key=PLAYER_KEY,
    name="Player",
    supported_formats=[
        api.MediaPlayerSupportedFormat(format="flac", sample_rate=48_000, num_channels=1, purpose=1, sample_bytes=2)
    ],
)


class Recorder:
    """A line that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.samples = b""

    def wake(self, word: str | None = None) -> None:
        self.told.append(("wake", word))

    def feed(self, samples: bytes) -> None:
        self.samples += samples

    def end(self) -> None:
        self.told.append("end")

    def heard(self, text: str) -> None:
        self.told.append(("heard", text))

    def stop(self) -> None:
        self.told.append("stop")

    def connected(self, *, is_connected: bool) -> None:
        self.told.append(is_connected)

    def changed(self) -> None:
        """What it says of itself is looked at where it matters."""


class Room:
    """A satellite that is connected to a device."""

    def __init__(self, satellite: EsphomeSatellite, line: Recorder, connect: Callable[[], Any]) -> None:
        self.satellite, self.line, self.connect = satellite, line, connect


@asynccontextmanager
async def room(folder: Path, device: EsphomeDouble) -> AsyncIterator[Room]:
    clock = QuickClock()
    async with HubFixture(folder, "http://127.0.0.1:9/v1", integrations=(), clock=clock) as hub:
        host = IntegrationHost("esphome", Registrations("esphome"), hub)
        client = APIClient("127.0.0.1", device.port, None)

        def send(command: Callable[[APIClient], Any]) -> None:
            try:
                command(client)
            except APIConnectionError as error:
                raise Unavailable("away") from error

        line = Recorder()
        about = SatelliteInfo("esphome_020000aabbcc", "Kitchen", "esphome")
        satellite = RingingSatellite(about, send, OfferedSounds(host), clock)
        satellite.line = line

        async def stopped(_: bool) -> None:
            satellite.went()

        async def connect() -> None:
            await client.connect(on_stop=stopped, login=True)
            info, entities, _ = await client.device_info_and_list_entities()
            await satellite.came(client, info.voice_assistant_feature_flags, entities)
            await device.subscribed.wait()

        await connect()
        yield Room(satellite, line, connect)
        client.force_disconnect()


@pytest.fixture
async def device() -> AsyncIterator[EsphomeDouble]:
    async with EsphomeDouble(entities=[(PLAYER, None)]) as device:
        yield device


@pytest.fixture
async def kitchen(tmp_path: Path, device: EsphomeDouble) -> AsyncIterator[Room]:
    async with room(tmp_path, device) as kitchen:
        yield kitchen


def names(device: EsphomeDouble) -> list[str]:
    return [name for name, _ in device.events]


async def test_a_turn_is_told_of_stage_by_stage_and_its_answer_is_fetched(kitchen: Room, device: EsphomeDouble) -> None:
    said = b"\5\0" * 4_000
    device.is_listening = True
    await device.hear(said)  # before it has begun, which is not for the hub
    device.wake("Hey Jarvis")
    await device.hear(said)
    await until(lambda: len(kitchen.line.samples) == len(said))
    satellite = kitchen.satellite

    await satellite.show(Stage.LISTENING, "Hey Jarvis")
    await satellite.show(Stage.PROCESSING)
    await until(lambda: not device.is_listening)
    await satellite.show(Stage.PROCESSING, "turn on the light")
    await satellite.show(Stage.RESPONDING, "Done.")
    await satellite.play(SHORT)
    await satellite.show(Stage.RESPONDING, "And more.")
    await satellite.play(SHORT)
    await satellite.show(Stage.IDLE)

    assert kitchen.line.told == [True, ("wake", "hey_jarvis")]
    assert names(device) == [
        *("RUN_START", "STT_START", "STT_VAD_END", "STT_END", "INTENT_START", "INTENT_END"),
        *("TTS_START", "TTS_END", "RUN_END"),
    ]
    assert device.says("STT_END") == [{"text": "turn on the light"}]
    assert device.says("TTS_START") == [{"text": "Done."}]
    assert [each.text for each in device.announcements] == ["And more."]
    (kind, first), (_, second) = device.played
    assert (kind, first) == ("audio/wav", second)
    assert first.endswith(SHORT.samples)


async def test_what_failed_and_what_was_silent_ends_on_the_device_too(kitchen: Room, device: EsphomeDouble) -> None:
    device.wake()
    await until(lambda: kitchen.line.told[1:])
    await kitchen.satellite.show(Stage.LISTENING)
    await kitchen.satellite.show(Stage.IDLE, "nothing hears")
    await until(lambda: "RUN_END" in names(device))

    assert device.says("ERROR") == [{"code": "failed", "message": "nothing hears"}]
    assert not device.is_listening


async def test_an_end_that_comes_after_a_run_without_an_answer_is_not_that_of_the_next_sound(
    kitchen: Room, device: EsphomeDouble
) -> None:
    device.plays.clear()
    device.wake()
    await until(lambda: kitchen.line.told[1:])
    await kitchen.satellite.show(Stage.LISTENING)
    await kitchen.satellite.show(Stage.IDLE)  # the device tells of an end at this, though it played nothing
    playing = asyncio.create_task(kitchen.satellite.play(SHORT))
    await until(lambda: device.played)
    await asyncio.sleep(0.02)
    assert not playing.done()
    device.plays.set()
    await playing


async def test_the_button_ends_what_is_said_and_then_what_is_answered(kitchen: Room, device: EsphomeDouble) -> None:
    device.wake("")
    await until(lambda: kitchen.line.told[1:])
    device.abort()
    await until(lambda: "end" in kitchen.line.told)
    await kitchen.satellite.show(Stage.PROCESSING)
    device.abort()
    await until(lambda: "stop" in kitchen.line.told)
    device.wake("Okay Nabu", flags=VoiceAssistantCommandFlag.USE_VAD)
    await until(lambda: len(kitchen.line.told) == 5)
    device.end()
    await until(lambda: len(kitchen.line.told) == 6)
    await kitchen.satellite.show(Stage.LISTENING)
    device.abort()
    await until(lambda: len(kitchen.line.told) == 7)

    assert kitchen.line.told == [True, ("wake", None), "end", "stop", ("wake", "okay_nabu"), "end", "stop"]


async def test_a_sound_that_is_ended_at_the_device_ends_the_rest_too(kitchen: Room, device: EsphomeDouble) -> None:
    device.plays.clear()
    playing = asyncio.create_task(kitchen.satellite.play(LONG))
    await until(lambda: device.played)
    device.touch()
    await playing

    assert kitchen.line.told == [True, "stop"]


async def test_a_sound_that_is_broken_off_is_silenced_and_its_end_counts_for_no_other(
    kitchen: Room, device: EsphomeDouble
) -> None:
    device.plays.clear()
    playing = asyncio.create_task(kitchen.satellite.play(LONG))
    await until(lambda: device.played)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    following = asyncio.create_task(kitchen.satellite.play(LONG))
    await until(lambda: len(device.played) == 2)
    await asyncio.sleep(0.02)

    assert device.commands == [
        api.MediaPlayerCommandRequest(
            key=PLAYER_KEY, has_command=True, command=2, has_announcement=True, announcement=True
        )
    ]
    assert kitchen.line.told == [True]
    assert not following.done()
    following.cancel()


async def test_somebody_who_wakes_it_while_it_speaks_does_not_stop_what_he_says(
    kitchen: Room, device: EsphomeDouble
) -> None:
    device.plays.clear()
    playing = asyncio.create_task(kitchen.satellite.play(LONG))
    await until(lambda: device.played)
    device.wake()  # the end of what it played is told after that
    await until(lambda: kitchen.line.told[1:])
    await asyncio.sleep(0.02)

    assert kitchen.line.told == [True, ("wake", "okay_nabu")]
    playing.cancel()


async def test_a_late_end_ends_no_other_sound_and_none_is_waited_for_forever(
    kitchen: Room, device: EsphomeDouble
) -> None:
    device.finishes = False
    await kitchen.satellite.play(SHORT)  # its end is never told
    device.finishes = True
    device.plays.clear()
    playing = asyncio.create_task(kitchen.satellite.play(LONG))
    await until(lambda: len(device.played) == 2)
    device.send(api.VoiceAssistantAnnounceFinished(success=True))
    await asyncio.sleep(0.02)
    assert not playing.done()
    assert kitchen.line.told == [True]
    device.touch()
    await playing


async def test_a_sound_that_nobody_fetches_says_where_it_was(kitchen: Room, device: EsphomeDouble) -> None:
    device.fetches = False

    with pytest.raises(Unavailable, match=r"did not fetch the sound from http://.*/api/esphome/sounds/"):
        await kitchen.satellite.play(SHORT)


async def test_a_device_that_goes_away_in_the_middle_of_it_all_comes_back(kitchen: Room, device: EsphomeDouble) -> None:
    device.plays.clear()
    device.wake()
    await until(lambda: kitchen.line.told[1:])
    playing = asyncio.create_task(kitchen.satellite.play(LONG))
    await until(lambda: device.played)
    await device.switch_off()
    with pytest.raises(Unavailable, match="went away"):
        await playing
    with pytest.raises(Unavailable):
        await kitchen.satellite.play(SHORT)
    await kitchen.satellite.show(Stage.IDLE)
    await device.switch_on()
    device.plays.set()
    await kitchen.connect()
    await kitchen.satellite.play(SHORT)

    assert kitchen.line.told == [True, ("wake", "okay_nabu"), False, True]


async def test_it_listens_when_it_is_asked_to(kitchen: Room, device: EsphomeDouble) -> None:
    await kitchen.satellite.listen()

    assert kitchen.line.told == [True, ("wake", None)]
    assert device.is_listening
    assert device.announcements[0].start_conversation


async def test_one_whose_microphone_is_off_says_so(kitchen: Room, device: EsphomeDouble) -> None:
    device.is_muted = True

    with pytest.raises(Unavailable, match="microphone may be off"):
        await kitchen.satellite.listen()


async def test_timers_are_shown(kitchen: Room, device: EsphomeDouble) -> None:
    satellite = kitchen.satellite
    assert isinstance(satellite, CanShowTimers)
    await satellite.show_timer(TimerChange.STARTED, TimerView("t1", "eggs", 300, 300))
    await satellite.show_timer(TimerChange.FINISHED, TimerView("t1", "eggs", 300, 0, is_active=False))
    await until(lambda: len(device.timers) == 2)

    assert device.timers[0] == api.VoiceAssistantTimerEventResponse(
        event_type=0, timer_id="t1", name="eggs", total_seconds=300, seconds_left=300, is_active=True
    )
    assert device.timers[1].event_type == 3


async def test_wake_words_are_chosen_as_many_as_it_hears(kitchen: Room, device: EsphomeDouble) -> None:
    assert kitchen.satellite.info.wake_words == ("okay_nabu", "hey_jarvis")
    await kitchen.satellite.choose_wake_words(["computer"])  # which would leave it deaf
    await kitchen.satellite.choose_wake_words(["computer", "hey_jarvis"])
    await until(lambda: device.active == ["hey_jarvis"])
    device.wake("Hey Jarvis")
    device.wake("Computer")
    await until(lambda: len(kitchen.line.told) == 3)

    assert kitchen.line.told[1:] == [("wake", "hey_jarvis"), ("wake", "Computer")]
    assert device.configured == [["hey_jarvis"]]


async def test_one_that_sends_all_is_told_when_the_hub_has_heard_the_word(kitchen: Room, device: EsphomeDouble) -> None:
    device.wake("", flags=VoiceAssistantCommandFlag.USE_WAKE_WORD)
    await device.hear(bytes(2_000))
    await until(lambda: kitchen.line.samples)
    assert kitchen.satellite.info.always_sends
    assert kitchen.line.told == [True]
    await kitchen.satellite.show(Stage.LISTENING, "okay nabu")
    await until(lambda: "STT_START" in names(device))

    assert names(device) == ["RUN_START", "WAKE_WORD_START", "WAKE_WORD_END", "STT_START"]
    assert device.says("WAKE_WORD_END") == [{"wake_word": "okay nabu"}]


async def test_a_bare_speaker_is_sent_its_samples_in_one_stream(tmp_path: Path) -> None:
    async with EsphomeDouble(features=WITH_SPEAKER) as device, room(tmp_path, device) as hall:
        with pytest.raises(Unavailable, match="only once somebody has talked to it"):
            await hall.satellite.play(SHORT)
        device.wake("")
        await until(lambda: hall.line.told[1:])
        await hall.satellite.show(Stage.LISTENING)
        await hall.satellite.show(Stage.RESPONDING, "Done.")
        await hall.satellite.play(SHORT)
        await hall.satellite.play(SHORT)
        await hall.satellite.show(Stage.IDLE)
        await until(lambda: "RUN_END" in names(device))
        with pytest.raises(Unavailable, match="no media player"):
            await hall.satellite.listen()

    assert device.spoken == 2 * SHORT.samples
    assert names(device)[3:] == ["INTENT_END", "TTS_START", "TTS_END", "TTS_STREAM_START", "TTS_STREAM_END", "RUN_END"]


async def test_a_device_that_plays_flac_gets_it_at_its_rate(tmp_path: Path) -> None:
    async with EsphomeDouble(entities=[(FLAC_PLAYER, None)]) as device, room(tmp_path, device) as hall:
        await hall.satellite.play(SHORT)

    ((kind, data),) = device.played
    assert kind == "audio/flac"
    decoder = await asyncio.create_subprocess_exec(
        *("ffmpeg", "-v", "error", "-err_detect", "crccheck+explode", "-xerror", "-i", "pipe:", "-f", "s16le", "pipe:"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    samples, _ = await decoder.communicate(data)
    assert decoder.returncode == 0
    assert int.from_bytes(data[18:21]) >> 4 == 48_000
    assert set(samples[::2]) == {1}
    assert abs(len(samples) // 2 - 4_800) < 10


async def test_one_without_a_speaker_says_so(tmp_path: Path) -> None:
    ears = VoiceAssistantFeature.VOICE_ASSISTANT | VoiceAssistantFeature.API_AUDIO
    async with EsphomeDouble(features=ears) as device, room(tmp_path, device) as hall:
        with pytest.raises(Unavailable, match="has no speaker"):
            await hall.satellite.play(SHORT)
