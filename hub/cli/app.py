"""The top of the command line: which module holds which command."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import click

from hub import __version__
from hub.cli.exits import CommandFailed, Exit

COMMANDS = {
    "init": "hub.cli.init",
    "start": "hub.cli.start",
    "check": "hub.cli.check",
    "status": "hub.cli.status",
    "chat": "hub.cli.chat",
    "call": "hub.cli.call",
    "dashboard": "hub.cli.dashboard",
    "token": "hub.cli.token",
    "logs": "hub.cli.logs",
    "sessions": "hub.cli.sessions",
    "config": "hub.cli.config",
    "doctor": "hub.cli.doctor",
}


class LazyGroup(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else " `homarus --help` lists the commands."
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="homarus", message="%(prog)s %(version)s")
def app() -> None:
    r"""A personal AI assistant that lives in your home.

    \b
    Example:
      homarus start            run the hub in the foreground
      homarus chat "hello"     talk to it from a second terminal
    """


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        code: Any = app.main(arguments, prog_name="homarus", standalone_mode=False)
        return int(code) if isinstance(code, int) else Exit.OK
    except CommandFailed as failure:
        _tell(failure.message, failure.code, as_json="--json" in arguments)
        return failure.code
    except click.exceptions.Abort:
        click.echo("Stopped.", err=True)
        return Exit.FINDINGS
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except BrokenPipeError:
        return Exit.OK


def _tell(message: str, code: Exit, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"error": {"message": message, "exit": int(code)}}, ensure_ascii=False))
    click.echo(message, err=True)
