"""Names of memory files: slugs made of words, and free names. Pure."""

from __future__ import annotations

import re
from collections.abc import Container

SLUG_LIMIT = 60

_NOT_SLUG = re.compile(r"[\W_]+")


def slug_of(text: str, otherwise: str) -> str:
    """Return words as a part of a file name, in lower case of any script; `otherwise` if nothing is left."""
    return _NOT_SLUG.sub("-", text.lower()).strip("-")[:SLUG_LIMIT].strip("-") or otherwise


def free_name(taken: Container[str], name: str) -> str:
    """Return a free name for a Markdown file; a taken one gets a number."""
    stem, number, free = name.removesuffix(".md"), 1, name
    while free in taken:
        number += 1
        free = f"{stem}-{number}.md"
    return free
