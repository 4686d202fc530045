"""`homarus agent`: one turn of an agent, for scripts: with a model, a time limit and a chat of its own choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import WholeNumber, home_option, json_option
from hub.core.ids import new_id
from hub.messaging.cli.chat import ANSWER_LIMIT_S, Talk, messages, session_key_of, show

BESIDE_S = 60.0
"""How much longer than the run the answer is waited for."""


@click.group("agent", cls=Group)
def command() -> None:
    """Have an agent do something once, with settings for this turn alone.

    Example:
      homarus agent run "What is new?" --model openai/gpt-5-mini --deliver
    """


@command.command("run")
@click.argument("text", nargs=-1, required=True)
@click.option("--agent", metavar="ID", help="The agent.  [default: the default agent]")
@click.option("--session", metavar="KEY", help="The conversation.  [default: the agent's main one]")
@click.option("--model", metavar="MODEL", help="Who answers this turn: provider/id, or an alias.")
@click.option("--thinking", metavar="LEVEL", help="How much it thinks in this turn: off to high.")
@click.option("--timeout", type=WholeNumber(1, 86_400), metavar="SECONDS", help="End the turn after this long.")
@click.option("--deliver", is_flag=True, help="Send the answer to the conversation's chat too, or to --to.")
@click.option("--channel", metavar="NAME", help="With --deliver: the channel of --to.")
@click.option("--to", metavar="ID", help="With --deliver: to whom, such as telegram:123456.")
@click.option("--account", metavar="NAME", help="With --deliver: by which account of the channel.")
@home_option
@json_option
def run(
    text: tuple[str, ...],
    agent: str | None,
    session: str | None,
    deliver: bool,
    home: Path,
    as_json: bool,
    **given: Any,
) -> None:
    """Have an agent answer TEXT, and print the answer. With - the standard input is the text.

    Exits 1 when there is no answer, or when the turn was stopped.

    Example:
      homarus agent run "Sum up the day" --model openai/gpt-5-mini --thinking low --timeout 120
      homarus agent run "Water the plants!" --deliver --to telegram:123456
    """
    address = {"channel": given.pop("channel"), "to": given.pop("to"), "accountId": given.pop("account")}
    if not deliver and any(address.values()):
        raise CommandFailed("--channel, --to and --account go with --deliver.", Exit.USAGE)
    said = messages(text)
    if not said:
        raise CommandFailed("There is nothing to send.", Exit.USAGE)
    key = session_key_of(session, agent)
    stated = {name: value for name, value in (given | address).items() if value is not None}
    client, talk = HubClient(home), Talk(home, key)
    params = {"message": said[0], "idempotencyKey": new_id(), "sessionKey": key, "deliver": deliver}
    begun = client.call("agent", params | stated)
    try:
        ended = talk.ended(begun["runId"], (given["timeout"] or ANSWER_LIMIT_S) + BESIDE_S)
    except KeyboardInterrupt:
        client.call("chat.abort", {"sessionKey": key, "runId": begun["runId"]})
        raise
    answer = {
        "reply": ended.get("reply") or "",
        "status": ended["status"],
        "run_id": ended["runId"],
        "session_key": ended["sessionKey"],
        **{name: ended.get(wire) for name, wire in (("model", "model"), ("usage", "usage"), ("aborted", "aborted"))},
        "duration_ms": ended["durationMs"],
        **{name: ended[name] for name in ("notices", "error") if ended.get(name)},
    }
    show(answer, as_json=as_json)
    if ended["status"] != "ok":
        raise click.exceptions.Exit(Exit.FINDINGS)
