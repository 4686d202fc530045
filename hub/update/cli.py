"""`homarus update`: look for a new version, and update to it, whether a hub runs or not."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub import __version__
from hub.cli.client import CallFailed, HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import command_on, home_option, json_option, print_json
from hub.cli.remote import RemoteHome
from hub.storage.instance_lock import AlreadyRunning, InstanceLock, read_running

if TYPE_CHECKING:
    from hub.update.updates import Updates

LOOK_S = 0.5
CALL_LIMIT_S = 900.0
OUTCOME_LIMIT_S = 900.0
"""How long a new version may take until it is kept or taken back."""
WORDS = {
    "look": "Looking for versions",
    "prepare": "Preparing {version} beside the running version",
    "test": "Checking the configuration with {version}",
    "backup": "Backing up the home",
    "wait": "Waiting until the assistant is not at work",
    "restart": "Restarting",
}
SIGNED = {
    "verified": "Its tag is signed, and the signature is verified.",
    "unverified": "Its tag is signed by a key that is not known here.",
    "none": "Its tag is not signed.",
}


@click.command("update", cls=CliCommand)
@click.option("--check", "only_check", is_flag=True, help="Only look. Exits 1 when there is a newer version.")
@click.option("--version", "version", metavar="V", default="", help="This version.  [default: the newest]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def command(only_check: bool, version: str, yes: bool, home: Path, as_json: bool) -> None:
    """Update Homarus: show what is new and, after a question, install it.

    The new version is prepared beside the running one and checked with this configuration; the home is backed up, and
    the hub restarts when the assistant is not at work. If the new version is worse, the old one comes back by itself.

    Example:
      homarus update --check
      homarus update --version 0.2.1 --yes
    """
    runs = isinstance(home, RemoteHome) or read_running(home) is not None
    told = _checked_by_hub(home, version) if runs else _checked_here(home, version)
    release = told["release"]
    if release is None:
        if as_json:
            print_json(told)
        else:
            click.echo(f"Homarus {told['version']} is the newest version.")
        return
    if not as_json:
        _show(told, release)
    if only_check:
        if as_json:
            print_json(told)
        raise click.exceptions.Exit(Exit.FINDINGS)
    if not yes:
        click.confirm(f"Update to {release['version']}?", abort=True, err=True)
    outcome = _run_by_hub(home, release["version"], as_json=as_json) if runs else _run_here(home, release["version"])
    if as_json:
        print_json(outcome)
    if outcome["state"] == "back":
        raise CommandFailed(
            f"Homarus {outcome['version']} was taken back, and {outcome['previous']} runs again: {outcome['why']}."
        )
    if not as_json and runs:
        click.echo(f"Homarus {outcome['version']} runs. The backup from before is {outcome['backup']}.")
    elif not as_json:
        click.echo(
            f"The next start tries it, and goes back by itself if it is worse: {command_on(home, 'homarus start')}"
        )


def _show(told: Mapping[str, Any], release: Mapping[str, Any]) -> None:
    click.echo(f"Homarus {release['version']} is there; {told['version']} runs.")
    if release["signature"]:
        click.echo(SIGNED[release["signature"]])
    click.echo(f"\n{release['notes']}\n" if release["notes"] else "Nobody wrote down what is new in it.")


def _checked_by_hub(home: Path | RemoteHome, version: str) -> dict[str, Any]:
    found: dict[str, Any] = HubClient(home).call("update.check", {"version": version}, timeout_s=CALL_LIMIT_S)
    return found


def _checked_here(home: Path, version: str) -> dict[str, Any]:
    from msgspec import to_builtins

    release = asyncio.run(_updates(home).look(version))
    return {"version": __version__, "release": None if release is None else to_builtins(release)}


def _run_by_hub(home: Path | RemoteHome, version: str, *, as_json: bool) -> dict[str, Any]:
    begun_ms = int(time.time() * 1000)
    HubClient(home).call("update.run", {"version": version})
    shown, deadline, record = "", time.monotonic() + CALL_LIMIT_S * 4, None
    while time.monotonic() < deadline:
        time.sleep(LOOK_S)
        try:
            status = HubClient(home).call("update.status")
        except CallFailed as error:
            if error.status != 503:
                raise
            continue  # it starts or stops
        except CommandFailed as error:
            if error.code is not Exit.NOT_REACHABLE:
                raise
            continue
        record, work = status["last"], status["working"]
        if record is not None and record["state"] in ("kept", "back") and record["begun_ms"] >= begun_ms:
            return dict(record)
        if work is None and status["error"]:
            raise CommandFailed(status["error"])
        text = WORDS[work["what"]].format(version=version) if work else f"Watching {version} for a while"
        if text != shown and not as_json:
            click.echo(f"{text} …", err=True)
            shown = text
    raise CommandFailed(f"It is not known what became of the update: {command_on(home, 'homarus update --check')}")


def _run_here(home: Path, version: str) -> dict[str, Any]:
    from dataclasses import asdict

    from hub.update.record import read_record

    lock = InstanceLock(home)
    try:
        lock.acquire()
    except AlreadyRunning as error:
        raise CommandFailed(f"{error.message}. Try again.") from error
    try:
        asyncio.run(_updates(home).run(version))
    finally:
        lock.release()
    record = read_record(home)
    assert record is not None  # noqa: S101  written by the update
    return asdict(record)


def _updates(home: Path) -> Updates:
    from hub.backup.cli import use_backups
    from hub.storage.homedir import Home
    from hub.update.place import find_place
    from hub.update.updates import Updates

    shown = ""

    def changed() -> None:
        nonlocal shown
        text = WORDS[updates.work.what].format(version=updates.work.version) if updates.work else ""
        if text != shown and text and sys.stderr.isatty():
            click.echo(f"{text} …", err=True)
        shown = text or shown

    async def backup() -> str:
        made = await asyncio.to_thread(use_backups, home, lambda backups: backups.create(), as_json=True)
        return str(made["name"])

    updates = Updates(Home(home), find_place(), backup=backup, changed=changed)
    return updates
