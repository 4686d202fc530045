"""The conversations of agents for forgetting: who spoke in which run, and what is omitted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import orjson
from msgspec import Struct

from hub.core.sql import SqlConnection
from hub.storage.database import Database
from integrations.memory.notes.client.sources import JobSources, conversations
from integrations.memory.notes.files.omissions import Omissions
from integrations.memory.notes.job import Source

Runs = Mapping[str, frozenset[str]]
"""Ids of runs by the id of the conversation they were in."""


class Conversations(Struct, frozen=True):
    """See the module.

    Attributes:
        ground: The agents' conversations.
        db: The hub database, which knows on whose behalf each run was.
    """

    ground: JobSources
    db: Database

    @property
    def omissions(self) -> Omissions:
        """The omitted parts."""
        return self.ground.omissions

    def all(self, agent_id: str) -> Source | None:
        """Return an agent's conversations; None if they are not part of its memory."""
        return conversations(self.ground, agent_id) if self.ground.section()["transcripts"] else None

    def problem(self, agent_id: str) -> str | None:
        """Return why an agent's conversations cannot be searched although configured."""
        return self.omissions.of(agent_id).problem if self.ground.section()["transcripts"] else None

    async def runs_of(self, agent_id: str, person: str) -> Runs:
        """Return the runs in which a person spoke.

        Raises:
            HubError: The database cannot be read.
        """

        def read(connection: SqlConnection) -> list[tuple[str, str, str]]:
            return connection.execute(
                "SELECT session_id, id, authority FROM runs WHERE agent_id = ? AND session_id IS NOT NULL"
                " AND authority IS NOT NULL",
                (agent_id,),
            ).fetchall()

        found: dict[str, set[str]] = defaultdict(set)
        for session_id, run_id, authority in await self.db.read(read):
            if orjson.loads(authority).get("person") == person:
                found[session_id].add(run_id)
        return {session_id: frozenset(runs) for session_id, runs in found.items()}
