"""`homarus check`: every mistake in the configuration, with its place; no hub is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hub.cli.exits import Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json
from hub.security.redaction import Redactor

if TYPE_CHECKING:
    from hub.config.checked import Checked
    from hub.config.errors import ConfigError

SHOWN_WIDTH = 100
_SECRETS = "secrets.yaml"


@click.command("check", cls=CliCommand)
@home_option
@json_option
@click.pass_context
def command(ctx: click.Context, home: Path, as_json: bool) -> None:
    """Check the configuration and print all errors. Exits 3 when there are any.

    Example:
      homarus check --config ~/.homarus
    """
    from hub.cli.configured import check_home

    checked = check_home(home)
    if as_json:
        print_json(checked.as_dict())
    else:
        _tell(home, checked)
    ctx.exit(Exit.OK if checked.valid else Exit.INVALID_CONFIGURATION)


def show_error(error: ConfigError, home: Path, *, kind: str = "", texts: Mapping[str, str] | None = None) -> str:
    """Return an error for people: the place, the problem, the remedy, and the line with a marker under the place.

    Args:
        error: The error.
        home: The home of its file.
        kind: Put before the message, such as `warning`.
        texts: Texts that replace files.
    """
    told = [f"{error.file}:{error.line}:{error.column}: {kind}{f'{error.path}: ' if error.path else ''}{error.message}"]
    line = None if error.file == _SECRETS else _line(home, error, texts or {})
    if line is not None:
        number = str(error.line)
        safe = Redactor().redact(line)
        shown, column = _window(safe, error.column - 1)
        told.append(f"  {number} | {shown}")
        if safe == line:  # else the place has moved
            told.append(f"  {' ' * len(number)} | {_pad(shown, column)}^")
    if error.hint:
        told.append(f"  {error.hint}")
    return "\n".join(told)


def _tell(home: Path, checked: Checked) -> None:
    for error in checked.errors:
        click.echo(show_error(error, home) + "\n")
    for warning in checked.warnings:
        click.echo(show_error(warning, home, kind="warning: ") + "\n")
    if checked.valid:
        click.echo(f"The configuration in {home} is valid.")
        return
    count = len(checked.errors)
    click.echo(f"{count} {'error' if count == 1 else 'errors'} in {home}.")
    if checked.config.recovery:
        click.echo("With these a hub starts in recovery mode: the dashboard and its editor work, nothing else runs.")
    else:
        items = [f"{name}[{place}]" for name, broken in checked.config.broken_items.items() for place in broken]
        left_out = sorted(checked.config.broken) + items
        click.echo(f"A hub starts without what is broken: {', '.join(left_out) or 'nothing is left out'}.")


def _line(home: Path, error: ConfigError, texts: Mapping[str, str]) -> str | None:
    """Return the line an error is in, when it can be shown."""
    text = texts.get(error.file)
    try:
        lines = (text if text is not None else (home / error.file).read_text("utf-8", "replace")).split("\n")
    except OSError:
        return None
    if not 0 < error.line <= len(lines):
        return None
    line = lines[error.line - 1].rstrip("\r").expandtabs(1)
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in line) if line.strip() else None


def _window(line: str, column: int) -> tuple[str, int]:
    """Return the part of a long line around a column, and the column in it."""
    column = min(max(column, 0), len(line))
    if len(line) <= SHOWN_WIDTH:
        return line, column
    start = max(0, min(column - SHOWN_WIDTH // 2, len(line) - SHOWN_WIDTH))
    return line[start : start + SHOWN_WIDTH], column - start


def _pad(line: str, column: int) -> str:
    """Return padding as wide as the text before a column; letters of East Asian scripts are two wide."""
    from unicodedata import east_asian_width

    return "".join("  " if east_asian_width(letter) in "WF" else " " for letter in line[:column])
