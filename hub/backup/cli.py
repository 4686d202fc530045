"""`homarus backup`: make, list, check, restore and delete backups, whether a hub runs or not."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hub.cli.client import HubClient
from hub.cli.configured import check_home, editor_of
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import ask_secret, command_on, home_option, json_option, print_json, print_table
from hub.cli.remote import RemoteHome
from hub.config.files import ROOT_FILE
from hub.storage.instance_lock import InstanceLock, read_running

if TYPE_CHECKING:
    from hub.backup.backups import Backups

T = TypeVar("T")

CALL_LIMIT_S = 86_400.0
LOOK_S = 0.3
PASSPHRASE_VARIABLE = "HOMARUS_BACKUP_PASSPHRASE"  # noqa: S105  the name of a variable
CLEAR = (
    "It holds the keys and tokens of the home in the clear: keep it as you keep a key, or set backup.passphrase to "
    "have backups encrypted."
)
_SOURCE = click.argument("source", metavar="NAME|FILE")
_ASKS = click.option(
    "--passphrase-file",
    type=click.File("r"),
    help=f"Read the passphrase from a file; - is standard input.  [${PASSPHRASE_VARIABLE}, else the configured one]",
)


@click.group("backup", cls=Group)
def command() -> None:
    """Back this home up, and restore it.

    Example:
      homarus backup create
      homarus backup restore ~/homarus-home-20261129T033000Z.tar.gz
    """


@command.command("create")
@click.option("--to", metavar="DIR", help="Another folder than the configured one.")
@home_option
@json_option
def create(to: str | None, home: Path, as_json: bool) -> None:
    """Make a backup of this home now, also while its hub runs.

    Example:
      homarus backup create
      homarus backup create --to /media/stick
    """
    if to is not None and isinstance(home, RemoteHome):
        raise CommandFailed("--to is a folder of the hub's machine: run the command there", Exit.USAGE)
    if _hub_runs(home) and to is None:
        client = HubClient(home)
        client.call("backup.create")
        run = _followed(client, as_json=as_json)
    else:
        run = use_backups(home, lambda backups: backups.create(), folder=to, as_json=as_json)
    if as_json:
        print_json(run)
    elif run["name"]:
        click.echo(f"{run['name']}: {run['files']} files, {_size(run['size_bytes'])}, {run['took_ms'] / 1000:.1f} s.")
        click.echo(_left_out(run["left_out"]))
        if not run["name"].endswith(".age"):
            click.echo(CLEAR)
    if run["error"]:
        raise CommandFailed(run["error"])


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the backups, the newest first, with the places that have them.

    Example:
      homarus backup list
    """
    if _hub_runs(home):
        found = HubClient(home).call("backup.list", timeout_s=CALL_LIMIT_S)
        rows, failed = found["backups"], found["failed"]
    else:
        known, failed = use_backups(home, lambda backups: backups.find_all(), as_json=True)
        rows = [
            {
                "name": each.name,
                "madeMs": each.made_ms,
                "encrypted": each.encrypted,
                "sizeBytes": each.size_bytes,
                "places": each.places,
                "own": each.own,
            }
            for each in known
        ]
        found = {"backups": rows, "failed": failed}
    if as_json:
        print_json(found)
        return
    if not rows:
        click.echo("There is no backup yet.")
    else:
        shown = [
            (each["name"], _when(each["madeMs"]), _size(each["sizeBytes"]), ", ".join(each["places"])) for each in rows
        ]
        print_table(shown, ("name", "made", "size", "where"))
    for place, reason in failed.items():
        click.echo(f"{place} was not asked: {reason}", err=True)


@command.command("verify")
@_SOURCE
@_ASKS
@home_option
@json_option
def verify(source: str, passphrase_file: Any, home: Path, as_json: bool) -> None:
    """Read a backup whole, and compare each file in it with its hash.

    Example:
      homarus backup verify homarus-home-20261129T033000Z.tar.gz
    """
    found, _ = _read("verify", source, passphrase_file, home, as_json=as_json)
    if as_json:
        print_json(found)
        return
    _print_head(found["head"])
    click.echo(f"All {found['files']} files are as they were backed up.")


@command.command("restore")
@_SOURCE
@_ASKS
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def restore(source: str, passphrase_file: Any, yes: bool, home: Path, as_json: bool) -> None:
    """Show the content of a backup and, after a question, replace this home with it.

    The present home is kept for a week; homarus backup undo returns to it. A running hub restarts on the restored
    restored.

    Example:
      homarus backup restore ~/homarus-home-20261129T033000Z.tar.gz
      homarus backup restore ~/homarus-home-20261129T033000Z.tar.gz --yes --config /srv/home
    """
    found, given = _read("preview", source, passphrase_file, home, as_json=as_json)
    if not as_json:
        _print_head(found["head"])
        click.echo("Devices and tokens are restored as they were. What was waiting to be sent is not sent again.")
        replaced = ", ".join(f"{name} ({count})" for name, count in sorted(found["replaces"].items()))
        click.echo(f"It takes the place of {home}: {replaced}." if replaced else f"{home} is empty.")
    if not yes:
        click.confirm("Restore it?", abort=True, err=True)
    done = _ask("restore", source, given, home, as_json=as_json)
    if not _hub_runs(home):
        _put_into_force(home)
    if as_json:
        print_json(done)
        return
    click.echo(f"Restored {done['files']} files.")
    if _hub_runs(home):
        click.echo("The hub restarts on them.")
    else:
        click.echo(f"Start it with: {command_on(home, 'homarus start')}")


