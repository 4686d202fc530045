"""`homarus browser`: the browser of the running hub."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.hub_link import way
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.core.errors import HubError
from integrations.tools.browser.cli_acting import add_commands

_PROFILE = click.option("--profile", metavar="NAME", help="The profile; without it, default.")
_TAB = click.option("--tab", metavar="ID", help="Such as t2; without it, the one that was used last.")


@click.group("browser", cls=Group)
@home_option
@json_option
@click.pass_context
def command(ctx: click.Context, home: Path, as_json: bool) -> None:
    """Look at the browser of the running hub, and use it.

    Example:
      homarus browser status
      homarus browser open https://example.com
    """


@command.command("status")
@home_option
@json_option
def status(home: Path, as_json: bool) -> None:
    """List the profiles, which of them run, and who has taken over.

    Example:
      homarus browser status
    """
    _print(_call(home, "status"), as_json)


@command.command("start")
@_PROFILE
@home_option
@json_option
def start(profile: str | None, home: Path, as_json: bool) -> None:
    """Start a profile.

    Example:
      homarus browser start --profile lan
    """
    _print([_call(home, "start", profile=profile)], as_json)


@command.command("stop")
@_PROFILE
@home_option
@json_option
def stop(profile: str | None, home: Path, as_json: bool) -> None:
    """Stop a profile.

    Example:
      homarus browser stop
    """
    _print([_call(home, "stop", profile=profile)], as_json)


@command.command("tabs")
@_PROFILE
@home_option
@json_option
def tabs(profile: str | None, home: Path, as_json: bool) -> None:
    """List the tabs of a profile.

    Example:
      homarus browser tabs
    """
    _print(_call(home, "tabs", profile=profile), as_json)


@command.command("open")
@click.argument("url", metavar="URL")
@_PROFILE
@home_option
@json_option
def open_(url: str, profile: str | None, home: Path, as_json: bool) -> None:
    """Open an address in a new tab; starts the browser if it does not run.

    Example:
      homarus browser open https://example.com
    """
    _print([_call(home, "open", profile=profile, url=url)], as_json)


@command.command("snapshot")
@_TAB
@_PROFILE
@click.option("--refs", type=click.Choice(["ai", "role"]), default="ai", show_default=True, help="12 or e12.")
@click.option("--interactive", is_flag=True, help="Only what can be acted on.")
@click.option("--compact", is_flag=True, help="Without what only holds others.")
@click.option("--depth", metavar="N", type=click.IntRange(1, 100), help="No deeper than this.")
@home_option
@json_option
def snapshot(tab: str | None, profile: str | None, home: Path, as_json: bool, **form: Any) -> None:
    """Print a page as an agent sees it.

    Example:
      homarus browser snapshot --interactive
    """
    found = _call(home, "snapshot", profile=profile, tab=tab, **form)
    print_json(found) if as_json else click.echo(found["snapshot"])


@command.command("screenshot")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@_TAB
@_PROFILE
@click.option("--full-page", is_flag=True, help="All of it, not only what is in the window.")
@click.option("--labels", is_flag=True, help="With the refs on it.")
@home_option
@json_option
def screenshot(file: Path, tab: str | None, profile: str | None, home: Path, as_json: bool, **how: bool) -> None:
    """Save a picture (JPEG) of a page.

    Example:
      homarus browser screenshot page.jpg
    """
    _save(_call(home, "screenshot", profile=profile, tab=tab, **how), file, as_json)


@command.command("pdf")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@_TAB
@_PROFILE
@home_option
@json_option
def pdf(file: Path, tab: str | None, profile: str | None, home: Path, as_json: bool) -> None:
    """Save a page as a PDF.

    Example:
      homarus browser pdf page.pdf
    """
    _save(_call(home, "pdf", profile=profile, tab=tab), file, as_json)


@command.command("attach")
@click.option("--profile", metavar="NAME", required=True, help="A profile with mode: attach and without cdp_url.")
@click.option("--chrome", metavar="URL", default="http://127.0.0.1:9222", show_default=True, help="Its debugging port.")
@home_option
@json_option
def attach(profile: str, chrome: str, home: Path, as_json: bool) -> None:
    """Let agents use the Chrome of this machine, until Ctrl-C.

    Example:
      homarus browser attach --profile laptop
    """
    from integrations.tools.browser.attaching import attach as run  # loads an HTTP library

    def say(text: str) -> None:
        print_json({"attached": chrome}) if as_json else click.echo(text)

    _call(home, "tabs", profile=profile)  # says what a refused WebSocket does not: a wrong token, an unknown profile
    try:
        asyncio.run(run(way(home, f"/browser/attach/{profile}"), chrome, say))
    except HubError as error:
        raise CommandFailed(f"{error.message}.", Exit.NOT_REACHABLE) from error
    except KeyboardInterrupt:
        pass


def _call(home: Path, method: str, **params: Any) -> Any:
    return HubClient(home).call(f"browser.{method}", {name: each for name, each in params.items() if each is not None})


def _use(home: Path, as_json: bool, **params: Any) -> None:
    found = _call(home, "use", **params)
    print_json(found) if as_json else click.echo(found["output"])


def _save(found: dict[str, Any], file: Path, as_json: bool) -> None:
    try:
        file.write_bytes(base64.b64decode(found.pop("data")))
    except OSError as error:
        raise CommandFailed(f"{file} cannot be written: {error.strerror}.") from error
    _print([{**found, "file": str(file)}], as_json)


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    elif rows:
        print_table([tuple(map(_cell, row.values())) for row in rows], tuple(rows[0]))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


add_commands(command, _use, _TAB, _PROFILE, json_option, home_option)
COMMANDS = {"browser": command}
