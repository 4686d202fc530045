"""A speech engine for tests: the real worker, with engines that say and hear texts coded in sound, and fail as told.

A text that begins with one of `ILLS` makes the process ill in that way.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import time
import wave
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from integrations.channels.voice_call.mulaw import from_wav, to_wav
from integrations.models.voice import worker
from tests.servers.coded_sound import as_sound, text_of

COMMAND = (sys.executable, "-P", __file__)
ANSWERS = 4
"""The worker's copy of its standard output."""
WAKE_ILLS = (b"crash", b"slow")
"""In sound in which wake words are looked for."""
TOO_LARGE = "too_large"
"""A model whose folder has a file of this name cannot be loaded: the process ends."""
ILLS = ("crash", "killed", "hang", "think", "babble", "refuse", "print")


class Mouth:
    """Says a text as sound in which it is coded, after the name of its voice, and its language."""

    def __init__(self, model: str, threads: int) -> None:
        self._model = Path(model).name
        if (Path(model) / TOO_LARGE).exists():
            _crash()

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return a recording; see `ILLS`."""
        text = data.decode()
        match text.split(" ")[0]:
            case "crash":
                _crash()
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                time.sleep(600)
            case "think":
                time.sleep(1)
            case "babble":
                os.write(ANSWERS, b"\xff" * 64)
            case "refuse":
                raise ValueError("this voice has no such sound")
            case "print":
                print("a library says something")
            case "who":
                text = f"{self._model} {head['language']} {head.get('voice', '')} {os.getpid()} {sorted(os.environ)}"
        return {}, to_wav(as_sound(text))


class Ear:
    """Hears what is coded in a recording."""

    def __init__(self, model: str, threads: int) -> None:
        self._model = Path(model).name

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return its text, with the model and the language where it is asked who hears; of a part, its seconds."""
        if head.get("is_part"):
            return {"text": f"{len(data) / 32_000:g} s in {head['language']}", "language": "en", "took_s": 0.0}, b""
        with wave.open(io.BytesIO(data)):
            text = text_of(from_wav(data))
        if text == "hang":
            time.sleep(600)
        return {"text": f"{text} {self._model} {head['language']}" if text == "who" else text}, b""


class WordsInBytes:
    """Finds words that are written in the samples; see `WAKE_ILLS`."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self._words = [str(each) for each in wanted.get("words", ())]

    def hear(self, samples: bytes) -> Iterator[tuple[str, float, int]]:
        """Yield the words, or whether anything but silence is there."""
        if b"crash" in samples:
            os.kill(os.getpid(), signal.SIGKILL)
        if b"slow" in samples:
            time.sleep(1.0)
        if not self._words:
            yield "", 0.9 if any(samples) else 0.1, len(samples)
        said = ((each, each.encode()) for each in self._words)
        yield from ((each, 1.0, samples.index(word) + len(word)) for each, word in said if word in samples)


def _crash() -> None:
    print("Traceback (most recent call last):\nMemoryError: no room", file=sys.stderr, flush=True)
    os._exit(3)


if __name__ == "__main__":
    worker.ENGINES.update({"whisper": Ear, "piper": Mouth, "espeak": Mouth})
    worker.ENGINES["wake"] = partial(worker.Spotters, make=lambda wanted: [WordsInBytes(wanted)])
    worker.main()
