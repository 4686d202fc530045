"""`homarus memory list|show|changes|undo`: the files of memory, and their changes."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import CliCommand
from hub.cli.options import WholeNumber, home_option, json_option, print_json, print_table
from hub.cli.times import local_time
from hub.memory.cli.memory_options import agent_option, given_params
from hub.memory.contract import CHANGES_LIMIT
from hub.memory.places import GROUP_AREA, PERSON_AREA, PRIVATE_AREA, SHARED_AREA


@click.command("list", cls=CliCommand)
@agent_option
@home_option
@json_option
def list_(agent: str | None, home: Path, as_json: bool) -> None:
    """List the files of the memory, with their readers and last changes.

    Example:
      homarus memory list
    """
    files = HubClient(home).call("memory.list", given_params(agent=agent))["files"]
    if as_json:
        print_json(files)
        return
    if not files:
        click.echo('Nothing is remembered yet. Begin: homarus memory add "…"')
        return
    rows = [
        (each["path"], _who_sees(each["area"]), str(each["size_bytes"]), local_time(each["changed_ms"]))
        for each in files
    ]
    print_table(rows, ("file", "who sees it", "bytes", "changed"))


@click.command("show", cls=CliCommand)
@click.argument("path")
@agent_option
@home_option
@json_option
def show(path: str, agent: str | None, home: Path, as_json: bool) -> None:
    """Print the memory file at PATH, as `homarus memory list` names it.

    Example:
      homarus memory show MEMORY.md
    """
    answer = HubClient(home).call("memory.read", {"path": path, **given_params(agent=agent)})
    print_json(answer) if as_json else click.echo(answer["text"], nl=not answer["text"].endswith("\n"))


@click.command("changes", cls=CliCommand)
@click.option("--limit", type=WholeNumber(1, CHANGES_LIMIT), default=20, show_default=True, help="How many.")
@click.option("--diff", is_flag=True, help="Show what was changed, line by line.")
@agent_option
@home_option
@json_option
def changes(limit: int, diff: bool, agent: str | None, home: Path, as_json: bool) -> None:
    """List the changes of the memory, the newest first.

    Example:
      homarus memory changes --diff
    """
    found = HubClient(home).call("memory.changes", {"limit": limit, **given_params(agent=agent)})["changes"]
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("Nothing was changed yet.")
    for each in found:
        state = " (undone)" if each["undone"] else "" if each["can_undo"] else " (cannot be undone)"
        click.echo(
            f"{each['id']}  {local_time(each['time_ms'])}  {each['reason']} by {each['who']}: {each['summary']}{state}"
        )
        if diff and each["diff"]:
            click.echo(each["diff"].rstrip("\n") + ("\n… (cut)" if each["diff_cut"] else ""))


@click.command("undo", cls=CliCommand)
@click.argument("change", metavar="ID")
@agent_option
@home_option
@json_option
def undo(change: str, agent: str | None, home: Path, as_json: bool) -> None:
    """Undo the change ID; `homarus memory changes` lists them. Forgotten entries do not come back.

    Example:
      homarus memory undo 1794405600000-3f9c01ab
    """
    answer = HubClient(home).call("memory.undo", {"id": change, **given_params(agent=agent)})
    print_json(answer) if as_json else click.echo(f"Done: {answer['summary']}")


def _who_sees(area: str) -> str:
    """Return the readers of an area in words."""
    if area.startswith(PERSON_AREA):
        return area.removeprefix(PERSON_AREA)
    if area.startswith(GROUP_AREA):
        return f"the group {area.removeprefix(GROUP_AREA)}"
    return {PRIVATE_AREA: "the owner", SHARED_AREA: "everybody here"}.get(area, area)
