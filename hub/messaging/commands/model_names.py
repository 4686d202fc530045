"""Finds the model that somebody means by a part of its name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from hub.models.registry import ModelRegistry

_WORD = re.compile(r"[\w./:@-]{2,}", re.ASCII)


async def model_refs(models: ModelRegistry) -> list[str]:
    """Return the names of all models: aliases, then references."""
    return list(dict.fromkeys([*models.aliases, *(info.ref for info in await models.list())]))


def near_models(wanted: str, refs: list[str]) -> list[str]:
    """Return the models that a name may mean: those that contain all its words, else the most similarly spelt one."""
    words = wanted.lower().replace("/", " ").split()
    holding = [ref for ref in refs if all(word in ref.lower() for word in words)]
    exact = [ref for ref in holding if ref.lower().endswith(f"/{wanted.lower()}")]
    return (exact if len(exact) == 1 else holding) or get_close_matches(wanted, refs, n=1)


def model_of_part(word: str, refs: Iterable[str]) -> str | None:
    """Return the model with `word` as a whole part of its name, such as `opus`; None for none or several.

    Stricter than `near_models`: the word may as well be the first one of a sentence.
    """
    if not _WORD.fullmatch(word):
        return None
    part = re.compile(rf"(?<![a-z0-9]){re.escape(word.lower())}(?![a-z0-9])")
    found = {ref for ref in refs if part.search(ref.lower())}
    return found.pop() if len(found) == 1 else None
