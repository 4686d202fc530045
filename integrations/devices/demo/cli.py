"""`homarus demo`: a made-up home to try, gone when it is stopped."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand

if TYPE_CHECKING:
    from hub.host import HubParts
    from integrations.devices.demo.past_clock import PastClock

LANGUAGES = ("en", "zh-CN")
DAY_S = 86_400


@click.command("demo", cls=CliCommand)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to serve; without it the system chooses.")
@click.option("--language", type=click.Choice(LANGUAGES), default="en", help="Of the home and its people.")
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Make it there, and leave it there."
)
@click.option("--json", "as_json", is_flag=True, help="Print address and sign-in link as a line of JSON.")
def command(port: int, language: str, keep: Path | None, as_json: bool) -> None:
    """Look at a made-up home, with a family, devices, conversations and a past; no network, no key.

    Example:
      homarus demo
      homarus demo --language zh-CN --port 18790
    """
    from hub.cli.run_hub import end, run_until_stopped
    from hub.config.files import ROOT_FILE

    if keep is not None and (keep / ROOT_FILE).exists():
        raise CommandFailed(f"--keep: {keep} is a home already; name a folder that is new or empty", Exit.USAGE)
    home = keep.absolute() if keep is not None else Path(tempfile.mkdtemp(prefix="homarus-demo-"))
    clock, prepare = _make(home, language)
    click.echo(
        f"A made-up home, in {home}. It lives through two weeks first, which takes some seconds. Ctrl+C stops it"
        f"{', and the folder stays' if keep else ' and throws it away'}; a new link that signs in: "
        f"homarus dashboard --config {home}",
        err=True,
    )
    try:
        code = run_until_stopped(home, None, port, as_json=as_json, clock=clock, prepare=prepare)
    finally:
        if keep is None:
            shutil.rmtree(home, ignore_errors=True)
    end(code)


def _make(home: Path, language: str) -> tuple[PastClock, Callable[[HubParts], Awaitable[None]]]:
    """Write the configuration of the home; return its clock, and what lives its past."""
    from hub.config.seed import local_time_zone
    from hub.storage.homedir import restrict_umask
    from integrations.devices.demo.past import DAYS, Past
    from integrations.devices.demo.past_clock import PastClock
    from integrations.devices.demo.story import home_files, read_story

    restrict_umask()
    story = read_story(language)
    home.mkdir(parents=True, exist_ok=True)
    files = {**home_files(story, local_time_zone()), **story.files, "secrets.yaml": ""}
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    clock = PastClock(time.time() - DAYS * DAY_S)

    async def prepare(hub: HubParts) -> None:
        log = logging.getLogger()
        level = log.level
        log.setLevel(logging.ERROR)  # what went wrong two weeks ago is no news
        try:
            await Past(hub, clock, story).live()
        finally:
            log.setLevel(level)

    return clock, prepare


COMMANDS = {"demo": command}
