"""The commands that integrations bring: declared in a manifest, imported when called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.run_hub import DEFAULT_HOME, HOME_VARIABLE


def names() -> Iterator[str]:
    """Yield the names of all commands that integrations declare."""
    from hub.integration.catalog import find

    for found in find(_home()).values():
        yield from found.manifest.cli if found.manifest else ()


def load(name: str) -> click.Command | None:
    """Return the command of that name from the `cli.py` of the integration that declares it, or None.

    Raises:
        CommandFailed: The module cannot be read, or lacks the command.
    """
    from hub.config.sections import SchemaProblem
    from hub.integration.catalog import find
    from hub.integration.schemas import read_module

    for found in find(_home()).values():
        if found.manifest is None or name not in found.manifest.cli:
            continue
        try:
            command = getattr(read_module(found.domain, found.path / "cli.py"), "COMMANDS", {}).get(name)
        except SchemaProblem as problem:
            raise CommandFailed(problem.message, Exit.FINDINGS) from problem
        if not isinstance(command, click.Command):
            raise CommandFailed(f"{found.domain}/cli.py has no command {name} in COMMANDS", Exit.FINDINGS)
        return command
    return None


def _home() -> Path:
    """Return the home that the command line names, before it is parsed."""
    arguments = sys.argv[1:]
    for place, argument in enumerate(arguments):
        if argument.startswith("--config="):
            return Path(argument.removeprefix("--config=")).expanduser()
        if argument == "--config" and place + 1 < len(arguments):
            return Path(arguments[place + 1]).expanduser()
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME).expanduser()
