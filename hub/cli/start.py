"""`homarus start`: run the hub in the foreground."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.groups import CliCommand
from hub.cli.options import WholeNumber, home_option
from hub.cli.run_hub import LOG_FORMAT_VARIABLE, run_hub


@click.command("start", cls=CliCommand)
@click.option("--host", help="Address to serve, over http.host of the configuration.")
@click.option("--port", type=WholeNumber(0, 65535), help="Port to serve, over http.port; 0 lets the system choose.")
@click.option("--verbose", "-v", is_flag=True, help="Log more.")
@click.option(
    "--log-format",
    type=click.Choice(("text", "json")),
    default="text",
    envvar=LOG_FORMAT_VARIABLE,
    help=f"How the log is written to stderr; json is one object a line. Also {LOG_FORMAT_VARIABLE}.",
)
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print address and sign-in link as a line of JSON.")
def command(host: str | None, port: int | None, verbose: bool, log_format: str, home: Path, as_json: bool) -> None:
    """Run the hub on a home directory, which is created if needed; stop it with Ctrl+C.

    Example:
      homarus start
      homarus start --config /srv/home --host 0.0.0.0 --port 18789
      HOMARUS_LOG_FORMAT=json homarus start
    """
    host = None if host is None else _checked_host(host)
    run_hub(home, host, port, verbose=verbose, log_format=log_format, as_json=as_json)


def _checked_host(host: str) -> str:
    from hub.core.schema import SchemaError
    from hub.gateway.calls.schema import bind_address

    try:
        return bind_address(host)
    except SchemaError as error:
        raise click.BadParameter(str(error.msg), param_hint="--host") from error
