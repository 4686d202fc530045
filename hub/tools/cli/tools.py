"""`homarus tools`: which tools there are, and which rule decides about one."""

from __future__ import annotations

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.verbs import Answer, verb


@click.group("tools", cls=Group)
def command() -> None:
    """Show the tools of agents, and why one may be used or not.

    Example:
      homarus tools list
    """


@verb(command, columns=("tool", "group", "usable", "does"))
@click.option("--agent", metavar="ID", help="For this agent; the default agent without it.")
def list_(client: HubClient, agent: str | None) -> Answer:
    """List all tools, and whether the agent may use them for you.

    Example:
      homarus tools list --agent work
    """
    answer = client.call("tools.catalog", {"agentId": agent} if agent else {})
    return answer["tools"], [
        (
            tool["name"],
            tool["group"],
            "yes" if tool["available"] else "no",
            tool["description"].partition(". ")[0].rstrip(".")[:80],
        )
        for tool in answer["tools"]
    ]


@verb(command)
@click.argument("name")
@click.option("--session", metavar="KEY", help="In this session; the default agent's main one without it.")
@click.option(
    "--as",
    "somebody",
    type=click.Choice(["owner", "person", "guest"]),
    default="owner",
    show_default=True,
    help="For whom.",
)
@click.option("--tainted", is_flag=True, help="As while text that others wrote is in the session.")
def explain(client: HubClient, name: str, session: str | None, somebody: str, tainted: bool) -> Answer:
    """Say whether the tool NAME may be used, and what each rule says.

    Example:
      homarus tools explain write --session agent:main:telegram:group:-100 --as person
    """
    params = {"name": name, "as": somebody, "tainted": tainted} | ({"sessionKey": session} if session else {})
    answer = client.call("tools.explain", params)
    lines = [
        f"{answer['tool']} (group:{answer['group']}) in {answer['sessionKey']}, for: {somebody}",
        "May be used." if answer["allowed"] else f"May not be used: {answer['reason']}.",
        *(f"  {'yes' if each['permits'] else 'no ':3}  {each['layer']}" for each in answer["layers"]),
    ]
    return answer, "\n".join(lines)
