"""Check that the databases are intact and of a supported version, without writing to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hub.core.errors import HubError
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, critical, error, warning
from hub.storage.damage import damaged_copies, suspect_mark
from hub.storage.errors import NewerSchema, StorageError
from hub.storage.history_schema import HISTORY_MIGRATIONS
from hub.storage.inspection import inspect_database
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.opening import read_target
from hub.storage.schema_version import Migration


def _look(context: CheckContext) -> Iterator[Finding]:
    home = context.home
    yield from _look_at_server(context)
    for path, migrations in ((home.hub_db, HUB_MIGRATIONS), (home.history_db, HISTORY_MIGRATIONS)):
        disposable = path == home.history_db
        for old in damaged_copies(path):
            yield warning(
                f"A damaged {path.name} was set aside here. Check whether anything is missing, then delete it.",
                str(old),
                f"rm {old}*",
            )
        if not path.exists():
            continue
        if suspect_mark(path).exists() and not disposable:
            yield error(
                f"{path.name} gave wrong answers while it was open. The next start checks it and saves what it can.",
                str(path),
                context.command("start"),
            )
        for told, command in _examined(path, migrations, context):
            if disposable:
                yield warning(f"{told} It is disposable: the hub sets it aside and starts a new one.", str(path))
            else:
                yield critical(told, str(path), command)


def _look_at_server(context: CheckContext) -> Iterator[Finding]:
    """Yield what is wrong with the database that `storage:` names."""
    try:
        if (target := read_target(context.config.or_default("storage"))) is None:
            return
        from hub.storage.postgresql.inspection import inspect

        inspect(target)
    except HubError as problem:
        yield critical(problem.message, "storage")
    if context.home.hub_db.exists():
        file = str(context.home.hub_db)
        yield warning("This file is not used while `storage:` names a database; nothing of it is in there.", file)


def _tell(context: CheckContext) -> Iterator[str]:
    """Yield where the database is that `storage:` names, and whose the home is."""
    try:
        if (target := read_target(context.config.or_default("storage"))) is None:
            return
        from hub.storage.postgresql.inspection import inspect

        found = inspect(target)
    except HubError:
        return  # it is among what is wrong
    yield f"{target.place} (version {found.server}) answers in {found.latency_ms:.1f} ms"
    yield f"The home {target.home} in it is owned by {found.owner or 'no hub now'}"
    if not found.is_ours:
        yield "It is empty: the hub makes its tables at the next start"


def _examined(path: Path, migrations: Sequence[Migration], context: CheckContext) -> Iterator[tuple[str, str]]:
    """Yield the problems of one database, each with the command that fixes it."""
    saves = context.command("start")  # which sets a damaged file aside and saves what can be read of it
    if path.stat().st_size == 0:
        yield f"{path.name} is empty.", saves
        return
    try:
        found = inspect_database(path, migrations, runs=context.running is not None)
    except NewerSchema as problem:
        yield problem.message, ""
    except StorageError as problem:
        yield problem.message, saves
    else:
        if found:
            yield f"{path.name} is damaged: {'; '.join(found)}.", saves


DATABASES = Check("databases", "The databases", _look, _tell)
