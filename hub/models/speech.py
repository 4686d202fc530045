"""The contract of providers that turn text into recordings, and the kinds of recordings that are known."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from msgspec import Struct

FORMATS = ("opus", "mp3", "wav", "flac")
"""The formats that a provider is asked for, by the names of OpenAI's API; `opus` comes in Ogg."""
AUDIO_LIMIT_BYTES = 20 * 1024 * 1024


class AudioKind(Struct, frozen=True):
    """A kind of recording.

    Attributes:
        mime_type: Such as audio/ogg.
        suffix: The suffix of a file's name.
        as_voice: Whether chat apps show it as a voice message.
    """

    mime_type: str
    suffix: str
    as_voice: bool


_BEGINNINGS = {
    b"OggS": AudioKind("audio/ogg", ".ogg", as_voice=True),
    b"ID3": AudioKind("audio/mpeg", ".mp3", as_voice=True),
    b"fLaC": AudioKind("audio/flac", ".flac", as_voice=False),
}
_MPEG = _BEGINNINGS[b"ID3"]
_WAV = AudioKind("audio/wav", ".wav", as_voice=False)


def audio_kind(data: bytes) -> AudioKind | None:
    """Return the kind of a recording, judged by its first bytes; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return _WAV
    if len(data) > 1 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2:  # a frame of MPEG audio, layer III, without tags
        return _MPEG
    return next((kind for begins, kind in _BEGINNINGS.items() if data.startswith(begins)), None)


class SpeechRequest(Struct, frozen=True):
    """A request for a recording.

    Attributes:
        model: Id of the model, at the provider.
        text: The text to speak.
        voice: A voice of the provider.
        form: One of `FORMATS`; a provider may answer in another.
        language: The language of the text, such as zh-CN; None if it is not known.
    """

    model: str
    text: str
    voice: str
    form: str
    language: str | None = None


class SpeechModel(Struct, frozen=True):
    """A model that hears, or a voice that speaks.

    Attributes:
        languages: That it knows, by ISO 639-1 codes; empty for many, or unknown ones.
        is_usual: Whether it is what does where nothing is chosen.
    """

    id: str
    hears: bool = False
    speaks: bool = False
    languages: tuple[str, ...] = ()
    is_usual: bool = False


@runtime_checkable
class CanListSpeech(Protocol):
    """A provider that says which of its models hear, and which speak."""

    async def speech_models(self) -> list[SpeechModel]:
        """Return what can be used now.

        Raises:
            HubError: It cannot be reached, or nothing is installed.
        """
        ...


@runtime_checkable
class CanSpeak(Protocol):
    """A provider that turns text into recordings."""

    async def speak(self, request: SpeechRequest) -> bytes:
        """Return a recording of a text, of a kind that `audio_kind` knows.

        Raises:
            HubError: The provider failed, or does not speak.
        """
        ...
