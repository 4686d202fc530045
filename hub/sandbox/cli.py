"""`homarus sandbox`: the places where programs of agents run."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.times import local_time
from hub.cli.verbs import Answer, verb

BUILD_LIMIT_S = 1_800.0
_WHO = {
    "ownerMain": "an owner, in the main conversation",
    "ownerMainWithWordsFromOutside": "the same, with text that others wrote in it",
    "ownerElsewhere": "an owner, elsewhere",
    "others": "everybody else",
}


@click.group("sandbox", cls=Group)
def command() -> None:
    """List, explain and remove sandboxes, in which programs of agents run.

    Example:
      homarus sandbox explain --agent main
    """


@verb(
    command,
    columns=("name", "engine", "agent", "scope", "made"),
    empty="There is no sandbox; one is made when a program needs it.",
)
def list_(client: HubClient) -> Answer:
    """List the sandboxes there are.

    Example:
      homarus sandbox list
    """
    found = client.call("sandbox.list", {})["sandboxes"]
    return found, [
        (
            each["name"],
            each["engine"],
            each["agentId"] or "all",
            each["scope"],
            local_time(each["createdAtMs"]),
        )
        for each in found
    ]


@command.command("explain")
@click.option("--agent", metavar="ID", help="The agent; without it the default one.")
@home_option
@json_option
def explain(agent: str | None, home: Path, as_json: bool) -> None:
    """Show whose programs run in a sandbox, its engine, and its problems.

    Example:
      homarus sandbox explain --agent main --json
    """
    told = HubClient(home).call("sandbox.explain", {} if agent is None else {"agentId": agent})
    if as_json:
        print_json(told)
        return
    click.echo(f"Agent {told['agentId']}: mode {told['mode']}, scope {told['scope']}, ", nl=False)
    click.echo(f"workspace {told['workspaceAccess']}, confines {told['confines']}\n")
    print_table([(who, told["programsRunIn"][key]) for key, who in _WHO.items()], ("programs of", "run in"))
    click.echo()
    print_table([(each["name"], each["problem"] or "works") for each in told["engines"]], ("engine", "state"))
    if told["engine"] is None:
        click.echo("\nNo sandbox can be made here: programs that would run in one do not run.")


@verb(command)
@click.argument("name")
def recreate(client: HubClient, name: str) -> Answer:
    """End what runs in the sandbox NAME and remove it; it is made again on next use. Its files stay.

    Example:
      homarus sandbox recreate homarus-1a2b3c4d-agent-main
    """
    answer = client.call("sandbox.recreate", {"name": name})
    return answer, f"Removed: {answer['name']}. It is made again on next use."


@verb(command)
def prune(client: HubClient) -> Answer:
    """Remove the sandboxes in which nothing runs.

    Example:
      homarus sandbox prune
    """
    removed = client.call("sandbox.prune", {})["removed"]
    return removed, f"Removed: {', '.join(removed) or 'none'}"


@verb(command)
def build(client: HubClient) -> Answer:
    """Make the default image of Docker from Debian's packages, with the program `docker`; it takes some minutes.

    Example:
      homarus sandbox build
    """
    from hub.sandbox.schema import IMAGE

    socket = client.call("config.get", {})["config"].get("docker", {}).get("socket")
    server = ["-H", f"unix://{socket}"] if socket else []
    recipe = resources.files("hub.sandbox").joinpath("Dockerfile").read_bytes()
    try:
        done = subprocess.run(
            ["docker", *server, "build", "-q", "-t", IMAGE, "-"], input=recipe, timeout=BUILD_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandFailed(
            f"docker cannot be run: {error}. Install Docker, or use bubblewrap (docs/sandbox.md)."
        ) from error
    if done.returncode:
        raise CommandFailed(f"docker build ended with {done.returncode}; its output is above")
    engines = client.call("sandbox.explain", {})["engines"]
    problem = next((each["problem"] for each in engines if each["name"] == "docker"), None)
    text = f"Made {IMAGE}." + (f" The hub cannot use it yet: {problem}" if problem else "")
    return {"image": IMAGE, "problem": problem}, text
