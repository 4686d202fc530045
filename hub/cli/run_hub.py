"""Running the hub from the command line: an ordinary `homarus start` needs no library that reads command lines."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

DEFAULT_HOME = Path("~/.homarus")
HOME_VARIABLE = "HOMARUS_CONFIG"
URL_VARIABLE = "HOMARUS_URL"
LOG_FORMAT_VARIABLE = "HOMARUS_LOG_FORMAT"
LIGHT = ("aiohttp", "anyio", "ruamel.yaml", "watchfiles")
"""Packages of which most homes use a part: see `hub.core.light_packages`."""


def run_hub(home: Path, host: str | None, port: int | None, *, as_json: bool, **options: Any) -> NoReturn:
    """Run the hub until it is asked to stop, and end the process.

    Args:
        options: Further ones of `StartOptions`.
    """
    end(run_until_stopped(home, host, port, as_json=as_json, **options))


def run_until_stopped(home: Path, host: str | None, port: int | None, *, as_json: bool, **options: Any) -> int:
    """Run the hub until it is asked to stop; return the exit code.

    Args:
        options: Further ones of `StartOptions`.
    """
    _import_hub()
    from hub.bootstrap import StartOptions, run

    on_ready = _print_line if as_json else None
    return run(StartOptions(home=home, host=host, port=port, on_ready=on_ready, **options))


def run_plainly(arguments: Sequence[str]) -> None:
    """Run the hub for the arguments of an ordinary `start`; return if there are any others, or a module is missing."""
    if (plain := plain_start(arguments)) is None:
        return
    try:
        _import_hub()
    except ModuleNotFoundError:
        return
    run_hub(plain[0], None, plain[1], as_json=False)


def plain_start(arguments: Sequence[str]) -> tuple[Path, int | None] | None:
    """Return the home and the port that an ordinary `start` names; None if the arguments are any others."""
    values: dict[str, str] = {}
    rest = iter(arguments)
    for each in rest:
        if each not in ("--config", "--port"):
            return None
        values[each] = next(rest, "")
    port = values.get("--port", "")
    named = values.get("--config", os.environ.get(HOME_VARIABLE) or str(DEFAULT_HOME))
    asked = {URL_VARIABLE, LOG_FORMAT_VARIABLE} & os.environ.keys()
    if asked or not named or ("--port" in values and not (port.isdecimal() and int(port) < 65536)):
        return None
    return Path(named).expanduser().absolute(), int(port) if port else None


def home_of(arguments: Sequence[str]) -> Path:
    """Return the home that a command line names, before it is read in earnest."""
    named = os.environ.get(HOME_VARIABLE) or str(DEFAULT_HOME)
    for each, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, _, value = each.partition("=")
        if name == "--config":
            named = value or following or named
    return Path(named).expanduser().absolute()


def _import_hub() -> None:
    gc.disable()  # imports stay in memory; the hub enables it once it runs
    from hub.core.light_packages import make_light

    make_light(*LIGHT)
    import hub.bootstrap  # noqa: F401


def end(code: int) -> NoReturn:
    """End the process without waiting for the file watcher threads, which wake only every 200 ms.

    Everything that is to be kept has been written and closed.
    """
    import logging

    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _print_line(told: Mapping[str, Any]) -> None:
    import json

    print(json.dumps(told, ensure_ascii=False), flush=True)
