"""The registry of skills, reloaded when their files change, and the skills offered to a run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hub.core.errors import HubError, NotFound
from hub.core.events import EventBus
from hub.core.secret import Secret
from hub.skills.folder import FileFacts, digest_of, read_folder
from hub.skills.gates import GateFacts, SkillEntry, variables
from hub.skills.listing import skill_listing
from hub.skills.pins import SkillPins
from hub.skills.places import SkillPlace, find_skills
from hub.skills.schema import PROMPT_LIMIT
from hub.skills.skill import FoundSkill, JudgedSkill, filter_allowed, judge
from hub.skills.skill_file import SkillFile

_log = logging.getLogger(__name__)

EVENT_SKILLS_CHANGED = "skills_changed"
SNAPSHOTS_KEPT = 256

_NO_ENTRY = SkillEntry()


class SkillSettings(Struct, frozen=True):
    """The configured settings of skills.

    Attributes:
        watch: Whether active conversations notice changes.
        bundled: Names of the bundled skills that may be used; None is all.
        prompt_limit: Characters of their list in a prompt.
        entries: The settings of single skills, by key.
    """

    watch: bool = True
    bundled: frozenset[str] | None = None
    prompt_limit: int = PROMPT_LIMIT
    entries: Mapping[str, SkillEntry] = field(default_factory=dict)

    @classmethod
    def from_config(cls, section: Mapping[str, Any]) -> SkillSettings:
        """Read the validated section `skills:`."""
        bundled = section.get("bundled")
        return cls(
            watch=section["watch"],
            bundled=None if bundled is None else frozenset(bundled),
            prompt_limit=section["prompt_limit"],
            entries={key: SkillEntry(**entry) for key, entry in section["entries"].items()},
        )

    def entry(self, file: SkillFile) -> SkillEntry:
        """Return the configuration of a skill, by its key or its name."""
        return self.entries.get(file.key) or self.entries.get(file.name) or _NO_ENTRY


class SkillSnapshot(Struct, frozen=True):
    """The skills of one conversation, constant until they change.

    Attributes:
        version: The version of the registry when it was taken.
        listing: The part of the system prompt about them; empty without any.
        skills: All that may be used, by name.
        environment: Environment variables for programs that a run starts.
    """

    version: int = 0
    listing: str = ""
    skills: Mapping[str, FoundSkill] = field(default_factory=dict)
    environment: Mapping[str, Secret] = field(default_factory=dict)


NO_SKILLS = SkillSnapshot()


class SkillRegistry:
    """Knows all skills; fires `skills_changed` when the set changes.

    Args:
        places: Returns their directories, in order of precedence.
        pins: The skills that the owner enabled.
        settings: The present settings.
        facts: What gates check now.
        bus: Announces changes.

    Attributes:
        version: Grows with each change.
    """

    def __init__(
        self,
        places: Callable[[], Sequence[SkillPlace]],
        pins: SkillPins,
        settings: Callable[[], SkillSettings],
        facts: Callable[[], GateFacts],
        bus: EventBus,
    ) -> None:
        self.pins = pins
        self.version = 0
        self._places = places
        self._settings = settings
        self._facts = facts
        self._bus = bus
        self._found: tuple[FoundSkill, ...] | None = None
        self._seen: tuple[Sequence[SkillPlace], tuple[tuple[FileFacts, ...], ...]] | None = None
        self._looking = asyncio.Lock()
        self._snapshots: dict[str, tuple[object, SkillSnapshot]] = {}

    @property
    def settings(self) -> SkillSettings:
        """The present settings."""
        return self._settings()

    async def refresh(self, *, force: bool = False) -> None:
        """Reload the files if one of them changed, or if forced."""
        async with self._looking:
            places = tuple(self._places())
            seen = (places, tuple([place.facts() for place in places]))
            if seen == self._seen and not force:
                return
            found = await asyncio.to_thread(self._find, places)
            self._seen = seen
            if found != self._found:
                self._found = found
                self.mark_changed()

    def mark_changed(self) -> None:
        """Note that files, pins or the configuration of skills changed."""
        self.version += 1
        self._bus.fire(EVENT_SKILLS_CHANGED, {"version": self.version})

    def all(self) -> tuple[FoundSkill, ...]:
        """Return every skill that was found, of all agents, in order of precedence."""
        return self._found or ()

    def judge(self, agent_id: str) -> list[JudgedSkill]:
        """Return the skills of an agent with their states; gates are checked now."""
        settings = self.settings
        mine = [each for each in self.all() if each.agent_id in (None, agent_id)]
        return judge(mine, settings.entry, self._facts(), settings.bundled)

    async def snapshot(
        self, agent_id: str, session_key: str, session: object, *allowed: Sequence[str] | None
    ) -> SkillSnapshot:
        """Return the skills of a conversation: as it began, or as they changed since (`skills.watch`).

        Args:
            agent_id: The agent.
            session_key: The conversation.
            session: Identifies its present session: after a reset it is another.
            allowed: Lists of names that a skill must be on; None for no limit.
        """
        settings = self.settings
        mark = (session, agent_id, allowed)
        known = self._snapshots.pop(session_key, None)
        if known is None or known[0] != mark or settings.watch:
            await self.refresh()
        if known is None or known[0] != mark or (settings.watch and known[1].version != self.version):
            known = (mark, self._snapshot(agent_id, settings, allowed))
        self._snapshots[session_key] = known
        if len(self._snapshots) > SNAPSHOTS_KEPT:
            del self._snapshots[next(iter(self._snapshots))]
        return known[1]

    async def usable(self, agent_id: str, *allowed: Sequence[str] | None) -> dict[str, FoundSkill]:
        """Return the usable skills of an agent, by name."""
        await self.refresh()
        return {each.skill.name: each.skill for each in filter_allowed(self.judge(agent_id), *allowed)}

    def in_conversation(self, session_key: str) -> SkillSnapshot | None:
        """Return the skills that a conversation was last given."""
        known = self._snapshots.get(session_key)
        return known[1] if known is not None else None

    def _find(self, places: Sequence[SkillPlace]) -> tuple[FoundSkill, ...]:
        try:
            pins = self.pins.all()
        except HubError as error:  # conversations go on; what nobody is known to have enabled stays off
            _log.error("skills that were enabled are off: %s", error.message)
            pins = {}
        return tuple(skill for place in places for skill in find_skills(place, pins))

    def _snapshot(
        self, agent_id: str, settings: SkillSettings, allowed: Sequence[Sequence[str] | None]
    ) -> SkillSnapshot:
        ready = filter_allowed(self.judge(agent_id), *allowed)
        skills = {each.skill.name: each.skill for each in ready}
        files = [each.file for each in skills.values() if each.file is not None]
        has_variable = self._facts().has_variable
        given = [pair for file in files for pair in variables(file, settings.entry(file)).items()]
        return SkillSnapshot(
            version=self.version,
            listing=skill_listing([file for file in files if file.model_invocable], settings.prompt_limit),
            skills=skills,
            environment={name: value for name, value in given if not has_variable(name)},
        )


def read_checked(skill: FoundSkill) -> Mapping[str, bytes]:
    """Return the files of a skill, verified against the owner's approval. Blocks.

    Raises:
        NotFound: They are others now.
        SkillInvalid: They cannot be read.
    """
    files = read_folder(skill.folder)
    if not skill.trusted and digest_of(files) != skill.pin.digest:
        raise NotFound(
            f"the files of the skill {skill.name} changed since the owner enabled it; it is off until enabled again"
        )
    return files
