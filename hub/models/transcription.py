"""The contract of providers that turn recordings into text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

Transcribe = Callable[[bytes, str, str | None], Awaitable[str]]
"""Returns the text of a recording, given its bytes, its file name, and its language, if that is known."""


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
