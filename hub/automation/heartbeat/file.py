"""HEARTBEAT.md: the recurring checks of an agent, and which are due. Pure.

List items are checks; `(every 4h)` in one says how often it is looked at, without it at every beat. An item that is
ticked off (`- [x]`), what is struck out, headings and comments count for nothing; other text goes with every beat.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

from msgspec import Struct

from hub.core.lazy_pattern import LazyPattern

FILE = "HEARTBEAT.md"
FILE_LIMIT_BYTES = 65_536
CHECKS_LIMIT = 200
CHECK_CHARS = 2_000
NOTES_CHARS = 8_000
USUAL_S = 1_800.0
"""How often a check without an interval of its own is taken to be meant, when it is decided which is most overdue."""

_EXPLANATIONS = ("One line per thing to check when nobody asks. Empty means: nothing, stay quiet.",)
"""What workspaces were furnished with at first; it is not a check."""

_COMMENT = LazyPattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ITEM = LazyPattern(r"(?P<indent> {0,3})(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[(?P<box>[ xX])\][ \t]*)?(?P<text>.*)")
_EMPTY_ITEM = LazyPattern(r" {0,3}(?:[-*+•]|\d{1,3}[.)])(?:[ \t]+\[[ xX]?\])?[ \t]*")
_RULE = LazyPattern(r" {0,3}(?:#{1,6}(?:\s.*)?|[-*_=]{3,}|```\w*|>)\s*")
_EVERY = LazyPattern(
    r"[(（\[]\s*(?:(?:every|each|每隔?)\s*(?P<amount>[^()（）\[\]]{1,40})|(?P<word>hourly|daily|weekly))\s*[)）\]]",
    re.IGNORECASE,
)
_PART = LazyPattern(
    r"(?P<number>\d{1,6}(?:\.\d{1,3})?)?\s*+(?P<unit>weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s"
    r"|个?星期|周|天|个?小时|分钟|秒)\s*(?:and|,)?\s*",
    re.IGNORECASE,
)
_UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_HAN_UNITS = {"星期": 604_800.0, "周": 604_800.0, "天": 86_400.0, "小时": 3_600.0, "分钟": 60.0, "秒": 1.0}
_WORDS = {"hourly": 3_600.0, "daily": 86_400.0, "weekly": 604_800.0}


class HeartbeatCheck(Struct, frozen=True):
    """One check; `every_s` is None when it runs at every heartbeat."""

    id: str
    text: str
    every_s: float | None = None


class Checklist(Struct, frozen=True):
    """A parsed file: its checks in order, and other text."""

    checks: tuple[HeartbeatCheck, ...] = ()
    notes: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there are no checks and no text."""
        return not self.checks and not self.notes


def parse(text: str) -> Checklist:
    """Parse a HEARTBEAT.md; any content is accepted."""
    checks: dict[str, HeartbeatCheck] = {}
    notes: list[str] = []
    lines: list[str] = []

    def close() -> None:
        if lines and len(checks) < CHECKS_LIMIT:
            check = _check("\n".join(lines))
            if check is not None:
                checks.setdefault(check.id, check)
        lines.clear()

    skipping = False
    for line in _COMMENT.sub("", text.replace("\r\n", "\n").lstrip("\ufeff")).split("\n"):
        item = _ITEM.fullmatch(line)
        if item is not None and item["text"].strip():
            close()
            skipping = (item["box"] or " ") in "xX"
            if not skipping:
                lines.append(item["text"].strip())
        elif not line.strip() or _RULE.fullmatch(line) or _EMPTY_ITEM.fullmatch(line):
            close()
            skipping = False
        elif line.startswith((" ", "\t")) and (lines or skipping):
            if lines:
                lines.append(line.rstrip())
        elif line.strip() not in _EXPLANATIONS:
            close()
            skipping = False
            notes.append(line.strip())
    close()
    return Checklist(tuple(checks.values()), "\n".join(notes)[:NOTES_CHARS])


def due(checks: Sequence[HeartbeatCheck], looked: Mapping[str, float], now: float, limit: int) -> list[HeartbeatCheck]:
    """Return at most `limit` due checks, the most overdue first.

    Overdue time counts in a check's own intervals: a daily check that was missed for two days comes before one
    is looked at hourly and was not for 90 minutes. What was never looked at comes first, in the file's order.

    Args:
        checks: In the file's order.
        looked: When each was looked at last, by id; seconds since the epoch.
        now: Seconds since the epoch.
        limit: How many at most.
    """
    ranked: list[tuple[float, int, HeartbeatCheck]] = []
    for place, check in enumerate(checks):
        last = looked.get(check.id)
        if last is None or last > now:  # a clock that was set back makes nothing wait for it to come round again
            ranked.append((float("-inf"), place, check))
            continue
        if check.every_s is None or now - last >= check.every_s:
            ranked.append((-(now - last) / (check.every_s or USUAL_S), place, check))
    return [check for _, _, check in sorted(ranked, key=lambda each: each[:2])[:limit]]


def _check(text: str) -> HeartbeatCheck | None:
    found = _EVERY.search(text)
    every_s = _interval(found) if found is not None else None
    if found is not None and every_s is not None:
        text = f"{text[: found.start()].rstrip()} {text[found.end() :].lstrip()}".strip(" :,，：")
    text = text.strip()
    if not text or (text.startswith("~~") and text.endswith("~~")):
        return None
    text = text[:CHECK_CHARS]
    return HeartbeatCheck(
        sha256(" ".join(text.casefold().split()).encode("utf-8", "replace")).hexdigest()[:12], text, every_s
    )


def _interval(found: re.Match[str]) -> float | None:
    """Return seconds; None if the words in brackets are no interval."""
    if found["word"]:
        return _WORDS[found["word"].lower()]
    amount = found["amount"].strip()
    total, position = 0.0, 0
    for part in _PART.finditer(amount):
        if part.start() != position:
            return None
        position = part.end()
        unit = part["unit"].lower().removeprefix("个")
        total += float(part["number"] or 1) * (_HAN_UNITS.get(unit) or _UNITS[unit[0]])
    return total if position == len(amount) and total >= 1 else None
