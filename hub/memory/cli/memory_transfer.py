"""`homarus memory import|export`: memory from another assistant, and memory for elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json
from hub.core.errors import HubError
from hub.memory.cli.memory_options import agent_option, given_params
from hub.memory.cli.memory_prints import count_of

if TYPE_CHECKING:
    from hub.memory.importing import BroughtIn

ORIGINS = ("openclaw", "claude", "markdown")
IMPORT_LIMIT_S = 300.0


class _Named(click.Path):
    """A non-empty path: `pathlib` takes an empty one for the current directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("it is empty; name a directory", param, ctx)
        return super().convert(value, param, ctx)


@click.command("import", cls=CliCommand)
@click.argument("source", metavar="FOLDER|FILE", type=_Named(path_type=Path))
@click.option("--from", "origin", type=click.Choice(ORIGINS), required=True, help="The assistant it comes from.")
@click.option("--trusted", is_flag=True, help="You vouch for every word in it; without this it is quoted.")
@agent_option
@home_option
@json_option
def import_(source: Path, origin: str, trusted: bool, agent: str | None, home: Path, as_json: bool) -> None:
    """Import the memory of another assistant, or a folder of Markdown; the originals stay unchanged.

    From openclaw: its workspace or state directory. From claude: a folder with CLAUDE.md files, or the data export.

    Example:
      homarus memory import ~/.openclaw --from openclaw --trusted
      homarus memory import ~/Downloads/claude-export.zip --from claude
    """
    client = HubClient(home)
    found = _read(source.expanduser(), origin)
    files, left_out = found.files, found.left_out
    there = (
        {each["path"] for each in client.call("memory.list", given_params(agent=agent))["files"]} if files else set()
    )
    written: list[str] = []
    for batch in found.batches():
        params = {"files": batch, "origin": origin, "trusted": trusted, **given_params(agent=agent)}
        try:
            written += client.call("memory.import", params, timeout_s=IMPORT_LIMIT_S)["written"]
        except CommandFailed as failure:
            told = f" {count_of(len(written), 'file was', 'files were')} written before that; run it again to go on."
            raise CommandFailed(
                failure.message + (told if written else ""), failure.code, {**failure.details, "written": written}
            ) from failure
    known, replaced = len(files) - len(written), [path for path in written if path in there]
    if as_json:
        print_json({"written": written, "replaced": replaced, "known": known, "left_out": left_out})
    else:
        for path in written:
            click.echo(f"{path}{'  (replaced)' if path in there else ''}")
        for note in left_out:
            click.echo(f"left out: {note}", err=True)
        told = f"{count_of(len(written), 'file', 'files')} written"
        click.echo(told + (f", {known} known already." if known else "."))
        if replaced:
            click.echo("What was replaced is in `homarus memory changes`, and `homarus memory undo` brings it back.")
    if left_out and not files:
        raise click.exceptions.Exit(Exit.FINDINGS)


@click.command("export", cls=CliCommand)
@click.argument("folder", metavar="DIR", type=_Named(file_okay=False, path_type=Path))
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
    written = 0
    try:
        root.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, text in files.items():
            root.write_text(path, text, parents=True)
            written += 1
    except (OSError, HubError) as error:
        why = error.message if isinstance(error, HubError) else error.strerror
        told = (
            f"{count_of(written, 'file was', 'files were')} written before that" if written else "nothing was written"
        )
        raise CommandFailed(f"{folder} cannot be written: {why}; {told}") from error
    if as_json:
        print_json({"written": sorted(files), "notes": notes, "folder": str(folder)})
        return
    for note in notes:
        click.echo(note, err=True)
    click.echo(f"{count_of(len(files), 'file', 'files')} written into {folder}.")


def _read(source: Path, origin: str) -> BroughtIn:
    """Return what is imported, and what was left out."""
    from hub.memory.importing import read_claude, read_markdown, read_openclaw

    try:
        found = {"openclaw": read_openclaw, "claude": read_claude, "markdown": read_markdown}[origin](source)
    except OSError as error:
        raise CommandFailed(f"{source} cannot be read: {error.strerror}") from error
    found.leave_out_large()
    return found


def _batches(client: HubClient, agent: str | None) -> Iterator[Mapping[str, Any]]:
    after: str | None = None
    while True:
        batch = client.call("memory.export", given_params(agent=agent, after=after), timeout_s=IMPORT_LIMIT_S)
        yield batch
        after = batch["next"]
        if after is None:
            return
