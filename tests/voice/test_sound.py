"""Sound of any rate, width and number of channels comes out as 16 bits of one channel, in any pieces."""

from __future__ import annotations

import io
import math
import struct
import wave

import pytest

from hub.core.errors import InvalidRequest
from hub.voice.contract import RATE, Sound
from hub.voice.sound import Resampler, as_wav, read_wav, resampled

LOUD = 12_000


def tone(rate: int, hertz: float = 440.0, seconds: float = 0.5) -> list[int]:
    return [round(LOUD * math.sin(2 * math.pi * hertz * each / rate)) for each in range(int(rate * seconds))]


def packed(samples: list[int]) -> bytes:
    return struct.pack(f"<{len(samples)}h", *samples)


def unpacked(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 2}h", data))


def wide(samples: list[int], width: int) -> bytes:
    """Return samples in another width, as WAV has them."""
    if width == 1:
        return bytes((each >> 8) + 128 for each in samples)
    return b"".join((each << 8 * (width - 2)).to_bytes(width, "little", signed=True) for each in samples)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000])
def test_a_tone_of_any_rate_is_the_same_tone(rate: int) -> None:
    heard = unpacked(Resampler(rate).feed(packed(tone(rate))))

    expected = tone(RATE)
    assert len(heard) == pytest.approx(len(expected), abs=3)
    lag = 0 if rate <= RATE else 0.5 * (rate / RATE - 1) / rate * RATE  # an average lies in the middle of its time
    off = [abs(each - LOUD * math.sin(2 * math.pi * 440 * (at + lag) / RATE)) for at, each in enumerate(heard[2:-2], 2)]
    assert max(off) < 0.03 * LOUD


def test_what_is_too_high_for_the_new_rate_is_quieter() -> None:
    low, high = (
        max(unpacked(Resampler(48_000).feed(packed(tone(48_000, hertz)))), default=0) for hertz in (1_000, 15_900)
    )

    assert high < 0.05 * low


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100])
def test_pieces_of_any_length_come_out_as_the_whole(rate: int) -> None:
    data = packed([each for sample in tone(rate, seconds=0.1) for each in (sample, -sample // 2)])
    pieces, at = Resampler(rate, channels=2), 0
    found = b""
    for length in [1, 3, 4, 1_000, 7, 2_048] * 20:
        found += pieces.feed(data[at : at + length])
        at += length

    assert at > len(data)
    assert found == Resampler(rate, channels=2).feed(data)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_wav_file_of_any_width_is_read(width: int, channels: int) -> None:
    samples = [0, 256, -256, 32_512, -32_768]
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((channels, width, 22_050, 0, "NONE", ""))
        written.writeframes(wide([each for each in samples for _ in range(channels)], width))

    found = read_wav(file.getvalue())

    assert found is not None
    assert (unpacked(found.samples), found.rate) == (samples, 22_050)
    assert read_wav(as_wav(found)) == found


@pytest.mark.parametrize("data", [b"", b"RIFF", b"OggS" + bytes(100), as_wav(Sound(b""))[:20]])
def test_what_is_no_wav_file_is_none(data: bytes) -> None:
    assert read_wav(data) is None


def test_a_sound_goes_to_another_rate_and_lasts_as_long() -> None:
    found = resampled(Sound(packed(tone(22_050)), 22_050), 48_000)

    assert found.rate == 48_000
    assert found.seconds == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize("given", [(3_999, 2, 1), (16_000, 5, 1), (16_000, 2, 0), (16_000, 0, 1)])
def test_what_is_no_sound_is_refused(given: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidRequest, match="cannot be read"):
        Resampler(*given)
