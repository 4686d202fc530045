"""Makes the hub's database: SQLite in the home, or the one that `storage:` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hub.core.errors import HubError
from hub.core.extras import install_command
from hub.core.secret import Secret
from hub.storage import inspection
from hub.storage.database import Database
from hub.storage.files import FILES, Documents
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS

if TYPE_CHECKING:
    from hub.storage.postgresql.session import Target

EXTRA = "postgresql"


class DriverMissing(HubError):
    """The package that speaks to the database is not installed."""

    code = "REQUIREMENT_MISSING"


def make_database(home: Home, section: Mapping[str, Any], hide: Callable[[Secret | str], None]) -> Database:
    """Return the hub's database, to be opened.

    Args:
        section: The validated section `storage`.
        hide: Keeps a secret out of logs.

    Raises:
        DriverMissing: The extra is not installed.
        UnusableDatabase: The address is none.
    """
    target = read_target(section)
    if target is None:
        return Database(home.hub_db, HUB_MIGRATIONS)
    from hub.storage.postgresql.database import PostgresqlDatabase

    if target.password:
        hide(target.password)
    return PostgresqlDatabase(target, HUB_MIGRATIONS, home.hub_db)


def read_target(section: Mapping[str, Any]) -> Target | None:
    """Return the database that the section names; None when it is SQLite.

    Raises:
        DriverMissing, UnusableDatabase: As above.
    """
    given = section.get("postgresql")
    if given is None:
        return None
    try:
        from hub.storage.postgresql.session import Target
    except ImportError as error:
        raise DriverMissing(
            f"`storage: postgresql` needs a package that is not installed ({error}). Install it: "
            f"{install_command(EXTRA)}"
        ) from error
    return Target.from_url(given["url"].reveal(), given["home"])


def read_documents(home: Home, section: Mapping[str, Any]) -> Documents:
    """Return the small files of a home for a command that only reads them, while a hub runs or not.

    Raises:
        StorageError, DriverMissing: They cannot be read.
    """
    target = read_target(section)
    if target is None:
        return FILES
    from hub.storage.document_table import DocumentTable
    from hub.storage.postgresql.inspection import read_documents as read_there

    return DocumentTable(home.storage, make_database(home, section, lambda _: None), read_there(target))


def read_meta(home: Home, section: Mapping[str, Any], key: str) -> str | None:
    """Return a value of the table `meta`, while a hub runs or not.

    Raises:
        StorageError, DriverMissing: It cannot be read.
    """
    target = read_target(section)
    if target is None:
        return inspection.read_meta(home.hub_db, key)
    from hub.storage.postgresql.inspection import read_meta as read_there

    return read_there(target, key)
