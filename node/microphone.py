"""The microphone and the loudspeaker of this machine, as a satellite of the hub.

It is on because somebody at this machine turned it on, and never because the hub asks. While it is on and the hub is
connected, all that it hears goes to the hub, which finds the wake word in it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from .backends.contract import Answer, Offer
from .errors import NodeError
from .parameters import number, text
from .programs import PROGRAM_LIMIT_S, end_program, find, output_of

RATE = 16_000
PIECE_BYTES = RATE * 2 // 10
"""A tenth of a second."""
SOUND_LIMIT_BYTES = 16 * 1024 * 1024
AGAIN_S = 5.0
EVENT, PLAY = "voice.audio", "voice.play"
INSTALL = {
    "linux": "install pulseaudio-utils or alsa-utils",
    "macos": "brew install sox",
    "android": "Termux records into files alone, so it cannot listen",
}

_RAW = ("--raw", "--format=s16le", "--channels=1")
_RECORDERS: Mapping[str, tuple[str, ...]] = {
    "parec": (*_RAW, f"--rate={RATE}", "--latency-msec=50"),
    "arecord": ("-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", str(RATE)),
    "rec": ("-q", "-t", "raw", "-e", "signed-integer", "-b", "16", "-c", "1", "-r", str(RATE), "-"),
}
_PLAYERS: Mapping[str, Callable[[int], tuple[str, ...]]] = {
    "paplay": lambda rate: (*_RAW, f"--rate={rate}", "--latency-msec=100"),
    "aplay": lambda rate: ("-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", str(rate)),
    "play": lambda rate: ("-q", "-t", "raw", "-e", "signed-integer", "-b", "16", "-c", "1", "-r", str(rate), "-"),
    "ffplay": lambda rate: (
        *("-nodisp", "-autoexit", "-loglevel", "error", "-f", "s16le", "-ar", str(rate), "-i", "pipe:0"),
    ),
}
RECORDERS, PLAYERS = tuple(_RECORDERS), tuple(_PLAYERS)

Send = Callable[[str], Awaitable[None]]
"""Sends a piece of sound to the hub, in base64."""


def play_offer(platform: str) -> Offer:
    """Return the command that plays what the hub says."""
    return Offer(PLAY, _play, PLAYERS, INSTALL.get(platform, INSTALL["linux"]))


async def _play(params: Mapping[str, Any], program: str) -> Answer:
    """Play samples (`base64`, 16 bits of one channel, `rate`) to their end; cancelling it is silence at once."""
    rate = int(number(params, "rate", RATE, 4_000, 192_000))
    try:
        samples = base64.b64decode(text(params, "base64", limit=SOUND_LIMIT_BYTES * 4 // 3 + 4), validate=True)
    except binascii.Error as error:
        raise NodeError("INVALID_PARAMS", f"base64: {error}") from error
    seconds = len(samples) / (2 * rate)
    await output_of([program, *_PLAYERS[program](rate)], stdin=samples, timeout_s=seconds + PROGRAM_LIMIT_S)
    return {"durationMs": round(seconds * 1_000)}


def listening(platform: str) -> str:
    """Return what is missing for listening; empty if nothing is."""
    if find(*RECORDERS) is not None:
        return ""
    return f"needs {' or '.join(RECORDERS)}: {INSTALL.get(platform, INSTALL['linux'])}"


class Microphone:
    """Hears, with a program of this machine.

    Args:
        tell: Shows a line to the person who started the node.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    async def run(self, send: Send, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Send what is heard until this is cancelled; a program that ends is started again.

        Raises:
            OSError: It cannot be sent.
        """
        told = ""
        while True:
            why = await self._record(send)
            if why != told:
                self._tell(f"the microphone is silent: {why}")
                told = why
            await sleep(AGAIN_S)

    async def _record(self, send: Send) -> str:
        """Record until the program ends; return why it did."""
        program = find(*RECORDERS)
        if program is None:
            return f"it needs {' or '.join(RECORDERS)} (homarus node doctor)"
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *_RECORDERS[program],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            return f"{program} cannot be started: {error}"
        sound, errors = cast(asyncio.StreamReader, process.stdout), cast(asyncio.StreamReader, process.stderr)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError):
                self._tell(f"the microphone is on, by {program}")
                while True:
                    await send(base64.b64encode(await sound.readexactly(PIECE_BYTES)).decode())
            said = (await errors.read(1_000)).decode(errors="replace").strip()
            return f"{program} ended: {said[-300:] or 'it said nothing'}"
        finally:
            await end_program(process)
