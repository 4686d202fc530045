"""`homarus message`: sending to a chat."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from hub.cli.client import CallFailed, HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.verbs import Answer, verb

Function = TypeVar("Function", bound=Callable[..., Any])

FILE_LIMIT_BYTES = 16_000_000


@click.group("message", cls=Group)
def command() -> None:
    """Send messages, polls and reactions to chats.

    Example:
      homarus message send --to telegram:123456 "Dinner is ready"
      homarus message poll --to telegram:123456 "Pizza or pasta?" --option Pizza --option Pasta
    """


def _chat(function: Function) -> Function:
    """Add the options that name a chat."""
    for option in reversed(_CHAT):
        function = option(function)
    return function


_CHAT = (
    click.option("--channel", help="Such as telegram, where --to does not say it."),
    click.option("--to", required=True, help="A name of `homarus directory`, or telegram:123456."),
    click.option("--account", help="Account of the channel; default when omitted."),
    click.option("--thread", help="A thread or topic in it."),
)


@verb(command)
@_chat
@click.option("--media", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file to attach.")
@click.argument("text", default="")
def send(client: HubClient, media: Path | None, text: str, **chat: str | None) -> Answer:
    """Send TEXT and wait until the platform has it; the exit code says whether it does.

    Example:
      homarus message send --channel telegram --to 123456 --media photo.jpg "Look"
    """
    return _sent(client.call("message.send", _address(chat) | _message(text, media)))


@verb(command, columns=("to", "state", ""))
@click.option("--to", "chats", required=True, multiple=True, help="A chat, such as telegram:123456; again for each.")
@click.option("--media", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file to attach.")
@click.argument("text", default="")
def broadcast(client: HubClient, chats: tuple[str, ...], media: Path | None, text: str) -> Answer:
    """Send TEXT to several chats, one after another; those that fail do not stop the others. Exits 1 when one fails.

    Example:
      homarus message broadcast --to telegram:123456 --to signal:+491701234567 "Dinner is ready"
    """
    said, sent = _message(text, media), []
    for chat in dict.fromkeys(chats):
        try:
            answer = client.call("message.send", {"to": chat, **said})
        except CallFailed as failure:
            answer = {"state": "refused", "error": failure.message}
        sent.append({**answer, "to": chat})
    rows = [(each["to"], each["state"], each["error"] or "") for each in sent]
    return sent, rows, Exit.OK if all(each["state"] == "sent" for each in sent) else Exit.FINDINGS


@verb(command)
@_chat
@click.option("--option", "options", multiple=True, metavar="TEXT", help="What can be chosen; at least twice.")
@click.option("--multiple", is_flag=True, help="Several may be chosen.")
@click.argument("question")
def poll(client: HubClient, question: str, options: tuple[str, ...], multiple: bool, **chat: str | None) -> Answer:
    """Ask QUESTION as a poll, where the chat platform has polls.

    Example:
      homarus message poll --to telegram:123456 "Pizza or pasta?" --option Pizza --option Pasta
    """
    if len(options) < 2:
        raise CommandFailed("Give --option at least twice.", Exit.USAGE)
    asked = {"question": question, "options": list(options), "multiple": multiple}
    return _sent(client.call("message.poll", _address(chat) | asked))


@verb(command)
@_chat
@click.argument("message_id")
@click.argument("emoji", required=False)
def react(client: HubClient, message_id: str, emoji: str | None, **chat: str | None) -> Answer:
    """React with EMOJI to the message MESSAGE_ID of a chat; without EMOJI, take the reaction back.

    Example:
      homarus message react --to telegram:123456 789 👍
    """
    return _sent(client.call("message.react", _address(chat) | {"messageId": message_id, "emoji": emoji}))


def _address(chat: Mapping[str, str | None]) -> dict[str, Any]:
    names = {"channel": "channel", "to": "to", "account": "accountId", "thread": "threadId"}
    return {wire: chat[name] for name, wire in names.items() if chat[name]}


def _message(text: str, media: Path | None) -> dict[str, Any]:
    if media is None:
        return {"message": text}
    if media.stat().st_size > FILE_LIMIT_BYTES:
        raise CommandFailed(f"{media} is larger than {FILE_LIMIT_BYTES // 1_000_000} MB")
    content = base64.b64encode(media.read_bytes()).decode()
    return {"message": text, "media": {"fileName": media.name, "content": content}}


def _sent(answer: Mapping[str, Any]) -> Answer:
    if answer["state"] != "sent":
        reason = f": {answer['error']}" if answer["error"] else ""
        raise CommandFailed(
            f"the message is {answer['state']}{reason}; see homarus outbox show {answer['runId']}",
            details={"state": answer["state"], "id": answer["runId"]},
        )
    place = f"{answer['channel']}:{answer['to']}"
    return answer, f"Sent to {place}: {', '.join(answer['messageIds']) or answer['runId']}"
