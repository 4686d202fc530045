"""`homarus message`: sending to a chat."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json

FILE_LIMIT_BYTES = 16_000_000


@click.group("message", cls=Group)
def command() -> None:
    """Send messages to chats.

    Example:
      homarus message send --to telegram:123456 "Dinner is ready"
    """


@command.command("send")
@click.option("--channel", help="Such as telegram, where --to does not say it.")
@click.option("--to", "peer", required=True, help="The platform's id of a person, group or room, or telegram:123456.")
@click.option("--account", help="Account of the channel; default when omitted.")
@click.option("--thread", help="A thread or topic in it.")
@click.option("--media", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file to attach.")
@click.argument("text", default="")
@home_option
@json_option
def send(
    channel: str | None,
    peer: str,
    account: str | None,
    thread: str | None,
    media: Path | None,
    text: str,
    home: Path,
    as_json: bool,
) -> None:
    """Send TEXT and wait until the platform has it; the exit code says whether it does.

    Example:
      homarus message send --channel telegram --to 123456 --media photo.jpg "Look"
    """
    params: dict[str, Any] = {"to": peer, "message": text}
    more = (("channel", channel), ("accountId", account), ("threadId", thread))
    params |= {key: value for key, value in more if value}
    if media is not None:
        if media.stat().st_size > FILE_LIMIT_BYTES:
            raise CommandFailed(f"{media} is larger than {FILE_LIMIT_BYTES // 1_000_000} MB")
        params["media"] = {"fileName": media.name, "content": base64.b64encode(media.read_bytes()).decode()}
    answer = HubClient(home).call("message.send", params)
    if answer["state"] != "sent":
        reason = f": {answer['error']}" if answer["error"] else ""
        raise CommandFailed(
            f"the message is {answer['state']}{reason}; see homarus outbox show {answer['runId']}",
            details={"state": answer["state"], "id": answer["runId"]},
        )
    if as_json:
        print_json(answer)
        return
    click.echo(f"Sent: {', '.join(answer['messageIds']) or answer['runId']}")
