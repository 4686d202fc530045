"""`homarus memory intents`: reminders shown whenever a topic comes up."""

from __future__ import annotations

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import WholeNumber
from hub.cli.times import local_time
from hub.cli.verbs import Answer, verb
from hub.memory.cli.memory_options import agent_option, given_params


@click.group("intents", cls=Group)
def intents() -> None:
    """List, add and remove reminders that come when their topic does.

    Example:
      homarus memory intents list
    """


@verb(intents, columns=("id", "topic", "until", "reminder"), empty="No reminders stand.")
@agent_option
def list_(client: HubClient, agent: str | None) -> Answer:
    """List the standing reminders, the newest first.

    Example:
      homarus memory intents list
    """
    found = client.call("memory.intents.list", given_params(agent=agent))["intents"]
    rows = [(each["id"], " or ".join(each["topics"]), local_time(each["expires_ms"]), each["text"]) for each in found]
    return found, rows


@verb(intents)
@click.argument("topic")
@click.argument("remind")
@click.option("--days", type=WholeNumber(min=1), metavar="N", help="How long it is kept.")
@click.option(
    "--every-hours", type=click.FloatRange(min=0), metavar="N", help="The minimum time between two reminders."
)
@agent_option
def add(
    client: HubClient, topic: str, remind: str, days: int | None, every_hours: float | None, agent: str | None
) -> Answer:
    """When TOPIC comes up, say REMIND. Alternatives of a topic are parted by commas.

    Example:
      homarus memory intents add "boiler, heating" "the filter has to be changed in June" --days 200
    """
    topics = [each for part in topic.split(",") if (each := part.strip())]
    params = {"topics": topics, "remind": remind, **given_params(days=days, every_hours=every_hours, agent=agent)}
    answer = client.call("memory.intents.add", params)
    return answer, f"Noted as {answer['id']}, until {local_time(answer['expires_ms'])}."


@verb(intents)
@click.argument("intent", metavar="ID")
@agent_option
def remove(client: HubClient, intent: str, agent: str | None) -> Answer:
    """Remove the reminder ID.

    Example:
      homarus memory intents remove 01a200177528e1384d6779161ef8bec7
    """
    answer = client.call("memory.intents.remove", {"id": intent, **given_params(agent=agent)})
    return answer, f"Removed: {answer['text']}"
