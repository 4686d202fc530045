"""The top of the command line: its commands, and how failures are shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from hub import __version__
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.remote import FINGERPRINT_VARIABLE, remote_home
from hub.cli.run_hub import URL_VARIABLE
from hub.core.errors import HubError, InvalidRequest
from hub.core.surface_table import Row, read_table
from hub.security.hub_token import TOKEN_VARIABLE


def commands() -> Mapping[str, Row]:
    """Return the rows of the hub's own commands, by name: each with its module and the sentence of its help."""
    return {row["name"]: row for row in read_table()["cli"]["homarus"]}


class LazyGroup(Group):
    """A group that imports a command when it is called; those of integrations follow ours."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from hub.cli.integration_commands import names

        own = commands()
        return [*own, *(name for name in names() if name not in own)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = commands().get(cmd_name)
        if row is None:
            from hub.cli.integration_commands import load

            return load(cmd_name)
        command: click.Command = import_module(row["module"]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._help_of(ctx, name)) for name in self.list_commands(ctx)])

    def _help_of(self, ctx: click.Context, name: str) -> str:
        row = commands().get(name)
        if row is not None:
            return str(row["help"])
        command = self.get_command(ctx, name)
        return (command and command.short_help) or ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--url", metavar="URL", envvar=URL_VARIABLE, help=f"A hub elsewhere: wss://…  [${URL_VARIABLE}]")
@click.option("--token", metavar="TOKEN", help=f"A token of that hub.  [${TOKEN_VARIABLE}]")
@click.option(
    "--fingerprint",
    metavar="SHA256",
    envvar=FINGERPRINT_VARIABLE,
    help=f"Of its certificate, which nobody else need vouch for.  [${FINGERPRINT_VARIABLE}]",
)
@click.pass_context
@click.version_option(__version__, "-V", "--version", prog_name="homarus", message="%(prog)s %(version)s")
def app(ctx: click.Context, url: str | None, token: str | None, fingerprint: str | None) -> None:
    """A personal AI assistant that lives in your home.

    Example:
      homarus start            run the hub in the foreground
      homarus chat "hello"     talk to it from a second terminal

    Exit codes: 0 all is well, 1 something was found, 2 wrong usage, 3 the
    configuration is not valid, 4 the hub cannot be reached, 5 not authorised.
    """
    ctx.obj = remote_home(url, token, fingerprint)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    as_json = "--json" in arguments
    try:
        code: Any = app.main(arguments, prog_name="homarus", standalone_mode=False)
        sys.stdout.flush()
        return int(code) if isinstance(code, int) else Exit.OK
    except CommandFailed as failure:
        return _tell(failure.message, failure.code, as_json=as_json, details=failure.details)
    except HubError as error:
        code = Exit.USAGE if isinstance(error, InvalidRequest) and error.code == InvalidRequest.code else Exit.FINDINGS
        return _tell(error.message, code, as_json=as_json, details={"code": error.code})
    except click.exceptions.Abort:
        click.echo("Stopped.", err=True)
        return Exit.FINDINGS
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return Exit.USAGE
    except click.ClickException as error:
        error.show()
        if as_json:
            _print_error(error.format_message(), Exit.USAGE, {})
        return Exit.USAGE
    except ModuleNotFoundError as error:
        told = (
            f"A part of Homarus is missing: {error.name}. Install everything with script/setup --full, and try again."
        )
        return _tell(told, Exit.FINDINGS, as_json=as_json, details={"module": error.name})
    except BrokenPipeError:
        # Whoever read the output has seen enough; the interpreter must not stumble over it again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK


def _tell(message: str, code: Exit, *, as_json: bool, details: Mapping[str, Any]) -> int:
    if as_json:
        _print_error(message, code, details)
    click.echo(message, err=True)
    return code


def _print_error(message: str, code: Exit, details: Mapping[str, Any]) -> None:
    told = {"error": {**details, "message": message, "exit": int(code)}}
    click.echo(json.dumps(told, ensure_ascii=False, indent=2, default=str))
