"""`homarus browser`: the browser of the running hub."""

from __future__ import annotations

import asyncio
import base64
import shutil
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.hub_link import way
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.times import local_time
from hub.cli.verbs import Answer, verb
from hub.core.errors import HubError
from integrations.tools.browser.cli_acting import add_commands

EXTENSION = Path(__file__).with_name("extension")
_CLICKS = """The extension is in {folder}

1. Open chrome://extensions and switch on "Developer mode".
2. Press "Load unpacked" and choose that folder.
3. Press the jigsaw piece beside the address, and the pin of Homarus.
4. Where the hub runs: homarus browser extension pair
   Paste the code into the options of the extension, which the first press of its button shows.

Then a press of the button hands over the tab that you see; another takes it back.
After an update of the hub press "Reload" in chrome://extensions."""
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


@verb(command)
def status(client: HubClient) -> Answer:
    """List the profiles, which of them run, and who has taken over.

    Example:
      homarus browser status
    """
    return _rows(_call(client, "status"))


@verb(command)
@_PROFILE
def start(client: HubClient, profile: str | None) -> Answer:
    """Start a profile.

    Example:
      homarus browser start --profile lan
    """
    return _rows([_call(client, "start", profile=profile)])


@verb(command)
@_PROFILE
def stop(client: HubClient, profile: str | None) -> Answer:
    """Stop a profile.

    Example:
      homarus browser stop
    """
    return _rows([_call(client, "stop", profile=profile)])


@verb(command)
@_PROFILE
def tabs(client: HubClient, profile: str | None) -> Answer:
    """List the tabs of a profile.

    Example:
      homarus browser tabs
    """
    return _rows(_call(client, "tabs", profile=profile))


@verb(command)
@click.argument("url", metavar="URL")
@_PROFILE
def open_(client: HubClient, url: str, profile: str | None) -> Answer:
    """Open an address in a new tab; starts the browser if it does not run.

    Example:
      homarus browser open https://example.com
    """
    return _rows([_call(client, "open", profile=profile, url=url)])


@verb(command)
@_TAB
@_PROFILE
@click.option("--refs", type=click.Choice(["ai", "role"]), default="ai", show_default=True, help="12 or e12.")
@click.option("--interactive", is_flag=True, help="Only what can be acted on.")
@click.option("--compact", is_flag=True, help="Without what only holds others.")
@click.option("--depth", metavar="N", type=click.IntRange(1, 100), help="No deeper than this.")
def snapshot(client: HubClient, tab: str | None, profile: str | None, **form: Any) -> Answer:
    """Print a page as an agent sees it.

    Example:
      homarus browser snapshot --interactive
    """
    found = _call(client, "snapshot", profile=profile, tab=tab, **form)
    return found, found["snapshot"]


@verb(command)
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@_TAB
@_PROFILE
@click.option("--full-page", is_flag=True, help="All of it, not only what is in the window.")
@click.option("--labels", is_flag=True, help="With the refs on it.")
def screenshot(client: HubClient, file: Path, tab: str | None, profile: str | None, **how: bool) -> Answer:
    """Save a picture (JPEG) of a page.

    Example:
      homarus browser screenshot page.jpg
    """
    return _saved(_call(client, "screenshot", profile=profile, tab=tab, **how), file)


@verb(command)
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@_TAB
@_PROFILE
def pdf(client: HubClient, file: Path, tab: str | None, profile: str | None) -> Answer:
    """Save a page as a PDF.

    Example:
      homarus browser pdf page.pdf
    """
    return _saved(_call(client, "pdf", profile=profile, tab=tab), file)


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

    _call(
        HubClient(home), "tabs", profile=profile
    )  # says what a refused WebSocket does not: a wrong token, an unknown profile
    try:
        asyncio.run(run(way(home, f"/browser/attach/{profile}"), chrome, say))
    except HubError as error:
        raise CommandFailed(f"{error.message}.", Exit.NOT_REACHABLE) from error
    except KeyboardInterrupt:
        pass


@command.group("extension", cls=Group)
def extension() -> None:
    """Hand over one tab of your Chrome with the browser extension.

    Example:
      homarus browser extension install
    """


@extension.command("path")
@home_option
@json_option
def path(home: Path, as_json: bool) -> None:
    """Print the folder of the extension.

    Example:
      homarus browser extension path
    """
    print_json({"path": str(EXTENSION)}) if as_json else click.echo(EXTENSION)


@extension.command("install")
@click.option("--to", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Copy it there first.")
@home_option
@json_option
def install(to: Path | None, home: Path, as_json: bool) -> None:
    """Say how the extension is loaded into a Chrome, which only a person can do.

    Example:
      homarus browser extension install
      homarus browser extension install --to ~/homarus-extension
    """
    if to is not None:
        try:
            shutil.copytree(EXTENSION, to, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise CommandFailed(f"{to} cannot be written: {error}.") from error
    folder = (to or EXTENSION).absolute()
    print_json({"path": str(folder)}) if as_json else click.echo(_CLICKS.format(folder=folder))


@extension.command("pair")
@click.option("--url", metavar="URL", help="The address by which that Chrome reaches the hub: wss://hub.example.")
@home_option
@json_option
def pair(url: str | None, home: Path, as_json: bool) -> None:
    """Print a code with which the extension of one Chrome connects, once, within ten minutes.

    Example:
      homarus browser extension pair
      homarus browser extension pair --url wss://hub.example:18789
    """
    params = {"bootstrapProfile": "tab", "includeQr": False} | ({"publicUrl": url} if url else {})
    made = HubClient(home).call("device.pair.setupCode", params)
    if as_json:
        print_json(made)
        return
    click.echo(f"Setup code: {made['setupCode']}")
    until = local_time(made["expiresAtMs"], "%H:%M")
    click.echo(f"For {made['gatewayUrl']}, one browser, until {until}. It may hand over tabs, and nothing else.")


def _call(client: HubClient, method: str, **params: Any) -> Any:
    return client.call(f"browser.{method}", {name: each for name, each in params.items() if each is not None})


def _use(home: Path, as_json: bool, **params: Any) -> None:
    found = _call(HubClient(home), "use", **params)
    print_json(found) if as_json else click.echo(found["output"])


def _saved(found: dict[str, Any], file: Path) -> Answer:
    try:
        file.write_bytes(base64.b64decode(found.pop("data")))
    except OSError as error:
        raise CommandFailed(f"{file} cannot be written: {error.strerror}.") from error
    return _rows([{**found, "file": str(file)}])


def _rows(rows: list[dict[str, Any]]) -> Answer:
    table = [tuple(map(_cell, row.values())) for row in rows]
    return rows, lambda: print_table(table, tuple(rows[0])) if rows else None


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


add_commands(command, _use, _TAB, _PROFILE, json_option, home_option)
COMMANDS = {"browser": command}
