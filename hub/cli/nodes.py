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
from hub.cli.options import home_option, json_option, print_json, print_table

SHORT = 12


@click.group("nodes", cls=Group)
def command() -> None:
    """Approve what nodes may be asked, and ask them.

    A node is named by its id, the first letters of its id, or its name.

    Example:
      homarus nodes list
      homarus nodes approve "Anna's phone"
      homarus nodes invoke "Anna's phone" location.get
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List all nodes that ever connected, with what they may be asked.

    Example:
      homarus nodes list --json
    """
    nodes = [_shown(each) for each in HubClient(home).call("node.list")["nodes"]]
    if as_json:
        print_json({"nodes": nodes})
        return
    if not nodes:
        click.echo("No nodes. Pair a phone: homarus devices pair")
        return
    rows = [
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
    print_table(rows, ("id", "name", "platform", "state", "approval", "commands"))


@command.command("describe")
@click.argument("node")
@home_option
@json_option
def describe(node: str, home: Path, as_json: bool) -> None:
    """Show all that is known of the node NODE.

    Example:
      homarus nodes describe "Anna's phone"
    """
    client = HubClient(home)
    found = client.call("node.describe", {"nodeId": _id_of(client, node)})
    if as_json:
        print_json(found | _shown(found))
        return
    for key in sorted(found):
        click.echo(f"{key}: {', '.join(map(str, found[key])) if isinstance(found[key], list) else found[key]}")


@command.command("approve")
@click.argument("node")
@home_option
@json_option
def approve(node: str, home: Path, as_json: bool) -> None:
    """Let the node NODE be asked for the commands that it declares and nobody has approved yet.

    Example:
      homarus nodes approve "Anna's phone"
    """
    client = HubClient(home)
    found = _find(client, node)
    if not found["request_id"]:
        raise CommandFailed(f"Nothing waits to be approved for {found['name']}.", Exit.FINDINGS)
    answer = client.call("node.pair.approve", {"requestId": found["request_id"]})
    if as_json:
        print_json(answer)
        return
    click.echo(f"{found['name']} may be asked for: {', '.join(answer['node']['commands']) or 'nothing'}.")


@command.command("reject")
@click.argument("node")
@home_option
@json_option
def reject(node: str, home: Path, as_json: bool) -> None:
    """Refuse the commands that wait to be approved for the node NODE.

    Example:
      homarus nodes reject "Anna's phone"
    """
    client = HubClient(home)
    found = _find(client, node)
    answer = client.call("node.pair.reject", {"requestId": found["request_id"] or "none"})
    _say(answer, f"{found['name']} may not be asked for more than before.", as_json=as_json)


@command.command("rename")
@click.argument("node")
@click.argument("name")
@home_option
@json_option
def rename(node: str, name: str, home: Path, as_json: bool) -> None:
    """Give the node NODE another name.

    Example:
      homarus nodes rename 02be189489ad "Anna's phone"
    """
    client = HubClient(home)
    answer = client.call("node.rename", {"nodeId": _id_of(client, node), "displayName": name})
    _say(answer, f"It is called {name} now.", as_json=as_json)


@command.command("remove")
@click.argument("node")
@home_option
@json_option
def remove(node: str, home: Path, as_json: bool) -> None:
    """Forget the node NODE and what waits for it; it must be paired again.

    Example:
      homarus nodes remove "Anna's phone"
    """
    client = HubClient(home)
    found = _find(client, node)
    answer = client.call("node.pair.remove", {"nodeId": found["id"]})
    _say(answer, f"{found['name']} is removed.", as_json=as_json)


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
    """Ask the node NODE to do COMMAND, and print what it answers.

    Example:
      homarus nodes invoke "Anna's phone" location.get --params '{"timeoutMs": 10000}'
      homarus nodes invoke laptop system.notify --params '{"title": "Tea"}' --no-wait
    """
    client = HubClient(home)
    request = {
        "nodeId": _id_of(client, node),
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


@command.command("notify")
@click.argument("node")
@click.argument("message")
@click.option("--title", help="Above it.")
@home_option
@json_option
def notify(node: str, message: str, title: str | None, home: Path, as_json: bool) -> None:
    """Show MESSAGE as a notification on the node NODE.

    Example:
      homarus nodes notify "Anna's phone" "The washing is done" --title Laundry
    """
    client = HubClient(home)
    params = {"title": title or "Homarus", "body": message}
    answer = client.call("node.invoke", {"nodeId": _id_of(client, node), "command": "system.notify", "params": params})
    _say(answer, "It is shown.", as_json=as_json)


def _id_of(client: HubClient, given: str) -> str:
    return str(_find(client, given)["id"])


def _find(client: HubClient, given: str) -> dict[str, Any]:
    nodes = [_shown(each) for each in client.call("node.list")["nodes"]]
    found = [each for each in nodes if given in (each["id"], each["request_id"])] or [
        each for each in nodes if each["name"].casefold() == given.casefold() or each["id"].startswith(given)
    ]
    if len(found) != 1:
        several = f"; these could be meant: {', '.join(each['id'] for each in found)}" if found else ""
        raise CommandFailed(f"there is no node {given}{several}. See: homarus nodes list", Exit.FINDINGS)
    return found[0]


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


def _say(answer: Any, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    click.echo(words)
