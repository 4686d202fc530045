"""`homarus service`: the hub as a service of this machine, and the services of the home."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

import click

from hub.automation.cli.service import services
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.machine_service import NO_MANAGER, add_controls, attempt
from hub.cli.options import command_on, home_option, json_option, print_json
from hub.cli.remote import RemoteHome
from hub.cli.run_hub import DEFAULT_HOME
from hub.daemon.unit import hub_agent, hub_service, owner_of, service_name
from hub.storage.instance_lock import read_running
from node.service import MachineService, install_service, runs_systemd


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
        _make_home(home, service)
        attempt(lambda: install_service(service))
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


def _service(home: Path, user: str | None = None, *, only_print: bool = False) -> MachineService:
    """Return the service of a home on this machine.

    Raises:
        CommandFailed: There can be none.
    """
    if isinstance(home, RemoteHome):
        raise CommandFailed("A service belongs to the machine it runs on: run the command there.", Exit.USAGE)
    name = service_name(home, DEFAULT_HOME.expanduser().absolute())
    if sys.platform == "darwin":
        if user is not None:
            raise CommandFailed("--user is for Linux; here the hub is of the user who installs it.", Exit.USAGE)
        return hub_agent(name, home)
    if not (runs_systemd() or only_print):
        raise CommandFailed(NO_MANAGER.format(command="homarus start"))
    if os.getuid() != 0:
        if user is not None:
            raise CommandFailed("--user is for root: sudo homarus service install --user NAME", Exit.USAGE)
        return hub_service(name, home, None)
    if user is not None:
        try:
            pwd.getpwnam(user)
        except KeyError:
            raise CommandFailed(f"There is no user {user} on this machine.", Exit.USAGE) from None
    return hub_service(name, home, user or owner_of(home))


def installed_service(home: Path) -> MachineService | None:
    """Return the service of a home that is installed on this machine, if any.

    Raises:
        CommandFailed: The home is of another machine.
    """
    if not isinstance(home, RemoteHome) and sys.platform != "darwin" and not runs_systemd():
        return None
    service = _service(home)
    return service if service.file.is_file() else None


def _make_home(home: Path, service: MachineService) -> None:
    """Make the home, which a service of the system cannot."""
    if home.exists():
        return
    try:
        home.mkdir(mode=0o700, parents=True)
        if service.user is not None:
            found = pwd.getpwnam(service.user)
            os.chown(home, found.pw_uid, found.pw_gid)
    except OSError as error:
        raise CommandFailed(f"{home} cannot be made: {error.strerror}.") from error


add_controls(command, "homarus service", _service)
for each in services.commands.values():
    command.add_command(each)
