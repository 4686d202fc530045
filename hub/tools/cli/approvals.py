"""`homarus approvals`: what waits for the owner's word, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.times import SECOND, local_time
from hub.cli.verbs import Answer, verb


@click.group("approvals", cls=Group)
def command() -> None:
    """List, approve and deny actions that wait for the owner, and answer what agents ask.

    Example:
      homarus approvals list
      homarus approvals approve K7WQX2
      homarus approvals answer K7WQX2 Saturday
    """


@verb(command)
@click.option("--all", "everything", is_flag=True, help="Those that were decided, too, newest first.")
def list_(client: HubClient, everything: bool) -> Answer:
    """List pending approvals with the exact actions, and questions of agents.

    Example:
      homarus approvals list --all
    """
    found = client.call("approval.list", {"all": everything})["approvals"]
    questions = client.call("question.list", {})["questions"]
    none = "Nothing waits for an approval." if not everything else "Nothing was ever asked."
    return found, "\n".join([*map(_told, found), *map(question_lines, questions)]) or none


@verb(command)
@click.argument("code")
@click.argument("answer", nargs=-1, required=True)
def answer(client: HubClient, code: str, answer: tuple[str, ...]) -> Answer:
    """Answer the question with CODE (or its id): a choice, its number, or other words.

    Example:
      homarus approvals answer K7WQX2 on Saturday
    """
    ended = client.call("question.resolve", {"id": code, "answer": " ".join(answer)})
    return ended, f"Answered: {ended['answer']}"


@verb(command)
@click.argument("code")
@click.option("--always", is_flag=True, help="Do not ask about exactly this again, where that can be.")
def approve(client: HubClient, code: str, always: bool) -> Answer:
    """Approve the action with CODE (or its id).

    Example:
      homarus approvals approve K7WQX2
    """
    return _resolve(client, code, "allow-always" if always else "allow-once")


@verb(command)
@click.argument("code")
def deny(client: HubClient, code: str) -> Answer:
    """Deny the action with CODE (or its id).

    Example:
      homarus approvals deny K7WQX2
    """
    return _resolve(client, code, "deny")


def _resolve(client: HubClient, code: str, decision: str) -> Answer:
    answer = client.call("approval.resolve", {"id": code, "decision": decision})["approval"]
    return answer, f"{'Denied' if decision == 'deny' else 'Approved'}: {answer['kind']} {answer['title']}"


def _told(approval: Mapping[str, Any]) -> str:
    """Return one approval in words: the action, the reason, exactly what will run, and the deadline."""
    head = f"{approval['code']}  {approval['kind']} {approval['title']}"
    if approval["state"] == "pending":
        until = local_time(approval["expiresAtMs"], SECOND)
        head += f"  (until {until})"
    else:
        by = f" by {approval['decidedBy']}" if approval["decidedBy"] else ""
        why = f": {approval['reason']}" if approval["reason"] else ""
        head += f"  ({approval['state']}{by}{why})"
    return "\n".join(filter(None, [head, approval["text"], approval["shown"]])) + "\n"


def question_lines(question: Mapping[str, Any]) -> str:
    """Return a question of an agent with its choices."""
    (asked,) = question["questions"]
    choices = [f"  {number}. {each['label']}" for number, each in enumerate(asked["options"], 1)]
    return "\n".join([f"{question['code']}  question: {asked['question']}", *choices]) + "\n"
