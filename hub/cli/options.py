"""Options that many commands share: the home, JSON output, and printing of answers."""

from __future__ import annotations

import json
import os
import shlex
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from hub.cli.remote import RemoteHome, chosen_hub
from hub.cli.run_hub import DEFAULT_HOME, HOME_VARIABLE

Command = TypeVar("Command", bound=Callable[..., Any])


def home_option(command: Command) -> Command:
    """Add `--config DIR`; the command gets it as `home: Path`. Given to a group, it holds for the group's commands."""
    return click.option(
        "--config",
        "home",
        metavar="DIR",
        callback=_home,
        help=f"The home directory.  [default: ${HOME_VARIABLE} or {DEFAULT_HOME}]",
    )(command)


def json_option(command: Command) -> Command:
    """Add `--json`; the command gets it as `as_json: bool`. Given to a group, it holds for the group's commands."""
    return click.option("--json", "as_json", is_flag=True, callback=_as_json, help="Answer in JSON.")(command)


def print_json(data: Any) -> None:
    """Print data as JSON that people can read too."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2, default=str))


def print_table(rows: Sequence[tuple[str, ...]], header: tuple[str, ...]) -> None:
    """Print rows under a header, in columns as wide as needed; names cannot move the cursor or break lines."""
    lines = [header, *(tuple(map(_on_one_line, row)) for row in rows)]
    widths = [max(_columns(line[column]) for line in lines) for column in range(len(header))]
    for row in lines:
        cells = (cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def command_on(home: Path | RemoteHome, command: str) -> str:
    """Return a command line for a home directory, which is omitted if it is the default."""
    if isinstance(home, RemoteHome):
        return f"{command.replace('homarus', f'homarus --url {shlex.quote(str(home))}', 1)}"
    usual = home == DEFAULT_HOME.expanduser().absolute()
    return command if usual else f"{command} --config {shlex.quote(str(home))}"


def _on_one_line(text: str) -> str:
    """Return a text with invisible and terminal control characters escaped."""
    return "".join(each if each.isprintable() or each == "\u3000" else json.dumps(each)[1:-1] for each in text)


def _columns(text: str) -> int:
    """Return the width of a text in terminal columns: Chinese characters and emoji take two."""
    return sum(2 if unicodedata.east_asian_width(sign) in ("W", "F") else 1 for sign in text)


def _home(ctx: click.Context, _option: click.Parameter, value: str | None) -> Path:
    if value == "":
        raise click.BadParameter("it is empty; name a directory")
    if value is None and ctx.parent is not None and isinstance(ctx.parent.params.get("home"), Path):
        inherited: Path = ctx.parent.params["home"]
        return inherited
    if value is None and (elsewhere := chosen_hub(ctx)) is not None:
        return cast(Path, elsewhere)  # it raises when it is used as one
    chosen = value or os.environ.get(HOME_VARIABLE) or str(DEFAULT_HOME)
    return Path(chosen).expanduser().absolute()


def _as_json(ctx: click.Context, _option: click.Parameter, value: bool) -> bool:
    return value or bool(ctx.parent is not None and ctx.parent.params.get("as_json"))
