"""`homarus approvals`: what waits for the owner's word, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json


@click.group("approvals", cls=Group)
def command() -> None:
    """List, approve and deny actions that wait for the owner, and answer what agents ask.

    Example:
      homarus approvals list
      homarus approvals approve K7WQX2
      homarus approvals answer K7WQX2 Saturday
    """


@command.command("list")
@click.option("--all", "everything", is_flag=True, help="Those that were decided, too, newest first.")
@home_option
@json_option
def list_(everything: bool, home: Path, as_json: bool) -> None:
    """List pending approvals with the exact actions, and questions of agents.

    Example:
      homarus approvals list --all
    """
    client = HubClient(home)
    found = client.call("approval.list", {"all": everything})["approvals"]
    if as_json:
        print_json(found)
        return
    questions = client.call("question.list", {})["questions"]
    if not found and not questions:
        click.echo("Nothing waits for an approval." if not everything else "Nothing was ever asked.")
    for each in found:
        click.echo(_told(each))
    for each in questions:
        click.echo(question_lines(each))


@command.command("answer")
@click.argument("code")
@click.argument("answer", nargs=-1, required=True)
@home_option
@json_option
def answer(code: str, answer: tuple[str, ...], home: Path, as_json: bool) -> None:
    """Answer the question with CODE (or its id): a choice, its number, or other words.

    Example:
      homarus approvals answer K7WQX2 on Saturday
    """
    ended = HubClient(home).call("question.resolve", {"id": code, "answer": " ".join(answer)})
    if as_json:
        print_json(ended)
        return
    click.echo(f"Answered: {ended['answer']}")


@command.command("approve")
@click.argument("code")
@click.option("--always", is_flag=True, help="Do not ask about exactly this again, where that can be.")
@home_option
@json_option
def approve(code: str, always: bool, home: Path, as_json: bool) -> None:
    """Approve the action with CODE (or its id).

    Example:
      homarus approvals approve K7WQX2
    """
    _resolve(code, home, "allow-always" if always else "allow-once", as_json=as_json)


@command.command("deny")
@click.argument("code")
@home_option
@json_option
def deny(code: str, home: Path, as_json: bool) -> None:
    """Deny the action with CODE (or its id).

    Example:
      homarus approvals deny K7WQX2
    """
    _resolve(code, home, "deny", as_json=as_json)


def _resolve(code: str, home: Path, decision: str, *, as_json: bool) -> None:
    answer = HubClient(home).call("approval.resolve", {"id": code, "decision": decision})["approval"]
    if as_json:
        print_json(answer)
        return
    click.echo(f"{'Denied' if decision == 'deny' else 'Approved'}: {answer['kind']} {answer['title']}")


def _told(approval: Mapping[str, Any]) -> str:
    """Return one approval in words: what it is, why, exactly what will run, until when."""
    head = f"{approval['code']}  {approval['kind']} {approval['title']}"
    if approval["state"] == "pending":
        until = datetime.fromtimestamp(approval["expiresAtMs"] / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
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
