"""Prepares a version beside the running one: its environment, and whether it can do with this home."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hub.core.errors import Conflict
from hub.core.phrases import phrase
from hub.integration.installing import run_installer
from hub.update.errors import UpdateFailed
from hub.update.programs import last_words, run_program
from hub.update.record import VERSIONS, WHOLE, python_in, read_record, version_folder
from hub.update.sources import ReleaseSource

LIMIT_S = 1_800.0
HOMES = "homes"
"""In the folder of a version: the homes that it was prepared for."""

Progress = Callable[[str], None]


async def prepare(source: ReleaseSource, version: str, base: Path, home: Path, progress: Progress) -> Path:
    """Make the environment of a version, unless it is there; return its Python.

    Args:
        base: The environment that Homarus was installed into.
        home: The home that it is for.
        progress: Called with each line that an installer prints.

    Raises:
        Conflict: Another update is being prepared.
        HubError: It could not be made; nothing that runs was touched.
    """
    folder = version_folder(base, version)
    try:
        with _locked(base / VERSIONS):
            if not (folder / WHOLE).exists():
                await asyncio.to_thread(_empty, folder)
                argv = await source.fetch(version, folder)
                await _install([str(each) for each in argv], folder, progress)
                await _refuse_broken(python_in(folder), version)
                (folder / WHOLE).touch()
            (folder / HOMES).mkdir(exist_ok=True)
            (folder / HOMES / _mark(home)).write_text(str(home), encoding="utf-8")
    except OSError as error:
        place = error.filename or folder
        told = phrase(
            "The new version cannot be put into {place}: {why}", place=place, why=error.strerror or str(error)
        )
        raise UpdateFailed(told) from error
    return python_in(folder)


async def check_configuration(python: Path, home: Path) -> None:
    """Check the configuration of a home with another version.

    Raises:
        UpdateFailed: It finds errors that this version does not find.
    """
    present, new = await asyncio.gather(_errors(Path(sys.executable), home), _errors(python, home))
    worse = [text for place, text in new.items() if place not in present]
    if worse:
        told = "; ".join(worse[:3]) + (" …" if len(worse) > 3 else "")
        raise UpdateFailed(phrase("The configuration does not fit the new version: {why}", why=told))


def drop_unused(base: Path, home: Path) -> None:
    """Delete the versions that this home needs no longer, unless they were prepared for another one too."""
    record, own = read_record(home), _mark(home)
    needed = {record.version, record.previous} if record is not None else set()
    for folder in (base / VERSIONS).glob("*"):
        marks = folder / HOMES / own
        if folder.name in needed or not marks.exists() or sys.prefix.startswith(f"{folder}{os.sep}"):
            continue
        others = [each for each in (folder / HOMES).glob("*") if each.name != own]
        if not any(Path(each.read_text("utf-8")).exists() for each in others):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Conflict(phrase("Another update is being prepared here; wait until it has ended.")) from None
    finally:
        os.close(descriptor)


def _empty(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()


async def _install(argv: list[str], folder: Path, progress: Progress) -> None:
    try:
        async with asyncio.timeout(LIMIT_S):
            lines, code = await run_installer(argv, progress, cwd=folder)
    except TimeoutError as error:
        raise UpdateFailed(
            phrase("The installer did not end within {minutes} min.", minutes=f"{LIMIT_S / 60:g}")
        ) from error
    if code:
        raise UpdateFailed(phrase("The new version could not be installed: {why}", why="; ".join(lines[-3:]) or code))


async def _refuse_broken(python: Path, version: str) -> None:
    script = "import hub.bootstrap; print(hub.__version__)"
    code, out, err = await _try([str(python), "-P", "-c", script])
    if code:
        raise UpdateFailed(phrase("The new version does not start: {why}", why=last_words(err)))
    if out.strip() != version:
        raise UpdateFailed(phrase("What was installed says that it is {found}.", found=out.strip()[:50]))


async def _errors(python: Path, home: Path) -> dict[tuple[str, str, str], str]:
    """Return the errors that a version finds in the configuration of a home, as text, by place and message."""
    code, out, err = await _try([str(python), "-P", "-m", "hub", "check", "--config", str(home), "--json"])
    try:
        found = json.loads(out)["errors"]
        return {
            (each["file"], each["path"], each["message"]): f"{each['file']}:{each['line']}: {each['message']}"
            for each in found
        }
    except (ValueError, KeyError, TypeError) as error:
        told = phrase(
            "homarus check of {python} ended with {code}: {why}", python=python, code=code, why=last_words(err, out)
        )
        raise UpdateFailed(told) from error


async def _try(argv: list[str]) -> tuple[int, str, str]:
    try:
        return await run_program(argv)
    except TimeoutError as error:
        raise UpdateFailed(phrase("{program} did not end in time.", program=argv[0])) from error


def _mark(home: Path) -> str:
    return hashlib.sha256(str(home).encode()).hexdigest()[:16]
