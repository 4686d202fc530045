"""Sentences that automations answer: `[please] turn on {area}`, matched against what people write.

A message costs next to nothing while nothing is registered, and little otherwise: a sentence is only tried on a text
that has its longest fixed word. hassil is loaded in a thread, when the first sentence is registered.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from hub.core.context import Context
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.tasks import TaskOwner

if TYPE_CHECKING:
    from hassil import Intents
    from hassil.expression import Expression

TEXT_LIMIT = 300
"""Longer messages are not commands."""
SENTENCE_LIMIT = 200
SLOTS_LIMIT = 4
READINGS_LIMIT = 50
"""So many ways to read one text as one sentence are compared."""
DEFAULT_LANGUAGE = "en"

_SLOT = re.compile(r"\{([a-zA-Z_][a-zA-Z0-9_]{0,49})\}")
_WORD = re.compile(r"[^\W_]+")
_PAIRS = {"[": "]", "(": ")", "{": "}"}
_END = " \t\r\n.,;:!?。！？，"
_INTENT = "sentence"


def problem_of(sentence: str) -> str | None:
    """Return the error of a sentence as far as it can be found without hassil, or None."""
    if not sentence.strip(_END):
        return phrase("a sentence has words")
    if len(sentence) > SENTENCE_LIMIT:
        return phrase("a sentence has at most {limit} characters", limit=SENTENCE_LIMIT)
    if "<" in sentence or ">" in sentence:
        return phrase("rules (<name>) are not supported; write the words out")
    open_ones: list[str] = []
    for char in sentence:
        if char in _PAIRS:
            open_ones.append(_PAIRS[char])
        elif char in _PAIRS.values() and (not open_ones or open_ones.pop() != char):
            return phrase("{char} closes what was not opened", char=char)
    if open_ones:
        return phrase("{char} is missing", char=open_ones[-1])
    if len(_SLOT.findall(sentence)) != sentence.count("{"):
        return phrase("a slot is a name in braces, such as {{area}}")
    if len(_SLOT.findall(sentence)) > SLOTS_LIMIT:
        return phrase("a sentence has at most {limit} slots", limit=SLOTS_LIMIT)
    if not _WORD.search(_SLOT.sub(" ", sentence)):
        return phrase("a sentence has words beside its slots")
    return None


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """A text that matches a sentence.

    Attributes:
        text: The matched text.
        sentence: Which sentence it is.
        slots: The texts of its open slots, by name.
        details: The same as Home Assistant shows it.
    """

    text: str
    sentence: str
    slots: Mapping[str, str]
    details: Mapping[str, Mapping[str, Any]]
    answer: Callable[[SentenceMatch, Context], None] = field(repr=False, compare=False)

    def fire(self, context: Context) -> None:
        """Fire the trigger that registered the sentence; `context` is that of the speaker."""
        self.answer(self, context)


@dataclass(slots=True, eq=False)
class _Entry:
    sentence: str
    language: str
    answer: Callable[[SentenceMatch, Context], None]
    fail: Callable[[str], None]
    grammar: Intents | None = None
    fragment: str = ""


class Sentences:
    """The registered sentences.

    Args:
        tasks: Owner of the task that loads the grammar.
    """

    def __init__(self, tasks: TaskOwner) -> None:
        self._tasks = tasks
        self._entries: dict[_Entry, None] = {}
        self._new: list[_Entry] = []
        self._loading: asyncio.Task[None] | None = None

    @property
    def registered(self) -> Sized:
        """All registered sentences, in order of registration."""
        return self._entries

    def register(
        self,
        sentences: list[str],
        answer: Callable[[SentenceMatch, Context], None],
        *,
        language: str = DEFAULT_LANGUAGE,
        fail: Callable[[str], None] = lambda message: None,
    ) -> Unsubscribe:
        """Call `answer` for a message that matches one of these sentences.

        Args:
            language: Whose numbers and letters they are written in.
            fail: Called with the problem of a sentence that cannot be read.

        Returns:
            A function that ends it.
        """
        entries = [_Entry(each, language, answer, fail) for each in sentences]
        self._entries.update(dict.fromkeys(entries))
        self._new.extend(entries)
        self._load()

        def end() -> None:
            for entry in entries:
                self._entries.pop(entry, None)

        return end

    async def match(self, text: str) -> SentenceMatch | None:
        """Return the match of a text, the most literal of several; None when no sentence matches."""
        if not self._entries:
            return None
        said = " ".join(text.split()).strip(_END)
        if not said or len(said) > TEXT_LIMIT:
            return None
        while self._new or (self._loading is not None and not self._loading.done()):
            self._load()
            if self._loading is not None:
                await asyncio.shield(self._loading)
        folded = said.casefold()
        best: tuple[int, SentenceMatch] | None = None
        for entry in self._entries:
            if entry.grammar is None or entry.fragment not in folded:
                continue
            found = _read(said, text, entry, entry.grammar)
            if found is not None and (best is None or found[0] > best[0]):
                best = found
        return best[1] if best is not None else None

    def _load(self) -> None:
        if self._new and (self._loading is None or self._loading.done()):
            self._loading = self._tasks.spawn(self._compile(), name="sentences: load")

    async def _compile(self) -> None:
        while self._new:
            entries, self._new = self._new, []
            problems = await asyncio.to_thread(_compile_all, entries)
            for entry, problem in problems:
                self._entries.pop(entry, None)
                entry.fail(f"the sentence {entry.sentence!r} cannot be read: {problem}")


def _compile_all(entries: list[_Entry]) -> list[tuple[_Entry, str]]:
    from hassil import Intents, parse_sentence
    from hassil.errors import HassilError
    from hassil.parser import ParseError

    problems = []
    for entry in entries:
        try:
            parsed = parse_sentence(entry.sentence)
            names = dict.fromkeys(_SLOT.findall(entry.sentence))
            entry.grammar = Intents.from_dict(
                {
                    "language": entry.language,
                    "intents": {_INTENT: {"data": [{"sentences": [entry.sentence]}]}},
                    "lists": {name: {"wildcard": True} for name in names},
                }
            )
        except (ParseError, HassilError, AssertionError, ValueError) as error:
            problems.append((entry, str(error)))
            continue
        entry.fragment = max(_fixed_words(parsed.expression), key=len, default="")
    return problems


def _fixed_words(expression: Expression) -> list[str]:
    """Return the fixed runs of letters in every text of a sentence; possibly parts of words, and rather too few."""
    from hassil.expression import Alternative, Group, TextChunk

    if isinstance(expression, TextChunk):
        return [word.casefold() for word in _WORD.findall(expression.text)]
    if isinstance(expression, Alternative) or not isinstance(expression, Group):
        return []
    return [word for item in expression.items for word in _fixed_words(item)]


def _read(said: str, text: str, entry: _Entry, grammar: Intents) -> tuple[int, SentenceMatch] | None:
    """Parse a text as one sentence; of several parses, the one with the most fixed words."""
    from hassil import recognize_all

    best: tuple[int, SentenceMatch] | None = None
    for result in islice(recognize_all(said, grammar), READINGS_LIMIT):
        slots = {name: str(entity.text).strip(_END) for name, entity in result.entities.items()}
        if not all(slots.values()):
            continue
        literal = int(result.text_chunks_matched)
        if best is None or literal > best[0]:
            details = {name: {"name": name, "text": value, "value": value} for name, value in slots.items()}
            best = (literal, SentenceMatch(text, entry.sentence, slots, details, entry.answer))
    return best
