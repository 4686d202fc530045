"""`homarus service`: the hub as a service of this machine, and the services of the home."""

from __future__ import annotations

import os
import pwd
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from hub.automation.cli.service import services
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import command_on, home_option, json_option, print_json
from hub.cli.remote import RemoteHome
from hub.cli.run_hub import DEFAULT_HOME
from hub.daemon.unit import MachineService, launchd, owner_of, runs_systemd, service_name, systemd
from hub.storage.instance_lock import read_running

LIMIT_S = 120.0
NO_MANAGER = (
    "Neither systemd nor launchd runs this machine, so nothing can start the hub with it. In a container, make "
    "`homarus start` its command, and let the engine restart it."
)


@click.group("service", cls=Group)
def command() -> None:
    """Run the hub as a service of this machine; list and call the services of the home.

    Example:
      homarus service install
      homarus service logs --follow
      homarus service call agent.run --data '{"message": "Good morning"}'
    """


@command.command("install")
@click.option(
    "--user", metavar="NAME", help="As root: the user whose processes they are.  [default: the home directory's owner]"
)
@click.option("--print", "only_print", is_flag=True, help="Print the file and install nothing.")
@home_option
@json_option
def install(user: str | None, only_print: bool, home: Path, as_json: bool) -> None:
    """Start the hub with this machine, and again when it crashes.

    Run by root, it becomes a service of the system; by anybody else, one of that user, which runs without signing in.

    Example:
      homarus service install
      sudo homarus service install --config /srv/homarus --user homarus
    """
    service = _service(home, user, only_print=only_print)
    facts = {"name": service.name, "file": str(service.file), "text": service.text, "installed": not only_print}
    if not only_print:
        running = read_running(home)
        if running is not None and not service.file.exists():
            raise CommandFailed(f"A hub runs on {home} already (process {running.pid}); stop it first.")
        _write(service, home)
        for each in service.install:
            _run(each)
    if as_json:
        print_json(facts)
    elif only_print:
        click.echo(service.text, nl=False)
    else:
        click.echo(
            f"{service.name} runs, and starts with this machine ({service.file}).\n"
            f"Its log:  {command_on(home, 'homarus service logs --follow')}\n"
            f"Sign in:  {command_on(home, 'homarus dashboard')}"
        )


@command.command("uninstall")
@home_option
@json_option
def uninstall(home: Path, as_json: bool) -> None:
    """Stop the hub, and start it with this machine no longer. The home stays as it is.

    Example:
      homarus service uninstall
    """
    service = _installed(home)
    for each in service.uninstall:
        _run(each)
    service.file.unlink()
    _tell(f"{service.name} is uninstalled; {home} is as it was.", service, as_json=as_json)


def _control(name: str, done: str, help: str) -> None:
    """Add a command that has the service manager do something with the installed service."""

    def run(home: Path, as_json: bool) -> None:
        service = _installed(home)
        _run(getattr(service, name))
        _tell(f"{service.name} is {done}.", service, as_json=as_json)

    run.__doc__ = f"{help}\n\n    Example:\n      homarus service {name}\n    "
    command.command(name)(home_option(json_option(run)))


_control("start", "started", "Start the installed service.")
_control("stop", "stopped", "Stop the installed service until the next start of this machine.")
_control("restart", "restarted", "Stop the installed service and start it again.")


@command.command("status")
@home_option
@json_option
def status(home: Path, as_json: bool) -> None:
    """Say whether the service is installed and runs. Exits 1 when it does not run.

    Example:
      homarus service status
    """
    service = _installed(home)
    text = _run(service.status)
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    found = {key.strip(): value.strip() for key, value in pairs}
    runs = found.get("ActiveState", found.get("state")) in ("active", "running")
    if as_json:
        print_json({"name": service.name, "file": str(service.file), "runs": runs, "manager": found})
    elif "ActiveState" in found:
        again = f", started again {found['NRestarts']} times" if found.get("NRestarts", "0") != "0" else ""
        process = f", process {found['MainPID']}" if runs else ""
        click.echo(f"{service.name} is {found['ActiveState']} ({found['SubState']}){process}{again}. {service.file}")
    else:
        click.echo(text, nl=False)
    if not runs:
        raise click.exceptions.Exit(Exit.FINDINGS)


@command.command("logs")
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes.")
@home_option
@json_option
def logs(follow: bool, home: Path, as_json: bool) -> None:
    """Show what the service printed, also before the hub could write a log of its own.

    Example:
      homarus service logs --follow
    """
    service = _installed(home)
    argv = service.follow if follow else service.logs
    if as_json and argv[0] == "journalctl":
        argv = (*argv, "--output=json")
    sys.stdout.flush()
    os.execvp(argv[0], argv)  # noqa: S606  a program found on PATH


for each in services.commands.values():
    command.add_command(each)


def _service(home: Path, user: str | None = None, *, only_print: bool = False) -> MachineService:
    """Return the service of a home on this machine.

    Raises:
        CommandFailed: There can be none.
    """
    if isinstance(home, RemoteHome):
        raise CommandFailed("A service is of the machine it runs on: run the command there.", Exit.USAGE)
    name = service_name(home, DEFAULT_HOME.expanduser().absolute())
    if sys.platform == "darwin":
        if user is not None:
            raise CommandFailed("--user is for Linux; here the hub is of the user who installs it.", Exit.USAGE)
        return launchd(name, home)
    if not (runs_systemd() or only_print):
        raise CommandFailed(NO_MANAGER)
    if os.getuid() != 0:
        if user is not None:
            raise CommandFailed("--user is for root: sudo homarus service install --user NAME", Exit.USAGE)
        return systemd(name, home, None)
    if user is not None:
        try:
            pwd.getpwnam(user)
        except KeyError:
            raise CommandFailed(f"There is no user {user} on this machine.", Exit.USAGE) from None
    return systemd(name, home, user or owner_of(home))


def _installed(home: Path) -> MachineService:
    service = _service(home)
    if not service.file.is_file():
        raise CommandFailed(f"{service.name} is not installed; {command_on(home, 'homarus service install')}")
    return service


def _write(service: MachineService, home: Path) -> None:
    try:
        if not home.exists():  # a service of the system cannot make it
            home.mkdir(mode=0o700, parents=True)
            if service.user is not None:
                found = pwd.getpwnam(service.user)
                os.chown(home, found.pw_uid, found.pw_gid)
        service.file.parent.mkdir(parents=True, exist_ok=True)
        service.file.write_text(service.text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{error.filename or service.file} cannot be written: {error.strerror}.") from error


def _run(argv: Sequence[str]) -> str:
    """Run a program and return what it printed.

    Raises:
        CommandFailed: It failed; the message has its last words.
    """
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandFailed(f"{shlex.join(argv)} failed: {error}.") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise CommandFailed(f"{shlex.join(argv)} failed: {said or f'exit code {done.returncode}'}")
    return done.stdout


def _tell(text: str, service: MachineService, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": service.name, "file": str(service.file)})
    else:
        click.echo(text)
