"""Sound as the Wyoming protocol carries it, 16-bit samples without a header, and as recordings."""

from __future__ import annotations

import asyncio
import io
import shutil
import wave
from collections.abc import Iterator
from typing import Any, NamedTuple

from hub.core.errors import InvalidRequest, TimedOut, Unavailable
from hub.models.speech import audio_kind
from integrations.devices.wyoming.wire import WyomingEvent

RATE = 16_000
"""What services that hear expect."""
PIECE_BYTES = 16_384
WAV_HEAD_BYTES = 44
SOUND_LIMIT_BYTES = 20 * 1024 * 1024
FFMPEG = "ffmpeg"
CONVERT_LIMIT_S = 30.0


class Sound(NamedTuple):
    """16-bit samples of one channel; `rate` in a second."""

    samples: bytes
    rate: int = RATE

    def events(self) -> Iterator[WyomingEvent]:
        """Yield the events that carry it."""
        about: dict[str, Any] = {"rate": self.rate, "width": 2, "channels": 1}
        yield WyomingEvent("audio-start", about)
        for at in range(0, len(self.samples), PIECE_BYTES):
            yield WyomingEvent("audio-chunk", about, self.samples[at : at + PIECE_BYTES])
        yield WyomingEvent("audio-stop")

    def as_wav(self) -> bytes:
        """Return it as a WAV file."""
        file = io.BytesIO()
        with wave.open(file, "wb") as written:
            written.setparams((1, 2, self.rate, 0, "NONE", ""))
            written.writeframes(self.samples)
        return file.getvalue()


class SoundCollector:
    """Puts the sound of events together."""

    def __init__(self) -> None:
        self._pieces = bytearray()
        self._rate = RATE

    def add(self, event: WyomingEvent) -> None:
        """Take an `audio-start` or an `audio-chunk`.

        Raises:
            ValueError: It is too long, or of another kind than 16-bit samples of one channel.
        """
        rate, width, channels = (event.data.get(key) for key in ("rate", "width", "channels"))
        if (width, channels) != (2, 1) or not isinstance(rate, int) or not 4_000 <= rate <= 96_000:
            raise ValueError(f"expected 16-bit samples of one channel, got {width=}, {channels=}, {rate=}")
        if len(self._pieces) + len(event.payload) > SOUND_LIMIT_BYTES:
            raise ValueError(f"the sound has more than {SOUND_LIMIT_BYTES} bytes")
        self._rate = rate
        self._pieces += event.payload

    def take(self) -> Sound:
        """Return what came, and begin anew."""
        found = Sound(bytes(self._pieces[: len(self._pieces) // 2 * 2]), self._rate)
        self._pieces.clear()
        return found


def read_wav(data: bytes) -> Sound | None:
    """Return the samples of a WAV file of what speaks; None if they are not 16-bit samples of one channel."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            if (file.getsampwidth(), file.getnchannels()) != (2, 1):
                return None
            return Sound(file.readframes(file.getnframes()), file.getframerate())
    except (wave.Error, EOFError):
        return None


async def read_recording(data: bytes) -> Sound:
    """Return a recording of any kind as samples.

    Raises:
        Unavailable: It takes ffmpeg, which is not installed.
        InvalidRequest: It is none.
    """
    if (
        sound := Sound(data[WAV_HEAD_BYTES:])
    ).as_wav() == data:  # as the hub writes it; a stranger's is not parsed here
        return sound
    return Sound(await _converted(data, "-ac", "1", "-ar", str(RATE), "-f", "s16le"))


async def as_recording(sound: Sound, form: str) -> bytes:
    """Return samples as Ogg/Opus, where that is asked for and ffmpeg is there; else as WAV."""
    data = sound.as_wav()
    if form != "opus" or shutil.which(FFMPEG) is None:
        return data
    return await _converted(data, "-c:a", "libopus", "-b:a", "32k", "-f", "ogg")


async def _converted(data: bytes, *form: str) -> bytes:
    """Return a recording in another form; its reader sees nothing but what it is given."""
    if (program := shutil.which(FFMPEG)) is None:
        kind = audio_kind(data)
        what = kind.mime_type if kind is not None else "a recording of an unknown kind"
        raise Unavailable(f"{what} takes the program {FFMPEG} (apt install {FFMPEG})")
    quiet = ("-nostdin", "-v", "error", "-protocol_whitelist", "pipe")
    process = await asyncio.create_subprocess_exec(
        program, *quiet, "-i", "pipe:0", "-vn", *form, "-fs", str(SOUND_LIMIT_BYTES), "pipe:1",
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
