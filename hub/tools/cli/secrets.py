"""`homarus secrets`: keys that agents use by name and never see."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.times import DAY, local_time
from hub.cli.verbs import Answer, verb

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group("secrets", cls=Group)
def command() -> None:
    """Set, list and remove secrets of agents.

    Example:
      homarus secrets set GITHUB_TOKEN
      homarus secrets list
    """


def holder_options(command: Command) -> Command:
    """Add `--agent` and `--person`: the holder of the secret."""
    command = click.option("--person", metavar="ID", help="Whose it is.  [default: the first owner]")(command)
    return click.option("--agent", metavar="ID", help="The agent that uses it.  [default: the default agent]")(command)


@verb(command)
@click.argument("name")
@holder_options
def set_(client: HubClient, name: str, agent: str | None, person: str | None) -> Answer:
    """Keep the secret NAME. Its value is read without echo, or from the standard input.

    Example:
      homarus secrets set GITHUB_TOKEN
    """
    if sys.stdin.isatty():
        value = click.prompt(f"Value of {name}", hide_input=True, err=True)
    else:
        value = sys.stdin.readline().rstrip("\r\n")
    answer = client.call("secrets.set", {**_params(name, agent, person), "value": value})
    return answer, f"{answer['name']} is kept for {answer['agent']}. The agent uses it as ${answer['name']}."


@verb(
    command, columns=("name", "agent", "person", "since"), empty="No secrets. Add one: homarus secrets set GITHUB_TOKEN"
)
def list_(client: HubClient) -> Answer:
    """List the names of all secrets; no values.

    Example:
      homarus secrets list
    """
    secrets = client.call("secrets.list")["secrets"]
    return secrets, [
        (each["name"], each["agent"], each["person"], local_time(each["createdAtMs"], DAY)) for each in secrets
    ]


@verb(command)
@click.argument("name")
@holder_options
def remove(client: HubClient, name: str, agent: str | None, person: str | None) -> Answer:
    """Forget the secret NAME.

    Example:
      homarus secrets remove GITHUB_TOKEN
    """
    answer = client.call("secrets.remove", _params(name, agent, person))
    return answer, f"{answer['name']} is removed."


def _params(name: str, agent: str | None, person: str | None) -> dict[str, str]:
    return {"name": name} | ({"agent": agent} if agent else {}) | ({"person": person} if person else {})
