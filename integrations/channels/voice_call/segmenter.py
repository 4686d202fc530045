"""Finds what somebody says in a stream of sound, by its energy. Pure.

The noise of the line is learnt from what is quiet. Time is counted in frames, so that it passes as the sound does.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from integrations.channels.voice_call.mulaw import FRAME_BYTES, FRAMES_PER_S, POWER

QUIETEST = 300.0**2
"""Mean power below which nothing is speech: about -41 dB of the loudest."""
LOUDER = 8.0
"""Speech has so many times the power of the noise, which is 9 dB."""
NOISE_LIMIT = 1_000.0**2
"""However noisy a line is, who shouts is heard."""
LEARNS = 0.05
BEGINS_FRAMES = 3
SHORTEST_FRAMES = 6
"""Loud frames of the shortest word; less is a click."""
BEFORE_FRAMES = 15
"""Kept of what came before the first loud frame: soft consonants."""
LONGEST_S = 60


class SpeechBegan(Struct, frozen=True):
    """Somebody began to speak."""


class SpeechEnded(Struct, frozen=True):
    """Somebody stopped; `sound` is what they said, empty when it was a click."""

    sound: bytes


class Segmenter:
    """Cuts a stream into what is said.

    Args:
        silence_ms: Silence that ends what is said.

    Attributes:
        speaking: Whether somebody speaks.
    """

    def __init__(self, silence_ms: int) -> None:
        self._silence_frames = max(1, silence_ms * FRAMES_PER_S // 1_000)
        self._noise: float | None = None
        self._rest = b""
        self._before: deque[bytes] = deque(maxlen=BEFORE_FRAMES)
        self._sound = bytearray()
        self._loud = self._quiet = 0
        self.speaking = False

    def feed(self, sound: bytes) -> list[SpeechBegan | SpeechEnded]:
        """Take sound, of any length; return what it told, in order."""
        sound = self._rest + sound
        end = len(sound) - len(sound) % FRAME_BYTES
        self._rest = sound[end:]
        found = (self._take(sound[at : at + FRAME_BYTES]) for at in range(0, end, FRAME_BYTES))
        return [each for each in found if each is not None]

    def _take(self, frame: bytes) -> SpeechBegan | SpeechEnded | None:
        power = sum(map(POWER.__getitem__, frame)) / FRAME_BYTES
        noise = self._noise = min(power, NOISE_LIMIT) if self._noise is None else self._noise
        is_loud = power > max(QUIETEST, noise * LOUDER)
        if not self.speaking:
            return self._wait(frame, noise, power, is_loud=is_loud)
        self._sound += frame
        self._loud += is_loud
        self._quiet = 0 if is_loud else self._quiet + 1
        is_too_long = len(self._sound) >= LONGEST_S * FRAMES_PER_S * FRAME_BYTES
        if self._quiet < self._silence_frames and not is_too_long:
            return None
        if is_too_long:  # nobody speaks for so long: it may be a noise that began
            self._noise = min(power, NOISE_LIMIT)
        said = bytes(self._sound) if self._loud >= SHORTEST_FRAMES else b""
        self.speaking, self._loud, self._quiet = False, 0, 0
        self._sound.clear()
        return SpeechEnded(said)

    def _wait(self, frame: bytes, noise: float, power: float, *, is_loud: bool) -> SpeechBegan | None:
        self._before.append(frame)
        self._loud = self._loud + 1 if is_loud else 0
        if not is_loud:
            self._noise = min(noise + LEARNS * (power - noise), NOISE_LIMIT)
        if self._loud < BEGINS_FRAMES:
            return None
        self.speaking = True
        self._sound += b"".join(self._before)
        self._before.clear()
        return SpeechBegan()
