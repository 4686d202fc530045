"""`homarus outbox`: what is to be sent, and what could not be."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json

STATES = ("queued", "sending", "sent", "unknown", "dead", "stopped")
SHOWN_CHARS = 60


@click.group("outbox", cls=Group)
def command() -> None:
    """List messages that are sent, and retry or drop those that were not.

    Example:
      homarus outbox list --state dead
      homarus outbox retry 01jx
    """


@command.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="How many, newest first.")
@home_option
@json_option
def list_(state: str | None, limit: int, home: Path, as_json: bool) -> None:
    """List messages, newest first.

    Example:
      homarus outbox list --state unknown
    """
    params: dict[str, Any] = {"limit": limit} | ({"state": state} if state else {})
    answer = HubClient(home).call("outbox.list", params)
    if as_json:
        print_json(answer)
        return
    if not answer["messages"]:
        click.echo("No messages.")
    for each in answer["messages"]:
        text = " ".join((each["text"] or ", ".join(each["media"])).split())
        shown = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
        error = f"  ({each['error']})" if each["error"] else ""
        click.echo(f"{each['id']}  {each['state']}  {each['kind']}  {each['channel']}:{each['to']}  {shown}{error}")


@command.command("show")
@click.argument("id")
@home_option
@json_option
def show(id: str, home: Path, as_json: bool) -> None:
    """Show the message with ID, its attempts and its error.

    Example:
      homarus outbox show 01jx
    """
    row = HubClient(home).call("outbox.get", {"id": id})
    if as_json:
        print_json(row)
        return
    for key, value in row.items():
        if value not in (None, [], "") and key != "text":
            click.echo(f"{key}: {_value(key, value)}")
    if row["text"]:
        click.echo(f"\n{row['text']}")


@command.command("retry")
@click.argument("id")
@home_option
@json_option
def retry(id: str, home: Path, as_json: bool) -> None:
    """Send the unknown or dead message with ID again.

    Example:
      homarus outbox retry 01jx
    """
    _decide("outbox.retry", id, home, "Queued again", as_json=as_json)


@command.command("drop")
@click.argument("id")
@home_option
@json_option
def drop(id: str, home: Path, as_json: bool) -> None:
    """Delete the message with ID, which was not sent.

    Example:
      homarus outbox drop 01jx
    """
    _decide("outbox.drop", id, home, "Dropped", as_json=as_json)


def _decide(method: str, id: str, home: Path, done: str, *, as_json: bool) -> None:
    row: Mapping[str, Any] = HubClient(home).call(method, {"id": id})
    if as_json:
        print_json(row)
        return
    click.echo(f"{done}: {row['kind']} to {row['channel']}:{row['to']}")


def _value(key: str, value: Any) -> str:
    if key.endswith("Ms"):
        return datetime.fromtimestamp(value / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return ", ".join(value) if isinstance(value, list) else str(value)