@command.command("undo")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def undo(yes: bool, home: Path, as_json: bool) -> None:
    """Return to the home that the last restore replaced; the restored one is kept instead.

    Example:
      homarus backup undo
    """
    if not yes:
        click.confirm("Go back to the home from before the last restore?", abort=True, err=True)
    if _hub_runs(home):
        HubClient(home).call("backup.goBack")
        told = "The hub restarts on the earlier home."
    else:
        use_backups(home, lambda backups: backups.go_back(), as_json=True)
        _put_into_force(home)
        told = "The earlier home is back."
    print_json({"ok": True}) if as_json else click.echo(told)


@command.command("delete")
@click.argument("name", metavar="NAME")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def delete(name: str, yes: bool, home: Path, as_json: bool) -> None:
    """Delete a backup, in all places.

    Example:
      homarus backup delete homarus-home-20261129T033000Z.tar.gz
    """
    if not yes:
        click.confirm(f"Delete {name} everywhere?", abort=True, err=True)
    if _hub_runs(home):
        places = HubClient(home).call("backup.delete", {"name": name}, timeout_s=CALL_LIMIT_S)["places"]
    else:
        places = use_backups(home, lambda backups: backups.delete(name), as_json=True)
    print_json({"name": name, "places": places}) if as_json else click.echo(f"Deleted from: {', '.join(places)}.")


@command.command("schedule")
@click.argument("every", type=click.Choice(["never", "day", "week"]), required=False)
@click.option("--at", metavar="HH:MM", help="The time of day, in the home's time zone.")
@click.option("--weekday", type=click.Choice(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), help="Of every week.")
@home_option
@json_option
def schedule(every: str | None, at: str | None, weekday: str | None, home: Path, as_json: bool) -> None:
    """Show the schedule of backups, or change it in the configuration.

    Example:
      homarus backup schedule
      homarus backup schedule day --at 03:30
    """
    wanted = {"every": every, "at": at, "weekday": weekday}
    given = {name: value for name, value in wanted.items() if value is not None}
    if given and _hub_runs(home):
        client = HubClient(home)
        client.call(
            "config.patch",
            {
                "raw": json.dumps({"backup": {"schedule": given}}),
                "baseHash": client.call("config.get", {"file": ROOT_FILE})["hash"],
            },
        )
    elif given:
        editor = editor_of(home)
        for name, value in given.items():
            editor.set_value(("backup", "schedule", name), value)
    if isinstance(home, RemoteHome):
        section = HubClient(home).call("backup.status")
    else:
        section = check_home(home).config.or_default("backup")
    told = section["schedule"]
    if as_json:
        print_json({"schedule": told, "keep": section["keep"]})
        return
    when = {"day": f"every day at {told['at']}", "week": f"every week on {told['weekday']} at {told['at']}"}
    click.echo(f"A backup is made {when.get(told['every'], 'when you ask for one')}.")
    keep = section["keep"]
    click.echo(f"Kept: the last of {keep['daily']} days, {keep['weekly']} weeks and {keep['monthly']} months.")


# -- below: through the hub, or without one ----------------------------------------------------------------------------


def _hub_runs(home: Path | RemoteHome) -> bool:
    return isinstance(home, RemoteHome) or read_running(home) is not None


def _read(what: str, source: str, passphrase_file: Any, home: Path, *, as_json: bool) -> tuple[dict[str, Any], str]:
    """Return the answer and the passphrase, which is asked for where one is needed and somebody can type it."""
    given = _passphrase(passphrase_file)
    try:
        return _ask(what, source, given, home, as_json=as_json), given
    except CommandFailed as error:
        if given or as_json or not _lacks_passphrase(error):
            raise
    given = ask_secret("Passphrase of the backup", "--passphrase-file", err=True)
    return _ask(what, source, given, home, as_json=as_json), given


def _ask(what: str, source: str, passphrase: str, home: Path, *, as_json: bool = True) -> dict[str, Any]:
    """Ask the hub, or do it here when none runs."""
    path = Path(source).expanduser()
    named = str(path.absolute()) if path.is_file() else source
    if _hub_runs(home):
        found: dict[str, Any] = HubClient(home).call(
            f"backup.{what}", {"source": named, "passphrase": passphrase}, timeout_s=CALL_LIMIT_S
        )
        return found
    from hub.core.errors import HubError

    acts: dict[str, Callable[[Backups], Awaitable[dict[str, Any]]]] = {
        "verify": lambda backups: backups.verify(named, passphrase),
        "preview": lambda backups: backups.preview(named, passphrase),
        "restore": lambda backups: backups.restore(named, passphrase),
    }
    try:
        done: dict[str, Any] = use_backups(home, acts[what], as_json=as_json)
        return done
    except HubError as error:
        raise CommandFailed(error.message, Exit.FINDINGS, {"code": error.code}) from error


