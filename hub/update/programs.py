"""Runs the programs that updates are made with: git, uv, pip, and another version of Homarus."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from hub.integration.installing import installer_environment

LIMIT_S = 180.0
_GIT = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -oBatchMode=yes", "LC_ALL": "C.UTF-8"}
_PASSED_ON = ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GNUPGHOME")


async def run_program(
    argv: Sequence[str | Path], *, cwd: Path | None = None, given: str = "", limit_s: float = LIMIT_S
) -> tuple[int, str, str]:
    """Run a program that asks nobody anything; return its exit code, what it printed, and its complaints.

    Args:
        given: Its standard input.

    Raises:
        OSError: It cannot be started.
        TimeoutError: It did not end in time, and was ended.
    """
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(str(each) for each in argv),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**installer_environment(), **_GIT, **passed},
        cwd=cwd,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limit_s):
            out, err = await process.communicate(given.encode())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def last_words(*texts: str) -> str:
    """Return the last lines that a program printed, for an error."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-3:])[:600] or "it said nothing"
