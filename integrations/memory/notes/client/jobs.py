"""Caches the worker's job data of each agent's memory, until its inputs change."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not

from msgspec import Struct

from hub.core.events import Event
from integrations.memory.notes.client.sources import JobSources, job_for
from integrations.memory.notes.job import Job

_BY_THE_WAY = frozenset({"touched", "usage"})
"""What happens to a conversation all the time, and changes nothing of whose it is and where it lies."""


class _Kept(Struct, frozen=True):
    job: Job
    made_from: tuple[object, ...]


class Jobs:
    """Makes jobs; every search and every write asks for one.

    Args:
        ground: The inputs of jobs.
        configuration: Gives what is configured now: another object after each change.
    """

    def __init__(self, ground: JobSources, configuration: Callable[[], object]) -> None:
        self._ground = ground
        self._configuration = configuration
        self._kept: dict[str, _Kept] = {}
        self._known: set[str] = set()

    def __call__(self, agent_id: str) -> Job:
        """Return the present job of an agent's memory.

        Raises:
            NotFound: There is no such agent.
        """
        ground = self._ground
        left_out = ground.omissions.of(agent_id)
        made_from = (self._configuration(), ground.agents.get(agent_id), ground.people(), left_out)
        kept = self._kept.get(agent_id)
        if kept is None or any(map(is_not, kept.made_from, made_from)):
            kept = self._kept[agent_id] = _Kept(job_for(self._ground, agent_id), made_from)
            self._known.update(file.id for source in kept.job.sources for file in source.files)
        return kept.job

    def session_changed(self, event: Event) -> None:
        """Handle `session_changed`: conversations may be searched, and each has an owner."""
        if not self._ground.section()["transcripts"]:
            return
        session = self._ground.sessions.get(event.data["key"])
        if event.data["what"] not in _BY_THE_WAY or session is None:
            self._known.clear()
        elif session.session_id in self._known:
            return
        else:
            self._known.add(session.session_id)  # one that was not used for so long that it was not searched
        self._kept.clear()
