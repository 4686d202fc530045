"""The sound of the telephone: µ-law, WAV files, and other rates."""

from __future__ import annotations

import io
import math
import subprocess
import wave
from array import array

import pytest
from hypothesis import given, strategies as st

from integrations.channels.voice_call.mulaw import (
    LINEAR,
    RATE,
    SECONDS_LIMIT,
    decode,
    encode,
    from_wav,
    resampled,
    to_wav,
)

SAMPLES = st.lists(st.integers(-32_768, 32_767), max_size=400).map(lambda found: array("h", found))


def wav(samples: array[int], rate: int = RATE, channels: int = 1) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((channels, 2, rate, 0, "NONE", ""))
        written.writeframes(samples.tobytes())
    return file.getvalue()


def tone(hertz: float, rate: int, seconds: float = 0.25) -> array[int]:
    return array("h", [round(10_000 * math.sin(2 * math.pi * hertz * at / rate)) for at in range(int(rate * seconds))])


def power(samples: array[int]) -> float:
    return math.sqrt(sum(each * each for each in samples) / len(samples))


def test_the_codes_are_those_of_the_standard() -> None:
    # G.711, table 2a: the loudest, the softest and the two zeros.
    assert [LINEAR[code] for code in (0x00, 0x80, 0x7F, 0xFF, 0xFE, 0x0F, 0x8F)] == [
        -32_124,
        32_124,
        0,
        0,
        8,
        -16_764,
        16_764,
    ]


@given(st.binary(max_size=400))
def test_a_code_comes_back_but_for_the_sign_of_zero(codes: bytes) -> None:
    assert encode(decode(codes)) == codes.replace(b"\x7f", b"\xff")


@given(SAMPLES)
def test_a_sample_is_coded_as_the_nearest_that_there_is(samples: array[int]) -> None:
    for sample, coded in zip(samples, decode(encode(samples)), strict=True):
        clipped = max(-32_635, min(32_635, sample))
        assert abs(coded - clipped) <= max(4, (abs(clipped) + 132) / 32)


@given(SAMPLES)
def test_it_codes_as_the_library_of_earlier_pythons_does(samples: array[int]) -> None:
    audioop = pytest.importorskip("audioop")
    coded = audioop.lin2ulaw(samples.tobytes(), 2)

    assert decode(coded).tobytes() == audioop.ulaw2lin(coded, 2)
    # It rounds some samples to the other neighbour: it has fourteen bits.
    for mine, theirs in zip(decode(encode(samples)), decode(coded), strict=True):
        assert abs(mine - theirs) <= max(8, (abs(theirs) + 132) / 16)


@given(st.binary(max_size=2_000))
def test_a_wav_file_comes_back(codes: bytes) -> None:
    assert from_wav(to_wav(codes)) == codes.replace(b"\x7f", b"\xff")


@given(st.binary(max_size=300))
def test_anything_else_is_no_recording(data: bytes) -> None:
    for each in (data, b"RIFF\xff\xff\xff\xffWAVE" + data, wav(tone(440, RATE))[:44] + data):
        try:
            from_wav(each)
        except ValueError:
            continue


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
def test_another_rate_lasts_as_long_and_sounds_as_before(rate: int) -> None:
    found = resampled(tone(500, rate), rate)

    assert abs(len(found) - RATE // 4) <= 1
    assert power(found) == pytest.approx(power(tone(500, RATE)), rel=0.1)


def test_what_the_telephone_cannot_carry_is_taken_out() -> None:
    assert power(resampled(tone(7_500, 24_000), 24_000)) < 0.1 * power(tone(7_500, 24_000))


def test_of_two_channels_the_first_is_spoken() -> None:
    left = tone(500, RATE)
    both = array("h", [each for sample in left for each in (sample, 0)])

    assert from_wav(wav(both, channels=2)) == encode(left)


def test_a_recording_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than"):
        from_wav(wav(array("h", bytes(2 * (RATE * SECONDS_LIMIT + 1)))))


def test_what_espeak_says_becomes_sound_of_the_telephone() -> None:
    data = espeak("What is the weather like today?")
    with wave.open(io.BytesIO(data)) as file:
        rate, raw = file.getframerate(), file.readframes(10_000_000)

    sound = from_wav(data)

    assert rate != RATE
    assert len(sound) == pytest.approx(len(raw) / 2 * RATE / rate, abs=2)
    assert power(decode(sound)) > 500


def espeak(text: str) -> bytes:
    """Return what espeak-ng says, as a WAV file; script/test installs it."""
    made = subprocess.run(["espeak-ng", "-s", "150", "--stdout", text], capture_output=True, check=True)
    return made.stdout
