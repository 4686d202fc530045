"""`homarus memory intents`: what is to be brought up whenever a topic comes up."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.memory_options import agent_option, given
from hub.cli.memory_prints import moment
from hub.cli.options import home_option, json_option, print_json, print_table


@click.group("intents", cls=Group)
def intents() -> None:
    """List, add and remove reminders that come when their topic does.

    Example:
      homarus memory intents list
    """


@intents.command("list")
@agent_option
@home_option
@json_option
def list_(agent: str | None, home: Path, as_json: bool) -> None:
    """List the standing reminders, the newest first.

    Example:
      homarus memory intents list
    """
    found = HubClient(home).call("memory.intents.list", given(agent=agent))["intents"]
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("No reminders stand.")
        return
    rows = [(each["id"], " or ".join(each["topics"]), moment(each["expires_ms"]), each["text"]) for each in found]
    print_table(rows, ("id", "topic", "until", "reminder"))


@intents.command("add")
@click.argument("topic")
@click.argument("remind")
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="How long it is kept.")
@click.option(
    "--every-hours", type=click.FloatRange(min=0), metavar="N", help="The minimum time between two reminders."
)
@agent_option
@home_option
@json_option
def add(
    topic: str, remind: str, days: int | None, every_hours: float | None, agent: str | None, home: Path, as_json: bool
) -> None:
    """When TOPIC comes up, say REMIND. Alternatives of a topic are parted by commas.

    Example:
      homarus memory intents add "boiler, heating" "the filter has to be changed in June" --days 200
    """
    topics = [each for part in topic.split(",") if (each := part.strip())]
    params = {"topics": topics, "remind": remind, **given(days=days, every_hours=every_hours, agent=agent)}
    answer = HubClient(home).call("memory.intents.add", params)
    print_json(answer) if as_json else click.echo(f"Noted as {answer['id']}, until {moment(answer['expires_ms'])}.")


@intents.command("remove")
@click.argument("intent", metavar="ID")
@agent_option
@home_option
@json_option
def remove(intent: str, agent: str | None, home: Path, as_json: bool) -> None:
    """Remove the reminder ID.

    Example:
      homarus memory intents remove 01a200177528e1384d6779161ef8bec7
    """
    answer = HubClient(home).call("memory.intents.remove", {"id": intent, **given(agent=agent)})
    print_json(answer) if as_json else click.echo(f"Removed: {answer['text']}")
