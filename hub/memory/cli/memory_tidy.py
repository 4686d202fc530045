"""`homarus memory tidy`: runs the nightly tidying now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json
from hub.memory.cli.memory_options import agent_option, given_params

TIDY_LIMIT_S = 600.0


@click.command("tidy", cls=CliCommand)
@click.option("--dry-run", is_flag=True, help="Show what would change, and leave it.")
@click.option("--cost", type=click.FloatRange(min=0), metavar="USD", help="What comparing with a model may cost.")
@agent_option
@home_option
@json_option
def tidy(dry_run: bool, cost: float | None, agent: str | None, home: Path, as_json: bool) -> None:
    """Tidy the memory: keep what recurs, merge duplicates, mark contradictions. It can be undone.

    Example:
      homarus memory tidy --dry-run
    """
    params = {"dry_run": dry_run, **given_params(agent=agent, cost_usd=cost)}
    answer = HubClient(home).call("memory.tidy", params, timeout_s=TIDY_LIMIT_S)
    print_json(answer) if as_json else _print(answer)


def _print(answer: Mapping[str, Any]) -> None:
    for problem in answer["problems"]:
        click.echo(problem, err=True)
    if not answer["summary"]:
        click.echo("There is nothing to tidy up.")
        return
    if answer["dry_run"]:
        click.echo(answer["diff"])
    click.echo(f"{'Nothing is written. Without --dry-run: ' if answer['dry_run'] else ''}{answer['summary']}")
    for each in answer["contradictions"]:
        click.echo(f"  {each['older']['text']}  ({each['older']['path']})")
        click.echo(f"  {each['newer']['text']}  ({each['newer']['path']})")
    if answer["change_id"]:
        click.echo(f"Take it back with: homarus memory undo {answer['change_id']}")
