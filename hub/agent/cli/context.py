"""`homarus context`: what a model is sent before a conversation."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table

_KINDS = {"prompt": "prompt", "tool": "tool", "found": "tool, found when needed"}


@click.group("context", cls=Group)
def command() -> None:
    """Show what a model is sent.

    Example:
      homarus context explain
    """


@command.command("explain")
@click.argument("session", required=False)
@click.option("--agent", metavar="ID", help="The agent; without it the default one.")
@home_option
@json_option
def explain(session: str | None, agent: str | None, home: Path, as_json: bool) -> None:
    """Show how large each part of the prompt and each tool is, for the main session or SESSION.

    Example:
      homarus context explain
      homarus context explain main --json
    """
    wanted = {name: value for name, value in (("sessionKey", session), ("agentId", agent)) if value is not None}
    report = HubClient(home).call("context.explain", wanted)
    if as_json:
        print_json(report)
        return
    share = 100 * report["context_tokens"] // max(report["window"], 1)
    click.echo(f"{report['session_key']}, {report['model']}, prompt: {report['mode']}")
    click.echo(f"Last request: {report['context_tokens']} of {report['window']} tokens ({share} %)")
    click.echo(f"Summarised: {report['compactions']} times\n")
    totals = [
        (_KINDS[kind], "all", each["raw_chars"], each["bytes"], each["tokens"])
        for kind, each in report["totals"].items()
        if each["name"] != "0"
    ]
    rows = [
        (_KINDS[each["kind"]], each["name"], each["raw_chars"], each["bytes"], each["tokens"])
        for each in report["parts"]
    ]
    columns = ("part", "name", "characters", "bytes sent", "tokens, about")
    print_table([tuple(str(value) for value in row) for row in (*rows, *totals)], columns)
