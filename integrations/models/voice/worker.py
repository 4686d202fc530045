"""A speech engine in a process of its own: recordings to text, or texts to recordings, one request at a time.

It is run as a file, by the Python of the installed engines, and imports nothing of the hub. A frame, both ways: the
size of its head in four bytes, big-endian; the head, JSON; as many bytes as `size` in the head says.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import subprocess
import sys
import wave
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

LENGTH_BYTES = 4
ESPEAK = "espeak-ng"
OPUS_RATE = 24_000
OPUS_BIT_RATE = 32_000
SILENT_ABOVE = 0.6
"""Where Whisper finds speech less likely than this, it is not asked what was said."""
_LANGUAGES = {"zh": "cmn", "no": "nb"}
"""Voices of espeak-ng that are called otherwise than their language."""


class Whisper:
    """Hears, by faster-whisper (CTranslate2).

    Args:
        model: The folder of the model.
    """

    def __init__(self, model: str, threads: int) -> None:
        self._model = import_module("faster_whisper").WhisperModel(
            model, device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True
        )

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the text of a recording of any kind that FFmpeg reads."""
        segments, info = self._model.transcribe(
            io.BytesIO(data),
            language=self._known(head.get("language")),
            beam_size=5,
            without_timestamps=True,
            condition_on_previous_text=False,
            no_speech_threshold=SILENT_ABOVE,
            vad_filter=bool(head.get("long")),
        )
        text = " ".join(each.text.strip() for each in segments)
        return {"text": text, "language": info.language, "seconds": info.duration}, b""

    def _known(self, language: str | None) -> str | None:
        return language if language in self._model.supported_languages else None


class Piper:
    """Speaks, by Piper.

    Args:
        model: The folder of the voice.
    """

    def __init__(self, model: str, threads: int) -> None:
        self._voice = import_module("piper").PiperVoice.load(next(Path(model).glob("*.onnx")))

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return a recording of a text."""
        pieces = [(each.audio_int16_bytes, each.sample_rate) for each in self._voice.synthesize(data.decode())]
        rate = pieces[0][1] if pieces else self._voice.config.sample_rate
        return _recording(b"".join(piece for piece, _ in pieces), rate, head["form"])


class Espeak:
    """Speaks, by the program espeak-ng, which needs no model."""

    def __init__(self, model: str, threads: int) -> None:
        pass

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return a recording of a text."""
        language = str(head.get("language") or "en")
        voice = str(head.get("voice") or _LANGUAGES.get(language, language))
        made = subprocess.run(
            [ESPEAK, "-b", "1", "-v", voice, "--stdin", "--stdout"], input=data, capture_output=True, check=False
        )
        if made.returncode or not made.stdout.startswith(b"RIFF"):
            said = made.stderr.decode("utf-8", "replace").strip()[-200:]
            raise ValueError(f"{ESPEAK} does not speak with the voice {voice}: {said or made.returncode}")
        rate = int.from_bytes(made.stdout[24:28], "little")
        start = made.stdout.index(b"data") + 8  # it does not know the size of what it writes to a pipe
        return _recording(made.stdout[start:], rate, head["form"])


class Worker(Protocol):
    """What does requests."""

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the head and the bytes of the answer; what it raises is the answer too."""
        ...


ENGINES: dict[str, Callable[[str, int], Worker]] = {"whisper": Whisper, "piper": Piper, "espeak": Espeak}


def _recording(samples: bytes, rate: int, form: str) -> tuple[dict[str, Any], bytes]:
    """Return 16-bit samples as Ogg/Opus, where that is asked for and PyAV is there; else as WAV."""
    samples = samples[: len(samples) // 2 * 2]
    if form == "opus" and (coded := _opus(samples, rate)) is not None:
        return {}, coded
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((1, 2, rate, 0, "NONE", ""))
        written.writeframes(samples)
    return {}, file.getvalue()


def _opus(samples: bytes, rate: int) -> bytes | None:
    try:
        av, numpy = import_module("av"), import_module("numpy")
    except ImportError:
        return None
    file = io.BytesIO()
    with av.open(file, "w", format="ogg") as container:
        stream = container.add_stream("libopus", rate=OPUS_RATE, layout="mono")
        stream.bit_rate = OPUS_BIT_RATE
        frame = av.AudioFrame.from_ndarray(numpy.frombuffer(samples, "<i2")[None, :], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
        resampler = av.AudioResampler(format="s16", layout="mono", rate=OPUS_RATE)
        for each in (*resampler.resample(frame), *resampler.resample(None)):
            container.mux(stream.encode(each))
        container.mux(stream.encode(None))
    return file.getvalue()


def _requests(source: IO[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    while length := source.read(LENGTH_BYTES):
        head = json.loads(source.read(int.from_bytes(length, "big")))
        yield head, source.read(head["size"])


def _send(target: IO[bytes], head: dict[str, Any], data: bytes = b"") -> None:
    told = json.dumps({**head, "size": len(data)}).encode()
    target.write(len(told).to_bytes(LENGTH_BYTES, "big") + told + data)
    target.flush()


def _why(error: Exception) -> str:
    return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)[:300]


def main() -> None:
    """Load an engine, and answer until the input ends."""
    kind, model, threads = sys.argv[1:4]
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if kind == "whisper":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # recordings are from anybody: their reader writes no file
    engine: Worker | None = None
    for head, data in _requests(source):
        try:
            engine = engine or ENGINES[kind](model, int(threads))
            found, sound = engine.answer(head, data)
        except Exception as error:  # whatever an engine raises is the answer to this request
            _send(target, {"error": _why(error)})
        else:
            _send(target, found, sound)


if __name__ == "__main__":
    main()
