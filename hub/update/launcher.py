"""Leads from the environment that Homarus was installed into to the version that a home runs, and tries a new one out.

A new version is started as a child and watched. When it ends twice before it was found good, or does not become ready,
the version before is started again. Whatever is killed in between, the next start goes on from the record.

Standard library only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

from hub.update.record import (
    EXIT_AGAIN,
    LAUNCHER,
    UpdateState,
    base_environment,
    python_of,
    read_record,
    write_record,
)

STARTS = 2
"""How often a new version is started before it is given up."""
TRIAL_LIMIT_S = 600.0
"""How long a new version may take until it has found itself good."""
STOP_LIMIT_S = 30.0
LOOK_S = 0.5


def launch(home: Path, arguments: Sequence[str]) -> None:
    """Go on in the version that a home runs; return when that is this one.

    Args:
        arguments: Of the command line.
    """
    base = base_environment()
    if base != Path(sys.prefix):
        return
    while (record := read_record(home)) is not None and (python := python_of(base, record.runs)) is not None:
        if record.state is not UpdateState.TRYING or arguments[:1] != ["start"]:
            execute(python, arguments)
        try_out(home, python, arguments)


def execute(python: Path, arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the command line of another version.

    Raises:
        OSError: It cannot be started.
    """
    argv = _command(python, arguments)
    os.execve(python, argv, _environment())  # noqa: S606  of our own environment


def try_out(home: Path, python: Path, arguments: Sequence[str], *, limit_s: float = TRIAL_LIMIT_S) -> None:
    """Run a new version until it ends; return when it was given up, or asks for another one.

    Args:
        python: Of the new version.
        limit_s: How long it may take to be found good.

    Raises:
        SystemExit: It was stopped, or was found good and ended; with its exit code.
    """
    why = ""
    while (record := read_record(home)) is not None and record.state is UpdateState.TRYING:
        if record.starts >= STARTS:
            why = why or "it ended before it was ready"
            break
        write_record(home, replace(record, starts=record.starts + 1))
        code, hangs, was_stopped = _watch(home, _command(python, arguments), limit_s)
        now = read_record(home)
        if now is None or now.state is not UpdateState.TRYING or now.version != record.version:
            if code == EXIT_AGAIN and not was_stopped:
                return
            sys.exit(_exit_code(code))  # found good, and has ended since
        if was_stopped or code == EXIT_AGAIN:  # another hub has the home, for which the version is not to blame
            write_record(home, replace(now, starts=record.starts))
            sys.exit(_exit_code(code))
        if hangs:
            why = f"it was not ready within {limit_s:g} s"
            break
        why = now.why or f"it ended with {_ending(code)} before it was ready"
    else:
        return
    write_record(home, replace(record, state=UpdateState.BACK, why=why))
    sys.stderr.write(f"Homarus {record.version} is taken back: {why}. {record.previous} starts again.\n")


def _watch(home: Path, command: Sequence[str], limit_s: float) -> tuple[int, bool, bool]:
    """Run a process; return its exit code, whether it was ended because it hung, and whether a stop was asked for."""
    stopped: list[int] = []
    child: subprocess.Popen[bytes] | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        if child is not None:
            child.send_signal(signal.SIGTERM)

    before = {each: signal.signal(each, forward) for each in (signal.SIGTERM, signal.SIGINT)}
    deadline, hangs = time.monotonic() + limit_s, False
    try:
        child = subprocess.Popen(command, env=_environment() | {LAUNCHER: str(os.getpid())})
        if stopped:
            child.terminate()
        while True:
            try:
                return child.wait(LOOK_S), hangs, bool(stopped)
            except subprocess.TimeoutExpired:
                record = read_record(home)
            if stopped or record is None or record.state is not UpdateState.TRYING:
                return child.wait(), False, bool(stopped)
            if time.monotonic() > deadline and not hangs:
                hangs = True
                child.terminate()
                deadline += STOP_LIMIT_S
            elif time.monotonic() > deadline:
                child.kill()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _command(python: Path, arguments: Sequence[str]) -> list[str]:
    return [str(python), "-P", "-m", "hub", *arguments]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", LAUNCHER)}


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _exit_code(code: int) -> int:
    return code if code >= 0 else 128 - code
