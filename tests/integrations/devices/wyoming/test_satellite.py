"""The hub's side of a Wyoming satellite, over real sockets; the other side is the library of the protocol."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import AsrModel, AsrProgram, Info
from wyoming.ping import Ping, Pong
from wyoming.pipeline import PipelineStage, RunPipeline
from wyoming.timer import TimerCancelled, TimerFinished, TimerStarted, TimerUpdated
from wyoming.tts import Synthesize
from wyoming.wake import Detection

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import Unavailable
from hub.voice.contract import CanShowTimers, Sound, Stage, TimerChange, TimerView
from integrations.devices.wyoming.satellite import LEAD_S, SILENCE_LIMIT_S, WyomingSatellite
from integrations.devices.wyoming.schema import CONFIG_SCHEMA, id_of
from tests.hosting import host_on
from tests.hub_fixture import HubFixture
from tests.integrations.devices.wyoming.satellite_double import (
    ABOUT,
    RecordingLine,
    RecordingSatellites,
    SatelliteDouble,
    satellite_double,
)
from tests.until import as_time_passes, skip_time, until

ASR, WAKE, TTS = PipelineStage.ASR, PipelineStage.WAKE, PipelineStage.TTS
SPEECH = struct.pack("<1600h", *range(0, 3200, 2))
MUTE = {"entity_id": "switch.kitchen_mute"}
TIMER = TimerView("t1", "tea", 3_725, 60)


class Kitchen:
    """A satellite that the hub follows."""

    def __init__(self, hub: HubFixture, clock: ManualClock, double: SatelliteDouble, **config: Any) -> None:
        self.hub, self.clock, self.double = hub, clock, double
        self.satellites = RecordingSatellites()
        self.host, self.registrations = host_on(hub, "wyoming")
        item = CONFIG_SCHEMA({"satellites": [{"url": double.url, "id": "kitchen", **config}]})["satellites"][0]
        self.satellite = WyomingSatellite(self.host, item, self.satellites.add)
        self.host.spawn(self.satellite.follow(), name="follow")

    @property
    def line(self) -> RecordingLine:
        return self.satellites.lines["kitchen"]

    def trouble(self) -> str:
        found = self.hub.repairs.get("wyoming kitchen", "connection")
        return "" if found is None else found.text


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[HubFixture]:
    clock = ManualClock()
    async with HubFixture(
        tmp_path, "http://127.0.0.1:9", clock=clock, integrations=(), only=("registries", "helpers")
    ) as hub:
        yield hub


@asynccontextmanager
async def kitchen_of(hub: HubFixture, double: SatelliteDouble, **config: Any) -> AsyncIterator[Kitchen]:
    assert isinstance(hub.clock, ManualClock)
    async with satellite_double(double):
        kitchen = Kitchen(hub, hub.clock, double, **config)
        try:
            yield kitchen
        finally:
            await kitchen.registrations.undo_all()


@pytest.fixture
async def kitchen(hub: HubFixture) -> AsyncIterator[Kitchen]:
    async with kitchen_of(hub, SatelliteDouble()) as kitchen:
        await until(lambda: kitchen.line.is_connected)
        yield kitchen


async def test_it_is_told_to_run_and_known_by_what_it_says_of_itself(kitchen: Kitchen) -> None:
    info, registry = kitchen.satellite.info, kitchen.host.entities.registry
    device = registry.devices[info.device_id or ""]

    assert kitchen.double.types() == ["run-satellite"]
    assert (info.name, info.platform, info.wake_words) == ("Kitchen satellite", "wyoming", ("okay nabu",))
    assert (device.shown_name, device.model, registry.areas[device.area_id or ""].name) == (
        "Kitchen satellite",
        "Box",
        "Kitchen",
    )


@pytest.mark.parametrize(
    ("area", "room", "repair"),
    [
        ("kitchen", "Kitchen", ""),
        ("Cookhouse", "Kitchen", ""),
        ("Kithcen", None, "Is Kitchen meant?"),
        ("Attic", "Attic", ""),
    ],
)
async def test_it_is_put_into_the_room_that_is_meant(hub: HubFixture, area: str, room: str | None, repair: str) -> None:
    host, registrations = host_on(hub, "wyoming")
    host.entities.registry.create("area", "Kitchen", aliases=["Cookhouse"])
    await registrations.undo_all()
    async with kitchen_of(hub, SatelliteDouble(), area=area) as kitchen:
        await until(lambda: kitchen.line.is_connected)
        registry = kitchen.host.entities.registry
        device = registry.devices[kitchen.satellite.info.device_id or ""]
        found = hub.repairs.get("wyoming kitchen", "area")

        assert (registry.areas[device.area_id].name if device.area_id else None) == room
        assert repair in ("" if found is None else found.text)
        assert (found is None) == (not repair)


async def test_one_that_woke_itself_is_heard_until_it_is_told_the_words(kitchen: Kitchen) -> None:
    double, line = kitchen.double, kitchen.line

    await double.send(Detection("ok_nabu"), RunPipeline(ASR, TTS))
    await double.say(SPEECH)
    await until(lambda: line.samples == SPEECH)
    await kitchen.satellite.show(Stage.LISTENING)
    await kitchen.satellite.show(Stage.PROCESSING)
    await kitchen.satellite.show(Stage.PROCESSING, "turn on the light")
    await kitchen.satellite.show(Stage.RESPONDING, "Done.")
    await kitchen.satellite.show(Stage.IDLE)
    said = Synthesize.from_event(await double.got("synthesize"))

    assert [each for each in line.calls if each[0] == "wake"] == [("wake", "okay nabu")]
    assert double.types() == ["run-satellite", "transcribe", "voice-stopped", "transcript", "synthesize"]
    assert Transcript.from_event(await double.got("transcript")).text == "turn on the light"
    assert said.text == "Done."
    assert kitchen.satellite.info.wakes_itself


async def test_one_that_sends_all_is_told_that_its_word_was_heard_here(kitchen: Kitchen) -> None:
    double, line = kitchen.double, kitchen.line

    await double.send(RunPipeline(WAKE, TTS, restart_on_end=True))
    await double.got("detect")
    await double.say(SPEECH)
    await until(lambda: line.samples == SPEECH)
    await kitchen.satellite.show(Stage.LISTENING, "okay nabu")

    assert Detection.from_event(await double.got("detection")).name == "okay nabu"
    info = kitchen.satellite.info
    assert (info.always_sends, info.wakes_itself) == (True, False)
    assert ("changed",) in line.calls
    assert not [each for each in line.calls if each[0] == "wake"]
    await kitchen.satellite.listen()  # it sends anyway


@pytest.mark.parametrize(
    ("rate", "width", "channels", "data"),
    [
        (16_000, 2, 1, SPEECH),
        (16_000, 2, 2, b"".join(2 * SPEECH[at : at + 2] for at in range(0, len(SPEECH), 2))),
        (16_000, 4, 1, b"".join(b"\0\0" + SPEECH[at : at + 2] for at in range(0, len(SPEECH), 2))),
        (48_000, 2, 1, b"".join(3 * SPEECH[at : at + 2] for at in range(0, len(SPEECH), 2))),
    ],
)
async def test_any_microphone_is_heard_as_16_khz_of_one_channel(
    kitchen: Kitchen, rate: int, width: int, channels: int, data: bytes
) -> None:
    await kitchen.double.send(RunPipeline(ASR, TTS), AudioChunk(rate, width, channels, data))

    assert await until(lambda: kitchen.line.samples) == SPEECH


@pytest.mark.parametrize(
    ("event", "call"),
    [
        (AudioStop().event(), ("end",)),
        (Event("voice-stopped"), ("end",)),
        (Event("streaming-stopped"), ("end",)),
        (Transcript("good evening").event(), ("heard", "good evening")),
        (RunPipeline(ASR, TTS, wake_word_name="computer").event(), ("wake", "computer")),
        (RunPipeline(ASR, TTS).event(), ("wake", None)),
    ],
)
async def test_what_it_tells_goes_into_the_line(kitchen: Kitchen, event: Event, call: tuple[Any, ...]) -> None:
    await kitchen.double.send(event)

    assert await until(lambda: call in kitchen.line.calls)


async def test_one_that_says_that_it_woke_and_sends_at_once_has_woken(kitchen: Kitchen) -> None:
    await kitchen.double.send(Detection("ok_nabu"))
    await kitchen.double.say(SPEECH)

    await until(lambda: kitchen.line.samples == SPEECH)
    assert [each for each in kitchen.line.calls if each[0] == "wake"] == [("wake", "okay nabu")]


async def test_pings_are_answered(kitchen: Kitchen) -> None:
    await kitchen.double.send(Ping("x"))

    assert Pong.from_event((await until(lambda: kitchen.double.pongs))[0]).text == "x"


async def test_a_sound_is_sent_little_ahead_of_time_and_ends_when_it_was_played(kitchen: Kitchen) -> None:
    sound = Sound(bytes(range(250)) * 352, 22_050)  # two seconds
    playing = asyncio.create_task(kitchen.satellite.play(sound))

    await until(lambda: "audio-chunk" in kitchen.double.types())
    await asyncio.sleep(0.05)
    ahead = sum(len(each.payload or b"") for each in kitchen.double.heard)
    await as_time_passes(kitchen.clock, 0.05, playing.done)
    await playing

    start, *chunks, stop = [each for each in kitchen.double.heard if each.type.startswith("audio-")]
    assert AudioStart.from_event(start).rate == 22_050
    assert b"".join(each.payload or b"" for each in chunks) == sound.samples
    assert stop.type == "audio-stop"
    assert ahead / 44_100 == pytest.approx(LEAD_S, abs=0.1)
    assert kitchen.clock.monotonic() == pytest.approx(sound.seconds, abs=LEAD_S)


async def test_what_is_broken_off_is_silent_soon(kitchen: Kitchen) -> None:
    playing = asyncio.create_task(kitchen.satellite.play(Sound(bytes(10 * 32_000))))
    await until(lambda: "audio-chunk" in kitchen.double.types())
    await as_time_passes(kitchen.clock, 0.1, lambda: kitchen.clock.monotonic() > 1)

    playing.cancel()
    await kitchen.double.got("audio-stop")

    sent_s = sum(len(each.payload or b"") for each in kitchen.double.heard) / 32_000
    assert sent_s < kitchen.clock.monotonic() + LEAD_S + 0.1


async def test_one_that_does_not_say_when_it_has_played_is_waited_for_as_long_as_the_sound(hub: HubFixture) -> None:
    double = SatelliteDouble()
    double.is_old = True
    async with kitchen_of(hub, double) as kitchen:
        await as_time_passes(kitchen.clock, 0.1, lambda: kitchen.line.is_connected)
        began_at = kitchen.clock.monotonic()

        playing = asyncio.create_task(kitchen.satellite.play(Sound(bytes(64_000))))
        await as_time_passes(kitchen.clock, 0.05, playing.done)

        await playing
        assert 2 <= kitchen.clock.monotonic() - began_at < 3
        await kitchen.clock.advance(10 * SILENCE_LIMIT_S)  # nor does it answer pings
        assert kitchen.line.is_connected


async def test_timers_are_shown(kitchen: Kitchen) -> None:
    assert isinstance(kitchen.satellite, CanShowTimers)
    for change in TimerChange:
        await kitchen.satellite.show_timer(change, TIMER)

    await kitchen.double.got("timer-finished")
    started, updated, cancelled, finished = kitchen.double.heard[1:]
    told = TimerStarted.from_event(started)
    assert (told.id, told.name, told.total_seconds) == ("t1", "tea", 3_725)
    assert (told.start_hours, told.start_minutes, told.start_seconds) == (1, 2, 5)
    assert TimerUpdated.from_event(updated) == TimerUpdated("t1", True, 60)
    assert TimerCancelled.from_event(cancelled).id == TimerFinished.from_event(finished).id == "t1"


async def test_why_it_failed_is_shown_and_it_waits_for_its_word_again(kitchen: Kitchen) -> None:
    await kitchen.double.send(RunPipeline(ASR, TTS))
    await until(lambda: ("wake", None) in kitchen.line.calls)

    await kitchen.satellite.show(Stage.LISTENING)
    await kitchen.satellite.show(Stage.IDLE, "nothing hears")

    assert Error.from_event(await kitchen.double.got("error")).text == "nothing hears"
    assert Transcript.from_event(await kitchen.double.got("transcript")).text == ""


async def test_one_that_cannot_be_told_to_listen_says_so(kitchen: Kitchen) -> None:
    with pytest.raises(Unavailable, match="Kitchen satellite listens only after its wake word"):
        await kitchen.satellite.listen()


async def test_one_that_can_be_told_to_listen_does_and_has_not_woken(hub: HubFixture) -> None:
    async with kitchen_of(hub, SatelliteDouble(supports_trigger=True)) as kitchen:
        await until(lambda: kitchen.line.is_connected)

        await kitchen.satellite.listen()
        asked = RunPipeline.from_event(await kitchen.double.got("run-pipeline"))
        await kitchen.double.send(RunPipeline(ASR, TTS))
        await kitchen.double.say(SPEECH)
        await until(lambda: kitchen.line.samples == SPEECH)
        await kitchen.double.send(RunPipeline(ASR, TTS))
        await until(lambda: ("wake", None) in kitchen.line.calls)

    assert (asked.start_stage, asked.end_stage) == (ASR, TTS)
    assert len([each for each in kitchen.line.calls if each[0] == "wake"]) == 1


async def test_one_without_a_loudspeaker_plays_nothing(kitchen: Kitchen) -> None:
    await kitchen.double.send(RunPipeline(ASR, PipelineStage.HANDLE))
    await until(lambda: ("wake", None) in kitchen.line.calls)

    with pytest.raises(Unavailable, match="has no loudspeaker"):
        await kitchen.satellite.play(Sound(SPEECH))


async def test_one_that_goes_in_the_middle_is_away_and_comes_back(kitchen: Kitchen) -> None:
    playing = asyncio.create_task(kitchen.satellite.play(Sound(bytes(64_000))))
    await until(lambda: "audio-chunk" in kitchen.double.types())

    await kitchen.double.stop()
    await until(lambda: not kitchen.line.is_connected)
    await as_time_passes(kitchen.clock, 0.1, playing.done)
    with pytest.raises(Unavailable, match="Kitchen satellite is away"):
        await playing
    with pytest.raises(Unavailable, match="is away"):
        await kitchen.satellite.listen()
    assert await until(kitchen.trouble)
    await kitchen.double.start()

    await as_time_passes(kitchen.clock, 1.0, lambda: kitchen.line.is_connected)
    assert not kitchen.trouble()


async def test_one_that_answers_nothing_any_more_is_away(kitchen: Kitchen) -> None:
    await until(lambda: kitchen.satellite._answers_pings)
    kitchen.double.is_quiet = True

    await as_time_passes(kitchen.clock, 1.0, lambda: not kitchen.line.is_connected)

    assert "does not answer" in await until(kitchen.trouble)
    assert kitchen.clock.monotonic() >= SILENCE_LIMIT_S


async def test_one_that_another_server_has_is_not_taken_for_connected(hub: HubFixture) -> None:
    double = SatelliteDouble()
    double.is_taken = True
    async with kitchen_of(hub, double) as kitchen:
        assert "in use by another server, such as a Home Assistant" in await until(kitchen.trouble)
        assert ("connected", True) not in kitchen.line.calls


async def test_a_service_that_hears_is_no_satellite(hub: HubFixture) -> None:
    double = SatelliteDouble()
    model = AsrModel(name="tiny", languages=["en"], description=None, **ABOUT)
    double.info = Info(asr=[AsrProgram(name="whisper", models=[model], description=None, **ABOUT)])
    async with kitchen_of(hub, double) as kitchen:
        assert "a service that hears or speaks: it belongs in models" in await until(kitchen.trouble)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak the Wyoming protocol"),
        (b'{"type": "info", "data": {"wake": 5, "satellite": 5}}\n{"type": "x", "data": [1]}\n', "JSON object"),
        (b"[" * 20_000 + b"\n", "does not speak the Wyoming protocol"),
        (b'{"type": "audio-chunk"}\n', "expected sound with its rate, width and channels, got rate=None"),
        (b'{"type": "audio-chunk", "data": {"rate": 1, "width": 2, "channels": 1}}\n', "cannot be read"),
    ],
)
async def test_what_is_not_of_the_protocol_is_named(kitchen: Kitchen, data: bytes, words: str) -> None:
    await kitchen.double.garble(data)

    assert words in await until(kitchen.trouble)


async def test_one_that_takes_nothing_any_more_is_not_waited_for(hub: HubFixture) -> None:
    double = SatelliteDouble()
    double.is_old = True
    async with kitchen_of(hub, double) as kitchen:
        await as_time_passes(kitchen.clock, 0.1, lambda: kitchen.line.is_connected)
        double.stall()
        playing = asyncio.create_task(kitchen.satellite.play(Sound(bytes(60_000_000), 192_000)))
        writer = kitchen.satellite._writer
        assert writer is not None
        await as_time_passes(kitchen.clock, 5.0, lambda: writer.transport.get_write_buffer_size() > 65_536)

        skip_time(SILENCE_LIMIT_S)

        with pytest.raises(Unavailable, match="does not answer"):
            await playing


async def test_a_port_where_nothing_listens_is_named(hub: HubFixture) -> None:
    double = SatelliteDouble()
    async with satellite_double(double):
        pass
    kitchen = Kitchen(hub, hub.clock, double)  # type: ignore[arg-type]

    assert double.url in await until(kitchen.trouble)
    await kitchen.registrations.undo_all()


async def test_one_that_is_muted_hears_nothing_and_stays_so(kitchen: Kitchen, hub: HubFixture) -> None:
    await hub.services.call("switch", "turn_on", MUTE, context=Context(SYSTEM))
    await kitchen.double.got("pause-satellite")
    await kitchen.double.say(SPEECH)
    await kitchen.double.send(AudioStop())
    await until(lambda: ("end",) in kitchen.line.calls)

    assert kitchen.line.samples == b""
    assert await kitchen.host.storage("muted_kitchen").load(False) is True
    await hub.services.call("switch", "turn_off", MUTE, context=Context(SYSTEM))
    await until(lambda: kitchen.double.types()[-1:] == ["run-satellite"])


@pytest.mark.parametrize(
    ("url", "id"),
    [
        ("tcp://kitchen.local:10700", "kitchen"),
        ("tcp://Kitchen-Box", "kitchen_box"),
        ("tcp://192.168.1.20:10700", "wyoming_192_168_1_20"),
        ("tcp://box:10701", "box_10701"),
    ],
)
def test_one_without_an_id_is_called_like_its_address(url: str, id: str) -> None:
    assert id_of(url) == id
