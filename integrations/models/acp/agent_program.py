"""A program as configured, and what is wrong with it on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.core.secret import Secret
from hub.models.contract import ModelError

API = "acp"
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME")
"""All that a program sees of the hub's environment."""


class AcpError(ModelError):
    """A program cannot be asked, or failed; no other model is tried instead, since it may have acted."""

    code = "MODEL_PROGRAM"
    try_fallback = False


class AgentProgram(Struct, frozen=True):
    """One program.

    Attributes:
        name: The part of the model name after `acp/`.
        command: Program and arguments.
        folder: Its working directory.
        environment: Its variables beside `INHERITED`.
        auth_method: How it signs in; None when it is signed in already.
        silence_s: The time without output after which it is stopped.
        idle_s: How long it waits for the next message of a conversation.
    """

    name: str
    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, Secret]
    auth_method: str | None
    silence_s: float
    idle_s: float

    @classmethod
    def from_config(cls, name: str, given: Mapping[str, Any]) -> AgentProgram:
        """Return the program of a checked configuration."""
        return cls(
            name,
            tuple(given["command"]),
            Path(given["folder"]),
            given["environment"],
            given.get("auth_method"),
            given["timeout_s"],
            given["idle_minutes"] * 60,
        )

    @property
    def key(self) -> str:
        """Its place in the configuration."""
        return f"{API}.agents.{self.name}"

    def variables(self) -> dict[str, str]:
        """Return the environment it sees."""
        own = {name: value.reveal() for name, value in self.environment.items()}
        return {**{name: os.environ[name] for name in INHERITED if name in os.environ}, **own}

    def executable(self) -> str:
        """Return the file of the program.

        Raises:
            AcpError: There is none.
        """
        found = shutil.which(self.command[0], path=self.variables().get("PATH"))
        if found is None:
            raise AcpError(
                f"{self.key}.command: there is no program {self.command[0]}; install it, or name it with its folder."
            )
        return found

    def check_folder(self, own: Iterable[Path]) -> Path:
        """Return the folder it works in, which shares nothing with those of the hub.

        Its output may be words from outside: in an agent's workspace they would count as the owner's.

        Args:
            own: The hub's home and the agents' workspaces.

        Raises:
            AcpError: It does not exist, or it holds one of them or is within one.
        """
        folder = self.folder.resolve()
        if not folder.is_dir():
            raise AcpError(f"{self.key}.folder: there is no folder {self.folder}; make it, or name another.")
        for each in own:
            kept = each.resolve()
            if folder.is_relative_to(kept) or kept.is_relative_to(folder):
                raise AcpError(
                    f"{self.key}.folder: {self.folder} overlaps with {each}, which is the hub's; name another."
                )
        return folder
