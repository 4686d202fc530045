"""Areas of a memory in which something is noted, and tidied up."""

from __future__ import annotations

from datetime import UTC, date, datetime

from hub.memory.contract import MemoryEntry, MemoryKind
from hub.memory.markdown import format_entry, whole_items
from hub.memory.scope import MemoryProvenance
from hub.memory.tidy.entries import Area, AreaFile
from hub.memory.tidy.marks import TO_BE_SETTLED
from hub.memory.tidy.plan import KnownEntries, TidyPlan, plan

TODAY = date(2026, 5, 12)
PRIVATE = Area("private", "MEMORY.md", "MEMORY.md", "# Memory", has_sections=True)
ANNAS = Area("person-anna", "memory/people/anna.md", "memory/people/anna/to-be-settled.md", "# anna", False)
BOILER = "The boiler man comes on Tuesday"
NOT_TUESDAY = "The boiler man comes on Thursday"
BOX = "The wifi box hangs in the hall"


def entry(text: str, day: str, kind: MemoryKind = MemoryKind.FACT, *, trusted: bool = True, session: str = "s") -> str:
    when = datetime.fromisoformat(f"{day}T09:00").replace(tzinfo=UTC).timestamp()
    return format_entry(MemoryEntry(text, kind, MemoryProvenance(session, "me", when, trusted)), UTC)


def a_day(day: str, *items: str) -> AreaFile:
    return AreaFile(f"memory/{day}.md", f"# {day}\n\n{''.join(items)}", day)


def noted(day: str, *texts: str, kind: MemoryKind = MemoryKind.FACT, trusted: bool = True) -> AreaFile:
    return a_day(day, *(entry(text, day, kind, trusted=trusted) for text in texts))


def curated(*items: str, heading: str = "## People\n\n") -> AreaFile:
    return AreaFile("MEMORY.md", f"# Memory\n\n{heading}{''.join(items)}")


def after(files: list[AreaFile], made: TidyPlan) -> list[AreaFile]:
    """Return the files once the plan is carried out."""
    now = {file.path: file for file in files}
    for path, text in made.texts.items():
        now.pop(path, None)
        if text is not None:
            now[path] = AreaFile(path, text)
    return list(now.values())


def tidied(
    files: list[AreaFile], known: KnownEntries | None = None, area: Area = PRIVATE
) -> tuple[TidyPlan, dict[str, str]]:
    """Carry out a plan, see that a second one changes nothing, and return the first with the files."""
    known = known or KnownEntries(TODAY)
    made = plan(area, files, known)
    now = after(files, made)
    assert plan(area, now, known).texts == {}
    return made, {file.path: file.text for file in now}


def standing(text: str) -> list[str]:
    return [each.text for each in whole_items(text) if not each.struck and each.heading != TO_BE_SETTLED]
