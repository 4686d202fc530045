"""The worker's data about an agent's memory: its files, its index, and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, convert, field, to_builtins

WORKSPACE = ""
TRANSCRIPTS = "transcripts"
EXTRA_PREFIX = "extra/"

FILES_LIMIT = 100_000
"""Files and directories of one source that are looked at, by hub and worker alike: what is found can be forgotten."""
FILE_LIMIT_BYTES = 1_048_576
TRANSCRIPT_LIMIT_BYTES = 64 * 1_048_576


class TranscriptSource(Struct, frozen=True):
    """A conversation that is searched.

    Attributes:
        id: The id as shown in results, `transcripts/<id>`.
        path: The file, relative to the source's root.
        area: Its area.
        person: Its speaker, if one of this home's people.
        trusted: Whether its words are; an entry that came from outside never is.
        key: The key of the session.
        left_out: Ids of forgotten entries, in order: nothing of them is indexed or shown.
    """

    id: str
    path: str
    area: str
    person: str | None = None
    trusted: bool = True
    key: str = ""
    left_out: tuple[str, ...] = ()


class Source(Struct, frozen=True):
    """A source of files.

    Attributes:
        name: "" for the workspace, `extra/<name>` for an extra path, `transcripts` for conversations.
        root: A directory, absolute; of an extra path it may be a single file.
        area: Who sees all of it; None: by each file's path (the workspace), or its content (conversations).
        trusted: Whether files that do not say so themselves were written by this home's people.
        files: The conversations; every other source is looked through.
    """

    name: str
    root: str
    area: str | None = None
    trusted: bool = True
    files: tuple[TranscriptSource, ...] = ()


class Job(Struct, frozen=True):
    """An agent's memory, as the worker needs to know it.

    Attributes:
        agent_id: The agent.
        directory: The directory of its index, absolute.
        sources: The sources of its files.
        settings: The section `memory:` as plain data, secrets revealed; `embeddings.keys` holds keys found elsewhere.
    """

    agent_id: str
    directory: str
    sources: tuple[Source, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Job({self.agent_id!r}, {self.directory!r}, {len(self.sources)} sources)"

    def as_plain(self) -> dict[str, Any]:
        """Return the job in its form for the pipe."""
        return {
            "agent_id": self.agent_id,
            "directory": self.directory,
            "sources": to_builtins(self.sources),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Job:
        """Read the result of `as_plain`.

        Raises:
            ValidationError: It is not a job.
        """
        return convert(plain, cls)
