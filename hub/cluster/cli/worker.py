"""`homarus worker`: carry many homes in one process."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import WholeNumber
from hub.cli.run_hub import LOG_FORMAT_VARIABLE, end
from hub.cluster.cli.options import database_option, homes_option
from hub.core.errors import HubError

IDLE_MINUTES = 15


@click.command("worker", cls=CliCommand)
@homes_option
@database_option
@click.option("--listen", metavar="HOST:PORT", default="127.0.0.1:18789", show_default=True, help="Where to serve.")
@click.option("--url", metavar="URL", help="Where the other workers reach that.  [default: as --listen]")
@click.option("--name", metavar="NAME", help="The worker's name, for --only and move.  [default: this machine's]")
@click.option("--domain", "domains", metavar="NAME", multiple=True, help="Each home is at NAME.DOMAIN.")
@click.option("--certificate", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Serve HTTPS.")
@click.option("--key", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Its private key.")
@click.option(
    "--authority",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Who vouches for the other workers.  [default: as the system]",
)
@click.option("--trusted-proxy", "proxies", metavar="NETWORK", multiple=True, help="Whose forwarded headers count.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve /metrics there, without a token.")
@click.option("--max-homes", type=WholeNumber(1), default=1_000, show_default=True, help="Homes that are open at once.")
@click.option(
    "--idle",
    type=WholeNumber(1),
    default=IDLE_MINUTES,
    show_default=True,
    help="Minutes until an unused home is closed.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log more.")
@click.option(
    "--log-format",
    type=click.Choice(("text", "json")),
    default="text",
    envvar=LOG_FORMAT_VARIABLE,
    help="How the log is written to stderr; json is one object a line.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as a line of JSON once it serves.")
def command(homes: Path, database: str, name: str | None, url: str | None, **given: Any) -> None:
    """Carry many homes in this process, beside other workers; stop it with Ctrl+C or SIGTERM.

    Homes are made with `homarus homes create`. One is opened when it is asked for, and closed when nobody uses it.

    Example:
      homarus worker --homes /srv/homes --listen 0.0.0.0:18789 --url http://10.0.0.5:18789 --domain homes.example.org
    """
    certificate, key, metrics = given["certificate"], given["key"], given["metrics"]
    if (certificate is None) != (key is None):
        raise CommandFailed("--certificate and --key belong together", Exit.USAGE)
    try:
        from hub.worker import WorkerOptions, run
    except ImportError as error:
        raise CommandFailed(
            f"a worker needs a package that is not installed ({error}). Install it: script/setup --add postgresql",
            Exit.USAGE,
        ) from error
    host, port = _address("--listen", given["listen"])
    scheme = "https" if certificate is not None else "http"
    try:
        options = WorkerOptions(
            homes=homes.absolute(),
            database=database,
            host=host,
            port=port,
            url=(url or f"{scheme}://{given['listen']}").rstrip("/"),
            name=name or socket.gethostname(),
            run=_run_folder(),
            domains=frozenset(each.lower().strip(".") for each in given["domains"]),
            tls=(certificate, key) if certificate is not None else None,
            authority=given["authority"],
            trusted_proxies=tuple(ipaddress.ip_network(each) for each in given["proxies"]),
            metrics=_address("--metrics", metrics) if metrics is not None else None,
            homes_limit=given["max_homes"],
            idle_s=given["idle"] * 60.0,
            verbose=given["verbose"],
            log_format=given["log_format"],
            on_ready=_tell if given["as_json"] else None,
        )
        code = run(options)
    except HubError as error:
        raise CommandFailed(error.message) from error
    except ValueError as error:
        raise CommandFailed(f"--trusted-proxy: {error}", Exit.USAGE) from error
    end(code)


def _address(option: str, given: str) -> tuple[str, int]:
    host, _, port = given.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise CommandFailed(f"{option} {given}: expected HOST:PORT, such as 0.0.0.0:18789", Exit.USAGE)
    return host.strip("[]"), int(port)


def _tell(address: str) -> None:
    print(json.dumps({"pid": os.getpid(), "address": address}), flush=True)


def _run_folder() -> Path:
    """Return where the folder for sockets is made: their paths may not be long, so it is not among the homes."""
    for name in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
        if (given := os.environ.get(name)) and Path(given).is_dir():
            return Path(given)
    return Path(tempfile.gettempdir())
