"""The calendars and to-do lists that a Home Assistant keeps itself: files that come along, and entries of memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from time import time
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from msgspec import Struct

from hub.agent.agents import Agents
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.slugs import slugify
from hub.memory.contract import BY_HAND, MemoryEntry, MemoryKind
from hub.memory.lists import ListItem, entry_text
from hub.memory.markdown import format_entry, struck, whole_items
from hub.memory.scope import MemoryProvenance
from hub.migrate.draft import Draft
from hub.migrate.home_assistant.their_files import STORAGE, TheirHome
from hub.migrate.plan import Move, MoveItem, Verdict
from hub.security.people import IMPLICIT_OWNER_ID
from hub.storage.homedir import Home

SIZE_LIMIT_BYTES = 5_000_000
ITEMS_LIMIT = 2_000
SHOPPING_FILE = ".shopping_list.json"
_ENTRIES = "core.config_entries"
_FOLDED = re.compile(r"\r?\n[ \t]")
_ESCAPED = re.compile(r"\\([\\;,nN])")


class TheirCalendar(Struct, frozen=True):
    """A calendar with its file, and its key here."""

    key: str
    name: str
    file: str
    data: bytes


class TheirList(Struct, frozen=True):
    """A list, with its items and whether each is done."""

    name: str
    file: str
    items: tuple[tuple[ListItem, bool], ...]


def bring_calendars(theirs: TheirHome, draft: Draft, move: Move) -> None:
    """Bring the calendars that it keeps itself, each with its file."""
    section = draft.raw.get("calendar")
    present = (section.get("calendars") or {}) if isinstance(section, Mapping) else {}
    for each in their_calendars(theirs):
        to = f"calendars/{each.key}.ics"
        if each.key in present or not draft.file(to, each.data):
            why = phrase("there is a calendar of this name here")
            move.add(MoveItem("calendar", each.name, Verdict.THERE, (why,), each.file))
            continue
        draft.set(("calendar", "calendars", each.key), {"name": each.name})
        move.add(MoveItem("calendar", each.name, Verdict.TAKEN, (), each.file, to=to))


def bring_lists(theirs: TheirHome, draft: Draft, move: Move) -> None:
    """Bring the items of its lists into the memory that the home shares."""
    lists = [each for each in their_lists(theirs) if each.items]
    if not lists:
        return
    config = draft.before.config
    folder = draft.workspace(Agents(config.get("agents"), Home(draft.home)).default().id)
    to = f"{folder}/memory/shared/lists-from-home-assistant.md"
    people = [str(each.get("id")) for each in draft.raw.get("people") or () if isinstance(each, Mapping)]
    zone = ZoneInfo(str(config.or_default("hub")["time_zone"]))
    text = entries_text(lists, people[0] if people else IMPLICIT_OWNER_ID, time(), zone)
    is_new = bool(folder) and draft.file(to, text.encode())
    why = () if is_new else (phrase("lists from Home Assistant are here already"),)
    for each in lists:
        verdict = Verdict.TAKEN if is_new else Verdict.THERE
        name = f"{each.name} ({len(each.items)})"
        move.add(MoveItem("list", name, verdict, why, each.file, to=to if is_new else ""))


def their_calendars(theirs: TheirHome) -> Iterator[TheirCalendar]:
    """Yield the calendars that it keeps."""
    for entry, file in _kept(theirs, "local_calendar"):
        name = str(entry["data"].get("calendar_name") or entry.get("title") or "")
        data = _read(theirs, file)
        if data is not None and name:
            yield TheirCalendar(_object_id(theirs, entry) or slugify(name) or "calendar", name, file, data)


def their_lists(theirs: TheirHome) -> Iterator[TheirList]:
    """Yield the lists that it keeps, and its shopping list."""
    for entry, file in _kept(theirs, "local_todo"):
        name = str(entry["data"].get("todo_list_name") or entry.get("title") or "")
        data = _read(theirs, file)
        if data is not None and name:
            yield TheirList(name, file, tuple(_tasks(name.lower(), data.decode("utf-8", "replace"))))
    found = _read(theirs, SHOPPING_FILE)
    if found is None:
        return
    try:
        rows = orjson.loads(found)
    except ValueError:
        return
    items = [
        (ListItem("shopping", " ".join(str(each["name"]).split())), bool(each.get("complete")))
        for each in (rows if isinstance(rows, list) else ())
        if isinstance(each, dict) and str(each.get("name") or "").strip()
    ]
    yield TheirList("Shopping", SHOPPING_FILE, tuple(items[:ITEMS_LIMIT]))


def entries_text(lists: list[TheirList], person: str, now: float, zone: tzinfo) -> str:
    """Return a file of memory with the items of lists."""
    text = "# Lists from Home Assistant\n\n"
    came = MemoryProvenance(BY_HAND, person, now, trusted=True)
    today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    done: set[int] = set()
    for item, is_done in (each for found in lists for each in found.items):
        if is_done:
            done.add(text.count("\n") + 1)
        text += format_entry(MemoryEntry(entry_text(item), MemoryKind.TODO, came), zone)
    return struck(text, [each for each in whole_items(text) if each.start_line in done], today)


def _kept(theirs: TheirHome, domain: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    for entry in theirs.stored_items(_ENTRIES, "entries"):
        data = entry.get("data")
        if entry.get("domain") == domain and isinstance(data, dict) and isinstance(data.get("storage_key"), str):
            yield entry, f"{STORAGE}/{domain}.{data['storage_key']}.ics"


def _object_id(theirs: TheirHome, entry: Mapping[str, Any]) -> str:
    for each in theirs.stored_items("core.entity_registry", "entities"):
        if each.get("config_entry_id") == entry.get("entry_id"):
            return slugify(str(each.get("entity_id")).partition(".")[2])
    return ""


def _read(theirs: TheirHome, file: str) -> bytes | None:
    try:
        return theirs.root.read_bytes(file, SIZE_LIMIT_BYTES)
    except (OSError, HubError):
        return None


def _tasks(which: str, text: str) -> Iterator[tuple[ListItem, bool]]:
    """Yield the tasks of a file; what else it has of each is not known here."""
    task: dict[str, str] | None = None
    depth = count = 0
    for line in _FOLDED.sub("", text).splitlines():
        name, _, value = line.partition(":")
        name = name.partition(";")[0].upper()
        if name == "BEGIN":
            depth += task is not None
            task = {} if value.upper() == "VTODO" else task
        elif name == "END" and depth:
            depth -= 1
        elif name == "END" and task is not None:
            if task.get("SUMMARY", "").strip() and count < ITEMS_LIMIT:
                count += 1
                is_done = task.get("STATUS", "").upper() in ("COMPLETED", "CANCELLED")
                item = ListItem(
                    which, " ".join(task["SUMMARY"].split()), _due(task.get("DUE", "")), task.get("DESCRIPTION") or None
                )
                yield item, is_done
            task = None
        elif task is not None and not depth:
            task[name] = _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value)


def _due(text: str) -> str | None:
    """Return when a task is due: there, a day is written as the one after it."""
    try:
        if "T" not in text:
            return (date.fromisoformat(text) - timedelta(days=1)).isoformat()
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return None
