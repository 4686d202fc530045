"""What is installed in `.storage/voice` of the home: `models/NAME/`, and the engines' Pythons: `engines/`, `wake/`."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import msgspec
from msgspec import Struct

from hub.storage.homedir import Home
from integrations.models.voice.catalogue import Engine

FOLDER = "voice"
"""In `.storage`; no backup holds it."""
ABOUT = "installed.json"
"""In the folder of a model; it is written last."""
UNFINISHED = ".unfinished-"
ENGINES = Path(__file__).with_name("engines.txt")
"""faster-whisper and Piper, with all that they need, and the hashes of it."""
WAKE = Path(__file__).with_name("wake.txt")
"""The same for wake words."""
LOCK = "installed.txt"
"""The same, as it was installed; it is written last."""


class Model(Struct, frozen=True):
    """An installed model.

    Attributes:
        files: The SHA-256 of each file.
        origin: Where it is from.
        path: Its folder.
    """

    name: str
    engine: Engine
    languages: tuple[str, ...] = ()
    size_bytes: int = 0
    licence: str = ""
    origin: str = ""
    files: dict[str, str] = {}
    path: str = ""


class VoiceFolder:
    """The folder of models and engines in a home.

    Args:
        home: The home.
    """

    def __init__(self, home: Path) -> None:
        self.path = Home(home).storage / FOLDER
        self.models_path = self.path / "models"
        self.engines_path = self.place_of(ENGINES)

    @property
    def python(self) -> Path:
        """The Python that has the installed engines."""
        return self.python_of(ENGINES)

    @property
    def has_engines(self) -> bool:
        """Whether the engines are installed, in whatever version."""
        return self.has(ENGINES)

    def place_of(self, programs: Path) -> Path:
        """Return the folder of programs.

        Args:
            programs: `ENGINES` or `WAKE`.
        """
        return self.path / programs.stem

    def python_of(self, programs: Path) -> Path:
        """Return the Python that has programs installed."""
        return self.place_of(programs) / "bin" / "python"

    def has(self, programs: Path) -> bool:
        """Return whether programs are installed, in whatever version."""
        return (self.place_of(programs) / LOCK).is_file() and self.python_of(programs).exists()

    def has_newest(self, programs: Path) -> bool:
        """Return whether they are those that this version of Homarus names."""
        return self.has(programs) and (self.place_of(programs) / LOCK).read_bytes() == programs.read_bytes()

    def models(self) -> list[Model]:
        """Return what is installed, the largest first."""
        found = []
        for each in sorted(self.models_path.glob(f"*/{ABOUT}")) if self.models_path.is_dir() else ():
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                model = msgspec.json.decode(each.read_bytes(), type=Model)
                found.append(msgspec.structs.replace(model, path=str(each.parent)))
        return sorted(found, key=lambda model: -model.size_bytes)

    def unfinished(self, name: str) -> Path:
        """Return the folder into which a model is fetched; what was fetched before is still there."""
        path = self.models_path / f"{UNFINISHED}{name}"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def finish(self, model: Model, folder: Path) -> None:
        """Put a model in its place, once all its files are there."""
        (folder / ABOUT).write_bytes(msgspec.json.format(msgspec.json.encode(model)))
        self.remove(model.name)
        os.replace(folder, self.models_path / model.name)

    def remove(self, name: str) -> bool:
        """Remove a model; return whether it was there."""
        path = self.models_path / name
        if not path.is_dir():
            return False
        (path / ABOUT).unlink(missing_ok=True)
        shutil.rmtree(path)
        return True
