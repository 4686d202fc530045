"""`homarus uninstall`: take the service off this machine, and the home too if that is wanted."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json


@click.command("uninstall", cls=CliCommand)
@click.option("--remove-home", is_flag=True, help="Delete the home too: configuration, secrets, memory, conversations.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def command(remove_home: bool, dry_run: bool, yes: bool, home: Path, as_json: bool) -> None:
    """Stop the hub and take its service off this machine. The home stays, unless told otherwise.

    Example:
      homarus uninstall --dry-run
      homarus uninstall --remove-home
    """
    from hub.cli.machine_service import attempt
    from hub.daemon.cli.service import installed_service
    from hub.storage.instance_lock import read_running
    from node.service import uninstall_service

    service = installed_service(home)
    if remove_home:
        _check(home)
    facts = {
        "service": service.name if service is not None else None,
        "home": str(home),
        "removesHome": remove_home,
        "program": sys.prefix,
        "removed": not dry_run,
    }
    if not as_json:
        told = f"{service.name} ({service.file}) is stopped and removed" if service is not None else "none is installed"
        click.echo(f"Service: {told}.")
        click.echo(f"Home:    {home} {f'is deleted, {_size(home)} MB' if remove_home else 'stays as it is'}.")
        click.echo(f"Program: {sys.prefix} stays; remove it as you installed it.")
    if not dry_run:
        if not yes:
            if not sys.stdin.isatty():
                raise CommandFailed("Nobody is here to be asked: give --yes, or look with --dry-run.", Exit.USAGE)
            click.confirm("Go on?", abort=True, err=as_json)
        if service is not None:
            attempt(lambda: uninstall_service(service))
        if remove_home:
            if (running := read_running(home)) is not None:
                raise CommandFailed(f"A hub runs on {home} (process {running.pid}); stop it first. The home is kept.")
            shutil.rmtree(home)
    if as_json:
        print_json(facts)
    elif not dry_run:
        click.echo("Done.")


def _check(home: Path) -> None:
    """Refuse to delete what is no home of a hub.

    Raises:
        CommandFailed: It is none.
    """
    if home.is_symlink() or not (home / "configuration.yaml").is_file() or not (home / ".storage").is_dir():
        raise CommandFailed(f"{home} is not the home of a hub, so it is not deleted.", Exit.USAGE)
    if Path.home().is_relative_to(home):
        raise CommandFailed(f"{home} is more than the home of a hub, so it is not deleted.", Exit.USAGE)


def _size(home: Path) -> int:
    """Return how many megabytes of files there are."""
    return round(sum(each.lstat().st_size for each in home.rglob("*") if not each.is_dir()) / 1_000_000)
