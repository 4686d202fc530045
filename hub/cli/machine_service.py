"""The commands that control an installed service of this machine: the hub's (`homarus service`) and the node's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.options import command_on, home_option, json_option, print_json
from node.service import (
    MachineService,
    ServiceProblem,
    control_service,
    service_state,
    show_log,
    uninstall_service,
)

NO_MANAGER = (
    "Neither systemd nor launchd runs this machine, so nothing can start it with it. In a container, make `{command}` "
    "its command, and let the engine restart it (docs/container.md)."
)
_CONTROLS = (
    ("start", "started", "Start the installed service."),
    ("stop", "stopped", "Stop the installed service until the next start of this machine."),
    ("restart", "restarted", "Stop the installed service and start it again."),
)


def add_controls(group: click.Group, name: str, find: Callable[[Path], MachineService]) -> None:
    """Add uninstall, start, stop, restart, status and logs to a group.

    Args:
        group: The group.
        name: The words of the group, such as `homarus service`.
        find: Returns the service of a home.
    """

    def installed(home: Path) -> MachineService:
        service = find(home)
        if not service.file.is_file():
            raise CommandFailed(f"{service.name} is not installed; {command_on(home, f'{name} install')}")
        return service

    def add(verb: str, help: str, run: Callable[..., None]) -> None:
        run.__doc__ = f"{help}\n\n    Example:\n      {name} {verb}\n    "
        group.command(verb)(home_option(json_option(run)))

    def uninstall(home: Path, as_json: bool) -> None:
        service = installed(home)
        attempt(lambda: uninstall_service(service))
        _tell(f"{service.name} is uninstalled; {home} is as it was.", service, as_json=as_json)

    def control(verb: str, done: str) -> Callable[..., None]:
        def run(home: Path, as_json: bool) -> None:
            service = installed(home)
            attempt(lambda: control_service(service, verb))
            _tell(f"{service.name} is {done}.", service, as_json=as_json)

        return run

    def status(home: Path, as_json: bool) -> None:
        service = installed(home)
        try:
            runs, line, found = service_state(service)
        except ServiceProblem as problem:
            raise CommandFailed(str(problem)) from problem
        if as_json:
            print_json({"name": service.name, "file": str(service.file), "runs": runs, "manager": found})
        else:
            click.echo(line)
        if not runs:
            raise click.exceptions.Exit(Exit.FINDINGS)

    def logs(home: Path, as_json: bool, follow: bool) -> None:
        service = installed(home)
        attempt(lambda: show_log(service, follow=follow, as_json=as_json))

    add("uninstall", "Stop it, and start it with this machine no longer. The home stays as it is.", uninstall)
    for verb, done, help in _CONTROLS:
        add(verb, help, control(verb, done))
    add("status", "Say whether the service is installed and runs. Exits 1 when it does not run.", status)
    following = click.option("--follow", "-f", is_flag=True, help="Go on with what comes.")
    add("logs", "Show what the service printed, also before it could write a log of its own.", following(logs))


def attempt(action: Callable[[], None]) -> None:
    """Do something with a service.

    Raises:
        CommandFailed: It cannot be done.
    """
    try:
        action()
    except ServiceProblem as problem:
        raise CommandFailed(str(problem)) from problem


def _tell(text: str, service: MachineService, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": service.name, "file": str(service.file)})
    else:
        click.echo(text)
