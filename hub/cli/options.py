"""Options that many commands share: the home, JSON output, and printing of answers."""

from __future__ import annotations

import json
import os
import shlex
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from hub.cli.exits import CommandFailed, Exit
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


class WholeNumber(click.IntRange):
    """A whole number, perhaps between bounds; its error says what was expected."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number.

        Raises:
            BadParameter: It is none, or lies outside.
        """
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            bounds = (
                "" if self.min is None else f" from {self.min}" if self.max is not None else f", {self.min} or more"
            )
            self.fail(
                f"{value!r}: expected a whole number{bounds}{'' if self.max is None else f' to {self.max}'}.",
                param,
                ctx,
            )


def ask_secret(
    question: str, option: str, *, default: str | None = None, hidden: bool = True, err: bool = False
) -> str:
    """Ask for a secret, which a terminal does not show; without a terminal, read it as a line of standard input.

    Args:
        option: How it can be given instead.
        default: What an empty answer means; None asks again.
        hidden: Whether what is typed is not shown; False of what is no secret after all.

    Raises:
        CommandFailed: There is no terminal, and no line.
    """
    if sys.stdin.isatty():
        return str(click.prompt(question, hide_input=hidden, default=default, show_default=False, err=err))
    line = sys.stdin.readline()
    if line.strip() or default is not None:
        return line.strip() or default or ""
    raise CommandFailed(f"{question}: there is no terminal to ask at. Give it with {option}.", Exit.USAGE)


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
