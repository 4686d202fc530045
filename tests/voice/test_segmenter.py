"""What somebody says, found in a stream of sound."""

from __future__ import annotations

import io
import random
import wave
from array import array

import pytest
from hypothesis import given, strategies as st

from hub.voice.segmenter import (
    BEFORE_MS,
    BEGINS_FRAMES,
    FRAMES_PER_S,
    JUDGED_FRAMES,
    LONGEST_S,
    PCM,
    Segmenter,
    SpeechBegan,
    SpeechEnded,
)
from tests.integrations.channels.voice_call.test_mulaw import espeak, tone

FRAME_BYTES = PCM.frame_bytes
SILENCE = bytes(FRAME_BYTES)
LOUD = tone(440, 16_000, 0.02).tobytes()
HUM = array("h", [each // 4 for each in tone(450, 16_000, 0.02)]).tobytes()
SILENCE_MS = 400
SILENT_FRAMES = SILENCE_MS * FRAMES_PER_S // 1_000
BEFORE_FRAMES = BEFORE_MS * FRAMES_PER_S // 1_000


def noise(rms: float, frames: int, seed: int = 1) -> bytes:
    chance = random.Random(seed)
    return array("h", [round(chance.gauss(0, rms)) for _ in range(FRAME_BYTES // 2 * frames)]).tobytes()


def said(sound: bytes, pieces: list[int] | None = None) -> list[bytes]:
    """Return what was found in sound, which comes in pieces, with silence after it."""
    segmenter, found = Segmenter(SILENCE_MS), list[bytes]()
    sound += SILENCE * (SILENT_FRAMES + 1)
    at, sizes = 0, iter(pieces or [])
    while at < len(sound):
        size = next(sizes, FRAME_BYTES)
        found += [e.sound for e in segmenter.feed(sound[at : at + size]) if isinstance(e, SpeechEnded) and e.sound]
        at += size
    assert not segmenter.speaking
    return found


@given(st.integers(0, 60), st.integers(12, 200))
def test_what_is_loud_is_found_whole_with_a_little_before_it(quiet: int, loud: int) -> None:
    (found,) = said(SILENCE * quiet + LOUD * loud)

    before = min(quiet, BEFORE_FRAMES - BEGINS_FRAMES)
    assert found == SILENCE * before + LOUD * loud + SILENCE * SILENT_FRAMES


@given(st.lists(st.integers(1, 5_000), max_size=50))
def test_it_does_not_matter_how_the_sound_is_cut(pieces: list[int]) -> None:
    sound = SILENCE * 20 + LOUD * 30 + SILENCE * 40 + LOUD * 20

    assert said(sound, pieces) == said(sound)


@given(st.binary(max_size=20_000))
def test_whatever_comes_is_cut_into_parts_of_it(sound: bytes) -> None:
    whole = sound + SILENCE * (SILENT_FRAMES + 1)
    at = 0
    for each in said(sound):
        at = whole.index(each, at) + len(each)


@given(st.integers(0, 500))
def test_in_silence_nothing_is_said(frames: int) -> None:
    assert said(SILENCE * frames) == []


def test_two_sentences_are_two_and_a_short_pause_is_none() -> None:
    pause, long_pause = SILENCE * (SILENT_FRAMES - 1), SILENCE * SILENT_FRAMES

    assert len(said(LOUD * 20 + pause + LOUD * 20)) == 1
    assert len(said(LOUD * 20 + long_pause + LOUD * 20)) == 2


def test_a_click_is_nothing() -> None:
    segmenter = Segmenter(SILENCE_MS)

    told = segmenter.feed(SILENCE * 5 + LOUD * (BEGINS_FRAMES) + SILENCE * 40)

    assert told == [SpeechBegan(), SpeechEnded(b"")]
    assert said(SILENCE * 5 + LOUD * (BEGINS_FRAMES - 1) + SILENCE * 40) == []


def test_the_noise_of_a_room_is_learnt() -> None:
    hiss = noise(800, 100)

    assert said(hiss) == []
    assert len(said(hiss + LOUD * 30 + hiss)) == 1


def test_a_sound_that_never_stops_is_cut_and_is_noise_from_then_on() -> None:

    (found,) = said(SILENCE + HUM * (LONGEST_S * FRAMES_PER_S + 100))

    assert len(found) == LONGEST_S * FRAMES_PER_S * FRAME_BYTES


def speech() -> bytes:
    """Return a sentence at 16 kHz; espeak-ng has 22.05 kHz, of which samples are left out."""
    with wave.open(io.BytesIO(espeak("Turn on the light in the kitchen, please."))) as file:
        samples, rate = array("h", file.readframes(1_000_000)), file.getframerate()
    return array("h", [samples[at * rate // 16_000] for at in range(len(samples) * 16_000 // rate)]).tobytes()


@pytest.mark.parametrize("rms", [0, 100, 300])
def test_a_spoken_sentence_is_found_as_one_also_in_noise(rms: float) -> None:
    sound = array("h", SILENCE * 50 + speech() + SILENCE * 100)
    hiss = array("h", noise(rms, len(sound) * 2 // FRAME_BYTES + 1))
    mixed = array("h", [max(-32_768, min(32_767, a + b)) for a, b in zip(sound, hiss, strict=False)])

    (found,) = said(mixed.tobytes())

    assert 0.7 * len(speech()) < len(found) < len(speech()) + (BEFORE_FRAMES + SILENT_FRAMES) * FRAME_BYTES


def test_who_speaks_at_once_is_heard_with_the_noise_that_was_learnt_before() -> None:
    first = Segmenter(SILENCE_MS)
    first.feed(noise(50, 50))

    after = Segmenter(SILENCE_MS, noise=first.noise)

    assert SpeechBegan() in after.feed(HUM * BEGINS_FRAMES)
    assert SpeechBegan() not in Segmenter(SILENCE_MS).feed(HUM * BEGINS_FRAMES)


def test_who_speaks_before_anything_is_known_of_the_noise_is_heard_from_the_first_word() -> None:
    segmenter = Segmenter(SILENCE_MS, before_ms=1_500)
    sound = HUM * 40 + LOUD * 20  # a soft word, which is taken for noise

    *_, ended = segmenter.feed(sound + SILENCE * SILENT_FRAMES)

    assert isinstance(ended, SpeechEnded)
    assert ended.sound.startswith(sound)


def test_a_judgement_counts_instead_of_the_energy_until_none_comes_any_more() -> None:
    segmenter, told = Segmenter(SILENCE_MS), list[SpeechBegan | SpeechEnded]()
    segmenter.feed(SILENCE)
    for probability in (0.1, 0.2, 0.1):  # a loud noise
        segmenter.judge(probability)
        told += segmenter.feed(LOUD * 5)
    assert told == []

    for probability in (0.9, 0.4, 0.9):  # somebody whispers
        segmenter.judge(probability)
        told += segmenter.feed(SILENCE * 5)
    assert told == [SpeechBegan()]

    (ended,) = segmenter.feed(SILENCE * (SILENT_FRAMES + JUDGED_FRAMES))
    assert isinstance(ended, SpeechEnded)
    assert ended.sound
