"""The top of the command line: which module holds which command, and how failures are shown."""

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
from hub.cli.remote import TOKEN_VARIABLE, remote_home
from hub.cli.run_hub import URL_VARIABLE
from hub.core.errors import HubError, InvalidRequest

COMMANDS = {
    "init": "hub.cli.init",
    "start": "hub.cli.start",
    "check": "hub.config.cli.check",
    "status": "hub.cli.status",
    "chat": "hub.messaging.cli.chat",
    "tui": "hub.messaging.cli.tui",
    "call": "hub.cli.call",
    "tool": "hub.tools.cli.tool",
    "dashboard": "hub.gateway.cli.dashboard",
    "token": "hub.gateway.cli.token",
    "logs": "hub.gateway.cli.logs",
    "sessions": "hub.sessions.cli",
    "context": "hub.agent.cli.context",
    "timeline": "hub.timeline.cli",
    "trace": "hub.agent.cli.trace",
    "memory": "hub.memory.cli.memory",
    "skills": "hub.skills.cli.skills",
    "entities": "hub.entities.cli.entities",
    "hooks": "hub.hooks.cli",
    "tools": "hub.tools.cli.tools",
    "sandbox": "hub.sandbox.cli",
    "approvals": "hub.tools.cli.approvals",
    "secrets": "hub.tools.cli.secrets",
    "pairing": "hub.messaging.cli.pairing",
    "devices": "hub.gateway.cli.devices",
    "nodes": "hub.nodes.cli.nodes",
    "route": "hub.messaging.cli.route",
    "areas": "hub.entities.cli.areas",
    "automation": "hub.automation.cli.automation",
    "script": "hub.automation.cli.script",
    "blueprint": "hub.automation.cli.blueprint",
    "event": "hub.automation.cli.event",
    "service": "hub.automation.cli.service",
    "state": "hub.entities.cli.state",
    "template": "hub.template.cli",
    "agents": "hub.agent.cli.agents",
    "config": "hub.config.cli.config",
    "integration": "hub.integration.cli",
    "channels": "hub.messaging.cli.channels",
    "models": "hub.models.cli",
    "message": "hub.messaging.cli.message",
    "outbox": "hub.messaging.cli.outbox",
    "cron": "hub.automation.cli.cron",
    "node": "hub.nodes.cli.node",
    "tls": "hub.gateway.cli.tls",
    "doctor": "hub.doctor.cli",
}


class LazyGroup(Group):
    """A group that imports a command when it is called; those of integrations come behind ours."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from hub.cli.integration_commands import names

        return [*COMMANDS, *(name for name in names() if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            from hub.cli.integration_commands import load

            return load(cmd_name)
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--url", metavar="URL", envvar=URL_VARIABLE, help=f"A hub elsewhere: wss://…  [${URL_VARIABLE}]")
@click.option("--token", metavar="TOKEN", envvar=TOKEN_VARIABLE, help=f"A token of that hub.  [${TOKEN_VARIABLE}]")
@click.pass_context
@click.version_option(__version__, "-V", "--version", prog_name="homarus", message="%(prog)s %(version)s")
def app(ctx: click.Context, url: str | None, token: str | None) -> None:
    """A personal AI assistant that lives in your home.

    Example:
      homarus start            run the hub in the foreground
      homarus chat "hello"     talk to it from a second terminal

    Exit codes: 0 all is well, 1 something was found, 2 wrong usage, 3 the
    configuration is not valid, 4 the hub cannot be reached, 5 not authorised.
    """
    ctx.obj = remote_home(url, token)


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
        told = f"A part of Homarus is missing: {error.name}. Install what it needs with script/setup, and try again."
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
