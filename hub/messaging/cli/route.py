"""`homarus route`: which agent answers whom, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json


@click.group("route", cls=Group)
def command() -> None:
    """Explain where messages go.

    Example:
      homarus route explain --channel telegram --peer 123456789
    """


@command.command("explain")
@click.option("--channel", required=True, metavar="NAME", help="The channel.")
@click.option("--peer", required=True, metavar="ID", help="The platform's id of the person or group.")
@click.option("--account", default="default", show_default=True, metavar="NAME", help="The account of the channel.")
@click.option(
    "--chat-type", default="direct", show_default=True, type=click.Choice(["direct", "group", "channel"]), help="Where."
)
@click.option("--sender", metavar="IDENTITY", help="Who writes; for a direct conversation the peer without it.")
@click.option("--thread", metavar="ID", help="The thread.")
@click.option("--topic", metavar="ID", help="The topic of a group.")
@click.option("--parent", metavar="ID", help="The room that a thread hangs in.")
@click.option("--guild", "--team", "space", metavar="ID", help="The server or workspace of the room.")
@click.option("--role", "roles", multiple=True, metavar="ID", help="A role of the sender; may be given several times.")
@home_option
@json_option
def explain(home: Path, as_json: bool, space: str | None, chat_type: str, **stated: Any) -> None:
    """Explain whether a message would be let in, which agent answers it in which session, and which rules decide.

    Example:
      homarus route explain --channel telegram --peer 123456789 --json
      homarus route explain --channel discord --peer 77 --chat-type channel --guild 5 --sender discord:user:1
    """
    facts = {key: value for key, value in {**stated, "space": space}.items() if value is not None}
    answer = HubClient(home).call("route.explain", {**facts, "chatType": chat_type, "roles": list(stated["roles"])})
    if as_json:
        print_json(answer)
        return
    access, found, send = answer["access"], answer["route"], answer["send"]
    click.echo(f"Let in:   {'yes' if access['allowed'] else 'no'} ({access['reason']})")
    if access["activation"]:
        click.echo(f"Answers:  {'all messages' if access['activation'] == 'always' else 'messages that mention it'}")
    binding = f"bindings[{found['binding']}], by " if found["binding"] is not None else ""
    click.echo(f"Agent:    {', '.join([found['agentId'], *found['alsoAgents']])} ({binding}{found['matchedBy']})")
    click.echo(f"Session:  {', '.join([found['sessionKey'], *found['alsoSessions']])}")
    click.echo(f"Replies:  {'sent' if send['allowed'] else 'not sent'} ({send['rule']})")
    if not answer["channel"]["loggedIn"]:
        where = f"{stated['channel']} account {stated['account']!r}"
        click.echo(f"{where} is not logged in: the rules are those of a channel that states none.")
