"""`homarus status`: what runs and how it is."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json, print_table

WORKS = "set_up"
WIDTH = 100


@click.command("status", cls=CliCommand)
@home_option
@json_option
def command(home: Path, as_json: bool) -> None:
    """Show the running hub: integrations, agents, models and open repairs.

    Example:
      homarus status --json
    """
    status = HubClient(home).call("status")
    if as_json:
        print_json(status)
        return
    click.echo(f"Homarus {status['version']}, {status['state']}, up {_duration(status['uptime_s'])}, {home}")
    model = status["models"]
    click.echo(f"Model: {model.get('default') or 'none'}" + (f" ({model['reason']})" if model.get("reason") else ""))
    click.echo("Agents: " + ", ".join(agent["id"] for agent in status["agents"]))
    found = status["integrations"]
    working = [each["domain"] for each in found if each["state"] == WORKS]
    told = f"Integrations ({len(working)} of {len(found)} work): {', '.join(working)}"
    click.echo(click.wrap_text(told, WIDTH, subsequent_indent="  "))
    if others := [each for each in found if each["state"] != WORKS]:
        click.echo()
        rows = [(each["domain"], each["state"], each.get("reason") or "") for each in others]
        print_table(rows, ("integration", "state", ""))
    for each in status.get("waiting", []):
        click.echo(f"\nNot sent yet: {each['count']} to {each['channel']} ({each['account']}): {each['why']}")
    for repair in status.get("repairs", []):
        click.echo(f"\n{repair['severity']}: {repair['title']}\n  {repair['text']}")
        if repair.get("command"):
            click.echo(f"  fix  {repair['command']}")


def _duration(seconds: float) -> str:
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{left} s"
