"""`homarus system`: heartbeats, events for agents, and who is connected."""

from __future__ import annotations

import time
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.times import duration, local_time
from hub.cli.verbs import Answer, verb


@click.group("system", cls=Group)
def command() -> None:
    """See and switch heartbeats, tell agents what happened, and see who is connected.

    Example:
      homarus system presence
      homarus system event "The parcel is here" --wake now
    """


@verb(command)
@click.argument("action", type=click.Choice(["last", "on", "off"]), default="last")
def heartbeat(client: HubClient, action: str) -> Answer:
    """Show the last heartbeat, or switch all heartbeats on or off.

    Example:
      homarus system heartbeat
      homarus system heartbeat off
    """
    if action != "last":
        changed = client.call("set-heartbeats", {"enabled": action == "on"})
        names = ", ".join(changed["automations"])
        none = "No automation has a heartbeat; docs/automations.md shows how to write one."
        return changed, f"Heartbeats are {action}: {names}" if names else none
    last = client.call("last-heartbeat")
    if last is None:
        return last, "No heart has beaten since the hub started."
    told = [f"{local_time(last['ts'])}  {last['agentId']}  {last['status']}", last.get("reason"), last.get("preview")]
    return last, "\n  ".join(filter(None, told))


@verb(command)
@click.argument("text")
@click.option(
    "--wake",
    type=click.Choice(("now", "next-heartbeat")),
    default="next-heartbeat",
    show_default=True,
    help="When the agent looks at it.",
)
@click.option("--agent", metavar="ID", help="The agent.  [default: the default agent]")
def event(client: HubClient, text: str, wake: str, agent: str | None) -> Answer:
    """Let an agent see TEXT at its next heartbeat, or at once. `homarus event fire` is for automations.

    Example:
      homarus system event "The washing is done" --wake now
    """
    answer = client.call("wake", {"text": text, "mode": wake, **({"agentId": agent} if agent else {})})
    if wake == "now":
        return answer, "The agent looks at it now."
    return answer, "The agent sees it at its next heartbeat, or with your next message."


@verb(command, columns=("name", "kind", "platform", "state", "heard", "address"))
def presence(client: HubClient) -> Answer:
    """List who is connected: the hub, dashboards, phones and computers, with who was active of late.

    Example:
      homarus system presence --json
    """
    found = client.call("system-presence")
    return found, [_row(each) for each in found]


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    heard = "now" if entry["reason"] == "self" else f"{duration(max(0, time.time() - entry['ts'] / 1000))} ago"
    names = ("host", "mode", "platform", "state")
    return (*(str(entry.get(name) or "") for name in names), heard, str(entry.get("ip") or ""))
