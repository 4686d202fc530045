"""`homarus audit`: who changed, approved, signed in, paired or restored what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import WholeNumber, home_option, json_option, print_json
from hub.cli.verbs import Answer, verb
from hub.core.errors import HubError


@click.group("audit", cls=Group)
def command() -> None:
    """Show who changed, approved, signed in, paired or restored what, and verify that record.

    Example:
      homarus audit list
      homarus audit verify
    """


@verb(command, columns=("at", "who", "from", "what", "about", "outcome"), empty="Nothing was recorded yet.")
@click.option("--limit", "-n", type=WholeNumber(1, 1_000), default=50, help="How many.  [default: 50]")
def list_(client: HubClient, limit: int) -> Answer:
    """List the latest entries, newest first.

    Example:
      homarus audit list --limit 200 --json
    """
    found = client.call("audit.log", {"limit": limit})["entries"]
    return found, [_row(each) for each in found]


@command.command("verify")
@home_option
@json_option
def verify(home: Path, as_json: bool) -> None:
    """Verify that no entry was changed, removed, added or moved; the hub need not run.

    Exits with 1 when something is wrong.

    Example:
      homarus audit verify
    """
    from hub.cli.configured import check_home
    from hub.storage.audit_log import FOLDER, HEAD, NO_HEAD, Head, verify as verify_log
    from hub.storage.homedir import Home
    from hub.storage.opening import read_meta

    files = Home(home)
    try:
        section = check_home(home).config.or_default("storage")
        # The last hash first: the log is never behind it, even while a hub writes.
        head = read_meta(files, section, HEAD)
        restored = head is None and read_meta(files, section, "restored_ms") is not None
        found = verify_log(files.storage / FOLDER, None if head is None else Head.decode(head))
    except HubError as error:
        raise CommandFailed(error.message, Exit.FINDINGS) from error
    problems = [each for each in found.problems if not (restored and each == NO_HEAD)]
    if as_json:
        answer = {"ok": not problems, "entries": found.entries, "problems": problems}
        print_json(answer | {"unfinished": found.unfinished})
    elif problems:
        click.echo("The audit log is not as the hub wrote it:")
        for each in problems:
            click.echo(f"  {each}")
    else:
        click.echo(f"{found.entries} entries: none was changed, removed, added or moved.")
        if restored:
            click.echo(
                "The home was restored: whether the end is cut off can be told again after the hub's next start."
            )
        if found.unfinished:
            click.echo("The last line was left unfinished when the hub ended; that entry was never complete.")
    if problems:
        raise click.exceptions.Exit(Exit.FINDINGS)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    who = entry.get("person") or entry["who"]
    name = f" ({entry['name']})" if entry.get("name") else ""
    about = ", ".join(
        f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in entry["about"].items()
    )
    return (entry["at"][:19], f"{who}{name}", entry.get("from", ""), entry["what"], about, entry["outcome"])
