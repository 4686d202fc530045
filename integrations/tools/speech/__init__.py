"""Speech: the tool with which an agent says something in a voice message, by a model or a program of this machine.

Voice messages of people are turned into text where attachments are fetched, in `hub/messaging/inbox/media_store.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.context import Context
from hub.models.registry import ModelRegistry
from hub.models.speaker import speak as speak_by_model
from integrations.tools.speech.tool import Speak, speech_tool
from integrations.tools.speech_program import speak_by_program

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Register the tool, and the route for other people's programs."""
    # Reading the schema of an integration loads this module, and must not load the gateway.
    from integrations.tools.speech.answers import SpokenAnswers
    from integrations.tools.speech.methods import SpeechMethods
    from integrations.tools.speech.route import speech_route

    speak = speaker(host.models.registry, config)

    def language_of(context: Context) -> str | None:
        person = host.people.by_id(context.authority.person or "")
        return person.language if person is not None else None

    host.tools.add(speech_tool(host.messages, host.workspaces, speak, language_of))
    host.routes.add(speech_route(speak))
    answers = SpokenAnswers(host, config, speak, language_of)
    await answers.open()
    SpeechMethods(host, config, speak, answers).add()


def speaker(models: ModelRegistry, config: Mapping[str, Any]) -> Speak:
    """Return the maker of recordings: the configured program or model."""
    usual = config.get("voice", "")

    async def by_program(text: str, voice: str | None, language: str | None) -> bytes:
        return await speak_by_program(config["command"], text, voice or usual)

    async def by_model(text: str, voice: str | None, language: str | None) -> bytes:
        return await speak_by_model(models, config.get("model"), text, voice or usual, config["format"], language)

    return by_program if "command" in config else by_model
