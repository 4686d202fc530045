"""The helpers, scenes and zones of a Home Assistant: those of its files, and those that were made in the browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from hub.config.marks import ConfigList, ConfigMapping, Mark, place, plain
from hub.core.slugs import slugify
from hub.entities.helpers.table import HELPERS, LATER_SECTIONS
from hub.migrate.home_assistant.their_files import TheirHome
from hub.migrate.home_assistant.their_platforms import ENTRIES, METER, their_meters

_REGISTRY = "core.entity_registry"
_OWN = ("id", "created_at", "modified_at")
"""What a stored one has beside its keys."""


class TheirHelper(Struct, frozen=True):
    """One of them.

    Attributes:
        value: As it is written; what was stored in the form of a file.
        mark: Where it is.
        last: Its last line.
        text: It as it was written, where that can be cut out.
    """

    domain: str
    key: str
    value: Any
    mark: Mark
    file: str
    line: int
    last: int
    text: str | None = None

    @property
    def id(self) -> str:
        """Its entity id."""
        return f"{self.domain}.{self.key}"


def their_helpers(theirs: TheirHome) -> Iterator[TheirHelper]:
    """Yield them, those of the files first."""
    named = {
        (str(each.get("platform")), str(each.get("unique_id"))): str(each.get("entity_id")).partition(".")[2]
        for each in theirs.stored_items(_REGISTRY, "entities")
    }
    for key, value in their_meters(theirs):
        yield TheirHelper(METER, key, value, theirs.start, f".storage/{ENTRIES}", 0, 0)
    for domain in (*(name for name, kind in HELPERS.items() if kind.is_section), *LATER_SECTIONS):
        is_listed = is_list(domain)
        written = theirs.data.get(domain)
        if is_listed:
            yield from _listed(theirs, domain, written)
        elif isinstance(written, ConfigMapping):
            for key, value in written.items():
                file, line, _ = place(written.key_marks[key])
                text, _, last = theirs.text_at(written.value_marks[key], is_item=False)
                yield TheirHelper(domain, str(key), value, written.key_marks[key], file, line, last, text)
        for each in theirs.stored_items(domain):
            name = str(each.get("name") or each.get("id") or "")
            key = named.get((domain, str(each.get("id"))), "") or slugify(str(each.get("id") or name))
            if is_listed:
                key = slugify(name)
            value = {field: plain(said) for field, said in each.items() if field not in _OWN and said is not None}
            yield TheirHelper(domain, key, value, theirs.start, f".storage/{domain}", 0, 0)


def is_list(domain: str) -> bool:
    """Whether the section of helpers is a list, rather than a mapping by key."""
    return domain in HELPERS and HELPERS[domain].is_listed


def _listed(theirs: TheirHome, domain: str, written: Any) -> Iterator[TheirHelper]:
    if isinstance(written, ConfigMapping):
        one = ConfigList(written.mark)
        one.put(written, written.mark)
        written = one
    if not isinstance(written, ConfigList):
        return
    for value, mark in zip(written, written.marks, strict=True):
        if isinstance(value, Mapping):
            file, line, _ = place(mark)
            text, _, last = theirs.text_at(mark, is_item=True)
            yield TheirHelper(domain, slugify(str(value.get("name") or "")), value, mark, file, line, last, text)
