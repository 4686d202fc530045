"""Installs the engines into a Python of their own in the home, and models beside them."""

from __future__ import annotations

import asyncio
import fcntl
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hub.core.errors import Conflict, HubError, Unavailable
from hub.integration.installing import run_installer
from integrations.models.voice.catalogue import Offer
from integrations.models.voice.fetching import Progress, RemoteFile, repository, unpack
from integrations.models.voice.installed import ENGINES, LOCK, WAKE, Model, VoiceFolder

FETCHED_MB = {ENGINES: 170, WAKE: 31}
DISK_MB = {ENGINES: 530, WAKE: 130}
"""Measured on Linux, x86-64."""
INSTALL_LIMIT_S = 1_800.0
SPARE_BYTES = 200_000_000
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+)(?: ; (?P<marker>.*?))?(?: \\)?$", re.MULTILINE)
_IGNORED = re.compile(r"""^Ignoring (?P<name>\S+): markers '(?P<marker>.*)' don't match""", re.MULTILINE)
_OTHER_FILE = re.compile(r"DO NOT MATCH THE HASHES.*\n\S+==\S+ from file://(?P<file>[^\s:]+)")
_UNFIT = re.compile(r"No matching distribution found for (?P<what>\S+)")
"""What pip says, and a line of what is installed."""


class EnginesNotInstalled(HubError):
    """The engines could not be installed."""

    code = "INSTALL_FAILED"


@contextmanager
def one_at_a_time(folder: VoiceFolder) -> Iterator[None]:
    """Keep another installation out of the folder.

    Raises:
        Conflict: One is under way.
    """
    folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder.path / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict("another `homarus voice install` is under way") from error
        yield


def check_room(folder: VoiceFolder, size_bytes: int) -> None:
    """Check that so much fits on the disk.

    Raises:
        Unavailable: It does not.
    """
    place = next(each for each in (folder.path, *folder.path.parents) if each.exists())
    free = shutil.disk_usage(place).free
    if free < size_bytes + SPARE_BYTES:
        raise Unavailable(f"{place} has {free // 1_000_000:,} MB free; {size_bytes // 1_000_000:,} MB are needed")


async def install_programs(
    folder: VoiceFolder, programs: Path, progress: Callable[[str], None], sources: Sequence[Path] = ()
) -> None:
    """Install programs; those that were there are replaced when the new ones are whole.

    Args:
        programs: `ENGINES` or `WAKE`.
        sources: Folders with their wheels; then nothing is fetched. What they hold has to have the known hashes too.

    Raises:
        EnginesNotInstalled: The installer failed; the message has its last words.
    """
    place = folder.place_of(programs)
    new = place.with_name(f".{place.name}-new")
    shutil.rmtree(new, ignore_errors=True)
    pip = (str(new / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input")
    offline = ("--no-index", *(f"--find-links={each.resolve()}" for each in sources)) if sources else ()
    pinned = ("--require-hashes", "--only-binary=:all:", "--progress-bar=off", "-r", str(programs))
    steps = ((sys.executable, "-m", "venv", str(new)), (*pip, "install", *offline, *pinned))
    try:
        async with asyncio.timeout(INSTALL_LIMIT_S):
            for step in steps:
                said: list[str] = []
                _, code = await run_installer(step, _both(said.append, progress), cwd=folder.path)
                if code:
                    raise EnginesNotInstalled(why_not(programs, said, sources))
    except TimeoutError as error:
        raise EnginesNotInstalled(f"the installer did not end within {INSTALL_LIMIT_S / 60:g} min") from error
    shutil.copyfile(programs, new / LOCK)
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)


def _both(first: Callable[[str], None], second: Callable[[str], None]) -> Callable[[str], None]:
    def told(line: str) -> None:
        first(line)
        second(line)

    return told


def why_not(programs: Path, said: Sequence[str], sources: Sequence[Path]) -> str:
    """Say why programs could not be installed, and what to do.

    Args:
        said: The lines of pip.
        sources: The folders that were to have their wheels.
    """
    failed, text = f"{programs.stem} could not be installed", "\n".join(said)
    if not sources:
        return f"{failed}: {'; '.join(said[-3:])}. Without a network, install it with --from FOLDER: its wheels."
    where = ", ".join(map(str, sources))
    fetch = (
        f"Where there is a network, with Python {_PYTHON} on {sysconfig.get_platform()}, `python3 -m pip download "
        f"--only-binary=:all: --require-hashes -r {programs.name} -d wheels` fetches all of them; {programs} is that "
        "list. Then name that folder."
    )
    if other := _OTHER_FILE.search(text):
        return f"{failed}: {other['file']} is not the file that this version of Homarus names. {fetch}"
    ignored = {(each["name"], each["marker"]) for each in _IGNORED.finditer(text)}
    there = {_plain(file.name) for each in sources for file in each.glob("*.whl")}
    lacking = [
        f"{each['name']} {each['version']}"
        for each in _PIN.finditer(programs.read_text())
        if (each["name"], (each["marker"] or "").replace("'", '"')) not in ignored
        and not any(file.startswith(_plain(f"{each['name']}-{each['version']}-")) for file in there)
    ]
    if lacking:
        return f"{failed}: {where} has no wheel of {', '.join(lacking)}. {fetch}"
    if unfit := _UNFIT.search(text):
        return f"{failed}: the wheel of {unfit['what']} in {where} is for another Python or machine. {fetch}"
    return f"{failed}: {'; '.join(said[-3:])}"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


async def listed(offer: Offer, root: str) -> list[RemoteFile]:
    """Return the files of a model, as its repository lists them."""
    async with repository(root) as opened:
        return await opened.files(offer)


async def install_model(
    folder: VoiceFolder, offer: Offer, files: Sequence[RemoteFile], root: str, progress: Progress
) -> Model:
    """Fetch a model and put it in its place."""
    place = folder.unfinished(offer.name)
    async with repository(root) as opened:
        sums = await opened.fetch(offer, files, place, progress)
    return _finish(folder, offer, sums, place, f"{root}/{offer.repo}")


def install_from(folder: VoiceFolder, offer: Offer, sources: Sequence[Path]) -> Model:
    """Take a model from files of this machine and put it in its place."""
    place = folder.unfinished(offer.name)
    return _finish(folder, offer, unpack(offer, sources, place), place, ", ".join(map(str, sources)))


def _finish(folder: VoiceFolder, offer: Offer, sums: dict[str, str], place: Path, origin: str) -> Model:
    for each in place.iterdir():
        if each.name not in sums:
            each.unlink()
    size = sum(each.stat().st_size for each in place.iterdir())
    model = Model(offer.name, offer.engine, offer.languages, size, offer.licence, origin, sums)
    folder.finish(model, place)
    return model
