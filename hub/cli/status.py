"""`homarus status`: what runs and how it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.times import duration, local_time

WORKS = "set_up"
WIDTH = 80
RECENT = 5
"""How many conversations are shown."""
PROBE_LIMIT_S = 120.0


@click.command("status", cls=CliCommand)
@click.option("--deep", is_flag=True, help="Try the channels and the models too, with a word to each model.")
@home_option
@json_option
def command(deep: bool, home: Path, as_json: bool) -> None:
    """Show the running hub: models, agents, channels, conversations, integrations and repairs.

    With --deep, exits 1 when a channel or a model does not answer.

    Example:
      homarus status
      homarus status --deep
    """
    client = HubClient(home)
    status = client.call("status")
    if status["state"] == "running":
        asked = {"probe": deep}
        status["channels"] = client.call("channels.status", asked, timeout_s=PROBE_LIMIT_S)["channelAccounts"]
        status["recent"] = client.call("sessions.list", {"limit": RECENT})["sessions"]
        status["tried"] = client.call("models.test", timeout_s=PROBE_LIMIT_S)["results"] if deep else []
    failed = not all(map(_works, _accounts(status))) or not all(each["ok"] for each in status.get("tried", ()))
    if as_json:
        print_json(status)
    else:
        _tell(status, home)
    if deep and failed:
        raise click.exceptions.Exit(Exit.FINDINGS)


def _tell(status: Mapping[str, Any], home: Path) -> None:
    click.echo(f"Homarus {status['version']}, {status['state']}, up {duration(status['uptime_s'])}, {home}")
    model = status["models"]
    click.echo(f"Model: {model.get('default') or 'none'}" + (f" ({model['reason']})" if model.get("reason") else ""))
    for each in status.get("tried", ()):
        answer = f"answers in {each['duration_ms']} ms" if each["ok"] else str(each["error"])
        click.echo(f"  {each['model']} ({each['credential']}): {answer}")
    database = status["database"]
    if "home" in database:
        away = f"away since {duration(database['away_s'])}" if database["away_s"] is not None else "reached"
        click.echo(f"Database: {database['database']}, home {database['home']}, {away}")
    click.echo("Agents: " + ", ".join(agent["id"] for agent in status["agents"]))
    for each in _accounts(status):
        click.echo(f"Channel {each['channel']} ({each['accountId']}): {_state(each)}")
    found = status["integrations"]
    working = [each["domain"] for each in found if each["state"] == WORKS]
    told = f"Integrations ({len(working)} of {len(found)} work): {', '.join(working)}"
    click.echo(click.wrap_text(told, WIDTH, subsequent_indent="  "))
    if others := [each for each in found if each["state"] != WORKS]:
        click.echo()
        rows = [(each["domain"], each["state"], each.get("reason") or "") for each in others]
        print_table(rows, ("integration", "state", ""))
    if recent := status.get("recent"):
        click.echo()
        rows = [(local_time(each.get("updatedAt")), each["key"], each.get("title") or "") for each in recent]
        print_table(rows, ("last heard", "conversation", ""))
    for each in status.get("waiting", []):
        click.echo(f"\nNot sent yet: {each['count']} to {each['channel']} ({each['account']}): {each['why']}")
    for repair in status.get("repairs", []):
        click.echo(f"\n{repair['severity']}: {repair['title']}\n  {repair['text']}")
        if repair.get("command"):
            click.echo(f"  fix  {repair['command']}")


def _accounts(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    channels = status.get("channels", {})
    return [{"channel": channel, **each} for channel, accounts in channels.items() for each in accounts]


def _works(account: Mapping[str, Any]) -> bool:
    return bool(account["probe"].get("ok") if "probe" in account else account["connected"])


def _state(account: Mapping[str, Any]) -> str:
    if "probe" in account:
        return "reached" if _works(account) else str(account["probe"].get("error") or account["lastError"])
    error = account["lastError"]
    return f"{account['state']}: {error}" if error else str(account["state"])
