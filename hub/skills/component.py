"""The skills: their directories, the tool that reads them, and the commands that run them."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from hub.agent.component.agents import AgentsComponent
from hub.core.component import Component
from hub.core.events import Event
from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.messaging.access.router import Router
from hub.messaging.commands.registry import Commands
from hub.messaging.contract import Address
from hub.sections import skill_folders
from hub.security.egress import Egress
from hub.skills.commands import SkillCommandNeeds, add_skill_commands
from hub.skills.control import SkillControl
from hub.skills.gates import GateFacts, has_setting
from hub.skills.pins import SkillPins
from hub.skills.places import FOLDER, SkillPlace
from hub.skills.propose import propose_tool
from hub.skills.registry import EVENT_SKILLS_CHANGED, SkillRegistry, SkillSettings
from hub.skills.skill import TRUSTED, SkillSource, SkillState
from hub.skills.tool import SkillTool
from hub.skills.watch import watch_folders
from hub.tools.registry import ToolRegistry

BUNDLED = Path(__file__).resolve().parent / "bundled"
PROPOSALS = "skill_proposals"


class SkillsComponent(Component):
    """The registry of skills, loaded on first use, and its interfaces for people and models."""

    name = "skills"
    sections = frozenset({"skills"})
    follows_all = True

    def __init__(
        self,
        base: Foundation,
        *,
        agents: AgentsComponent,
        tools: ToolRegistry,
        commands: Commands,
        router: Router,
        egress: Egress,
    ) -> None:
        self._base = base
        self._egress = egress
        self._agents = agents.agents
        self._settings = SkillSettings.from_config(base.section("skills"))
        self._placed: list[SkillPlace] | None = None
        self._moved = asyncio.Event()
        self._reported: set[str] = set()
        pins = SkillPins(base.home.storage, documents=base.home.documents)
        self.skills = SkillRegistry(self._places, pins, lambda: self._settings, self._facts, base.bus)
        agents.runner.use_skills(self.skills)

        def group_skills(address: Address) -> Sequence[str] | None:
            group = router.group_settings(address)
            return group.skills if group is not None else None

        needs = SkillCommandNeeds(self.skills, self._agents, tools, base.redactor, group_skills)
        self._commands = add_skill_commands(commands, needs)
        tools.register(SkillTool(self.skills, lambda agent_id: self._agents.get(agent_id).skills).tool())
        home = base.home
        self._control = SkillControl(
            self.skills, home.path / FOLDER, home.storage / PROPOSALS, egress=egress, clock=base.clock
        )
        tools.register(propose_tool(self._control))
        base.bus.listen(EVENT_SKILLS_CHANGED, self._changed)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that loads and watches the skills, after the hub has opened."""
        return [Stage("skills", self._start)]

    def methods(self) -> MethodGroups:
        """Return `skills.*`."""
        return {"skills": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.skills.methods import SkillMethods
        from hub.skills.registries import SkillRegistries

        registries = SkillRegistries(self._egress, lambda: self._base.section("skills")["registries"])
        return SkillMethods(self._control, registries, self._agents, str(self._base.home.path / FOLDER)).methods()

    async def apply(self, changed: frozenset[str]) -> None:
        """Apply the settings, and reload the configured directories."""
        self._settings = SkillSettings.from_config(self._base.section("skills"))
        self._placed = None
        await self.skills.refresh(force=True)
        self.skills.mark_changed()

    async def _start(self) -> None:
        self._base.tasks.spawn(self._follow(), name="follow the skills")

    async def _follow(self) -> None:
        await self.skills.refresh()
        await watch_folders(self._watched, self._moved, self.skills.refresh)

    def _changed(self, event: Event) -> None:
        self._commands.update()
        self._report()
        self._moved.set()

    def _report(self) -> None:
        """Raise a repair for each skill that is off because it changed, and for each proposal."""
        judged = [each for agent in self._agents.all() for each in self.skills.judge(agent.id)]
        changed = {each.skill.id: each for each in judged if each.state is SkillState.CHANGED}
        repairs = self._base.repairs
        proposed = {each.id: each for each in self.skills.all() if each.source is SkillSource.PROPOSED}
        for id in self._reported - changed.keys() - proposed.keys():
            repairs.clear("skills", id)
        for id, each in changed.items():
            title = phrase("The skill {skill} was changed and is off", skill=each.skill.name)
            told = phrase("Its files are not those that you enabled. Look at it, then enable it again.")
            repairs.raise_("skills", id, title, told, command=f"homarus skills enable {id}")
        for id, skill in proposed.items():
            title = phrase("Your assistant proposes the skill {skill}", skill=skill.name)
            told = phrase("It is off. Look at it on the page Skills, then enable it or remove it.")
            command = f"homarus skills enable {id}"
            repairs.raise_("skills", id, title, told, severity=Severity.WARNING, command=command)
        self._reported = {*changed, *proposed}

    def _watched(self) -> list[Path]:
        places = self._places() if self._settings.watch else []
        return [place.path for place in places if place.source not in TRUSTED and place.path.is_dir()]

    def _places(self) -> list[SkillPlace]:
        if self._placed is None:
            self._placed = self._find_places()
        return self._placed

    def _find_places(self) -> list[SkillPlace]:
        base, home = self._base, self._base.home
        extra = [home.path / Path(path).expanduser() for path in base.section("skills")["extra_dirs"]]
        brought = skill_folders(base.config.current, base.catalog)
        return [
            *(
                SkillPlace(SkillSource.WORKSPACE, agent.workspace / FOLDER, f"workspace/{agent.id}", agent.id)
                for agent in self._agents.all()
            ),
            SkillPlace(SkillSource.HOME, home.path / FOLDER, "home"),
            *(SkillPlace(SkillSource.EXTRA, path, f"extra:{path}") for path in extra),
            *(SkillPlace(SkillSource.INTEGRATION, path, f"integration/{domain}") for domain, path in brought.items()),
            SkillPlace(SkillSource.BUNDLED, BUNDLED, "bundled"),
            SkillPlace(SkillSource.PROPOSED, home.storage / PROPOSALS, "proposed"),
        ]

    def _facts(self) -> GateFacts:
        config = self._base.config.current
        return GateFacts(
            platform=sys.platform,
            has_program=lambda name: shutil.which(name) is not None,
            has_variable=lambda name: name in os.environ,
            has_setting=lambda key: has_setting(config, key),
        )
