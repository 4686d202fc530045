"""Finds what somebody says in a stream of sound, by its energy or by what a model says of it. Pure.

The noise of the room or the line is learnt from what is quiet. Time is counted in frames, so that it passes as the
sound does.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from operator import mul

from msgspec import Struct

from hub.voice.contract import BYTES_PER_S

FRAMES_PER_S = 50
QUIETEST = 300.0**2
"""Mean power below which nothing is speech: about -41 dB of the loudest."""
LOUDER = 8.0
"""Speech has so many times the power of the noise, which is 9 dB."""
NOISE_LIMIT = 1_000.0**2
"""However noisy it is, who shouts is heard."""
RISES, FALLS = 0.05, 0.2
"""How much of the way to a louder and to a quieter frame the noise goes."""
BEGINS_FRAMES = 3
SHORTEST_FRAMES = 6
"""Loud frames of the shortest word; less is a click."""
BEFORE_MS = 300
LONGEST_S = 60
JUDGED_FRAMES = 10
"""For so long a judgement holds; a model that says nothing any more is replaced by the energy."""
LIKELY, UNLIKELY = 0.5, 0.35
"""The probability of speech from which it begins, and below which it has ended."""

_EVERY = 4
"""One sample in so many tells the power as well as all of them."""


class SpeechBegan(Struct, frozen=True):
    """Somebody began to speak."""


class SpeechEnded(Struct, frozen=True):
    """Somebody stopped; `sound` is what they said, empty when it was a click."""

    sound: bytes


class Coding(Struct, frozen=True):
    """How the samples of a stream are written.

    Attributes:
        frame_bytes: Bytes of 20 ms.
        power: Returns the mean power of a frame, in squares of 16-bit samples.
    """

    frame_bytes: int
    power: Callable[[bytes], float]


_FRAME_BYTES = BYTES_PER_S // FRAMES_PER_S
_SAMPLES = struct.Struct("<" + f"h{2 * (_EVERY - 1)}x" * (_FRAME_BYTES // 2 // _EVERY))


def _power(frame: bytes) -> float:
    samples: tuple[int, ...] = _SAMPLES.unpack(frame)
    total: int = sum(map(mul, samples, samples))
    return total / len(samples)


def powers_of(samples: bytes) -> list[float]:
    """Return the mean power of each 20 ms of what a satellite sent."""
    frames = range(0, len(samples) - _FRAME_BYTES + 1, _FRAME_BYTES)
    return [_power(samples[at : at + _FRAME_BYTES]) for at in frames]


def loudest(samples: bytes) -> float:
    """Return the greatest mean power of 20 ms of what a satellite sent."""
    return max(powers_of(samples), default=0.0)


PCM = Coding(_FRAME_BYTES, _power)
"""What satellites send: 16-bit little-endian samples of one channel, 16,000 a second."""


class Segmenter:
    """Cuts a stream into what is said.

    Args:
        silence_ms: Silence that ends what is said.
        noise: The power of the noise there, as an earlier one learnt it; None takes the first frame for noise.
        before_ms: How much of what came before the first loud frame is kept: soft consonants, and words that were
            taken for noise.

    Attributes:
        speaking: Whether somebody speaks.
        noise: The power of the noise; None before the first frame.
        floor: Mean power below which nothing is speech.
    """

    def __init__(
        self, silence_ms: int, coding: Coding = PCM, *, noise: float | None = None, before_ms: int = BEFORE_MS
    ) -> None:
        self._silence_frames = max(1, silence_ms * FRAMES_PER_S // 1_000)
        self._coding = coding
        self._rest = b""
        self._before: deque[bytes] = deque(maxlen=before_ms * FRAMES_PER_S // 1_000)
        self._sound = bytearray()
        self._loud = self._quiet = self._judged = 0
        self._probability = 0.0
        self.noise = noise
        self.floor = QUIETEST
        self.speaking = False

    def feed(self, samples: bytes) -> list[SpeechBegan | SpeechEnded]:
        """Take sound, of any length; return what it told, in order."""
        size = self._coding.frame_bytes
        samples = self._rest + samples
        end = len(samples) - len(samples) % size
        self._rest = samples[end:]
        found = (self._take(samples[at : at + size]) for at in range(0, end, size))
        return [each for each in found if each is not None]

    @property
    def is_quiet(self) -> bool:
        """Whether the last of it was silence, which may end what is said."""
        return self._quiet > 0

    def said(self, start: int = 0) -> bytes:
        """Return what somebody has said until now, from a byte on."""
        return bytes(self._sound[start:])

    def judge(self, probability: float) -> None:
        """Take what a model says of the last sound: how likely it is speech, which counts instead of its energy."""
        self._probability, self._judged = probability, JUDGED_FRAMES

    def _take(self, frame: bytes) -> SpeechBegan | SpeechEnded | None:
        power = self._coding.power(frame)
        if self.noise is None:
            self.noise = min(power, NOISE_LIMIT)
        is_loud = self._is_speech(power, self.noise)
        if not self.speaking:
            return self._wait(frame, self.noise, power, is_loud=is_loud)
        self._sound += frame
        self._loud += is_loud
        self._quiet = 0 if is_loud else self._quiet + 1
        is_too_long = len(self._sound) >= LONGEST_S * FRAMES_PER_S * self._coding.frame_bytes
        if self._quiet < self._silence_frames and not is_too_long:
            return None
        if is_too_long:  # nobody speaks for so long: it may be a noise that began
            self.noise = min(power, NOISE_LIMIT)
        said = bytes(self._sound) if self._loud >= SHORTEST_FRAMES else b""
        self.speaking, self._loud, self._quiet = False, 0, 0
        self._sound.clear()
        return SpeechEnded(said)

    def _is_speech(self, power: float, noise: float) -> bool:
        if self._judged:
            self._judged -= 1
            return self._probability >= (UNLIKELY if self.speaking else LIKELY)
        return power > max(self.floor, noise * LOUDER)

    def _wait(self, frame: bytes, noise: float, power: float, *, is_loud: bool) -> SpeechBegan | None:
        self._before.append(frame)
        self._loud = self._loud + 1 if is_loud else 0
        if not is_loud:
            self.noise = min(noise + (RISES if power > noise else FALLS) * (power - noise), NOISE_LIMIT)
        if self._loud < BEGINS_FRAMES:
            return None
        self.speaking = True
        self._sound += b"".join(self._before)
        self._before.clear()
        return SpeechBegan()
