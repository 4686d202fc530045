"""Commands that ask the hub for one thing and say what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.options import home_option, json_option, print_json

Verb = Callable[..., tuple[Any, str]]
"""Asks the hub; returns the answer for programs, and the words for people."""


def verb(group: click.Group, *parameters: Callable[..., Any]) -> Callable[[Verb], Verb]:
    """Make a function a command of a group; it is called with a `HubClient` and its parameters, and has the help."""

    def register(act: Verb) -> Verb:
        def run(home: Path, as_json: bool, **given: Any) -> None:
            answer, words = act(HubClient(home), **given)
            print_json(answer) if as_json else click.echo(words)

        run.__doc__ = act.__doc__
        decorated: Any = home_option(json_option(run))
        for each in reversed(parameters):
            decorated = each(decorated)
        group.command(act.__name__)(decorated)
        return act

    return register


def one_named(
    entries: Iterable[Mapping[str, Any]], given: str, keys: tuple[str, ...], missing: str, see: str
) -> dict[str, Any]:
    """Return the entry of an id, else of the beginning of its first id or of a name.

    Args:
        keys: The ids of an entry.
        missing: What is said when there is none, or several.
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
