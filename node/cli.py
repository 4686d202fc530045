"""`homarus-node run | service | status | doctor`, with nothing but the standard library until it connects."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .backends import backend_here
from .connection import NodeConnection, NodeCredential
from .doctor import NodeFinding, examine
from .home import NodeHome, NodeProblem, NodeSettings, check_fingerprint, check_url, read_setup_code
from .identity import identity_of
from .offers import all_offers, handlers_of
from .service import (
    MISUSED,
    control_service,
    install_service,
    node_service,
    runs_systemd,
    service_state,
    show_log,
    uninstall_service,
)

SERVICE_VERBS = ("install", "uninstall", "start", "stop", "restart", "status", "logs")

HELP = {
    "config": "The node's own directory; HOMARUS_NODE_CONFIG, or ~/.homarus-node, without it.",
    "pair": "A setup code, once: oc-pair://…, from the hub's page Devices.",
    "url": "The hub, such as wss://hub.local:18789; ws:// on this machine alone.",
    "token": "A token of the hub, for the first connection; HOMARUS_NODE_TOKEN is better.",
    "name": "What the hub calls this node; the name of the machine without it.",
    "ca": "File of the authority that signed the hub's certificate.",
    "fingerprint": "SHA-256 of the hub's certificate, which nobody else need vouch for: `homarus tls --show` there.",
    "share": "A folder that the hub may list, read and write; none without it.",
    "imessage": "on: the hub may read and send the messages of this Mac; off: it may not, as without it.",
    "microphone": "on: this machine listens, and speaks, as a satellite of the hub; off: it does not, as without it.",
    "deny": "Commands never offered, such as camera.* (again for each).",
    "print": "Show what would be installed, and install nothing.",
}


RUN_WORDS = ("pair", "url", "token", "name", "ca", "fingerprint", "share", "imessage", "microphone")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `run`; empty ones keep their stored value."""

    pair: str = ""
    url: str = ""
    token: str = ""
    name: str = ""
    ca: str = ""
    fingerprint: str = ""
    share: str = ""
    imessage: str = ""
    microphone: str = ""
    deny: tuple[str, ...] = ()


def home_at(path: str | None) -> NodeHome:
    """Return the node's directory."""
    return NodeHome(Path(path or os.environ.get("HOMARUS_NODE_CONFIG") or Path.home() / ".homarus-node").expanduser())


def run_node(home: NodeHome, options: RunOptions, tell: Callable[[str], None]) -> None:
    """Connect and stay connected until a signal ends it.

    Raises:
        NodeProblem: It cannot.
    """
    settings, credential = settled(home, options)
    home.keep(settings)
    backend = backend_here()
    handlers = handlers_of(all_offers(home, settings, backend))

    async def stay() -> None:
        staying = asyncio.ensure_future(NodeConnection(home, backend, handlers, tell).run(credential))
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, staying.cancel)
        try:
            await staying
        except asyncio.CancelledError:
            tell("stopped")

    asyncio.run(stay())


def install_node(home: NodeHome, *, print_only: bool) -> dict[str, Any]:
    """Start this node with its machine; return the installed files.

    Raises:
        NodeProblem: It is not paired, or cannot be installed.
    """
    platform = backend_here().platform
    service = node_service(platform, home.path)
    if not print_only:
        if not home.settings().device_token:
            raise NodeProblem("pair this node first: homarus node run --pair CODE")
        if platform == "linux" and not runs_systemd():
            raise NodeProblem(
                "systemd does not run this machine, so nothing can start the node with it; in a container, make "
                "`homarus node run` its command"
            )
        install_service(service)
    return {"path": str(service.file), "text": service.text, "installed": not print_only}


def node_status(home: NodeHome) -> dict[str, Any]:
    """Return this node's identity, and its commands.

    Raises:
        NodeProblem: Its directory cannot be read.
    """
    settings, backend = home.settings(), backend_here()
    return {
        "id": identity_of(home).id if home.key_file.exists() else None,
        "name": settings.name,
        "hub": settings.url,
        "paired": bool(settings.device_token),
        "platform": backend.platform,
        "shared": settings.shared,
        "microphone": "on" if settings.microphone else "off",
        "commands": sorted(handlers_of(all_offers(home, settings, backend))),
    }


