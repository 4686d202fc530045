"""Skills in a whole hub: every place they come from, what the configuration says, and a run that has them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.secret import Secret
from hub.hub import Hub
from hub.skills.folder import digest_of, read_folder
from hub.skills.pins import SkillPin
from hub.skills.skill import SkillState
from hub.storage.homedir import Home
from hub.tools.contract import ToolCall
from tests.agent.house import AgentHouse
from tests.servers.openai_server import OpenAIServer
from tests.skills.malicious import FRONT
from tests.skills.skill_home import SkillHome

CONFIGURATION = """
agents: [{id: main, default: true, skills: [helper, meal-plan]}, {id: cook}]
skills:
  bundled: [meal-plan, shopping-list]
  extra_dirs: [more]
  entries: {shopping-list: {enabled: false}}
gnome: {}
"""


def skill(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(FRONT)
    return folder


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    home = Home(tmp_path / "home")
    home.create()
    home.configuration.write_text(CONFIGURATION)
    integration = home.custom_integrations / "gnome"
    skill(integration / "skills" / "garden")
    (integration / "manifest.json").write_text('{"domain": "gnome", "name": "Gnome"}')
    (integration / "schema.py").write_text("from hub.core.schema import Schema\nCONFIG_SCHEMA = Schema({})\n")
    (integration / "__init__.py").write_text("async def setup(host, config):\n    pass\n")
    skill(home.path / "skills" / "helper")
    skill(home.path / "more" / "helper")
    skill(home.path / "workspace-cook" / "skills" / "helper")
    hub = Hub(home, port=0)
    await hub.skills.refresh()
    yield hub
    await hub.stop()


def states(hub: Hub, agent: str) -> dict[str, SkillState]:
    return {each.skill.id: each.state for each in hub.skills.judge(agent)}


async def test_skills_come_from_every_place_and_obey_the_configuration(hub: Hub) -> None:
    more = f"extra:{hub.home.path / 'more'}/helper"
    cook = states(hub, "cook")

    assert list(cook)[:4] == ["workspace/cook/helper", "home/helper", more, "integration/gnome/garden"]
    assert [cook[id] for id in list(cook)[:4]] == ["not_enabled", "not_enabled", "not_enabled", "ready"]
    assert "workspace/cook/helper" not in states(hub, "main")
    assert (cook["bundled/meal-plan"], cook["bundled/shopping-list"]) == ("ready", "disabled")
    assert cook["bundled/study-helper"] == "disabled"
    usable = await hub.skills.usable("main", hub.agents.get("main").skills)
    assert set(usable) == {"helper", "meal-plan"}
    assert usable["helper"].id == "integration/gnome/garden"


async def test_a_changed_skill_is_a_repair_until_it_is_as_it_was(hub: Hub) -> None:
    folder = hub.home.path / "skills" / "helper"
    hub.skills.pins.put("home/helper", SkillPin(True, digest_of(read_folder(folder))))
    await hub.skills.refresh(force=True)
    assert [each for each in hub.repairs.all() if each.source == "skills"] == []

    (folder / "SKILL.md").write_text(f"{FRONT}Something else.")
    await hub.skills.refresh()
    (repair,) = (each for each in hub.repairs.all() if each.source == "skills")
    (folder / "SKILL.md").write_text(FRONT)
    await hub.skills.refresh()

    assert repair.title == "The skill helper was changed and is off"
    assert [each for each in hub.repairs.all() if each.source == "skills"] == []


async def test_a_proposed_skill_is_said_until_it_is_removed(hub: Hub) -> None:
    folder = skill(hub.home.storage / "skill_proposals" / "helper")
    await hub.skills.refresh()
    (repair,) = (each for each in hub.repairs.all() if each.source == "skills")

    shutil.rmtree(folder)
    await hub.skills.refresh()

    assert repair.title == "Your assistant proposes the skill helper"
    assert (repair.severity, repair.command) == ("warning", "homarus skills enable proposed/helper")
    assert [each for each in hub.repairs.all() if each.source == "skills"] == []


async def test_a_changed_configuration_is_in_force_at_once(hub: Hub) -> None:
    text = hub.home.configuration.read_text().replace("{shopping-list: {enabled: false}}", "{}")
    hub.home.configuration.write_text(text)

    await hub.apply(await hub.config.reload())

    assert states(hub, "main")["bundled/shopping-list"] == "ready"
    assert hub.commands.get("shopping_list") is not None
    assert hub.commands.get("study_helper") is None


async def test_the_tools_of_a_run_are_given_the_variables_of_its_skills(
    tmp_path: Path, house: AgentHouse, openai_server: OpenAIServer
) -> None:
    key, seen = Secret("leaf"), list[Any]()
    home = SkillHome(tmp_path / "skills", entries={"tea": {"api_key": key}})
    home.write("bundled/tea", front='metadata: {"openclaw": {"primaryEnv": "TEA_KEY"}}')
    house.runner.use_skills(home.skills)

    def look(call: ToolCall) -> str:
        seen.append(call.environment)
        return "seen"

    house.tool("look", look)
    openai_server.queue([{"tool_call": {"name": "look", "arguments": {}}}], "done")

    await house.runner.run(house.request())
    openai_server.queue([{"tool_call": {"name": "look", "arguments": {}}}], "done")
    await house.runner.run(house.request(skills=()))

    assert seen == [{"TEA_KEY": key}, {}]
