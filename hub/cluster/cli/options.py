"""Options of the commands about workers and their homes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

DATABASE_VARIABLE = "HOMARUS_DATABASE"
HOMES_VARIABLE = "HOMARUS_HOMES"


def homes_option(command: Command) -> Command:
    """Add `--homes FOLDER`."""
    return click.option(
        "--homes",
        metavar="FOLDER",
        required=True,
        envvar=HOMES_VARIABLE,
        type=click.Path(file_okay=False, path_type=Path),
        help=f"The folder of all homes, which the workers share.  [${HOMES_VARIABLE}]",
    )(command)


def database_option(command: Command) -> Command:
    """Add `--database URL`."""
    return click.option(
        "--database",
        metavar="URL",
        required=True,
        envvar=DATABASE_VARIABLE,
        help="postgresql://user:password@host:5432/name; better not on the command line, which others can read.  "
        f"[${DATABASE_VARIABLE}]",
    )(command)
