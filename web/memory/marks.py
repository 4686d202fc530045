"""Marks the words of a query in its results."""

from __future__ import annotations

import itertools
import re

from hub.memory.words import fold, query_words, words_of

_MARKUP = re.compile(r"(<[^>]*>|&#?\w+;)")
_PIECE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]+|[^\W_]+(?:['’][^\W\d_]+)?")


class Marker:
    """Marks the words of one query.

    Args:
        query: The question.
    """

    def __init__(self, query: str) -> None:
        self._words = frozenset(query_words(query))

    def mark(self, html: str) -> str:
        """Return rendered Markdown with the words in `<mark>`; tags and references are unchanged."""
        if not self._words:
            return html
        parts = _MARKUP.split(html)
        parts[::2] = [_PIECE.sub(self._marked, text) for text in parts[::2]]
        return "".join(parts)

    def _marked(self, match: re.Match[str]) -> str:
        piece = match[0]
        if not "\u3040" <= piece[0] <= "\ufaff":
            return f"<mark>{piece}</mark>" if self._words.intersection(words_of(piece)) else piece
        folded = fold(piece)
        folded = folded if len(folded) == len(piece) else piece
        inside = [False] * len(piece)
        for length in (1, 2):
            for at in range(len(piece) - length + 1):
                if folded[at : at + length] in self._words:
                    inside[at : at + length] = [True] * length
        runs = itertools.groupby(zip(piece, inside, strict=True), key=lambda each: each[1])
        texts = ((is_asked, "".join(character for character, _ in run)) for is_asked, run in runs)
        return "".join(f"<mark>{text}</mark>" if is_asked else text for is_asked, text in texts)
