"""Thinking that a model writes into its text between tags, such as `<think>…</think>`, as events of their own. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hub.core.lazy_pattern import LazyPattern
from hub.models.contract import ModelEvent, StopEvent, TextDelta, TextWasThinking, ThinkingDelta, ToolCallEvent

_MARK = LazyPattern(
    r"(?P<ticks>`+)|\n|<(?P<close>/?)(?:(?P<think>think|thinking|thought|antthinking)|(?P<final>final))"
    r"(?:\s[^<>]{0,80})?>",
    re.IGNORECASE,
)
_UNFINISHED = LazyPattern(r"(?:`+|</?(?:[a-zA-Z]{1,11}(?:\s[^<>]{0,80})?)?)\Z")
"""The end of a text that may become a mark."""
_FENCE = 3


class InlineThinking:
    """The events of one model call, with tagged text as thinking; code stays text.

    `<final>` tags and closing tags without an opening one are removed, and so is white space after thinking. Some
    local models are made to begin with thinking, and write the closing tag alone. The first tag of a call that closes
    without one before, at the beginning of a line, makes thinking of all text before it: text is not held back for it.

    Args:
        final_tags: Whether the answer is what stands between `<final>` and `</final>` alone: all else is thinking.
    """

    __slots__ = ("_bare", "_final_tags", "_inside", "_last", "_outside", "_pending", "_ticks", "_trim")

    def __init__(self, *, final_tags: bool = False) -> None:
        self._final_tags = self._outside = final_tags
        self._pending = ""
        self._inside = False
        self._ticks = 0
        """How many backticks opened the code that goes on; 0 outside of code."""
        self._trim = False
        self._bare = not final_tags
        """Whether a closing tag may still be one that ends thinking from the beginning on."""
        self._last = "\n"
        """The last character of the text so far."""

    def add(self, event: ModelEvent) -> Sequence[ModelEvent]:
        """Apply one event; return the events that are certain now."""
        if type(event) is TextDelta:
            text = event.text
            hidden = self._inside or self._outside
            if not self._pending and not hidden and not self._trim and "<" not in text and "`" not in text:
                if self._ticks < _FENCE and "\n" in text:
                    self._ticks = 0
                self._last = text[-1:] or self._last
                return (event,)
            text = self._pending + text
            unfinished = _UNFINISHED.search(text)
            end = unfinished.start() if unfinished is not None else len(text)
            self._pending = text[end:]
            return self._split(text[:end])
        if self._pending and isinstance(event, (ToolCallEvent, StopEvent)):
            return (*self.end(), event)
        self._bare = self._bare and not isinstance(event, (ThinkingDelta, ToolCallEvent))
        return (event,)

    def end(self) -> Sequence[ModelEvent]:
        """Return the held-back events at the end."""
        pending, self._pending = self._pending, ""
        return self._split(pending)

    def _split(self, text: str) -> Sequence[ModelEvent]:
        found: list[ModelEvent] = []
        begin = 0
        for mark in _MARK.finditer(text):
            if not self._passes(mark):
                continue
            self._say(text[begin : mark.start()], found)
            begin = mark.end()
            if mark["final"] is not None:
                if self._final_tags:
                    self._outside, self._inside, self._trim = bool(mark["close"]), False, True
                continue
            if self._inside is bool(mark["close"]):
                self._inside = not self._inside
                self._trim = True
            elif self._bare and mark["close"] and self._last == "\n":
                found.append(TextWasThinking())
                self._trim = True
            self._bare = False
        self._say(text[begin:], found)
        return found

    def _passes(self, mark: re.Match[str]) -> bool:
        """Follow code fences; return whether a mark is a tag to remove."""
        opens_answer = self._final_tags and mark["final"] is not None and not mark["close"]
        if self._inside:
            return opens_answer or (mark["think"] is not None and bool(mark["close"]))
        if (ticks := mark["ticks"]) is not None:
            count = len(ticks)
            if not self._ticks:
                self._ticks = count
            elif self._ticks == count or min(self._ticks, count) >= _FENCE:
                self._ticks = 0
            return False
        if mark[0] == "\n":
            if self._ticks < _FENCE:  # code in a line ends with it
                self._ticks = 0
            return False
        if opens_answer and self._outside and self._ticks >= _FENCE:  # a fence that a thought left open hides no answer
            self._ticks = 0
        return not self._ticks

    def _say(self, text: str, found: list[ModelEvent]) -> None:
        if self._trim:
            text = text.lstrip()
        if not text:
            return
        self._trim = False
        self._last = text[-1]
        kind = ThinkingDelta if self._inside or self._outside else TextDelta
        if found and type(found[-1]) is kind:
            text = found.pop().text + text  # type: ignore[union-attr]
        found.append(kind(text))
