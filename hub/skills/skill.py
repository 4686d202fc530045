"""A discovered skill: its place, its contents, and whether it may be used. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from hub.core.phrases import in_series, phrase
from hub.skills.finding import ScanFinding, dangers
from hub.skills.gates import GateFacts, SkillEntry, missing, missing_text
from hub.skills.pins import SkillPin
from hub.skills.skill_file import Requirements, SkillFile


class SkillSource(StrEnum):
    """The source of a skill; of several with one name, the first enabled one is used."""

    WORKSPACE = "workspace"
    HOME = "home"
    EXTRA = "extra"
    INTEGRATION = "integration"
    BUNDLED = "bundled"
    PROPOSED = "proposed"


TRUSTED = frozenset({SkillSource.INTEGRATION, SkillSource.BUNDLED})
"""What the owner installed as a part of the hub; all others are off until they are enabled."""


REASONS_SHOWN = 3


class SkillState(StrEnum):
    """Whether a skill may be used, and why not."""

    READY = "ready"
    MISSING = "missing"
    """Something it requires is not there."""
    DISABLED = "disabled"
    NOT_ENABLED = "not_enabled"
    """Nobody has looked at it and enabled it."""
    QUARANTINED = "quarantined"
    """Nobody has enabled it, and the scan found signs of harm."""
    CHANGED = "changed"
    """Its files are not those that were enabled."""
    SHADOWED = "shadowed"
    """Another of the same name comes first."""
    BROKEN = "broken"


class FoundSkill(Struct, frozen=True):
    """A folder with a SKILL.md.

    Attributes:
        id: The source and the folder: `home/weather`, `workspace/main/weather`.
        source: Its place.
        folder: The folder.
        file: Its SKILL.md; None when it cannot be read.
        error: Why it cannot be read.
        digest: The digest of all its files; None of the bundled ones.
        pin: Its pin.
        agent_id: The only agent that it is for.
        findings: The findings of the scan, when it is not as it was enabled.
    """

    id: str
    source: SkillSource
    folder: Path
    file: SkillFile | None
    error: str = ""
    digest: str | None = None
    pin: SkillPin = SkillPin()
    agent_id: str | None = None
    findings: tuple[ScanFinding, ...] = ()

    @property
    def name(self) -> str:
        """Its name; of a broken one, the name of its folder."""
        return self.file.name if self.file is not None else self.folder.name

    @property
    def trusted(self) -> bool:
        """Whether it may be used without approval."""
        return self.source in TRUSTED


class JudgedSkill(Struct, frozen=True):
    """A skill with its state and its unmet requirements."""

    skill: FoundSkill
    state: SkillState
    reason: str = ""
    lacking: Requirements = Requirements()

    @property
    def ready(self) -> bool:
        """Whether it may be used."""
        return self.state is SkillState.READY


def judge(
    found: Iterable[FoundSkill],
    entry_of: Callable[[SkillFile], SkillEntry],
    facts: GateFacts,
    bundled: frozenset[str] | None = None,
) -> list[JudgedSkill]:
    """Return every skill with its state.

    Trust comes first, then precedence, then gates: one that nobody enabled hides none, and an enabled one that lacks
    something still hides those of a lower precedence.

    Args:
        found: In order of precedence.
        entry_of: The settings of one.
        facts: What gates check.
        bundled: The names of the bundled ones that may be used; None is all.
    """
    judged: list[JudgedSkill] = []
    taken: dict[str, str] = {}
    for skill in found:
        state, reason = _trust(skill, entry_of, bundled)
        lacking = Requirements()
        if state is SkillState.READY and skill.name in taken:
            state, reason = SkillState.SHADOWED, phrase("{id} has the same name and comes first", id=taken[skill.name])
        elif state is SkillState.READY and skill.file is not None:
            taken[skill.name] = skill.id
            found_missing = missing(skill.file, entry_of(skill.file), facts)
            if found_missing is not None:
                state, reason, lacking = SkillState.MISSING, missing_text(found_missing), found_missing
        judged.append(JudgedSkill(skill, state, reason, lacking))
    return judged


def _trust(
    skill: FoundSkill, entry_of: Callable[[SkillFile], SkillEntry], bundled: frozenset[str] | None
) -> tuple[SkillState, str]:
    if skill.file is None:
        return SkillState.BROKEN, skill.error
    if not entry_of(skill.file).enabled:
        return SkillState.DISABLED, phrase("skills.entries.{key}.enabled is false", key=skill.file.key)
    if skill.pin.enabled is False:
        return SkillState.DISABLED, "it was switched off"
    if skill.source is SkillSource.BUNDLED and bundled is not None and skill.name not in bundled:
        return SkillState.DISABLED, "it is not in skills.bundled"
    if skill.trusted:
        return SkillState.READY, ""
    if skill.pin.enabled and skill.pin.digest == skill.digest and skill.source is not SkillSource.PROPOSED:
        return SkillState.READY, ""
    if skill.pin.enabled and skill.source is not SkillSource.PROPOSED:
        return SkillState.CHANGED, "its files changed since it was enabled; look at it and enable it again"
    if bad := dangers(skill.findings):
        return SkillState.QUARANTINED, in_series([each.sentence for each in bad[:REASONS_SHOWN]])
    if skill.source is SkillSource.PROPOSED:
        return SkillState.NOT_ENABLED, "the agent proposed it; look at it and enable it"
    return SkillState.NOT_ENABLED, "look at it and enable it"


def filter_allowed(judged: Sequence[JudgedSkill], *allowed: Sequence[str] | None) -> list[JudgedSkill]:
    """Return the ready skills that are on every list of names; None means no list."""
    lists = [frozenset(names) for names in allowed if names is not None]
    return [each for each in judged if each.ready and all(each.skill.name in names for names in lists)]
