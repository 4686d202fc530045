"""The contract of providers that turn recordings, and speech while it is spoken, into text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, runtime_checkable

from msgspec import Struct

Transcribe = Callable[[bytes, str, str | None], Awaitable[str]]
"""Returns the text of a recording, given its bytes, its file name, and its language, if that is known."""
TellWords = Callable[[str], None]
"""Takes all the words that are understood so far, while somebody speaks. Never blocks or raises."""


class SpeechPiece(Struct, frozen=True):
    """The next samples of what is spoken: 16 bits, little-endian, one channel, 16,000 a second.

    Attributes:
        is_quiet: Whether nobody speaks at its end, so that all may have been said.
    """

    samples: bytes
    is_quiet: bool = False


@runtime_checkable
class CanTranscribe(Protocol):
    """A provider that turns recordings into text."""

    async def transcribe(self, model: str, data: bytes, name: str, language: str | None = None) -> str:
        """Return the text of a recording.

        Args:
            model: Id of the model, at the provider.
            data: The recording, in a format that the provider takes, such as OGG/Opus.
            name: A file name; its ending tells the format.
            language: What is spoken, such as zh-CN; None to find out.

        Raises:
            HubError: The provider failed, or does not transcribe.
        """
        ...


@runtime_checkable
class CanListen(Protocol):
    """A provider that takes sound while it is spoken."""

    async def listen(
        self,
        model: str,
        pieces: AsyncIterator[SpeechPiece],
        language: str | None,
        tell: TellWords,
        *,
        may_work: bool = True,
    ) -> str:
        """Return the text of what is spoken, once the pieces end.

        Args:
            model: Id of the model, at the provider.
            pieces: What is spoken, as it comes.
            language: What is spoken, such as zh-CN; None to find out.
            tell: Gets the words so far; those that come later may correct them.
            may_work: Whether words so far are worth work of their own; else they are told where they cost nothing.

        Raises:
            HubError: The provider failed, or does not hear.
        """
        ...
