"""Installs the packages of integrations while the hub runs: from the lock of this checkout, with its hashes."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from hub.core.errors import HubError
from hub.core.extras import SETUP, can_install

LIMIT_S = 1_800.0
KEPT_LINES = 20
_PASSED_ON = ("HOME", "LANG", "PATH", "TMPDIR", "XDG_CACHE_HOME")
_PASSED_ON_AS = ("UV_", "PIP_", "SSL_CERT_")
_PASSED_ON_TOO = ("_proxy", "_PROXY")


class InstallFailed(HubError):
    """Packages could not be installed; the message has the last words of the installer."""

    code = "INSTALL_FAILED"


class Installer:
    """Installs extras of this checkout, one after another.

    Args:
        command: The program and its arguments, before the name of the extra; empty where there is none, as in an
            installed wheel, which has no lock, and in a container, whose files stay as they are.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        default = (str(SETUP), "--add") if can_install() else ()
        self._command = tuple(command) if command is not None else default
        self._one_at_a_time = asyncio.Lock()

    @property
    def is_available(self) -> bool:
        """Whether there is a lock to install from."""
        return bool(self._command)

    async def install(self, extra: str, progress: Callable[[str], None]) -> None:
        """Install an extra, so that its packages can be imported.

        Args:
            extra: Its name in pyproject.toml.
            progress: Called with each line that the installer prints.

        Raises:
            InstallFailed: It could not be installed. Cancelling it stops the installer.
        """
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(LIMIT_S):
                    lines, code = await run_installer((*self._command, extra), progress)
            except TimeoutError as error:
                raise InstallFailed(f"the installer did not end within {LIMIT_S / 60:g} min") from error
            except OSError as error:
                raise InstallFailed(f"the installer could not be started: {error}") from error
            if code:
                raise InstallFailed("; ".join(lines[-2:]) or f"the installer ended with {code}")
            importlib.invalidate_caches()


async def run_installer(
    argv: Sequence[str], progress: Callable[[str], None], *, cwd: Path | None = None
) -> tuple[list[str], int]:
    """Run a program that installs; return the last lines that it printed, and its exit code.

    Args:
        progress: Called with each line.

    Raises:
        OSError: It cannot be started.

    Cancelling it ends the program and what it started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=installer_environment(),
        cwd=cwd,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101
    lines: list[str] = []
    try:
        async for raw in process.stdout:
            if line := raw.decode("utf-8", "replace").strip().removeprefix("script/setup: "):
                lines = [*lines[1 - KEPT_LINES :], line[:300]]
                progress(line[:300])
        return lines, await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def installer_environment() -> dict[str, str]:
    """Return what an installer needs to know; keys of models are not among it."""
    return {
        name: text
        for name, text in os.environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_AS) or name.endswith(_PASSED_ON_TOO)
    }
