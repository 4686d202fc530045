"""`homarus start`: run the hub in the foreground."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from hub.cli.groups import CliCommand
from hub.cli.options import home_option


@click.command("start", cls=CliCommand)
@click.option("--host", help="Address to serve, over http.host of the configuration.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to serve, over http.port; 0 lets the system choose.")
@click.option("--verbose", "-v", is_flag=True, help="Log more.")
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print address and sign-in link as a line of JSON.")
def command(host: str | None, port: int | None, verbose: bool, home: Path, as_json: bool) -> None:
    """Run the hub on a home directory, which is made when it is not there; stop it with Ctrl+C.

    Example:
      homarus start
      homarus start --config /srv/home --host 0.0.0.0 --port 18789
    """
    gc.disable()  # imports stay in memory; the hub enables it once it runs
    from hub.bootstrap import StartOptions, run

    host = None if host is None else _checked_host(host)
    on_ready = _print_line if as_json else None
    _end(run(StartOptions(home=home, host=host, port=port, verbose=verbose, on_ready=on_ready)))


def _checked_host(host: str) -> str:
    from hub.core.schema import SchemaError
    from hub.gateway.calls.schema import bind_address

    try:
        return bind_address(host)
    except SchemaError as error:
        raise click.BadParameter(str(error.msg), param_hint="--host") from error


def _end(code: int) -> NoReturn:
    """End the process without waiting for the threads that watch files: they look up to 200 ms later.

    Everything that is to be kept has been written and closed.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _print_line(told: Mapping[str, Any]) -> None:
    click.echo(json.dumps(told, ensure_ascii=False))
    sys.stdout.flush()
