"""Sound of other kinds as the samples that satellites hear and speak: 16 bits, one channel."""

from __future__ import annotations

import asyncio
import io
import shutil
import sys
import wave
from array import array
from itertools import accumulate, pairwise

from hub.core.errors import InvalidRequest, TimedOut, Unavailable
from hub.core.phrases import phrase
from hub.voice.contract import RATE, Sound

RATES = (4_000, 192_000)
CHANNELS_LIMIT = 8
_SAMPLE = 2
FFMPEG = "ffmpeg"
CONVERT_LIMIT_S = 30.0
AS_SAMPLES = ("-ac", "1", "-ar", str(RATE), "-f", "s16le")
"""The form of samples, for `converted`."""


class Resampler:
    """Turns the pieces of a sound into samples of 16 bits and one channel, at another rate.

    Args:
        rate: Samples a second of what is fed.
        width: Bytes of a sample, 1 to 4, little-endian; those of one byte are unsigned, as in WAV.
        channels: They are mixed.
        to: Samples a second of what comes out.

    Raises:
        InvalidRequest: It is no such sound.
    """

    def __init__(self, rate: int, width: int = _SAMPLE, channels: int = 1, to: int = RATE) -> None:
        if not RATES[0] <= rate <= RATES[1] or not 1 <= width <= 4 or not 1 <= channels <= CHANNELS_LIMIT:
            raise InvalidRequest(f"a sound of {rate=}, {width=} and {channels=} cannot be read")
        self._rate, self._width, self._channels, self._to = rate, width, channels, to
        self._rest = b""
        self._samples = array("h")
        self._at = 0  # where the next sample begins within `_samples`, in parts of `to` of a sample: no drift

    def feed(self, data: bytes) -> bytes:
        """Return the samples that are complete with this piece, little-endian."""
        data = self._rest + data if self._rest else data
        whole = len(data) - len(data) % (self._width * self._channels)
        self._rest = data[whole:]
        samples = _mixed(_narrowed(data[:whole], self._width), self._channels)
        return _bytes(samples if self._rate == self._to else self._converted(samples))

    def _converted(self, samples: array[int]) -> array[int]:
        self._samples.extend(samples)
        ends = len(self._samples) * self._to
        made, at = self._averages(ends) if self._rate > self._to else self._between(ends)
        gone, self._at = divmod(at, self._to)
        del self._samples[:gone]
        return made

    def _averages(self, ends: int) -> tuple[array[int], int]:
        """Return each sample as the average over its time, which keeps what is too high for the new rate out."""
        samples, to, step = self._samples, self._to, self._rate
        count = max(0, (ends - self._at) // step)
        sums = [0, *accumulate(samples)]
        edges = [divmod(self._at + each * step, to) for each in range(count + 1)]
        totals = [sums[at] * to + (part and part * samples[at]) for at, part in edges]
        made = array("h", [(after - before) // step for before, after in pairwise(totals)])
        return made, self._at + count * step

    def _between(self, ends: int) -> tuple[array[int], int]:
        """Return each sample as it lies between two."""
        samples, to, step = self._samples, self._to, self._rate
        count = max(0, -(-(ends - to - self._at) // step))
        places = [divmod(self._at + each * step, to) for each in range(count)]
        made = [samples[at] + (samples[at + 1] - samples[at]) * part // to for at, part in places]
        return array("h", made), self._at + count * step


def resampled(sound: Sound, rate: int) -> Sound:
    """Return a sound at another rate."""
    return sound if sound.rate == rate else Sound(Resampler(sound.rate, to=rate).feed(sound.samples), rate)


def as_wav(sound: Sound) -> bytes:
    """Return a sound as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((1, _SAMPLE, sound.rate, 0, "NONE", ""))
        written.writeframes(sound.samples)
    return file.getvalue()


def read_wav(data: bytes) -> Sound | None:
    """Return the sound in a WAV file of what speaks, at its own rate; None if it is none that can be read."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            return Sound(Resampler(rate, width, channels, to=rate).feed(file.readframes(file.getnframes())), rate)
    except (wave.Error, EOFError, InvalidRequest):
        return None


async def converted(data: bytes, *form: str) -> bytes:
    """Return a recording in another form; the program that reads it sees nothing but what it is given.

    Args:
        form: Options of ffmpeg for what comes out, such as `AS_SAMPLES`.

    Raises:
        Unavailable: ffmpeg is not installed.
        InvalidRequest: It is no recording.
        TimedOut: It took too long.
    """
    if (program := shutil.which(FFMPEG)) is None:
        raise Unavailable(phrase("recordings take the program {program} (apt install {program})", program=FFMPEG))
    quiet = ("-nostdin", "-v", "error", "-protocol_whitelist", "pipe")
    process = await asyncio.create_subprocess_exec(
        program, *quiet, "-i", "pipe:0", "-vn", *form, "pipe:1",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={},
    )  # fmt: skip
    try:
        async with asyncio.timeout(CONVERT_LIMIT_S):
            found, said = await process.communicate(data)
    except TimeoutError as error:
        raise TimedOut(f"{FFMPEG} did not convert a recording within {CONVERT_LIMIT_S:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode or not found:
        raise InvalidRequest(f"this is no recording that can be read: {said.decode('utf-8', 'replace').strip()[-200:]}")
    return found


def _narrowed(data: bytes, width: int) -> array[int]:
    """Return samples of any width as such of 16 bits."""
    if width == 1:
        return array("h", [(each - 128) << 8 for each in data])
    if width > _SAMPLE:
        high = bytearray(_SAMPLE * (len(data) // width))
        high[0::2], high[1::2] = data[width - 2 :: width], data[width - 1 :: width]
        data = bytes(high)
    samples = array("h", data)
    if sys.byteorder == "big":
        samples.byteswap()
    return samples


def _mixed(samples: array[int], channels: int) -> array[int]:
    if channels == 1:
        return samples
    frames = zip(*(samples[each::channels] for each in range(channels)), strict=True)
    return array("h", [sum(frame) // channels for frame in frames])


def _bytes(samples: array[int]) -> bytes:
    if sys.byteorder == "big":
        samples = array("h", samples)
        samples.byteswap()
    return samples.tobytes()
