"""What the offline model does first about a sentence, in a conversation that has just begun."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from integrations.models.offline.decide import OfflineTurn, decide
from integrations.models.offline.recognizer import CHINESE, ENGLISH, Recognizer, language_of, languages_of
from integrations.models.offline.steps import Say

NOW = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
TOOLS = (
    "remember", "memory_search", "forget", "standing_intent", "schedule", "get_state", "home", "session_status",
)  # fmt: skip


class FirstStep:
    """Recognises a sentence and decides what to do about it."""

    def __init__(self) -> None:
        self._recognizers = {language: Recognizer(language) for language in (ENGLISH, CHINESE)}

    def of(self, said: str) -> tuple[str, Any]:
        """Return the tool that is called and its arguments, or "say" and the answer."""
        found = (self._recognizers[language].recognize(said) for language in languages_of(said))
        intent = next((each for each in found if each is not None), None)
        language = intent.language if intent is not None else language_of(said)
        step = decide(intent, [], OfflineTurn(said, language, NOW, TOOLS))
        return ("say", step.text) if isinstance(step, Say) else (step.tool, step.arguments)
