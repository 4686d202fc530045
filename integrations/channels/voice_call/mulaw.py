"""The sound of the telephone: G.711 µ-law, 8,000 samples a second, and its way from and to WAV files. Pure."""

from __future__ import annotations

import io
import sys
import wave
from array import array
from itertools import accumulate

RATE = 8_000
FRAME_BYTES = 160
"""20 ms, as Media Streams sends them."""
FRAMES_PER_S = 50
RATES = (4_000, 192_000)
"""Rates of WAV files that are taken."""
SECONDS_LIMIT = 300
"""The longest recording that is spoken."""
_BIAS, _CLIP, _STEP = 0x84, 32_635, 3


def _linear(code: int) -> int:
    code = ~code & 0xFF
    magnitude = (((code & 0x0F) << 3) + _BIAS << (code >> 4 & 7)) - _BIAS
    return -magnitude if code & 0x80 else magnitude


def _code(magnitude: int) -> int:
    biased = min(magnitude, _CLIP) + _BIAS
    exponent = biased.bit_length() - 8
    return exponent << 4 | biased >> exponent + 3 & 0x0F


LINEAR = tuple(_linear(code) for code in range(256))
"""The 16-bit sample of each code."""
_POWER = tuple(sample * sample for sample in LINEAR)
_CODES = bytes(_code(max((step << _STEP) - _BIAS, 0)) for step in range((_CLIP + _BIAS >> _STEP) + 1))
"""The code of each magnitude, without its sign; magnitudes of a step have one code."""


def power(codes: bytes) -> float:
    """Return the mean power of codes, in squares of samples."""
    return sum(map(_POWER.__getitem__, codes)) / len(codes)


def decode(codes: bytes) -> array[int]:
    """Return 16-bit samples."""
    return array("h", map(LINEAR.__getitem__, codes))


def encode(samples: array[int]) -> bytes:
    """Return the codes of 16-bit samples."""
    codes = _CODES
    return bytes(
        ~codes[min(sample, _CLIP) + _BIAS >> _STEP] & 0xFF
        if sample >= 0
        else ~codes[min(-sample, _CLIP) + _BIAS >> _STEP] & 0x7F
        for sample in samples
    )


def to_wav(codes: bytes) -> bytes:
    """Return a WAV file of 16-bit samples."""
    samples = decode(codes)
    if sys.byteorder == "big":
        samples.byteswap()
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((1, 2, RATE, len(samples), "NONE", ""))
        written.writeframes(samples.tobytes())
    return file.getvalue()


def from_wav(data: bytes) -> bytes:
    """Return the codes of a WAV file of 16-bit samples, of any usual rate; of more channels, the first.

    Raises:
        ValueError: It is no such file, or too long.
    """
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = file.readframes(rate * SECONDS_LIMIT + 1)
    except (wave.Error, EOFError, RuntimeError) as error:
        raise ValueError(f"this is no WAV file of samples: {error}") from error
    if width != 2 or not RATES[0] <= rate <= RATES[1]:
        raise ValueError(f"expected a WAV file of 16-bit samples, got {8 * width} bits at {rate} Hz")
    samples = array("h", raw[: len(raw) - len(raw) % (2 * channels)])
    if sys.byteorder == "big":
        samples.byteswap()
    if len(samples) > rate * SECONDS_LIMIT * channels:
        raise ValueError(f"it is longer than {SECONDS_LIMIT} seconds")
    return encode(resampled(samples[::channels], rate))


def resampled(samples: array[int], rate: int) -> array[int]:
    """Return samples at the telephone's rate; two running means take out most of what it cannot carry."""
    if rate == RATE or not samples:
        return samples
    width = max(1, round(rate / RATE))
    smooth = _running_mean(_running_mean(samples, width), width) if width > 1 else samples
    last = len(samples) - 1
    found = array("h")
    for at in range(len(samples) * RATE // rate):
        whole, part = divmod(at * rate, RATE)
        before, after = smooth[min(whole, last)], smooth[min(whole + 1, last)]
        found.append(before + (after - before) * part // RATE)
    return found


def _running_mean(samples: array[int], width: int) -> array[int]:
    """Return the means of each sample and its neighbours; the ends are repeated."""
    left = (width - 1) // 2
    padded = array("h", [samples[0]] * left) + samples + array("h", [samples[-1]] * (width - 1 - left))
    sums = [0, *accumulate(padded)]
    return array("h", [(end - start) // width for start, end in zip(sums, sums[width:], strict=False)])
