"""Copies an entry of a day into the curated file, unchanged, with all days it was noted on. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from hub.core.lazy_pattern import LazyPattern
from hub.memory.alike import fact_key
from hub.memory.contract import BY_HAND, MemoryEntry, MemoryKind
from hub.memory.markdown import format_entry, whole_items, with_further_days
from hub.memory.scope import MemoryProvenance
from hub.memory.tidy.entries import Standing
from hub.memory.words import fold

_SMALL_TALK = LazyPattern(
    r"(?:hi|hello|hey|bye|thanks|thank you|see you|take care|good (?:morning|night|luck)|have (?:fun|a (?:nice|good))"
    r"|sounds|sure|great|wow|congrat)\b|你好|谢谢|再见|晚安|早安|好的"
    # What people do on one day as on others.
    r"|(?:(?:[^\W\d_]+|my [^\W\d_]+) )?(?:went|bought|paid|took|ate|drank|watched|called|lent|met|walked|ran|slept"
    r"|cooked|cleaned|washed|watered|fed|visited|played|sent|swam|charged|drove|rode)\b"
    r"|(?:[^，。]*[^换改变搬成到为升学])?[去买付吃喝看走跑睡洗打]了"
)


def is_small_talk(text: str) -> bool:
    """Whether a text is a greeting or the like, or reports a day's events, and so does not last."""
    return _SMALL_TALK.match(fold(" ".join(text.split()))) is not None


def item_of(entry: Standing, text: str, days: Iterable[str]) -> str | None:
    """Return an entry as copied; None if a copy would change its meaning.

    Args:
        entry: The entry; one without a source becomes a fact of its day.
        text: Its file.
        days: All the days on which the same was noted.
    """
    passage = entry.passage
    if passage.kind is None:
        item = _as_fact(entry)
    else:
        lines = text.split("\n")[passage.start_line - 1 : passage.end_line]
        item = "\n".join(line.rstrip("\r") for line in lines) + "\n"
    if item is None:
        return None
    made = whole_items(item)
    same = len(made) == 1 and made[0].kind is not None and made[0].trusted and not made[0].struck
    return with_further_days(item, days) if same and fact_key(made[0].text) == entry.key else None


def _as_fact(entry: Standing) -> str | None:
    try:
        noted = datetime.fromisoformat(f"{entry.day}T00:00").replace(tzinfo=UTC)
    except ValueError:
        return None
    passage = entry.passage
    came = MemoryProvenance(passage.session or BY_HAND, passage.person, noted.timestamp(), trusted=True)
    return format_entry(MemoryEntry(passage.text, MemoryKind.FACT, came), UTC)
