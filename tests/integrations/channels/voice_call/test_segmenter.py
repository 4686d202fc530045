"""What somebody says, found in a stream of sound."""

from __future__ import annotations

import random
from array import array

from hypothesis import given, strategies as st

from integrations.channels.voice_call.mulaw import FRAME_BYTES, FRAMES_PER_S, encode, from_wav
from integrations.channels.voice_call.segmenter import (
    BEFORE_FRAMES,
    BEGINS_FRAMES,
    LONGEST_S,
    Segmenter,
    SpeechBegan,
    SpeechEnded,
)
from tests.integrations.channels.voice_call.test_mulaw import espeak, tone

SILENCE = b"\xff" * FRAME_BYTES
LOUD = encode(tone(440, 8_000, 0.02))
SILENCE_MS = 400
SILENT_FRAMES = SILENCE_MS * FRAMES_PER_S // 1_000


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


def test_the_noise_of_a_line_is_learnt() -> None:
    chance = random.Random(1)
    codes = [each for each in range(256) if each & 0x7F > 0x48]  # soft ones
    noise = bytes(chance.choice(codes) for _ in range(FRAME_BYTES * 100))

    assert said(noise) == []
    assert len(said(noise + LOUD * 30 + noise)) == 1


def test_a_sound_that_never_stops_is_cut_and_is_noise_from_then_on() -> None:
    hum = encode(array("h", [each // 4 for each in tone(450, 8_000, 0.02)]))

    (found,) = said(SILENCE + hum * (LONGEST_S * FRAMES_PER_S + 100))

    assert len(found) == LONGEST_S * FRAMES_PER_S * FRAME_BYTES


def test_a_spoken_sentence_is_found_as_one() -> None:
    sound = from_wav(espeak("Turn on the light in the kitchen, please."))

    (found,) = said(SILENCE * 50 + sound)

    assert 0.7 * len(sound) < len(found) < len(sound) + (BEFORE_FRAMES + SILENT_FRAMES) * FRAME_BYTES
