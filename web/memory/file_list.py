"""The files of memory in groups: curated, days by month, people, groups, and imports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hub.memory import places
from hub.memory.places import area_of

CURATED, DAYS, PEOPLE, SHARED, GROUPS = "curated", "days", "people", "shared", "groups"
IMPORTED, EXTRA, TRANSCRIPTS, OTHER = "imported", "extra", "transcripts", "other"
SECTIONS = (CURATED, PEOPLE, SHARED, GROUPS, IMPORTED, EXTRA, TRANSCRIPTS, OTHER)
"""In the order in which they are shown, beside the days."""

READ_ONLY = ("extra/", "transcripts/")

_DAY = re.compile(r"memory/(?P<day>\d{4}-\d\d-\d\d)(?P<rest>[^/]*)\.md")
_MONTH = re.compile(r"\d{4}-\d\d")

File = Mapping[str, Any]
"""A `MemoryFile` as plain data."""


def section_of(file: File) -> str:
    """Return the section of a file."""
    path, area = str(file["path"]), str(file["area"])
    if path.startswith("extra/"):
        return EXTRA
    if path.startswith("transcripts/"):
        return TRANSCRIPTS
    if path.startswith(f"{places.IMPORTED}/"):
        return IMPORTED
    if area == places.SHARED_AREA:
        return SHARED
    if area.startswith(places.PERSON_AREA):
        return PEOPLE
    if area.startswith(places.GROUP_AREA):
        return GROUPS
    if path == places.CURATED:
        return CURATED
    return DAYS if day_of(file) else OTHER


def day_of(file: File) -> str:
    """Return the day of a file as `YYYY-MM-DD`; empty if it has none."""
    if file.get("day"):
        return str(file["day"])
    found = _DAY.fullmatch(str(file["path"]))
    return found["day"] if found else ""


def name_of(file: File) -> str:
    """Return a file's short name within its section."""
    path, section = str(file["path"]), section_of(file)
    if section == DAYS:
        found = _DAY.fullmatch(path)
        rest = found["rest"].strip("-").replace("-", " ") if found else ""
        return f"{day_of(file)} · {rest}" if rest else day_of(file)
    before = {IMPORTED: places.IMPORTED, EXTRA: "extra", GROUPS: places.GROUPS, PEOPLE: places.PEOPLE}
    name = path.removeprefix(f"{before.get(section, places.FOLDER)}/")
    return name.removesuffix(".md") if section in (GROUPS, PEOPLE, SHARED, OTHER) else name


def is_writable(path: str) -> bool:
    """Whether a file can be edited here: not those of extra paths, nor conversations."""
    return not path.startswith(READ_ONLY)


def audience_of(path: str) -> str:
    """Return the audience of a file, by its path: `private`, `shared`, `person`, `group`; else empty."""
    area = area_of(path)
    return "" if area is None else area.partition("-")[0]


def by_section(files: Iterable[File]) -> dict[str, list[File]]:
    """Return the files of each section that has any, in the order of `SECTIONS` and of their names; the days last."""
    found: dict[str, list[File]] = {section: [] for section in (*SECTIONS, DAYS)}
    for file in files:
        found[section_of(file)].append(file)
    return {section: sorted(held, key=_path) for section, held in found.items() if held}


def by_month(days: Iterable[File]) -> dict[str, list[File]]:
    """Return the days of each month (`YYYY-MM`), the latest first."""
    found: dict[str, list[File]] = {}
    for file in days:
        found.setdefault(day_of(file)[:7], []).append(file)
    return {month: sorted(found[month], key=_path, reverse=True) for month in sorted(found, reverse=True)}


def _path(file: File) -> str:
    return str(file["path"])


def pick_month(asked: str, months: Sequence[str]) -> str | None:
    """Return the month to show: the requested one if it has entries, else the latest."""
    if _MONTH.fullmatch(asked) and asked in months:
        return asked
    return months[0] if months else None
