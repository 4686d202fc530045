"""The home directory of a hub: the paths in it, and its creation."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from hub.storage.errors import StorageError, from_os
from hub.storage.files import FILES, Documents

PRIVATE = 0o077


def restrict_umask() -> int:
    """Make every file this process creates private to its user; return the previous umask."""
    return os.umask(PRIVATE)


class WorkerPlace(Struct, frozen=True):
    """How a home that is one of many in a worker is reached.

    Attributes:
        name: Its name among the homes.
        socket: Where its hub serves the worker's front door, and nobody else.
        url: Its address for clients, such as `https://elm.homes.example.org`.
    """

    name: str
    socket: Path
    url: str


class Home:
    """The paths of one hub's directory.

    Args:
        path: The directory; a leading `~` is expanded.
        in_worker: Its place in a worker; None for a hub with a process of its own.
    """

    def __init__(self, path: Path | str, in_worker: WorkerPlace | None = None) -> None:
        self.path = Path(path).expanduser().absolute()
        self.documents: Documents = FILES
        """The small files of `.storage`; those of a hub whose `storage:` names a database are in there."""
        self.in_worker = in_worker

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def configuration(self) -> Path:
        """The root of the configuration."""
        return self.path / "configuration.yaml"

    @property
    def secrets(self) -> Path:
        """The file that `!secret` reads."""
        return self.path / "secrets.yaml"

    @property
    def workspace(self) -> Path:
        """The workspace of the default agent, unless it is configured elsewhere."""
        return self.path / "workspace"

    @property
    def custom_integrations(self) -> Path:
        """The user's own integrations; the folder is made by the user."""
        return self.path / "custom_integrations"

    @property
    def blueprints(self) -> Path:
        """Blueprints of the user's own."""
        return self.path / "blueprints"

    @property
    def storage(self) -> Path:
        """The hub's own data."""
        return self.path / ".storage"

    @property
    def hub_db(self) -> Path:
        """The hub database."""
        return self.storage / "hub.db"

    @property
    def history_db(self) -> Path:
        """The history database; disposable."""
        return self.storage / "history.db"

    @property
    def hub_token(self) -> Path:
        """The token that has every right, on loopback only."""
        return self.storage / "hub_token"

    @property
    def socket(self) -> Path:
        """The Unix socket on which the hub serves its own user."""
        return self.storage / "run" / "hub.sock"

    @property
    def lock(self) -> Path:
        """Held by the hub that runs on this directory."""
        return self.storage / "hub.lock"

    @property
    def agents(self) -> Path:
        """A directory for each agent."""
        return self.storage / "agents"

    def agent(self, agent_id: str) -> Path:
        """The files of one agent."""
        return self.agents / agent_id

    def sessions(self, agent_id: str) -> Path:
        """The transcripts of one agent."""
        return self.agent(agent_id) / "sessions"

    def create(self) -> None:
        """Make the directories that are missing, private to the user; nothing that exists is overwritten.

        Raises:
            StorageError: One cannot be made, or its place is taken; the message names it.
        """
        for directory in (self.path, self.storage, self.agents):
            self._make(directory)
        self._make_private(self.storage)

    def _make(self, directory: Path) -> None:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError as error:
            raise StorageError(
                f"{directory} exists and is not a directory; move it away, or choose another --config directory",
                details={"file": str(directory)},
            ) from error
        except OSError as error:
            raise from_os(error, directory, "making the directory") from error
        if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
            raise from_os(PermissionError(13, "no read or write permission"), directory, "using the directory")

    def _make_private(self, directory: Path) -> None:
        try:
            if directory.stat().st_mode & PRIVATE:
                directory.chmod(0o700)
        except OSError as error:
            raise from_os(error, directory, "making private") from error
