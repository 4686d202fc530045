"""`homarus memory import|export`: memory that comes from another assistant, and memory that is carried away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Command
from hub.cli.memory_options import agent_option, given
from hub.cli.memory_prints import count_of
from hub.cli.options import home_option, json_option, print_json

ORIGINS = ("openclaw", "claude", "markdown")
BATCH_FILES = 100
BATCH_LIMIT = 2_000_000
"""Characters that are sent at once."""
IMPORT_LIMIT_S = 300.0


@click.command("export", cls=Command)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Write over files that are there.")
@agent_option
@home_option
@json_option
def export(folder: Path, force: bool, agent: str | None, home: Path, as_json: bool) -> None:
    """Write the Markdown files of the owner's memory into DIR.

    Example:
      homarus memory export ~/memory-2026
    """
    from hub.security.root import Root

    client = HubClient(home)
    files: dict[str, str] = {}
    notes: list[str] = []
    for batch in _batches(client, agent):
        files |= {each["path"]: each["text"] for each in batch["files"]}
        notes += batch["notes"]
    root = Root(folder.expanduser())
    there = [path for path in files if (root.path / path).exists()] if not force else []
    if there:
        some = ", ".join(there[:3]) + (", …" if len(there) > 3 else "")
        raise CommandFailed(
            f"Nothing was written: {count_of(len(there), 'file is', 'files are')} in {folder} already ({some}). "
            "Name another directory, or write over them with --force.",
            Exit.FINDINGS,
            {"code": "CONFLICT", "there": there},
        )
    try:
        root.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, text in files.items():
            root.write_text(path, text, parents=True)
    except OSError as error:
        raise CommandFailed(f"{folder} cannot be written: {error.strerror}") from error
    if as_json:
        print_json({"written": sorted(files), "notes": notes, "folder": str(folder)})
        return
    for note in notes:
        click.echo(note, err=True)
    click.echo(f"{count_of(len(files), 'file', 'files')} written into {folder}.")


def _batches(client: HubClient, agent: str | None) -> Iterator[Mapping[str, Any]]:
    after: str | None = None
    while True:
        batch = client.call("memory.export", given(agent=agent, after=after), timeout_s=IMPORT_LIMIT_S)
        yield batch
        after = batch["next"]
        if after is None:
            return
