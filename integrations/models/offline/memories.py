"""Remembering, asking and forgetting: the call of a memory tool, and the answer from its result. Pure functions.

Nothing is forgotten on a guess: the intended entry is looked up first, and where there may be several they are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from integrations.models.offline.entries import EntryQuery, RecalledEntry, entries_in, lines, parse_query, with_places
from integrations.models.offline.recognizer import CHINESE, RecognizedIntent
from integrations.models.offline.replies import reply
from integrations.models.offline.steps import Call, Say, Step, StepResult, read_json

FITS_SHARE = 0.6
"""What has less of what was asked is shown as similar only."""
ANY_SHARE, WHOLE_SHARE = 0.0, 1.0
TOLD_LIMIT = 5
LIST_LIMIT = 20
"""Entries told of a day, or of everything."""

SEARCH, FORGET, REMEMBER = "memory_search", "forget", "remember"


def remember(intent: RecognizedIntent, results: Sequence[StepResult], language: str) -> Step:
    """Remember the statement."""
    text = intent.slots["text"]
    if not results:
        return Call(REMEMBER, {"text": text, **({"kind": "todo"} if intent.name == "Todo" else {})})
    return Say(remembered_text(results[-1].output, language))


def remembered_text(output: str, language: str) -> str:
    """Return in words that something was remembered: `remembered in PATH, line N`, `known already in …`."""
    where = output.partition(" in ")[2].partition(", line")[0]
    place = reply("remembered_place", language, path=where) if "/" in where or where.endswith(".md") else ""
    return reply("known" if output.startswith("known") else "remembered", language, place=place)


def recall(intent: RecognizedIntent, results: Sequence[StepResult], language: str, now: datetime, said: str) -> Step:
    """Answer a question from memory."""
    found = [each for each in results if each.tool == SEARCH]
    wanted = parse_query(intent.query, now.date(), said)
    if not found:
        of_days = {"limit": LIST_LIMIT} if wanted.days and not wanted.words else {}
        return Call(SEARCH, {"query": wanted.text, **of_days})
    if answer := reply_from(found[-1].output, wanted, language):
        return Say(answer)
    return Say(reply("not_recalled", language))


def reply_from(output: str, wanted: EntryQuery, language: str, least: float = ANY_SHARE) -> str | None:
    """Return a reply from the entries that match at least this share of a question; None when there are none."""
    hits = [hit for hit in entries_in(output, "hits") if wanted.share(hit) >= least and wanted.is_about(hit)]
    if not wanted.words:
        of_day = [hit for hit in hits if wanted.days and wanted.share(hit) == 1]
        return reply("recalled_many", language, lines=with_places(of_day, language)) if of_day else None
    hits, all_hits = [hit for hit in hits if wanted.asks_for_kind_of(hit)], hits
    best = max(map(wanted.share, hits), default=0.0)
    if best < WHOLE_SHARE and language == CHINESE and not wanted.asks_who:  # a long word is many pairs of characters
        hits = [hit for hit in hits if wanted.names_whole_subject_of(hit)]
        best = max(map(wanted.share, hits), default=0.0)
    if best < FITS_SHARE:
        near = _near(all_hits, wanted)
        return reply("recalled_near", language, lines=with_places(near, language)) if near else None
    good = [hit for hit in hits if wanted.share(hit) == best][:TOLD_LIMIT]
    match good:
        case [one] if one.is_ours:
            return reply("recalled", language, text=one.text)
    return reply("recalled_many", language, lines=with_places(good, language))


def list_memories(intent: RecognizedIntent, results: Sequence[StepResult], language: str, now: datetime) -> Step:
    """Return a reply that lists the remembered entries or the tasks."""
    query = intent.slots.get("query", "")
    is_todo = intent.name == "ListTodos"
    if not results:
        return Call(SEARCH, {"query": query, "limit": LIST_LIMIT, **({"kind": "todo"} if is_todo else {})})
    wanted = parse_query(query, now.date())
    hits = [hit for hit in entries_in(results[-1].output, "hits") if wanted.share(hit) >= FITS_SHARE]
    if not hits:
        return Say(reply("no_todos" if is_todo else "no_memories", language))
    return Say(reply("todo_list" if is_todo else "recalled_many", language, lines=with_places(hits, language)))


def forget(intent: RecognizedIntent, results: Sequence[StepResult], language: str, now: datetime) -> Step:
    """Forget the intended entry, when it is clear which one."""
    text = intent.slots["text"]
    if not results:
        return Call(SEARCH, {"query": text, "limit": LIST_LIMIT})
    if results[-1].tool == FORGET:
        return Say(_forgotten(results[-1].output, language))
    hits = entries_in(results[-1].output, "hits")
    wanted = parse_query(text, now.date())
    meant = [hit for hit in hits if wanted.share(hit) == 1] if wanted.words or wanted.days else []
    exact = [hit for hit in hits if _bare(hit.text) == _bare(text)]
    match exact or meant:
        case []:
            if not (near := _near(hits, wanted)):
                return Say(reply("not_forgotten", language))
            return Say(reply("not_forgotten_near", language, lines=with_places(near, language)))
        case [one, *_] if exact or len(meant) == 1:
            return Call(FORGET, {"query": one.text})
    if intent.name == "ForgetAll":
        return Call(FORGET, {"query": text})
    return Say(reply("forget_many", language, count=str(len(meant)), lines=with_places(meant, language)))


def ask_which_to_forget(intent: RecognizedIntent, previous: Sequence[RecalledEntry], language: str) -> str:
    """Return the question what to forget, with the latest named or mentioned ones."""
    named = intent.slots.get("text") or (previous[0].text if previous else None)
    example = reply("forget_example", language, text=named) if named else ""
    return reply("forget_which", language, example=example)


def _near(hits: Sequence[RecalledEntry], wanted: EntryQuery) -> list[RecalledEntry]:
    near = [hit for hit in hits if wanted.is_near(hit)]
    return near[:TOLD_LIMIT]


def _forgotten(output: str, language: str) -> str:
    gone = entries_in(output, "forgotten")
    if not gone:
        return reply("not_forgotten", language)
    count = read_json(output).get("count")
    if isinstance(count, int) and count > 1:
        return reply("forgotten_many", language, count=str(count), lines=lines(each.text for each in gone))
    return reply("forgotten", language, lines=lines(each.text for each in gone))


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .。!！")
