"""The contract of a platform, and what all of them share."""

from __future__ import annotations

import asyncio
import base64
import locale
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from .. import __version__
from ..errors import NodeError
from ..parameters import number, text
from ..pictures import PICTURE_LIMIT_BYTES, picture
from ..programs import PROGRAM_LIMIT_S, find, output_of

Answer = dict[str, Any]
Handler = Callable[[Mapping[str, Any]], Awaitable[Answer]]
SPEECH_LIMIT_S = 120.0
FILM_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class Offer:
    """A command of a platform.

    Attributes:
        command: Its name.
        do: Does it; gets the parameters and, if it needs one, the first of its programs that is installed.
        programs: Any one of them is enough; none are needed when it is empty.
        install: How to get one, for people.
        permission: What the system asks its user to permit for it, where it does.
    """

    command: str
    do: Callable[..., Awaitable[Answer]]
    programs: tuple[str, ...] = ()
    install: str = ""
    permission: str = ""

    @property
    def works(self) -> bool:
        """Whether a program for it is installed."""
        return not self.programs or find(*self.programs) is not None

    async def handler(self, params: Mapping[str, Any]) -> Answer:
        """Run the command.

        Raises:
            NodeError: It has none of its programs, or failed.
        """
        if not self.programs:
            return await self.do(params)
        program = find(*self.programs)
        if program is None:
            needed = f"{self.command} needs {' or '.join(self.programs)}"
            raise NodeError("UNAVAILABLE", f"{needed}, which is not installed here: {self.install}")
        return await self.do(params, program)


class Backend(Protocol):
    """A platform."""

    platform: str
    family: str

    def offers(self) -> list[Offer]:
        """Return all commands that this platform can have."""

    async def battery(self) -> Answer | None:
        """Return `{level, state}`, with a level from 0 to 1; None when there is none."""


def status_offers(backend: Backend) -> list[Offer]:
    """Return the commands that need no program: `device.info` and `device.status`."""

    async def info(params: Mapping[str, Any]) -> Answer:
        return {
            "deviceName": platform.node(),
            "modelIdentifier": platform.machine(),
            "systemName": platform.system(),
            "systemVersion": platform.release(),
            "appVersion": __version__,
            "locale": locale.getlocale()[0] or "C",
        }

    async def status(params: Mapping[str, Any]) -> Answer:
        battery = await backend.battery()
        disk = shutil.disk_usage(Path.home())
        return {
            **({"battery": battery} if battery else {}),
            "storage": {"totalBytes": disk.total, "freeBytes": disk.free},
            **host_statistics(),
        }

    return [Offer("device.info", info), Offer("device.status", status)]


def host_statistics() -> Answer:
    """Return the payload of `node.host.stats`, as far as this machine provides it."""
    disk = shutil.disk_usage(Path.home())
    found: Answer = {
        "cpuCount": os.cpu_count() or 1,
        "diskTotalBytes": disk.total,
        "diskAvailableBytes": disk.free,
        "updatedAtMs": int(time.time() * 1000),
    }
    try:
        found["loadAverage"] = [round(each, 2) for each in os.getloadavg()]
        page = os.sysconf("SC_PAGE_SIZE")
        found["memoryTotalBytes"] = page * os.sysconf("SC_PHYS_PAGES")
        found["memoryFreeBytes"] = page * os.sysconf("SC_AVPHYS_PAGES")
    except (OSError, ValueError):
        return found  # Android hides the load, a Mac does not know its free pages
    return found


async def picture_command(argv: Callable[[str], list[str]], suffix: str, *, delay_s: float = 0) -> Answer:
    """Return a command that returns the picture which a program writes to a file.

    Args:
        argv: Returns the command line for the path of the file.
        suffix: The suffix of the file.
        delay_s: Waited for first.

    Raises:
        NodeError: The program fails, or makes none.
    """
    await asyncio.sleep(delay_s)
    with tempfile.TemporaryDirectory(prefix="homarus-node-") as folder:
        path = Path(folder, f"picture{suffix}")
        await output_of(argv(str(path)))
        try:
            return picture(await asyncio.to_thread(path.read_bytes))
        except OSError as error:
            raise NodeError("UNAVAILABLE", f"{argv('')[0]} made no picture: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Recording:
    """What is asked of `screen.record`: a film of one screen, without sound."""

    duration_s: float
    fps: float
    screen: int

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Recording:
        """Read the parameters `durationMs`, `fps` and `screenIndex`."""
        duration_s = number(params, "durationMs", 10_000, 250, FILM_LIMIT_S * 1_000) / 1_000
        return cls(duration_s, number(params, "fps", 10, 1, 60), int(number(params, "screenIndex", 0, 0, 15)))


async def film_command(
    recording: Recording, argv: Callable[[str], list[str]], suffix: str, stdin: bytes = b""
) -> Answer:
    """Return the answer of `screen.record`: a film that a program writes to a file.

    Args:
        recording: What is asked.
        argv: Returns the command line for the path of the file.
        suffix: The suffix of the file.
        stdin: For the program.

    Raises:
        NodeError: The program fails, makes none, or makes one that is too large to be sent.
    """
    with tempfile.TemporaryDirectory(prefix="homarus-node-") as folder:
        path = Path(folder, f"film{suffix}")
        await output_of(argv(str(path)), stdin=stdin, timeout_s=recording.duration_s + PROGRAM_LIMIT_S)
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise NodeError("UNAVAILABLE", f"{argv('')[0]} made no film: {error.strerror}") from error
    if len(data) > PICTURE_LIMIT_BYTES:
        raise NodeError(
            "PAYLOAD_TOO_LARGE", f"the film has {len(data)} bytes; ask for a shorter durationMs or fewer fps"
        )
    return {
        "format": suffix.removeprefix("."),
        "base64": base64.b64encode(data).decode(),
        "durationMs": round(recording.duration_s * 1_000),
        "fps": recording.fps,
        "screenIndex": recording.screen,
        "hasAudio": False,
    }


def output_command(words: Mapping[str, list[str]] = MappingProxyType({})) -> Callable[..., Awaitable[Answer]]:
    """Return a command that returns `{text}` with a program's output; `words` are the command lines with options."""

    async def do(params: Mapping[str, Any], program: str) -> Answer:
        return {"text": (await output_of(words.get(program, [program]))).decode(errors="replace")}

    return do


def input_command(
    words: Mapping[str, list[str]] = MappingProxyType({}), timeout_s: float = PROGRAM_LIMIT_S
) -> Callable[..., Awaitable[Answer]]:
    """Return a command that passes the parameter `text` to a program's standard input."""

    async def do(params: Mapping[str, Any], program: str) -> Answer:
        await output_of(words.get(program, [program]), stdin=text(params, "text").encode(), timeout_s=timeout_s)
        return {}

    return do
