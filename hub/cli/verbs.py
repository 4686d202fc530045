"""Commands that call one method and print its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.options import home_option, json_option, print_json, print_table

Shown = str | Sequence[tuple[str, ...]] | Callable[[], object]
Answer = tuple[Any, Shown] | tuple[Any, Shown, Exit]
"""What the hub answers, for programs; for people words, the rows of a table, or what prints it; and the exit code."""
Verb = Callable[..., Answer]


def verb(
    group: click.Group, *, name: str | None = None, columns: tuple[str, ...] = (), empty: str | None = None
) -> Callable[[Verb], Verb]:
    """Add a function to a group as a command; it gets a `HubClient` and its parameters, and supplies the help.

    Args:
        name: The name of the command; the function's without it.
        columns: The header of its table.
        empty: What is printed instead of a table without rows.
    """

    def register(act: Verb) -> Verb:
        def run(home: Path, as_json: bool, **given: Any) -> None:
            answer, shown, *code = act(HubClient(home), **given)
            if as_json:
                print_json(answer)
            elif isinstance(shown, str):
                click.echo(shown)
            elif callable(shown):
                shown()
            elif shown or empty is None:
                print_table(shown, columns)
            else:
                click.echo(empty)
            if code and code[0] is not Exit.OK:
                raise click.exceptions.Exit(code[0])

        run.__doc__ = act.__doc__
        decorated: Any = home_option(json_option(run))
        decorated.__click_params__ += getattr(act, "__click_params__", [])  # its own come first in the help
        group.command(name or act.__name__.rstrip("_"))(decorated)
        return act

    return register


def find_entry(
    entries: Iterable[Mapping[str, Any]], given: str, keys: tuple[str, ...], missing: str, see: str
) -> dict[str, Any]:
    """Return the entry of an id, or of the beginning of an id or a name.

    Args:
        keys: The ids of an entry.
        missing: The error when there is none, or several.
        see: The command that lists them.

    Raises:
        CommandFailed: It is not exactly one.
    """
    all = list(entries)
    found = [each for each in all if given in [each[key] for key in keys]] or [
        each for each in all if each["name"].casefold() == given.casefold() or each[keys[0]].startswith(given)
    ]
    if len(found) != 1:
        several = f"; these could be meant: {', '.join(each[keys[0]] for each in found)}" if found else ""
        raise CommandFailed(f"{missing} {given}{several}. See: {see}", Exit.FINDINGS)
    return dict(found[0])