def use_backups(home: Path, act: Callable[[Backups], Awaitable[T]], *, folder: str | None = None, as_json: bool) -> Any:
    """Do something with the backups of a home in this process."""
    import msgspec

    from hub.backup.backups import Backups, BackupSettings
    from hub.backup.schema import BACKUP_SCHEMA
    from hub.config.hub_section import HUB_SCHEMA
    from hub.core.clock import Clock
    from hub.security.egress import Egress
    from hub.security.network_schema import NETWORK_SCHEMA
    from hub.storage.homedir import Home, restrict_umask

    restrict_umask()
    config = check_home(home).config  # of a home that is not there yet, nothing
    hub, network = config.or_default("hub") or HUB_SCHEMA({}), config.or_default("network") or NETWORK_SCHEMA({})
    section = dict(config.or_default("backup") or BACKUP_SCHEMA({}))
    if folder is not None:
        section["to"] = {"folder": str(Path(folder).expanduser().absolute())}
    from zoneinfo import ZoneInfo

    async def run() -> Any:
        egress = Egress(lambda: network["allow_private"])
        settings = BackupSettings(
            section, str(hub["name"]), ZoneInfo(str(hub["time_zone"])), bool(config.or_default("storage"))
        )
        shown = _Progress(quiet=as_json)
        backups = Backups(Home(home), lambda: settings, egress=egress, clock=Clock(), changed=lambda: shown(backups))
        try:
            return await act(backups)
        finally:
            shown.end()
            await egress.close()

    found = asyncio.run(run())
    return msgspec.to_builtins(found) if isinstance(found, msgspec.Struct) else found


def _put_into_force(home: Path) -> None:
    from hub.backup.swap import finish
    from hub.storage.homedir import Home

    lock = InstanceLock(home)
    lock.acquire()
    try:
        finish(Home(home))
    finally:
        lock.release()


def _followed(client: HubClient, *, as_json: bool) -> dict[str, Any]:
    """Wait for the hub's backup, and show how far it is."""
    shown = _Progress(quiet=as_json)
    while True:
        status = client.call("backup.status")
        work = status["working"]
        if work is None:
            shown.end()
            last: dict[str, Any] = status["last"]
            return last
        shown.say(work["what"], work["done"], work["total"], work["place"])
        time.sleep(LOOK_S)


class _Progress:
    """A progress line on a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet or not sys.stderr.isatty()
        self._shown = False

    def __call__(self, backups: Backups) -> None:
        if backups.work is not None:
            self.say(backups.work.what, backups.work.done, backups.work.total, backups.work.place)

    def say(self, what: str, done: int, total: int, place: str) -> None:
        if self._quiet:
            return
        words = {"create": "Backing up", "copy": f"Copying to {place}", "verify": "Checking", "restore": "Unpacking"}
        share = f" {done * 100 // total} %" if total else " …"
        click.echo(f"\r\x1b[K{words.get(what, 'Reading')}{share}", nl=False, err=True)
        self._shown = True

    def end(self) -> None:
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)


def _passphrase(file: Any) -> str:
    return file.readline().rstrip("\n") if file is not None else os.environ.get(PASSPHRASE_VARIABLE, "")


def _lacks_passphrase(error: CommandFailed) -> bool:
    return error.details.get("code") == "WRONG_PASSPHRASE" and sys.stdin.isatty()


def _print_head(head: Mapping[str, Any]) -> None:
    click.echo(f"{head['home']}, {_when(head['made_ms'])}, made by Homarus {head['program']}")
    counts = ", ".join(_counted(count, name) for name, count in head["counts"].items() if count)
    click.echo(f"{_counted(head['files'], 'files')}, {_size(head['size_bytes'])}" + (f": {counts}" if counts else ""))


def _left_out(left_out: Mapping[str, int]) -> str:
    words = {
        "rebuilt": "indexes and caches, which are made again",
        "set_aside": "damaged files that were set aside",
        "link": "symlinks",
        "special": "sockets and pipes",
        "name": "files with impossible names",
        "unreadable": "files that cannot be read",
        "gone": "files that were deleted meanwhile",
        "chosen": "the history",
        "elsewhere": "conversations, messages and sign-ins, which are in PostgreSQL: back that up with pg_dump, see "
        "docs/backup.md",
    }
    told = "; ".join(f"{words.get(why, why)} ({count})" for why, count in sorted(left_out.items()))
    return f"Left out: {told}." if told else "Nothing was left out."


def _when(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _counted(count: int, name: str) -> str:
    return f"{count} {name.removesuffix('s') if count == 1 else name}"
