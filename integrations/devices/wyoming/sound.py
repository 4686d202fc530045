"""Sound as the Wyoming protocol carries it, 16-bit samples without a header, and as recordings."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

from hub.core.errors import InvalidRequest
from hub.voice.contract import RATE, Sound
from hub.voice.sound import AS_SAMPLES, FFMPEG, Resampler, as_wav, converted
from integrations.devices.wyoming.wire import WyomingEvent

PIECE_BYTES = 16_384
WAV_HEAD_BYTES = 44
SOUND_LIMIT_BYTES = 20 * 1024 * 1024
_LIMIT = ("-fs", str(SOUND_LIMIT_BYTES))


def events_of(sound: Sound) -> Iterator[WyomingEvent]:
    """Yield the events that carry a sound."""
    about: dict[str, Any] = {"rate": sound.rate, "width": 2, "channels": 1}
    yield WyomingEvent("audio-start", about)
    for at in range(0, len(sound.samples), PIECE_BYTES):
        yield WyomingEvent("audio-chunk", about, sound.samples[at : at + PIECE_BYTES])
    yield WyomingEvent("audio-stop")


def form_of(event: WyomingEvent) -> tuple[int, int, int]:
    """Return the rate, the width of a sample in bytes, and the number of channels of an event with sound.

    Raises:
        ValueError: They are not said.
    """
    rate, width, channels = (event.data.get(key) for key in ("rate", "width", "channels"))
    if not (isinstance(rate, int) and isinstance(width, int) and isinstance(channels, int)):
        raise ValueError(f"expected sound with its rate, width and channels, got {rate=}, {width=}, {channels=}")
    return rate, width, channels


class SoundCollector:
    """Puts the sound of events together."""

    def __init__(self) -> None:
        self._form: tuple[int, int, int] | None = None
        self._converter: Resampler | None = None
        self._pieces = bytearray()

    def add(self, event: WyomingEvent) -> None:
        """Take an `audio-start` or an `audio-chunk`.

        Raises:
            ValueError: It is too long, or of another kind than before, or of none.
        """
        form = form_of(event)
        if self._converter is None:
            try:
                self._converter, self._form = Resampler(*form, to=form[0]), form
            except InvalidRequest as error:
                raise ValueError(error.message) from error
        if form != self._form:
            raise ValueError(f"the sound changes from {self._form} to {form}")
        if len(self._pieces) + len(event.payload) > SOUND_LIMIT_BYTES:
            raise ValueError(f"the sound has more than {SOUND_LIMIT_BYTES} bytes")
        self._pieces += self._converter.feed(event.payload)

    def take(self) -> Sound:
        """Return what came; the next sound may come then."""
        found = Sound(bytes(self._pieces), self._form[0] if self._form is not None else RATE)
        self._form = self._converter = None
        self._pieces.clear()
        return found


async def read_recording(data: bytes) -> Sound:
    """Return a recording of any kind as samples.

    Raises:
        Unavailable: It takes ffmpeg, which is not installed.
        InvalidRequest: It is none.
    """
    sound = Sound(data[WAV_HEAD_BYTES:])
    if as_wav(sound) == data:  # as the hub writes it; a stranger's is not parsed here
        return sound
    return Sound(await converted(data, *_LIMIT, *AS_SAMPLES))


async def as_recording(sound: Sound, form: str) -> bytes:
    """Return samples as Ogg/Opus, where that is asked for and ffmpeg is there; else as WAV."""
    data = as_wav(sound)
    if form != "opus" or shutil.which(FFMPEG) is None:
        return data
    return await converted(data, *_LIMIT, "-c:a", "libopus", "-b:a", "32k", "-f", "ogg")
