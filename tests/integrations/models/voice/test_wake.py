"""Wake words of all satellites are found in one process, whose illnesses cost sound and no more."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import Unavailable
from integrations.models.voice.installed import LOCK, WAKE, VoiceFolder
from integrations.models.voice.wake import ANSWER_S, IDLE_S, PAUSE_S, PENDING_BYTES, WAITS_S, WakeProcess
from tests.servers.scripted_engine import COMMAND
from tests.until import as_time_passes, until

NABU, JARVIS = b"okay_nabu.", b"hey_jarvis"
SILENCE = bytes(1_024)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engine(tmp_path: Path, clock: ManualClock) -> AsyncIterator[WakeProcess]:
    engine = WakeProcess(VoiceFolder(tmp_path), clock, COMMAND)
    yield engine
    await engine.close()


async def test_satellites_share_a_process_and_each_hears_its_words_alone(
    engine: WakeProcess, clock: ManualClock
) -> None:
    kitchen, bath, speech = list[str](), list[str](), list[float]()
    in_kitchen = engine.open("kitchen", ["okay_nabu"], 0.5, lambda word, _: kitchen.append(word))
    in_bath = engine.open("bath", ["hey_jarvis", "okay_nabu"], 0.5, lambda word, _: bath.append(word))
    judged = engine.judge("bath", speech.append)

    in_kitchen.feed(SILENCE + JARVIS)
    in_bath.feed(SILENCE + JARVIS)
    judged.feed(SILENCE)
    await as_time_passes(clock, PAUSE_S, lambda: bath and speech)
    first = engine.process_id
    in_bath.close()
    for each in (in_kitchen, in_bath, judged):
        each.feed(NABU)
    await as_time_passes(clock, PAUSE_S, lambda: kitchen and len(speech) == 2)

    assert (kitchen, bath, speech) == (["okay_nabu"], ["hey_jarvis"], [0.1, 0.9])
    assert engine.process_id == first


@pytest.mark.parametrize("crash", [b"crash ", None])
async def test_when_the_process_dies_the_next_hears_all_satellites(
    engine: WakeProcess, clock: ManualClock, caplog: pytest.LogCaptureFixture, crash: bytes | None
) -> None:
    heard: list[tuple[str, str]] = []
    streams = [
        engine.open(room, ["okay_nabu"], 0.5, lambda word, _, room=room: heard.append((room, word)))  # type: ignore[misc]
        for room in ("kitchen", "bath")
    ]
    streams[0].feed(NABU)
    await as_time_passes(clock, PAUSE_S, lambda: heard)
    first = engine.process_id
    assert first is not None

    if crash is None:
        os.kill(first, signal.SIGKILL)
    streams[1].feed(crash or SILENCE)
    await as_time_passes(clock, PAUSE_S, lambda: "was ended by SIGKILL" in caplog.text)
    for each in streams:
        each.feed(NABU)
    await as_time_passes(clock, WAITS_S[0], lambda: len(heard) == 3)

    assert heard == [(room, "okay_nabu") for room in ("kitchen", "kitchen", "bath")]
    assert engine.process_id != first


async def test_when_it_lags_old_sound_is_dropped_and_that_is_told(
    engine: WakeProcess, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    stream = engine.open("kitchen", ["okay_nabu"], 0.5, lambda word, _: heard.append(word))
    stream.feed(SILENCE + b"slow")
    await until(lambda: engine._process is not None and engine._process.waiting)

    for _ in range(2):
        stream.feed(NABU + bytes(PENDING_BYTES))
    stream.feed(NABU)
    await as_time_passes(clock, PAUSE_S, lambda: heard)

    assert heard == ["okay_nabu"]
    assert engine.dropped_bytes == PENDING_BYTES + 3 * len(NABU)
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING] == [
        "wake words: this machine is too slow, or what finds them does not run: kitchen is not listened to for 0.0 s "
        "of sound so far"
    ]


async def test_what_cannot_be_started_is_tried_again_more_and_more_seldom(
    tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    engine = WakeProcess(VoiceFolder(tmp_path), clock, (str(tmp_path / "none"),))
    stream = engine.open("kitchen", ["okay_nabu"], 0.5, lambda *_: None)

    for wait_s in (*WAITS_S, WAITS_S[-1]):
        stream.feed(SILENCE)
        await until(lambda: clock.sleepers)
        caplog.clear()
        await clock.advance(wait_s - 0.5)
        assert "cannot be started" not in caplog.text
        stream.feed(SILENCE)
        await clock.advance(0.5)
        await until(lambda: "cannot be started" in caplog.text)
    await engine.close()


async def test_a_process_that_hears_nothing_any_more_ends(engine: WakeProcess, clock: ManualClock) -> None:
    heard: list[str] = []
    stream = engine.open("kitchen", ["okay_nabu"], 0.5, lambda word, _: heard.append(word))
    stream.feed(NABU)
    await as_time_passes(clock, PAUSE_S, lambda: heard)
    process = engine._process
    assert process is not None

    stream.close()
    await clock.advance(IDLE_S)

    await until(lambda: not process.is_running and process._errors is not None and process._errors.done())


async def test_without_an_installation_it_says_what_to_install_and_starts_nothing(
    tmp_path: Path, clock: ManualClock
) -> None:
    folder = VoiceFolder(tmp_path)
    engine = WakeProcess(folder, clock)

    with pytest.raises(Unavailable, match="homarus voice install wake"):
        await engine.words()
    engine.judge("kitchen", lambda _: None).feed(SILENCE)
    await clock.advance(ANSWER_S)

    assert engine._process is None
    folder.python_of(WAKE).parent.mkdir(parents=True)
    folder.python_of(WAKE).symlink_to(sys.executable)
    shutil.copyfile(WAKE, folder.place_of(WAKE) / LOCK)
    assert [each.id for each in await engine.words()][:2] == ["okay_nabu", "hey_jarvis"]
    await engine.close()
