"""`homarus start`: run the hub in the foreground."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.options import home_option


@click.command("start")
@click.option("--host", help="Address to serve, over http.host of the configuration.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to serve, over http.port; 0 lets the system choose.")
@click.option("--verbose", "-v", is_flag=True, help="Log more.")
@home_option
@click.pass_context
def command(ctx: click.Context, host: str | None, port: int | None, verbose: bool, home: Path) -> None:
    r"""Run the hub on a home directory, which is made when it is not there; stop it with Ctrl+C.

    \b
    Example:
      homarus start --config ~/.homarus --port 18789
    """
    from hub.bootstrap import StartOptions, run

    ctx.exit(run(StartOptions(home=home, host=host, port=port, verbose=verbose)))
