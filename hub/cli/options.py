"""What many commands share: where the home is, and whether to answer in JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

DEFAULT_HOME = Path("~/.homarus")

Command = TypeVar("Command", bound=Callable[..., Any])


def home_option(command: Command) -> Command:
    """Add `--config DIR`; the command gets it as `home: Path`."""
    return click.option(
        "--config",
        "home",
        metavar="DIR",
        default=lambda: os.environ.get("HOMARUS_CONFIG") or str(DEFAULT_HOME),
        callback=lambda _context, _option, value: Path(value).expanduser().absolute(),
        help="The home directory.  [default: $HOMARUS_CONFIG or ~/.homarus]",
    )(command)


def json_option(command: Command) -> Command:
    """Add `--json`; the command gets it as `as_json: bool`."""
    return click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(command)


def print_json(data: Any) -> None:
    """Print data as JSON that people can read too."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2, default=str))


def print_table(rows: list[tuple[str, ...]], header: tuple[str, ...]) -> None:
    """Print rows under a header, in columns as wide as they need."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
