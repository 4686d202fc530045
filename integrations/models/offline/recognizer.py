"""Recognises the intent of a sentence, by the sentence files and hassil's grammar.

The files are `sentences/<language>.yaml`; of several intents that fit, the one with the most words of its own wins.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from integrations.models.offline.arithmetic import NotASum, work_out
from integrations.models.offline.hearing import ENDS, HeardSentence, Hearing, ends_as_question
from integrations.models.offline.quantities import has_unit, is_quantity
from integrations.models.offline.when import amount_of

if TYPE_CHECKING:
    from hassil import Intents
    from hassil.models import MatchEntity

ENGLISH = "en"
CHINESE = "zh-CN"
SENTENCE_LIMIT = 1_000

_FOLDER = Path(__file__).parent / "sentences"
_LISTED = frozenset({"state", "day"})
"""Slots of known words, which are the sentence's own."""
_LAST = frozenset({"CorrectPlain"})
"""Intents with so few words of their own that they are meant only where nothing else is."""
_ASKING = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|what|which|how|when|why|who|where|any|if|can|could|should|will|i|we|it)\b"
    r"|什么|哪|谁|为什么|怎么|是不是|是否|有没有|多少|几",
    re.IGNORECASE,
)
"""In what would be the name of a thing, a sign that a question was asked, and nothing is to be done."""
_TELLING = re.compile(
    r"\b(?:is|was|are|were|be|been|went|go|goes|has|have|had|costs?|likes?|moved|said|says|keeps?|kept|got|he|she|they|you)\b",
    re.IGNORECASE,
)
"""In what would be the name of a thing, a sign that something is told, where a sentence has no verb of its own."""
WEAK_LIMIT = 5
"""Words of the name in such a sentence: "bedroom lamp 50%"."""
_LATIN = re.compile(r"[A-Za-z]{2}")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


class RecognizedIntent(Struct, frozen=True):
    """A recognised intent: its name and the text of its slots."""

    name: str
    language: str
    slots: dict[str, str] = field(default_factory=dict)

    @property
    def query(self) -> str:
        """Everything in the open slots, in order."""
        return " ".join(self.slots.values())


def language_of(text: str) -> str:
    """Return the language a sentence is written in: Chinese when it has Chinese characters, else English."""
    return CHINESE if _HAN.search(text) else ENGLISH


def languages_of(text: str) -> tuple[str, ...]:
    """Return the languages a sentence may be in, the likely one first: people who write both mix them."""
    likely = language_of(text)
    return (CHINESE, ENGLISH) if likely == CHINESE and _LATIN.search(text) else (likely,)


class Recognizer:
    """Recognises sentences of one language; its grammar is loaded on first use."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._loaded: tuple[Intents, Hearing] | None = None

    @property
    def loaded(self) -> bool:
        """Whether the grammar is in memory."""
        return self._loaded is not None

    def load(self) -> tuple[Intents, Hearing]:
        """Load the grammar and return it; takes a tenth of a second, so not on the event loop."""
        from hassil import Intents, recognize_all
        from ruamel.yaml import YAML

        sentences: dict[str, Any] = YAML(typ="safe").load(_FOLDER / f"{self.language}.yaml")
        loaded = Intents.from_dict(sentences), Hearing(sentences)
        # The grammar is read with the first sentence, which takes most of a second.
        list(recognize_all("hello", loaded[0]))
        self._loaded = loaded
        return loaded

    def recognize(self, text: str) -> RecognizedIntent | None:
        """Return what `text` means, or None when no sentence fits."""
        if len(text) > SENTENCE_LIMIT:
            return None
        grammar, hearing = self._loaded or self.load()
        heard = hearing.hear(text)
        bare = hearing.bare(heard)
        # "Good morning" alone is a greeting; before something else it is an aside.
        if bare != heard and (whole := self._best(heard, grammar)) is not None and not whole.slots:
            return whole
        found = self._best(bare, grammar)
        if found is not None and found.name == "Remember" and bare == heard and ends_as_question(text):
            return RecognizedIntent(
                "Recall", self.language, found.slots
            )  # "Remember Anna?" asks; "could you remember …?" does not
        return found

    def _best(self, heard: HeardSentence, grammar: Intents) -> RecognizedIntent | None:
        from hassil import recognize_all

        if not heard.plain:
            return None
        best: tuple[int, RecognizedIntent] | None = None
        for result in recognize_all(heard.plain, grammar):
            entities = result.entities.items()
            slots = {name: _said(heard, entity) for name, entity in entities if entity.text_span is not None}
            words = (
                0
                if result.intent.name in _LAST
                else len(heard.plain) - sum(len(text) for name, text in slots.items() if name not in _LISTED)
            )
            given = {name: str(entity.value) for name, entity in entities if entity.text_span is None}
            intent = RecognizedIntent(result.intent.name, self.language, {**slots, **given})
            if (best is None or words > best[0]) and _fits(intent):
                best = (words, intent)
        return best[1] if best else None


def _said(heard: HeardSentence, entity: MatchEntity) -> str:
    """Return the text of a wildcard slot, as it was written.

    The grammar's spans are off where it drops spaces between Chinese and other characters: there its text, which has
    no punctuation, tells which letters are meant.
    """
    begin, end = entity.text_span or (0, 0)
    wanted = _letters(str(entity.text))
    if not wanted or _letters(heard.plain[begin:end]) == wanted:
        return heard.said[begin:end].strip(ENDS)
    at = [place for place, character in enumerate(heard.plain) if character.isalnum()]
    first = _letters(heard.plain).find(wanted, max(0, bisect_left(at, begin) - 1))
    if first < 0:
        return str(entity.text).strip(ENDS)
    last = first + len(wanted) - 1
    return heard.said[at[first] : at[last] + 1 if last + 1 < len(at) else None].strip(ENDS)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _fits(intent: RecognizedIntent) -> bool:
    """Whether the text of the slots is plausible; a wildcard slot takes anything."""
    if any(not said for said in intent.slots.values()):
        return False
    if "amount" in intent.slots:
        return amount_of(intent.slots["amount"]) is not None
    if intent.name in ("Do", "SetTo") and _ASKING.search(intent.slots.get("name", "")):
        return False
    if "weak" in intent.slots and (
        _TELLING.search(intent.slots["name"]) or len(intent.slots["name"].split()) > WEAK_LIMIT
    ):
        return False
    if intent.name == "SetTo":
        needs_quantity = "strict" in intent.slots or intent.slots.get("field", "color") != "color"
        check = has_unit if intent.slots.get("strict") == "unit" else is_quantity
        return not needs_quantity or check(intent.slots["value"])
    if intent.name != "Calculate":
        return True
    try:
        work_out(intent.slots["expression"])
    except NotASum:
        return False
    return True
