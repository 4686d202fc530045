"""The contracts of sandboxes: the programs in them, and the engines that make them."""

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
        """Write, waiting for room; data for an ended program is dropped."""
        ...

    async def close(self) -> None:
        """End the input."""
        ...


class SandboxProcess(Protocol):
    """A running program in a sandbox. Its starter reads `output` to the end, or kills it."""

    @property
    def stdin(self) -> SandboxStdin:
        """Its standard input."""
        ...

    @property
    def output(self) -> AsyncIterator[bytes]:
        """Its standard output and error, merged, as they come; ends with the program."""
        ...

    async def wait(self) -> int:
        """Return its exit code when it ends; 128 + N if signal N ended it. May be called again."""
        ...

    async def kill(self) -> None:
        """Kill it and everything it started, at once; does nothing if it has ended."""
        ...


class Sandbox(Protocol):
    """An isolated place for programs, apart from the hub and the machine.

    Attributes:
        name: Its name, in lists and on the command line.
        workdir: The directory of its files, inside it.
    """

    name: str
    workdir: str

    @property
    def reaches_out(self) -> bool:
        """Whether its programs can send data out over a network."""
        ...

    @property
    def busy(self) -> bool:
        """Whether a program started by `start` is running in it."""
        ...

    async def start(self, command: SandboxCommand) -> SandboxProcess:
        """Start a program; a missing one exits with 127, and a missing directory fails with another code.

        Raises:
            InvalidRequest: A variable cannot be set.
            Unavailable: The engine fails.
        """
        ...


class Mount(Struct, frozen=True):
    """A file or directory of the machine that is visible inside a sandbox.

    Attributes:
        number: Distinguishes a file from its replacement; 0 where that does not matter.
    """

    source: str
    target: str
    writable: bool = False
    number: int = 0


class SandboxSpec(Struct, frozen=True):
    """The complete specification of a sandbox; a change of any field makes a new one.

    Attributes:
        name: Unique among all hubs on the machine.
        home: A mark of the hub's home; engines leave sandboxes of other homes alone.
        agent_id, scope, session_key: Its user; no agent when it is shared, no session unless it is for one.
        uid, gid: The rights of programs; never 0.
        folder: A directory of the hub's own for the engine's files about it.
        mounts: What is visible inside, in order; later ones cover earlier ones. The first is the workspace.
        covered: Absolute paths inside that are empty directories instead of their content.
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
        """A hash over all fields, including the order of ordered ones."""
        return sha256(msgspec.json.encode(msgspec.to_builtins(self, enc_hook=str), order="sorted")).hexdigest()


class SandboxInfo(Struct, frozen=True):
    """A sandbox of an engine, whoever opened it."""

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
        """Return why it cannot make a sandbox with an agent's settings now; None if it can."""
        ...

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Return the sandbox of a name, made if missing; one with another specification is replaced.

        Raises:
            Unavailable: It cannot be made.
        """
        ...

    async def all(self) -> list[SandboxInfo]:
        """Return the sandboxes of this hub."""
        ...

    async def remove(self, name: str) -> None:
        """Kill all programs in a sandbox and remove it; does nothing if there is none."""
        ...

    async def close(self) -> None:
        """Remove all sandboxes of this hub, because the engine is removed."""
        ...
