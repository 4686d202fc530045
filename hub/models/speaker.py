"""A configured model, as what turns texts into recordings."""

from __future__ import annotations

from typing import cast

from hub.core.errors import Unavailable
from hub.models.registry import ModelRegistry
from hub.models.speech import CanSpeak, SpeechRequest


async def speak(
    models: ModelRegistry, ref: str | None, text: str, voice: str, form: str, language: str | None = None
) -> bytes:
    """Return a recording of a text.

    Args:
        ref: Such as openai/gpt-4o-mini-tts; None is what speaks on this machine.
        voice: A voice of the model; empty for its usual one.
        form: One of `FORMATS`.
        language: The language of the text, if it is known.

    Raises:
        HubError: It failed, or nothing speaks.
    """
    meant = ref or models.speech_ref
    if meant is None:
        raise Unavailable("nothing speaks: name a model, or set `voice:` for one on this machine (docs/voice.md)")
    resolved = await models.resolve(meant)
    provider = cast(CanSpeak, resolved.provider)  # the registry wraps each provider in one that is
    return await provider.speak(SpeechRequest(resolved.info.id, text, voice, form, language))
