"""Runs programs of this machine: without a shell, killing the whole group, with bounded output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from .errors import NodeError

OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024
PROGRAM_LIMIT_S = 30.0
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended; `exit_code` is None when it was stopped at its time limit."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes


def find(*names: str) -> str | None:
    """Return the first of these programs that is installed, or None."""
    return next((name for name in names if shutil.which(name)), None)


async def run(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    timeout_s: float = PROGRAM_LIMIT_S,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    executable: str | None = None,
    limit: int = OUTPUT_LIMIT_BYTES,
) -> ProgramResult:
    """Run a program to its end; cancelling this ends the program and all that it started in its group.

    Args:
        executable: The program to start, when it is not the first word.

    Raises:
        NodeError: It cannot be started.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            executable=executable,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # It runs already while its pipes are being connected; asyncio would end it and not its group.
        with contextlib.suppress(OSError, ValueError):
            await end_program(await starting)
        raise
    except (OSError, ValueError) as error:
        raise NodeError("UNAVAILABLE", f"{argv[0]} cannot be started: {error}") from error
    stdin_of = cast(asyncio.StreamWriter, process.stdin)
    streams = cast(tuple[asyncio.StreamReader, ...], (process.stdout, process.stderr))
    out, err = bytearray(), bytearray()
    reading = [
        asyncio.create_task(_read(stream, kept, limit)) for stream, kept in zip(streams, (out, err), strict=True)
    ]
    timed_out = False
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stdin_of.write(stdin)
            stdin_of.close()
        try:
            async with asyncio.timeout(timeout_s):
                await process.wait()
        except TimeoutError:
            timed_out = True
    finally:
        await end_program(process)
        # What left the group may hold the pipes open.
        await asyncio.wait(reading, timeout=1)
        for each in reading:
            each.cancel()
    return ProgramResult(None if timed_out else process.returncode, bytes(out), bytes(err))


async def end_program(process: asyncio.subprocess.Process) -> None:
    """End a program and its group, and wait until it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(asyncio.CancelledError):
        await process.wait()


async def output_of(argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = PROGRAM_LIMIT_S) -> bytes:
    """Return the output of a program.

    Raises:
        NodeError: It cannot be started, takes too long or fails.
    """
    done = await run(argv, stdin=stdin, timeout_s=timeout_s)
    if done.exit_code is None:
        raise NodeError("TIMEOUT", f"{argv[0]} took longer than {timeout_s:g} s")
    if done.exit_code:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[:300]
        raise NodeError("UNAVAILABLE", f"{argv[0]} failed: {said or f'exit code {done.exit_code}'}")
    return done.stdout


async def _read(stream: asyncio.StreamReader, kept: bytearray, limit: int) -> None:
    """Read to the end, and keep what fits."""
    while chunk := await stream.read(_CHUNK):
        kept += chunk[: limit - len(kept)]
