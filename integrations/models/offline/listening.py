"""Plain statements: what is remembered though nobody said "remember", what is done, and what no longer holds. Pure.

What is remembered is confirmed, with the words that undo it; a new statement replaces an entry only where it says that
something changed, and exactly one entry is about the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from hub.memory.lists import item_of
from hub.memory.words import fold, words_of
from integrations.models.offline.entries import RecalledEntry, entries_in, with_places
from integrations.models.offline.hearing import ENDS
from integrations.models.offline.lists import about_a_list
from integrations.models.offline.memories import FORGET, REMEMBER, SEARCH, remembered_text
from integrations.models.offline.recognizer import CHINESE, RecognizedIntent
from integrations.models.offline.replies import reply
from integrations.models.offline.statements import (
    KIN,
    PLACE,
    ZH_KIN,
    PlainStatement,
    is_question,
    statement_in,
    subject_of,
)
from integrations.models.offline.steps import Call, Say, Step, StepResult
from integrations.models.offline.when import find_time

HEARD_LIMIT = 400
"""Characters of a sentence that is taken for plain words."""
TODOS_LIMIT = 50
DONE_SHARE = 0.6
"""Of the words of a to-do that have to be in a sentence that closes it."""

_DONE = re.compile(
    r"(?:(?:i|we)(?:'ve| have)? )?(?:just |already |finally )*(?:(?!need)[a-z]+ed|bought|got|paid|sent"
    r"|took|made|did|wrote|brought|gave|went|met|done|picked up)\b.*"
    r"|(?:done|finished|through) with .+|.+ (?:is|are|was|were|has been|have been) (?:already )?"
    r"(?:\w+ed|done|paid|bought|sent|taken care of)"
    r"|(?:you can |please )?(?:tick|check|cross|strike) (?:off .+|.+ off)|[A-Z]?\w+ (?:paid|gave|returned|brought) .+",
    re.IGNORECASE,
)
_ZH_DONE = re.compile(
    r".*(?:了|完|好了|搞定|办好|办妥|完成|过了)[,，].{0,6}|.*(?:了|完|搞定|办好|办妥|完成)|.*[,，](?:搞定|完成|办好)了?"
    r"|(?:我们?)?(?:已经)?(?:买|还|退|交|打|寄|洗|换|办|做|取|约|订)[好完掉到]?了.+|我们?(?:已经)?[^了]{1,2}了.+"
)
_SETTLED = re.compile(r"\b(?:paid|pays|gave|given|returned)\b|还(?:给)?(?:我|清|了)|还.*了", re.IGNORECASE)
_PAYS = re.compile(r"\b(?:has |have )?(?:paid|pays|gave|given|returned)\b|[把还]", re.IGNORECASE)
_OWED = re.compile(r"\bowe[sd]?\b|欠|借给|\blent\b", re.IGNORECASE)
_REMINDED = re.compile(
    r"(?:please )?(?:don't|do not|never) let (?:me|us) forget (?:to |about )?(?P<what>.+)"
    r"|(?:千万)?(?:别忘了|不要忘了|别忘记|不要忘记|记得)(?:提醒|叫)(?:我|我们)(?P<zh>.+)"
    r"|(?P<when>.*?)(?:千万)?(?:别|不要)(?:让|叫)我们?忘[了记]?(?P<later>.+)",
    re.IGNORECASE,
)
_WEAK = frozenset({"Recall", "Correct", "Change", "Remind", "CorrectPlain"})
"""What the grammar finds in sentences that may as well be statements."""
_BEING = frozenset({"is", "are", "was", "were"})
_NO_WORD = frozenset("的了我你给去把要还得已经过完好在是")


def understood(text: str, intent: RecognizedIntent | None, language: str, now: datetime) -> RecognizedIntent | None:
    """Return the meaning of a sentence: by its grammar, but for lists, and statements that only look like a command.

    Args:
        text: The sentence.
        intent: The grammar's result.
        language: The language of the sentence.
        now: Local time.
    """
    if len(text) > HEARD_LIMIT:
        return intent
    if (of_a_list := about_a_list(text, language)) is not None:
        return of_a_list
    if (statement := statement_in(text, language)) is not None and statement.is_explicit:
        return RecognizedIntent("Keep", language, {"text": statement.text})
    if (later := _REMINDED.match(text.strip())) is not None:
        what = (later["what"] or later["zh"] or f"{later['when']}{later['later']}").strip(ENDS)
        if later["zh"] or find_time(what, now) is not None:
            return RecognizedIntent("Remind", language, {"reminder": what})
    if intent is None or (intent.name in _WEAK and "old" not in intent.slots):
        found = recognize_plain(text, language)
        is_better = found is not None and (intent is None or found.name != "Done" or intent.name == "Recall")
        if found is not None and is_better and (intent is None or _may_be(intent, text)):
            return found
    return intent


def _may_be(intent: RecognizedIntent, text: str) -> bool:
    """Whether what the grammar took for something else may be a statement: one that names what it is about."""
    statement = statement_in(text, intent.language)
    if statement is None or intent.name == "Recall":
        return statement is not None or intent.name == "Recall"
    return statement.is_name if intent.name == "Remind" else bool(statement.subject)


def recognize_plain(text: str, language: str) -> RecognizedIntent | None:
    """Return the meaning of plain words: `Done`, `Keep`, `KeepTodo` or `Replace`; None if unknown."""
    said = text.strip(ENDS)
    if is_question(text, language):
        return None
    statement = statement_in(text, language)
    is_change = language == CHINESE and statement is not None and statement.is_change and bool(statement.subject)
    if not is_change and (_ZH_DONE if language == CHINESE else _DONE).fullmatch(said):
        return RecognizedIntent("Done", language, {"text": said})
    if statement is None:
        return None
    name = "KeepTodo" if statement.is_todo else "Replace" if statement.is_change else "Keep"
    return RecognizedIntent(name, language, {"text": said if name == "Replace" else statement.text})


def listen(
    intent: RecognizedIntent, results: Sequence[StepResult], language: str, previous: Sequence[RecalledEntry] = ()
) -> Step | None:
    """Return the next step for a plain statement; None when nothing of it is understood after all."""
    text = intent.slots["text"]
    match intent.name:
        case "Done":
            return _done(text, results, language)
        case "Replace":
            return _replace(text, results, language, previous)
    return _keep(text, "todo" if intent.name == "KeepTodo" else "fact", results, language)


def search_limit(intent: RecognizedIntent) -> int:
    """Return how many searches `listen` makes before it gives up on a sentence."""
    return 0 if intent.name != "Done" else 2 if _SETTLED.search(intent.slots["text"]) else 1


def _keep(text: str, kind: str, results: Sequence[StepResult], language: str) -> Step:
    if results and results[-1].tool == REMEMBER:
        if results[-1].output.startswith("known"):
            return Say(remembered_text(results[-1].output, language))
        return Say(reply("kept_todo" if kind == "todo" else "kept", language, text=text))
    return Call(REMEMBER, {"text": text, "kind": kind})


def _done(text: str, results: Sequence[StepResult], language: str) -> Step | None:
    """Close the to-do that is done, strike a debt that is paid; else it may be a statement to be kept."""
    looked = [each for each in results if each.tool == SEARCH]
    if results and results[-1].tool == FORGET:
        return Say(reply("closed", language, text=_closed(looked[0].output, text, language)[0].text))
    if not looked:
        return Call(SEARCH, {"query": "", "kind": "todo", "limit": TODOS_LIMIT})
    match _closed(looked[0].output, text, language):
        case [one]:
            return Call(FORGET, {"query": one.text})
        case [_, *_] as several:
            return Say(reply("close_which", language, lines=with_places(several, language)))
    if _SETTLED.search(text):
        if results[-1].tool == REMEMBER:
            return _kept(text, results[-1].output, language)
        if len(looked) == 1:
            return Call(SEARCH, {"query": f"{_PAYS.split(text)[0]} {'欠' if language == CHINESE else 'owes'}"})
        debts = [each for each in entries_in(looked[1].output, "hits") if _OWED.search(each.text)]
        mine = [each for each in debts if _covers(_content(subject_of(each.text, language)), text, language) == 1]
        if len(mine) == 1:
            return Call(REMEMBER, {"text": text, "replaces": mine[0].text})
    statement = statement_in(text, language)
    if statement is None:
        return None
    after = [each for each in results[1:] if each.tool != SEARCH]
    if statement.is_change:
        return _replace(text, [*looked[1:], *after], language)
    return _keep(statement.text, "todo" if statement.is_todo else "fact", after, language)


def _closed(output: str, text: str, language: str) -> list[RecalledEntry]:
    """Return the to-dos that a sentence reports as done: the one with most of its words, or several with as many."""
    shares: list[tuple[float, RecalledEntry]] = []
    for each in entries_in(output, "hits"):
        item = item_of(each.text)
        shares.append((_covers(_terms(item[1] if item is not None else each.text, language), text, language), each))
    best = max((share for share, _ in shares), default=0.0)
    return [each for share, each in shares if share == best >= DONE_SHARE]


def _replace(text: str, results: Sequence[StepResult], language: str, previous: Sequence[RecalledEntry] = ()) -> Step:
    """Put a statement in the place of the only entry about the same; else keep it."""
    statement = statement_in(text, language) or PlainStatement(text)
    looked = [each for each in results if each.tool == SEARCH]
    if results and results[-1].tool == REMEMBER:
        return _kept(statement.text, results[-1].output, language)
    found = entries_in(looked[-1].output, "hits") if looked else list(previous)
    if not looked and statement.subject and not about_the_same(statement, found, language):
        return Call(SEARCH, {"query": statement.about})
    match about_the_same(statement, found, language):
        case [one]:
            return Call(REMEMBER, {"text": statement.text, "replaces": one.text})
        case [_, *_] as several:
            return Say(reply("correct_many", language, lines=with_places(several, language)))
    return Say(reply("correct_how", language)) if statement.is_correction else Call(REMEMBER, {"text": statement.text})


def _kept(text: str, output: str, language: str) -> Say:
    """Return the kept entry, and the one it replaced."""
    struck = re.findall(r"^struck in [^:\n]+: (.*)$", output, re.MULTILINE)
    said = reply("kept", language, text=text)
    return Say(f"{said}\n{reply('corrected', language, text=struck[0])}" if struck else said)


def about_the_same(statement: PlainStatement, entries: Sequence[RecalledEntry], language: str) -> list[RecalledEntry]:
    """Return the entries about the same as a statement: of several about a person, those that share most with it."""
    same = [
        each
        for each in entries
        if statement.subject and fold(each.text) != statement.text and _is_same_matter(statement, each.text, language)
    ]
    if len(same) < 2:
        return same
    said = _terms(statement.text, language) - statement.subject
    shared = [len(said & (_terms(each.text, language) - statement.subject)) for each in same]
    return [each for each, count in zip(same, shared, strict=True) if count == max(shared)]


def _is_same_matter(statement: PlainStatement, text: str, language: str) -> bool:
    """Whether an entry makes the statement about the same person or thing, and not a different one."""
    other = statement_in(text.strip(ENDS), language)
    if other is None or not other.subject:
        return False
    ours, theirs = statement.subject, other.subject
    kin = ZH_KIN if language == CHINESE else KIN
    if ours != theirs and not (ours ^ theirs <= kin and (ours < theirs or theirs < ours)):
        return False
    if language != CHINESE and {statement.verb, other.verb} <= _BEING:
        said = _terms(statement.text, language) & _terms(other.text, language)
        return bool(said - ours - theirs)
    if PLACE in {statement.verb, other.verb} and statement.verb:
        return statement.verb == other.verb
    return statement.verb == other.verb or not (statement.verb and other.verb)


def _terms(text: str, language: str) -> frozenset[str]:
    return _content(frozenset(fold(text))) if language == CHINESE else frozenset(words_of(text))


def _content(terms: frozenset[str]) -> frozenset[str]:
    return frozenset(each for each in terms if each.isalnum() and each not in _NO_WORD)


def _covers(terms: frozenset[str], text: str, language: str) -> float:
    return len(terms & _terms(text, language)) / len(terms) if terms else 0.0
