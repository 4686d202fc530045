"""Quotes the output of templates in prompts, in a run with text from outside."""

from __future__ import annotations

import re
from collections.abc import Callable

from hub.tools.quoting import new_marker, quote_untrusted

SOURCE = "the automation's trigger"

_WORD = re.compile(r"[\w.:@+/-]{1,32}")
"""A number, a name, an address: too short, and without blanks, to tell a model anything else."""


def quoter() -> Callable[[str], str]:
    """Return a function that quotes each text inserted by a template; one marker for all of them."""
    marker = new_marker()

    def quote(text: str) -> str:
        if not text.strip() or _WORD.fullmatch(text):
            return text
        if marker in text:  # a macro's, whose parts were quoted when it was written
            return text
        return quote_untrusted(text, source=SOURCE, marker=marker)

    return quote
