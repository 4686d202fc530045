"""The short sounds of satellites, made of sines."""

from __future__ import annotations

import math
import sys
from array import array
from enum import Enum
from functools import cache

from hub.voice.contract import RATE, Sound

_LOUDNESS = 0.25
_FADE_S = 0.01


class Chime(Enum):
    """A sound: its tones, each with its frequency in Hz and how long it lasts, in seconds."""

    WAKE = ((660.0, 0.08), (880.0, 0.12))
    """It listens."""
    ERROR = ((440.0, 0.12), (294.0, 0.2))
    """Something failed."""
    ANNOUNCE = ((784.0, 0.15), (988.0, 0.15), (784.0, 0.2))
    """Something is said that nobody asked for."""
    RING = ((988.0, 0.12), (0.0, 0.08), (988.0, 0.12), (0.0, 0.08), (988.0, 0.12), (0.0, 0.25))
    """A timer has ended; repeated until somebody stops it."""


@cache
def chime(kind: Chime) -> Sound:
    """Return a sound."""
    samples = array("h")
    for hertz, seconds in kind.value:
        count = int(RATE * seconds)
        for at in range(count):
            fade = min(1.0, at / (RATE * _FADE_S), (count - at) / (RATE * _FADE_S))
            samples.append(int(32_767 * _LOUDNESS * fade * math.sin(2 * math.pi * hertz * at / RATE)))
    if sys.byteorder == "big":
        samples.byteswap()
    return Sound(samples.tobytes())
