"""`homarus skills`: list, inspect, enable, disable, search, install, update and remove skills."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json
from hub.cli.verbs import Answer, verb
from hub.skills.cli.skill_sources import install_params

CALL_LIMIT_S = 120.0
DESCRIPTION_SHOWN = 60
TROUBLE = ("quarantined", "changed", "broken")
_NAME = click.argument("name", metavar="NAME")
_ACCEPT = click.option("--accept-findings", "accept", is_flag=True, help="Enable it in spite of what the scan found.")


@click.group("skills", cls=Group)
def command() -> None:
    """List, inspect, enable, search, install and remove skills.

    Example:
      homarus skills list
      homarus skills install ./my-skill
    """


@verb(command, columns=("skill", "state", ""))
def list_(client: HubClient) -> Answer:
    """List the skills with their state and the reason for it.

    Example:
      homarus skills list
    """
    found = client.call("skills.status")["skills"]
    return found, [(each["id"], each["state"], each["reason"] or _short(each["description"])) for each in found]


@command.command("info")
@_NAME
@click.option("--text", is_flag=True, help="Show its SKILL.md as well.")
@home_option
@json_option
def info(name: str, text: bool, home: Path, as_json: bool) -> None:
    """Show a skill, its files, and the findings of the scan.

    Example:
      homarus skills info shopping-list --text
    """
    found = HubClient(home).call("skills.info", {"name": name})
    if as_json:
        print_json(found)
        return
    _print(found)
    if text:
        click.echo(f"\n{found['text']}")


@verb(command, columns=("skill", "state", "reason"))
def check(client: HubClient) -> Answer:
    """Show what keeps skills from being used. Exits 1 when one is broken, changed or in quarantine.

    Example:
      homarus skills check
    """
    found = client.call("skills.status")["skills"]
    off = [each for each in found if each["state"] not in ("ready", "disabled", "shadowed")]
    code = Exit.FINDINGS if any(each["state"] in TROUBLE for each in off) else Exit.OK
    rows = [(each["id"], each["state"], each["reason"]) for each in off]
    return off, rows or f"All {len(found)} skills are in order.", code


@command.command("enable")
@_NAME
@_ACCEPT
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def enable(name: str, accept: bool, yes: bool, home: Path, as_json: bool) -> None:
    """Show a skill and enable it until its files change.

    Example:
      homarus skills enable home/weather
    """
    found = HubClient(home).call("skills.info", {"name": name})
    if not as_json:
        _print(found)
    if not yes:
        click.confirm("Enable it?", abort=True, err=True)
    _enable(found, home, accept=accept, as_json=as_json)


@verb(command)
@_NAME
def disable(client: HubClient, name: str) -> Answer:
    """Switch a skill off.

    Example:
      homarus skills disable travel-packing
    """
    found = client.call("skills.update", {"skillKey": name, "enabled": False})["skill"]
    return found, f"{found['id']} is {found['state']}."


@command.command("search")
@click.argument("words", metavar="WORDS", nargs=-1, required=True)
@click.option("--registry", metavar="NAME", help="Ask only this one of `skills: registries:`.")
@click.option("--limit", type=click.IntRange(1, 100), help="At most so many; without it, 20 of each registry.")
@home_option
@json_option
@click.pass_context
def search(
    ctx: click.Context, words: tuple[str, ...], registry: str | None, limit: int | None, home: Path, as_json: bool
) -> None:
    """Search in the registries, which are sent the words. Exits 1 when one could not be asked.

    What is shown are the words of whoever published a skill; nothing is installed.

    Example:
      homarus skills search weather
    """
    given = {"query": " ".join(words), "registry": registry, "limit": limit}
    params = {name: value for name, value in given.items() if value}
    found = HubClient(home).call("skills.search", params, timeout_s=CALL_LIMIT_S)
    if as_json:
        print_json(found)
    else:
        for each in found["results"]:
            downloads = f"{each['downloads']} downloads" if "downloads" in each else None
            facts = (each.get("version"), downloads, each.get("url"))
            click.echo(f"{each['installRef']}  {each['displayName']}" + "".join(f"  {fact}" for fact in facts if fact))
            click.echo(f"    {each['summary']}")
        if found["results"]:
            click.echo("\nLook at one, before it is used: homarus skills install REGISTRY:NAME")
        elif not found["failed"]:
            click.echo("Nothing was found.")
        for name, reason in found["failed"].items():
            click.echo(f"{name}: {reason}", err=True)
    ctx.exit(Exit.FINDINGS if found["failed"] else Exit.OK)


@command.command("install")
@click.argument("source", metavar="DIR|ZIP|URL|GIT|REGISTRY:NAME")
@click.option("--path", metavar="FOLDER", help="The skill, where the source holds several.")
@click.option("--replace", is_flag=True, help="Take the place of one of the same name.")
@click.option("--enable", "enables", is_flag=True, help="Enable it at once, unless the scan finds signs of harm.")
@home_option
@json_option
def install(source: str, path: str | None, replace: bool, enables: bool, home: Path, as_json: bool) -> None:
    """Install a skill into the home. It is scanned, and off until it is enabled; nothing of it is run.

    Example:
      homarus skills install https://example.org/weather.zip
      homarus skills install https://github.com/owner/skills.git --path weather
      homarus skills install clawhub:owner/weather@1.2.0
    """
    found = _install(source, home, path=path, replace=replace)
    if not enables:
        if as_json:
            print_json(found)
            return
        _print(found)
        click.echo(f"\nIt is off. Look at it, then: homarus skills enable {found['skill']['id']}")
        return
    if not as_json:
        _print(found)
    _enable(found, home, accept=False, as_json=as_json)


@command.command("update")
@click.argument("name", metavar="[NAME]", required=False)
@home_option
@json_option
def update(name: str | None, home: Path, as_json: bool) -> None:
    """Fetch installed skills again from where they came from. One that changed is off until it is enabled again.

    Example:
      homarus skills update weather
    """
    client = HubClient(home)
    skills = [each for each in client.call("skills.status")["skills"] if each["origin"].get("source")]
    chosen = [each for each in skills if each["source"] == "home" and name in (None, each["id"], each["name"])]
    results = []
    for each in chosen:
        before = HubClient(home).call("skills.info", {"name": each["id"]})["digest"]
        after = _install(each["origin"]["source"], home, path=each["origin"].get("path"), replace=True)
        results.append({"id": each["id"], "changed": after["digest"] != before})
    if as_json:
        print_json(results)
        return
    for result in results:
        told = f"changed; look at it, then: homarus skills enable {result['id']}" if result["changed"] else "is current"
        click.echo(f"{result['id']} {told}")
    if not results:
        click.echo("No skill was installed from somewhere that is known.")


@verb(command)
@_NAME
def remove(client: HubClient, name: str) -> Answer:
    """Delete a skill that was installed into the home, or a proposal.

    Example:
      homarus skills remove home/weather
    """
    found = client.call("skills.remove", {"name": name})
    return found, f"{found['id']} is removed."


def _install(source: str, home: Path, *, path: str | None, replace: bool) -> Mapping[str, Any]:
    params = {**install_params(source), "replace": replace, **({"path": path} if path else {})}
    found: Mapping[str, Any] = HubClient(home).call("skills.install", params, timeout_s=CALL_LIMIT_S)
    return found


def _enable(found: Mapping[str, Any], home: Path, *, accept: bool, as_json: bool) -> None:
    params = {"skillKey": found["skill"]["id"], "enabled": True, "digest": found["digest"], "accept": accept}
    skill = HubClient(home).call("skills.update", params)["skill"]
    print_json(skill) if as_json else click.echo(f"{skill['id']} is {skill['state']}.")


def _print(found: Mapping[str, Any]) -> None:
    skill = found["skill"]
    click.echo(f"{skill['id']}: {skill['description']}")
    click.echo(f"State: {skill['state']}" + (f" ({skill['reason']})" if skill["reason"] else ""))
    if origin := skill["origin"].get("source"):
        click.echo(f"From: {origin}")
    if found["files"]:
        click.echo("Files: " + ", ".join(f"{each['path']} ({each['bytes']} bytes)" for each in found["files"]))
    for each in found["findings"]:
        place = each["path"] + (f" line {each['line']}" if each["line"] else "")
        click.echo(f"  {each['severity']}: {place} {each['message']}")


def _short(text: str) -> str:
    return text if len(text) <= DESCRIPTION_SHOWN else f"{text[:DESCRIPTION_SHOWN]}…"
