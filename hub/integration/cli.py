"""`homarus integration`: list and write integrations, install them from elsewhere, reload, enable and disable them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import command_on, home_option, json_option, print_json
from hub.cli.verbs import Answer, verb
from hub.integration.catalog import CUSTOM_FOLDER, find
from hub.integration.scaffold import PIECES, write_integration
from hub.skills.cli.skill_sources import install_params

CALL_LIMIT_S = 90.0
"""Setting an integration up may take a minute."""
_DOMAIN = click.argument("domain", metavar="DOMAIN")
_RIGHTS = (
    "It is a program: once enabled it runs inside the hub, with all its rights. It can read your keys and act as you."
)
_REACHES = {"network": "Reaches the network", "files": "Reads or writes files", "programs": "Starts programs"}
_REQUIREMENTS = {
    "installed": "installed",
    "locked": "installed from the lock of Homarus when it is enabled",
    "missing": "neither installed nor in the lock of Homarus: install it yourself first",
}


@click.group("integration", cls=Group)
def command() -> None:
    """List, write, install, reload, enable and disable integrations.

    Example:
      homarus integration list
      homarus integration new doorbell --tool --trigger
      homarus integration reload doorbell
    """


@verb(command, columns=("integration", "state", "", "reason"))
def list_(client: HubClient) -> Answer:
    """List the integrations with their state and the reason for it.

    Example:
      homarus integration list
    """
    answer = client.call("integration.list")
    found = answer["integrations"]
    rows = [(each["domain"], each["state"], "own" if each["custom"] else "", each["reason"]) for each in found]
    told = "look at it, then enable it"
    rows += [(domain, "waiting", "own", f"{told}: homarus integration enable {domain}") for domain in answer["waiting"]]
    return [*found, *({"domain": domain, "state": "waiting"} for domain in answer["waiting"])], rows


def _piece_options(decorated: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each piece that an integration can bring."""
    for name, piece in reversed(list(PIECES.items())):
        decorated = click.option(f"--{name}", name, is_flag=True, help=piece.help)(decorated)
    return decorated


@command.command("new")
@click.argument("name", metavar="NAME")
@_piece_options
@click.option("--to", metavar="DIR", help="The folder to write it below.  [default: custom_integrations of the home]")
@home_option
@json_option
def new(name: str, to: str | None, home: Path, as_json: bool, **wanted: bool) -> None:
    """Write a new integration that works, with a test of each piece that it brings.

    It is made from the bundled examples, and needs no running hub.

    Example:
      homarus integration new doorbell --tool --trigger
      homarus integration new front_desk --channel --to ~/src
    """
    below = Path(to).expanduser().absolute() if to else home / CUSTOM_FOLDER
    files = write_integration(below, name, [piece for piece in PIECES if wanted[piece]], _taken(home))
    folder = below / name
    if as_json:
        print_json({"domain": name, "path": str(folder), "files": files})
        return
    click.echo(f"Written into {folder}:\n" + "".join(f"  {file}\n" for file in files))
    click.echo(
        f"Its tests:        python -m pytest {shlex.quote(str(folder))}   (with the package pytest)\n"
        f"To use it:        write `{name}: {{}}` into configuration.yaml; the first lines of each file say what else\n"
        f"After each edit:  {command_on(home, f'homarus integration reload {name}')}"
    )


def _taken(home: Path) -> dict[str, str]:
    """Return the names that a new integration cannot have, with what has them."""
    from hub.cli.app import commands
    from hub.sections import all_sections

    return {
        **dict.fromkeys(commands(), "a command of homarus"),
        **{section.name: "a section of the configuration" for section in all_sections().core()},
        **{each.domain: "an integration" for each in find(home).values() if not each.custom},
    }


@verb(command)
@_DOMAIN
@click.option("--install", is_flag=True, help="Install the packages it needs, whatever `hub: install` says.")
def reload(client: HubClient, domain: str, install: bool) -> Answer:
    """Read an integration's files again and set it up again. Exits 1 when it does not work then.

    Example:
      homarus integration reload doorbell
      homarus integration reload telegram --install
    """
    return _changed(client, "integration.reload", domain, install=install)


@command.command("install")
@click.argument("source", metavar="DIR|ZIP|URL|GIT")
@click.option("--path", metavar="FOLDER", help="The integration, where the source holds several.")
@click.option("--replace", is_flag=True, help="Take the place of one of the same name, once it is enabled.")
@home_option
@json_option
def install(source: str, path: str | None, replace: bool, home: Path, as_json: bool) -> None:
    """Fetch an integration and show what it is. It waits until it is enabled; nothing of it is run.

    Example:
      homarus integration install https://github.com/owner/homarus-rain
      homarus integration install ./rain.zip
    """
    found = _install(source, home, path=path, replace=replace)
    if as_json:
        print_json(found)
        return
    _print(found)
    if found["state"] == "waiting":
        click.echo(f"\nIt waits. Look at it, then: homarus integration enable {found['domain']}")


@command.command("info")
@_DOMAIN
@click.option("--text", is_flag=True, help="Show its files as well.")
@home_option
@json_option
def info(domain: str, text: bool, home: Path, as_json: bool) -> None:
    """Show an integration from elsewhere: what it imports, what it reaches, and what the scan found.

    Example:
      homarus integration info rain --text
    """
    found = HubClient(home).call("integration.info", {"domain": domain, "text": text}, timeout_s=CALL_LIMIT_S)
    if as_json:
        print_json(found)
        return
    _print(found)
    for path, content in found["text"].items():
        click.echo(f"\n--- {path}\n{_plain(content)}")


