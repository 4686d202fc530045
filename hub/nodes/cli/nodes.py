"""`homarus nodes`: what phones and computers may be asked, and asking them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.json_argument import json_object
from hub.cli.options import home_option, json_option, print_json
from hub.cli.verbs import Answer, find_entry, verb

SHORT = 12
_NODE = click.argument("node")


@click.group("nodes", cls=Group)
def command() -> None:
    """Approve what nodes may be asked, and ask them.

    A node is named by its id, the first letters of its id, or its name.

    Example:
      homarus nodes list
      homarus nodes approve "Anna's phone"
      homarus nodes invoke "Anna's phone" location.get
    """


@verb(
    command,
    columns=("id", "name", "platform", "state", "approval", "commands"),
    empty="No nodes. Pair a phone: homarus devices pair",
)
def list_(client: HubClient) -> Answer:
    """List all nodes that ever connected, with their approved commands.

    Example:
      homarus nodes list --json
    """
    nodes = [_shown(each) for each in client.call("node.list")["nodes"]]
    return {"nodes": nodes}, [
        (
            each["id"][:SHORT],
            each["name"],
            each["platform"],
            "connected" if each["connected"] else "away",
            each["approval"],
            ", ".join(each["commands"] or each["waiting"]),
        )
        for each in nodes
    ]


@verb(command)
@_NODE
def describe(client: HubClient, node: str) -> Answer:
    """Show all that is known of the node NODE.

    Example:
      homarus nodes describe "Anna's phone"
    """
    found = client.call("node.describe", {"nodeId": _find(client, node)["id"]})
    facts = ((key, ", ".join(map(str, each)) if isinstance(each, list) else each) for key, each in found.items())
    return found | _shown(found), "\n".join(f"{key}: {fact}" for key, fact in sorted(facts))


@verb(command)
@_NODE
def approve(client: HubClient, node: str) -> Answer:
    """Approve the commands that the node NODE declares and nobody has approved yet.

    Example:
      homarus nodes approve "Anna's phone"
    """
    found = _find(client, node)
    if not found["request_id"]:
        raise CommandFailed(f"Nothing waits to be approved for {found['name']}.", Exit.FINDINGS)
    answer = client.call("node.pair.approve", {"requestId": found["request_id"]})
    return answer, f"{found['name']} may be asked for: {', '.join(answer['node']['commands']) or 'nothing'}."


@verb(command)
@_NODE
def reject(client: HubClient, node: str) -> Answer:
    """Refuse the commands that wait to be approved for the node NODE.

    Example:
      homarus nodes reject "Anna's phone"
    """
    found = _find(client, node)
    answer = client.call("node.pair.reject", {"requestId": found["request_id"] or "none"})
    return answer, f"{found['name']} may not be asked for more than before."


@verb(command)
@_NODE
@click.argument("name")
def rename(client: HubClient, node: str, name: str) -> Answer:
    """Give the node NODE another name.

    Example:
      homarus nodes rename 02be189489ad "Anna's phone"
    """
    answer = client.call("node.rename", {"nodeId": _find(client, node)["id"], "displayName": name})
    return answer, f"It is called {name} now."


@verb(command)
@_NODE
def remove(client: HubClient, node: str) -> Answer:
    """Forget the node NODE and what waits for it; it must be paired again.

    Example:
      homarus nodes remove "Anna's phone"
    """
    found = _find(client, node)
    return client.call("node.pair.remove", {"nodeId": found["id"]}), f"{found['name']} is removed."


@verb(command)
@_NODE
@click.argument("message")
@click.option("--title", default="Homarus", help="Above it.")
def notify(client: HubClient, node: str, message: str, title: str) -> Answer:
    """Show MESSAGE as a notification on the node NODE.

    Example:
      homarus nodes notify "Anna's phone" "The washing is done" --title Laundry
    """
    request = {"command": "system.notify", "params": {"title": title, "body": message}}
    return client.call("node.invoke", {"nodeId": _find(client, node)["id"], **request}), "It is shown."


@command.command("invoke")
@click.argument("node")
@click.argument("command_name", metavar="COMMAND")
@click.option("--params", default="{}", metavar="JSON", help="What the command takes.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(1, 600), default=30, help="Seconds to wait.")
@click.option("--no-wait", is_flag=True, help="Have it done when the node next connects.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the picture or film to this file.")
@home_option
@json_option
def invoke(
    node: str,
    command_name: str,
    params: str,
    timeout_s: float,
    no_wait: bool,
    save: Path | None,
    home: Path,
    as_json: bool,
) -> None:
    """Have the node NODE do COMMAND, and print its answer.

    Example:
      homarus nodes invoke "Anna's phone" location.get --params '{"timeoutMs": 10000}'
      homarus nodes invoke laptop system.notify --params '{"title": "Tea"}' --no-wait
    """
    client = HubClient(home)
    request = {
        "nodeId": _find(client, node)["id"],
        "command": command_name,
        "params": json_object(params, "--params"),
        "timeoutMs": int(timeout_s * 1000),
        "noWait": no_wait,
    }
    answer = client.call("node.invoke", request, timeout_s=timeout_s + 5)
    payload = answer.get("payload")
    if save is not None and isinstance(payload, Mapping) and isinstance(payload.get("base64"), str):
        save.write_bytes(base64.b64decode(payload["base64"]))
    if as_json:
        print_json(answer)
        return
    if no_wait:
        click.echo(f"It waits for the node as {answer['queued']['id']}.")
        return
    print_json({key: value for key, value in payload.items() if key != "base64"} if payload else payload)


def _find(client: HubClient, given: str) -> dict[str, Any]:
    nodes = map(_shown, client.call("node.list")["nodes"])
    return find_entry(nodes, given, ("id", "request_id"), "there is no node", "homarus nodes list")


def _shown(node: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": node["nodeId"],
        "name": node["displayName"],
        "platform": node["platform"],
        "commands": node["commands"],
        "caps": node["caps"],
        "connected": node["connected"],
        "approval": node["approvalState"],
        "request_id": node.get("pendingRequestId"),
        "waiting": node.get("pendingDeclaredCommands", []),
        "last_seen_ms": node.get("lastSeenAtMs"),
    }
