"""What a sentence means: intents of the sentence files, found with hassil's grammar.

The files are `sentences/<language>.yaml`; of several intents that fit, the one that matched most of its own words wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from integrations.models.offline.arithmetic import NotASum, work_out
from integrations.models.offline.when import amount_of

if TYPE_CHECKING:
    from hassil import Intents

ENGLISH = "en"
CHINESE = "zh-CN"
SENTENCE_LIMIT = 1_000

_FOLDER = Path(__file__).parent / "sentences"
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_END = " \t\r\n?？!！。.…"


@dataclass(frozen=True, slots=True)
class Intent:
    """What was meant: the name of the intent and what was said in its open places."""

    name: str
    language: str
    slots: dict[str, str] = field(default_factory=dict)

    @property
    def query(self) -> str:
        """Everything said in the open places, in order."""
        return " ".join(self.slots.values())


def language_of(text: str) -> str:
    """Return the language a sentence is written in: Chinese when it has Chinese characters, else English."""
    return CHINESE if _HAN.search(text) else ENGLISH


class Recognizer:
    """Recognises sentences of one language; its grammar is loaded on first use."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._grammar: Intents | None = None

    @property
    def loaded(self) -> bool:
        """Whether the grammar is in memory."""
        return self._grammar is not None

    def load(self) -> Intents:
        """Load the grammar and return it; takes a tenth of a second, so not on the event loop."""
        from hassil import Intents
        from ruamel.yaml import YAML

        sentences: dict[str, Any] = YAML(typ="safe").load(_FOLDER / f"{self.language}.yaml")
        self._grammar = Intents.from_dict(sentences)
        return self._grammar

    def recognize(self, text: str) -> Intent | None:
        """Return what `text` means, or None when no sentence fits."""
        from hassil import recognize_all

        cleaned = " ".join(text.split()).strip(_END)
        if not cleaned or len(cleaned) > SENTENCE_LIMIT:
            return None
        grammar = self._grammar or self.load()
        best: tuple[int, Intent] | None = None
        for result in recognize_all(cleaned, grammar):
            slots = {name: str(entity.text).strip(_END) for name, entity in result.entities.items()}
            intent = Intent(result.intent.name, self.language, slots)
            words = int(result.text_chunks_matched)
            if _fits(intent) and (best is None or words > best[0]):
                best = (words, intent)
        return best[1] if best else None


def _fits(intent: Intent) -> bool:
    """Whether what was said in the open places can be meant; an open place takes anything."""
    if any(not said for said in intent.slots.values()):
        return False
    if intent.name == "Timer":
        return amount_of(intent.slots["amount"]) is not None
    if intent.name != "Calculate":
        return True
    try:
        work_out(intent.slots["expression"])
    except NotASum:
        return False
    return True