@command.command("update")
@click.argument("domain", metavar="[DOMAIN]", required=False)
@home_option
@json_option
def update(domain: str | None, home: Path, as_json: bool) -> None:
    """Fetch installed integrations again from where they came from. What changed waits until it is enabled.

    Example:
      homarus integration update rain
    """
    client = HubClient(home)
    listed = [each["domain"] for each in client.call("integration.list")["integrations"] if each["custom"]]
    results = []
    for each in [name for name in listed if domain in (None, name)]:
        origin = HubClient(home).call("integration.info", {"domain": each}, timeout_s=CALL_LIMIT_S)["origin"]
        if source := origin.get("source"):
            found = _install(source, home, path=origin.get("path"), replace=True, domain=each)
            results.append({"domain": each, "changed": found["state"] == "waiting"})
    if as_json:
        print_json(results)
        return
    for result in results:
        told = f"changed; look at it, then: homarus integration enable {result['domain']}"
        click.echo(f"{result['domain']} {told if result['changed'] else 'is current'}")
    if not results:
        click.echo("No integration was installed from somewhere that is known.")


@verb(command)
@_DOMAIN
def remove(client: HubClient, domain: str) -> Answer:
    """Delete an integration from elsewhere that waits, or that nothing uses.

    Example:
      homarus integration remove rain
    """
    found = client.call("integration.remove", {"domain": domain})
    return found, f"{domain} is removed." if found["which"] != "waiting" else f"{domain} does not wait any more."


@verb(command)
@_DOMAIN
@click.option("--accept-findings", "accept", is_flag=True, help="Enable it in spite of what the scan found.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def enable(client: HubClient, domain: str, accept: bool, yes: bool) -> Answer:
    """Take an integration out of `hub: disabled` and set it up; one that was installed is shown first.

    Exits 1 when it does not work then.

    Example:
      homarus integration enable doorbell
    """
    listed = client.call("integration.list")
    custom = {each["domain"] for each in listed["integrations"] if each["custom"]}
    if domain in listed["waiting"] or domain in custom:
        found = client.call("integration.info", {"domain": domain}, timeout_s=CALL_LIMIT_S)
        if found["state"] in ("waiting", "changed"):
            click.echo(_told(found), err=True)
            if not yes:
                click.confirm("Enable it?", abort=True, err=True)
            return _changed(client, "integration.enable", domain, digest=found["digest"], accept=accept)
    return _changed(client, "integration.enable", domain)


@verb(command)
@_DOMAIN
def disable(client: HubClient, domain: str) -> Answer:
    """Unload an integration and write it into `hub: disabled`, so that it stays off after a restart.

    Example:
      homarus integration disable doorbell
    """
    return _changed(client, "integration.disable", domain)


def _install(
    source: str, home: Path, *, path: str | None, replace: bool, domain: str | None = None
) -> Mapping[str, Any]:
    params = install_params(source)
    if "ref" in params:
        raise CommandFailed(f"{source} is a skill of a registry; there is none of integrations", Exit.USAGE)
    wanted = {"path": path, "domain": domain}
    params |= {"replace": replace, **{key: value for key, value in wanted.items() if value}}
    found: Mapping[str, Any] = HubClient(home).call("integration.install", params, timeout_s=CALL_LIMIT_S)
    return found


def _print(found: Mapping[str, Any]) -> None:
    click.echo(_told(found))


def _told(found: Mapping[str, Any]) -> str:
    """Return what a person should know of an integration before enabling it."""
    lines = [f"{found['domain']} {found['version']}: {found['description'] or found['name']}", _RIGHTS]
    if origin := found["origin"].get("source"):
        lines.append(f"From: {origin}")
    if found["default"]:
        lines.append("It is set up without being configured.")
    lines += [f"Brings {kind}: {', '.join(names)}" for kind, names in found["brings"].items()]
    lines.append(f"Imports: {', '.join(found['imports']) or 'nothing but Python'}")
    lines += [f"{_REACHES[kind]}: {', '.join(places)}" for kind, places in found["reaches"].items() if places]
    lines += [f"Python package {name}: {_REQUIREMENTS[state]}" for name, state in found["requirements"].items()]
    if found["differs"]:
        lines.append(f"Not as it is now: {', '.join(found['differs'])}")
    lines.append("Files: " + ", ".join(f"{each['path']} ({each['bytes']} bytes)" for each in found["files"]))
    for each in found["findings"]:
        place = each["path"] + (f" line {each['line']}" if each["line"] else "")
        lines.append(f"  {each['severity']}: {place} {each['message']}")
    return _plain("\n".join(lines))


def _plain(text: str) -> str:
    """Return somebody else's text without what a terminal obeys."""
    return "".join(each if each.isprintable() or each in "\n\t" else "�" for each in text)


def _changed(client: HubClient, method: str, domain: str, **more: Any) -> Answer:
    found = client.call(method, {"domain": domain, **more}, timeout_s=CALL_LIMIT_S)
    reason = f": {found['reason']}" if found["reason"] else ""
    code = Exit.FINDINGS if found["state"] in ("failed", "retrying") else Exit.OK
    return found, f"{domain} is {found['state']}{reason}.", code
