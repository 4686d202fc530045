"""A home with skills in it, and the registry over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from hub.skills.folder import digest_of, read_folder
from hub.skills.pins import SkillPin, SkillPins
from hub.skills.places import SkillPlace
from hub.skills.registry import SkillRegistry, SkillSettings
from hub.skills.schema import SKILLS_SCHEMA
from hub.skills.skill import SkillSource
from tests.skills.makes import FACTS


class SkillHome:
    """Directories of skills below one folder; `write` puts a skill there, `pin` enables it as it is."""

    def __init__(self, folder: Path, **section: Any) -> None:
        self.folder = folder
        self.settings = SkillSettings.from_config(SKILLS_SCHEMA(section))
        self.pins = SkillPins(folder)
        self.places = [
            SkillPlace(SkillSource.WORKSPACE, folder / "workspace", "workspace/main", "main"),
            SkillPlace(SkillSource.HOME, folder / "home", "home"),
            SkillPlace(SkillSource.BUNDLED, folder / "bundled", "bundled"),
        ]
        self.bus = EventBus(TaskOwner("listeners"), Clock().time)
        self.changes: list[Event] = []
        self.bus.listen("skills_changed", self.changes.append)
        self.skills = SkillRegistry(lambda: self.places, self.pins, lambda: self.settings, lambda: FACTS, self.bus)

    def write(self, id: str, description: str = "It helps.", front: str = "", **files: str | bytes) -> Path:
        path = self.folder / id
        path.mkdir(parents=True, exist_ok=True)
        (path / "SKILL.md").write_text(
            f"---\nname: {path.name}\ndescription: {description}\n{front}\n---\n\nDo {id}.\n"
        )
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (path / name.replace("_", ".")).write_bytes(data)
        return path

    def pin(self, place: str, name: str) -> None:
        prefix = {"workspace": "workspace/main"}.get(place, place)
        digest = digest_of(read_folder(self.folder / place / name))
        self.pins.put(f"{prefix}/{name}", SkillPin(True, digest))

    async def states(self, agent_id: str = "main") -> dict[str, str]:
        await self.skills.refresh()
        return {each.skill.id: each.state.value for each in self.skills.judge(agent_id)}
