"""What can be installed: Whisper models as faster-whisper reads them, and the voices of Piper. Pure.

Sources: https://huggingface.co/Systran, https://huggingface.co/rhasspy/piper-voices
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from hub.voice.wake import WakeWord

API = "voice"
"""The provider, its API and its section."""
ESPEAK = "espeak-ng"
VOICES_REPO = "rhasspy/piper-voices"
_VOICE = re.compile(
    r"(?P<locale>(?P<language>[a-z]{2,3})_[A-Z]{2})-(?P<name>[a-z0-9_]+)-(?P<quality>x_low|low|medium|high)"
)


class Engine(StrEnum):
    """What runs a model."""

    WHISPER = "whisper"
    PIPER = "piper"


class Offer(Struct, frozen=True):
    """A model that can be installed.

    Attributes:
        size_mb: About how much is fetched; what the repository lists counts.
        languages: What it knows, by ISO 639-1 codes; empty for Whisper's hundred.
        repo, path: The repository, and the folder in it.
        files: The endings of the files that are needed.
    """

    name: str
    engine: Engine
    size_mb: int
    licence: str
    repo: str
    path: str = ""
    languages: tuple[str, ...] = ()
    files: tuple[str, ...] = ("config.json", "model.bin", "tokenizer.json", "vocabulary.txt", "vocabulary.json")


def _whisper(size: str, megabytes: int, repo: str = "") -> Offer:
    languages = ("en",) if size.endswith(".en") else ()
    repo = repo or f"Systran/faster-whisper-{size}"
    return Offer(f"whisper-{size}", Engine.WHISPER, megabytes, "MIT", repo, languages=languages)


def voice(name: str, licence: str = "see its MODEL_CARD") -> Offer | None:
    """Return the voice of Piper with a name such as en_US-joe-medium; None for a name of another form."""
    if (found := _VOICE.fullmatch(name)) is None:
        return None
    language = found["language"]
    path = f"{language}/{found['locale']}/{found['name']}/{found['quality']}"
    files = (f"{name}.onnx", f"{name}.onnx.json", "MODEL_CARD")
    return Offer(name, Engine.PIPER, 63, licence, VOICES_REPO, path, (language,), files)


OFFERS = tuple(
    each
    for each in (
        _whisper("tiny", 78),
        _whisper("tiny.en", 78),
        _whisper("base", 148),
        _whisper("base.en", 148),
        _whisper("small", 486),
        _whisper("small.en", 486),
        _whisper("medium", 1_530),
        _whisper("large-v3-turbo", 1_620, "mobiuslabsgmbh/faster-whisper-large-v3-turbo"),
        voice("en_US-joe-medium", "CC0"),
        voice("en_US-lessac-medium"),
        voice("en_GB-alan-medium"),
        voice("de_DE-thorsten-medium", "CC0"),
        voice("es_ES-davefx-medium"),
        voice("fr_FR-siwis-medium", "CC BY 4.0"),
        voice("it_IT-paola-medium"),
        voice("nl_NL-mls-medium"),
        voice("pl_PL-gosia-medium"),
        voice("pt_BR-faber-medium"),
        voice("ru_RU-irina-medium"),
        voice("zh_CN-huayan-medium"),
    )
    if each is not None
)
"""What `homarus voice list` shows; any other voice of Piper is installed by its name."""


def offer(name: str) -> Offer | None:
    """Return the model or voice with a name; None when there is none."""
    return next((each for each in OFFERS if each.name == name), None) or voice(name)


def names_of(engine: Engine) -> list[str]:
    """Return the names of what an engine is offered to run."""
    return [each.name for each in OFFERS if each.engine is engine]


WAKE_WORDS = (
    WakeWord("okay_nabu", "Okay Nabu", ("en", "de", "es", "fr", "it", "nl", "sv")),
    WakeWord("hey_jarvis", "Hey Jarvis", ("en",)),
    WakeWord("hey_mycroft", "Hey Mycroft", ("en",)),
    WakeWord("alexa", "Alexa", ("en",)),
    WakeWord("hey_rhasspy", "Hey Rhasspy", ("en",)),
)
"""What `homarus voice install wake` brings; the last one is openWakeWord's and takes more of the machine."""
