"""`homarus node`: this machine as a node of a hub; the same program as the distribution `homarus-node`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hub.cli.exits import CommandFailed
from hub.cli.groups import Group
from hub.cli.machine_service import add_controls
from hub.cli.options import home_option, json_option
from node.backends import backend_here
from node.cli import (
    HELP,
    RunOptions,
    install_node,
    node_findings,
    node_status,
    print_findings,
    print_result,
    run_node,
)
from node.home import NodeHome, NodeProblem
from node.service import MISUSED, node_service


@click.group("node", cls=Group)
def command() -> None:
    """Make this machine a node: hands and eyes of a hub that may run elsewhere.

    Example:
      homarus node run --pair oc-pair://eyJ1cmwi…
      homarus node service install
    """


@command.command("run")
@click.option("--pair", metavar="CODE", default="", help=HELP["pair"])
@click.option("--url", default="", help=HELP["url"])
@click.option("--token", default="", help=HELP["token"])
@click.option("--name", default="", help=HELP["name"])
@click.option("--ca", metavar="FILE", default="", help=HELP["ca"])
@click.option("--fingerprint", metavar="SHA256", default="", help=HELP["fingerprint"])
@click.option("--share", metavar="FOLDER", default="", help=HELP["share"])
@click.option("--imessage", type=click.Choice(["on", "off"]), default="", help=HELP["imessage"])
@click.option("--microphone", type=click.Choice(["on", "off"]), default="", help=HELP["microphone"])
@click.option("--deny", metavar="COMMAND", multiple=True, help=HELP["deny"])
@home_option
@json_option
def run(home: Path, as_json: bool, deny: tuple[str, ...], **given: str) -> None:
    """Connect to the hub and stay connected; stop it with Ctrl+C.

    Example:
      homarus node run --pair oc-pair://eyJ1cmwi…
      homarus node run --url wss://hub.local:18789 --token TOKEN --name Laptop
    """
    try:
        run_node(_home(home), RunOptions(**given, deny=deny), lambda line: _tell(line, as_json=as_json))
    except NodeProblem as problem:
        click.echo(str(problem), err=True)
        raise click.exceptions.Exit(MISUSED) from problem


@command.group("service", cls=Group)
def service() -> None:
    """Run the node as a service of this machine: systemd, launchd or Termux:Boot.

    Example:
      homarus node service install
      homarus node service logs --follow
    """


@service.command("install")
@click.option("--print", "print_only", is_flag=True, help=HELP["print"])
@home_option
@json_option
def install(print_only: bool, home: Path, as_json: bool) -> None:
    """Start the node with this machine, and again when it ends.

    Example:
      homarus node service install --print
    """
    try:
        print_result(install_node(_home(home), print_only=print_only), as_json=as_json)
    except NodeProblem as problem:
        raise CommandFailed(str(problem)) from problem


add_controls(service, "homarus node service", lambda home: node_service(backend_here().platform, _home(home).path))


@command.command("status")
@home_option
@json_option
def status(home: Path, as_json: bool) -> None:
    """Show this node's name, its hub and what it offers.

    Example:
      homarus node status
    """
    try:
        print_result(node_status(_home(home)), as_json=as_json)
    except NodeProblem as problem:
        raise CommandFailed(str(problem)) from problem


@command.command("doctor")
@home_option
@json_option
def doctor(home: Path, as_json: bool) -> None:
    """Show what this machine can do as a node, which programs and permissions are missing, and whether the hub answers.

    Example:
      homarus node doctor
    """
    print_findings(node_findings(_home(home)), as_json=as_json)


def _home(home: Path) -> NodeHome:
    return NodeHome(home / "node")


def _tell(line: str, *, as_json: bool) -> None:
    click.echo(json.dumps({"status": line}, ensure_ascii=False) if as_json else line)
