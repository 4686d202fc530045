"""`homarus outbox`: messages to be sent, and those that could not be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import WholeNumber
from hub.cli.times import SECOND, local_time
from hub.cli.verbs import Answer, verb

STATES = ("queued", "sending", "sent", "unknown", "dead", "stopped")
SHOWN_CHARS = 60


@click.group("outbox", cls=Group)
def command() -> None:
    """List messages that are sent, and retry or drop those that were not.

    Example:
      homarus outbox list --state dead
      homarus outbox retry 01jx
    """


@verb(command)
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--limit", type=WholeNumber(1, 500), default=50, show_default=True, help="How many, newest first.")
def list_(client: HubClient, state: str | None, limit: int) -> Answer:
    """List messages, newest first.

    Example:
      homarus outbox list --state unknown
    """
    params: dict[str, Any] = {"limit": limit} | ({"state": state} if state else {})
    answer = client.call("outbox.list", params)
    return answer, "\n".join(map(_line, answer["messages"])) or "No messages."


@verb(command)
@click.argument("id")
def show(client: HubClient, id: str) -> Answer:
    """Show the message with ID, its attempts and its error.

    Example:
      homarus outbox show 01jx
    """
    row = client.call("outbox.get", {"id": id})
    shown = {key: value for key, value in row.items() if value not in (None, [], "") and key != "text"}
    lines = [f"{key}: {_value(key, value)}" for key, value in shown.items()]
    return row, "\n".join([*lines, *(["", row["text"]] if row["text"] else [])])


@verb(command)
@click.argument("id")
def retry(client: HubClient, id: str) -> Answer:
    """Send the unknown or dead message with ID again.

    Example:
      homarus outbox retry 01jx
    """
    row = client.call("outbox.retry", {"id": id})
    return row, f"Queued again: {row['kind']} to {row['channel']}:{row['to']}"


@verb(command)
@click.argument("id")
def drop(client: HubClient, id: str) -> Answer:
    """Delete the message with ID, which was not sent.

    Example:
      homarus outbox drop 01jx
    """
    row = client.call("outbox.drop", {"id": id})
    return row, f"Dropped: {row['kind']} to {row['channel']}:{row['to']}"


def _line(message: Mapping[str, Any]) -> str:
    text = " ".join((message["text"] or ", ".join(message["media"])).split())
    shown = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
    error = f"  ({message['error']})" if message["error"] else ""
    to = f"{message['channel']}:{message['to']}"
    return f"{message['id']}  {message['state']}  {message['kind']}  {to}  {shown}{error}"


def _value(key: str, value: Any) -> str:
    if key.endswith("Ms"):
        return local_time(value, SECOND)
    return ", ".join(value) if isinstance(value, list) else str(value)
