"""The contracts of sandboxes: what runs in one, and what an engine does that makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct, field

WORKSPACE = "/workspace"
"""Where a sandbox has its files."""
TERMINAL_SIZE = (40, 120)
"""Rows and columns of a terminal that a program is given."""


class SandboxCommand(Struct, frozen=True):
    """A program to be started in a sandbox.

    Attributes:
        argv: The program and its arguments; no shell reads them.
        workdir: An absolute path inside the sandbox.
        environment: All of its variables but PATH, HOME and LANG, which the sandbox has values for.
        pty: Whether it gets a terminal.
        file_limit: Bytes that a file which it writes may have.
    """

    argv: tuple[str, ...]
    workdir: str = WORKSPACE
    environment: Mapping[str, str] = field(default_factory=dict)
    pty: bool = False
    file_limit: int | None = None


class SandboxStdin(Protocol):
    """The standard input of a program."""

    async def write(self, data: bytes) -> None:
        """Write, and wait until there is room for more; what a program that has ended does not read is dropped."""
        ...

    async def close(self) -> None:
        """End the input."""
        ...


class SandboxProcess(Protocol):
    """A program that was started in a sandbox. Whoever started it reads `output` to its end, or kills it."""

    @property
    def stdin(self) -> SandboxStdin:
        """Its standard input."""
        ...

    @property
    def output(self) -> AsyncIterator[bytes]:
        """What it writes to its standard output and error, merged, as it comes; ends when it has ended."""
        ...

    async def wait(self) -> int:
        """Return its exit code once it has ended; 128 + N when the signal N ended it. May be called again."""
        ...

    async def kill(self) -> None:
        """End it and all that it started, at once; nothing happens when it has ended."""
        ...


class Sandbox(Protocol):
    """A place where programs run, apart from the hub and the machine.

    Attributes:
        name: What it is called, in lists and on the command line.
        workdir: Where its files are, inside it.
    """

    name: str
    workdir: str

    @property
    def reaches_out(self) -> bool:
        """Whether programs in it can carry something out of it by a network."""
        ...

    @property
    def busy(self) -> bool:
        """Whether a program runs in it that was started by `start`."""
        ...

    async def start(self, command: SandboxCommand) -> SandboxProcess:
        """Start a program; one that is not there ends with 127, in a directory that is not there with another failure.

        Raises:
            InvalidRequest: A variable cannot be set.
            Unavailable: The engine fails.
        """
        ...


class Mount(Struct, frozen=True):
    """A file or directory of the machine that is seen inside a sandbox.

    Attributes:
        number: Tells a file from the one that takes its place; 0 where that does not matter.
    """

    source: str
    target: str
    writable: bool = False
    number: int = 0


class SandboxSpec(Struct, frozen=True):
    """All that decides what a sandbox is like. Sandboxes are made from it again when any of it changes.

    Attributes:
        name: Unique among all hubs on the machine.
        home: A mark of the hub's home; engines leave sandboxes of other homes alone.
        agent_id, scope, session_key: Whom it is for; no agent when it is shared, no session unless it is for one.
        uid, gid: Whose rights programs have; never 0.
        folder: A directory of the hub's own for the engine's files about it.
        mounts: What is seen inside, in order; later ones cover earlier ones. The first is the workspace.
        covered: Absolute paths inside that are empty directories instead of what is there.
        settings: The agent's settings for the engine.
    """

    name: str
    home: str
    agent_id: str
    scope: str
    session_key: str
    uid: int
    gid: int
    folder: Path
    mounts: tuple[Mount, ...]
    covered: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """A hash over all of it, the order of what is in order included."""
        return sha256(msgspec.json.encode(msgspec.to_builtins(self, enc_hook=str), order="sorted")).hexdigest()


class SandboxInfo(Struct, frozen=True):
    """A sandbox that an engine has, whoever opened it."""

    name: str
    agent_id: str
    scope: str
    created_ms: int
    running: bool


class SandboxEngine(Protocol):
    """Makes sandboxes.

    Attributes:
        name: The key under which agents have settings for it.
    """

    name: str

    async def available(self, settings: Mapping[str, Any]) -> str | None:
        """Return why it makes no sandbox with an agent's settings here and now; None when it does."""
        ...

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Return the sandbox of a name, made if there is none; one that was made otherwise is made again.

        Raises:
            Unavailable: It cannot be made.
        """
        ...

    async def all(self) -> list[SandboxInfo]:
        """Return the sandboxes of this hub."""
        ...

    async def remove(self, name: str) -> None:
        """End all programs in a sandbox and remove it; nothing happens when there is none."""
        ...

    async def close(self) -> None:
        """Remove all sandboxes of this hub: the engine is taken away."""
        ...
