"""`homarus tui`: the assistant in a full terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option
from hub.core.extras import install_command


@click.command("tui", cls=CliCommand)
@click.option("--session", metavar="KEY", default="main", show_default=True, help="The conversation.")
@home_option
@json_option
def command(session: str, home: Path, as_json: bool) -> None:
    """Talk to the assistant in a full terminal, with its tools, approvals, conversations and models.

    Example:
      homarus tui
      homarus --url wss://hub.example.org --token TOKEN tui
    """
    HubClient(home)  # says how to start one where none runs
    try:
        from hub.messaging.cli.tui_app import HomarusTui
    except ModuleNotFoundError as error:
        raise CommandFailed(
            f"The terminal interface needs the package {error.name}; run: {install_command('tui')}",
            Exit.USAGE,
        ) from error
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandFailed("homarus tui needs a terminal; `homarus chat TEXT` does not.", Exit.USAGE)
    app = HomarusTui(home, session)
    app.run()
    if app.failure is not None:
        raise app.failure
