"""The `homarus` command. Each subcommand is a module that is imported only when it is called.

Commands that need a running hub ask it over plain HTTP from the standard library; they touch no live file.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:]
    _go_on_in_version(arguments)
    if arguments in (["--version"], ["-V"]):
        from hub import __version__

        print(f"homarus {__version__}")
        return
    if arguments[:1] == ["start"]:
        from hub.cli.run_hub import run_plainly

        run_plainly(arguments[1:])
    from hub.cli.app import run

    sys.exit(run(arguments))


def _go_on_in_version(arguments: list[str]) -> None:
    """Let a later version that an update put in force take over, where the home runs one."""
    from hub.cli.run_hub import home_of

    home = home_of(arguments)
    if (home / ".storage/update.json").exists():
        from hub.update.launcher import launch

        launch(home, arguments)