def node_findings(home: NodeHome) -> list[NodeFinding]:
    """Return the doctor's findings."""
    return examine(home, backend_here())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code: 0 well, 1 something was found, 3 something to put right first."""
    given = parser().parse_args(arguments)
    home = home_at(given.config)
    try:
        sys.exit(_do(given, home))
    except NodeProblem as problem:
        print(problem, file=sys.stderr)
        sys.exit(MISUSED)


def _do(given: argparse.Namespace, home: NodeHome) -> int:
    if given.command == "run":
        options = {name: getattr(given, name) or "" for name in RUN_WORDS}
        run_node(home, RunOptions(**options, deny=tuple(given.deny)), lambda line: print(line, flush=True))
        return 0
    if given.command == "service":
        return _do_service(given, home)
    if given.command == "status":
        print_result(node_status(home), as_json=given.json)
        return 0
    findings = node_findings(home)
    print_findings(findings, as_json=given.json)
    return 0 if all(each.ok for each in findings) else 1


def _do_service(given: argparse.Namespace, home: NodeHome) -> int:
    if given.verb == "install":
        print_result(install_node(home, print_only=given.print), as_json=given.json)
        return 0
    service = node_service(backend_here().platform, home.path)
    if not service.file.is_file():
        raise NodeProblem(f"{service.name} is not installed: homarus-node service install")
    if given.verb == "logs":
        show_log(service, follow=given.follow, as_json=given.json)
    if given.verb == "status":
        runs, line, manager = service_state(service)
        told: dict[str, Any] = {"name": service.name, "file": str(service.file), "runs": runs, "manager": manager}
        print(json.dumps(told) if given.json else line)
        return 0 if runs else 1
    if given.verb == "uninstall":
        uninstall_service(service)
    else:
        control_service(service, given.verb)
    print_result({"name": service.name, given.verb: "done"}, as_json=given.json)
    return 0


def print_result(found: dict[str, Any], *, as_json: bool) -> None:
    """Print a result: as JSON, or a line for each thing."""
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
        return
    for name, value in found.items():
        print(f"{name}: {', '.join(value) if isinstance(value, list) else value}")


def print_findings(findings: Sequence[NodeFinding], *, as_json: bool) -> None:
    """Print the doctor's findings."""
    if as_json:
        print(json.dumps([asdict(each) for each in findings], ensure_ascii=False, indent=2))
        return
    for each in findings:
        print(f"{'ok' if each.ok else '--'}  {each.about}: {each.text}")


def settled(home: NodeHome, options: RunOptions) -> tuple[NodeSettings, NodeCredential | None]:
    kept, credential = home.settings(), None
    url = options.url
    if options.pair:
        code = read_setup_code(options.pair)
        url, credential = url or code.url, NodeCredential("bootstrapToken", code.token)
    elif token := options.token or ("" if kept.device_token else os.environ.get("HOMARUS_NODE_TOKEN", "")):
        credential = NodeCredential("token", token)
    url = check_url(url or kept.url) if url or kept.url else ""
    if not url:
        raise NodeProblem("which hub? homarus node run --pair CODE, or --url wss://hub.local:18789 --token TOKEN")
    shared = str(Path(options.share).expanduser().resolve()) if options.share else kept.shared
    if shared and not Path(shared).is_dir():
        raise NodeProblem(f"--share: {shared} is not a folder")
    for option, given in (("imessage", options.imessage), ("microphone", options.microphone)):
        if given not in ("", "on", "off"):
            raise NodeProblem(f"--{option}: expected on or off, not {given!r:.50}")
    settings = replace(
        kept,
        url=url,
        # The token of one hub is never shown to another.
        device_token=kept.device_token if url == kept.url else "",
        name=options.name or kept.name or platform.node() or "node",
        certificate=str(Path(options.ca).expanduser().resolve()) if options.ca else kept.certificate,
        # A pin is of one hub's certificate.
        fingerprint=check_fingerprint(options.fingerprint, url)
        if options.fingerprint
        else kept.fingerprint
        if url == kept.url
        else "",
        shared=shared,
        deny=options.deny or kept.deny,
        imessage=options.imessage == "on" if options.imessage else kept.imessage,
        microphone=options.microphone == "on" if options.microphone else kept.microphone,
    )
    return settings, credential


def parser() -> argparse.ArgumentParser:
    """Return what reads the program's arguments."""
    made = argparse.ArgumentParser("homarus-node", description="Make this machine a node of a Homarus hub.")
    below = made.add_subparsers(dest="command", required=True)
    run = below.add_parser("run", help="connect to the hub and stay connected")
    for name in RUN_WORDS:
        run.add_argument(f"--{name}", help=HELP[name])
    run.add_argument("--deny", action="append", default=[], metavar="COMMAND", help=HELP["deny"])
    service = below.add_parser("service", help="start it with this machine, and control that")
    service.add_argument("verb", choices=SERVICE_VERBS)
    service.add_argument("--print", action="store_true", help=f"With install: {HELP['print']}")
    service.add_argument("--follow", action="store_true", help="With logs: go on with what comes.")
    others = [
        below.add_parser("status", help="what this node is and offers"),
        below.add_parser("doctor", help="what it can do here, and what is missing"),
    ]
    for each in (run, service, *others):
        each.add_argument("--config", metavar="DIR", help=HELP["config"])
    for each in (service, *others):
        each.add_argument("--json", action="store_true", help="Print JSON.")
    return made
