"""Conditions, actions and blueprints that an integration brings: checked, run, traced, and gone with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.config.check import check
from hub.config.seed import seed
from hub.core.errors import Unavailable
from hub.hub import Hub
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections
from hub.storage.homedir import Home
from tests.e2e.homes import add_integration

SETUP = """
async def setup(host, config):
    host.states.set("sensor.tide", "low")
"""
CONDITION = """
from hub.automation.contract import ConditionKind, ConditionVerdict
from hub.core.schema import Required, string


def check(config, asking):
    now = asking.parts.states.get("sensor.tide").state
    return ConditionVerdict(now == config["is"], f"the tide is {now}", {"tide": now})


KINDS = {
    "tide": ConditionKind(
        "tide", {Required("is"): string}, lambda config: f"the tide is {config['is']}", "The tide.", check=check
    )
}
"""
ACTION = """
from hub.automation.contract import ActionKind
from hub.core.schema import Required, integer


async def run(step, run, path):
    run.tell(blasts=step["foghorn"])
    if run.dry is None:
        run.parts.bus.fire("foghorn_sounded", {"blasts": step["foghorn"]}, run.context)


KINDS = {
    "foghorn": ActionKind(
        "foghorn", {Required("foghorn"): integer}, run, lambda step: f"sound it {step['foghorn']} times", "Sound it."
    )
}
"""
BLUEPRINT = """
blueprint:
  name: Foghorn
  domain: automation
  input: {blasts: {default: 2}}
triggers: [{trigger: event, event_type: fog}]
actions: [{foghorn: 5}]
"""
AUTOMATIONS = """
- id: warn
  triggers: [{trigger: event, event_type: fog_came}]
  conditions: [{condition: tide, is: low}]
  actions:
    - if: [{condition: tide, is: low}]
      then: [{foghorn: 3}]
- id: from_blueprint
  use_blueprint: {path: sea/foghorn.yaml}
- id: other
  triggers: [{trigger: event, event_type: nothing}]
  actions: [{event: tide, event_data: {condition: tide, foghorn: 1}}]
"""


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    home = Home(tmp_path / "home")
    home.create()
    seed(home)
    folder = add_integration(home.path, "sea", SETUP, default=True, conditions=["tide"], actions=["foghorn"])
    (folder / "condition.py").write_text(CONDITION)
    (folder / "action.py").write_text(ACTION)
    blueprint = folder / "blueprints" / "automation" / "sea" / "foghorn.yaml"
    blueprint.parent.mkdir(parents=True)
    blueprint.write_text(BLUEPRINT)
    (home.path / "automations.yaml").write_text(AUTOMATIONS)
    hub = Hub(home, port=0)
    try:
        await hub.start()
        yield hub
    finally:
        await hub.stop()


async def answered(hub: Hub, event: str, answer: str) -> Mapping[str, Any]:
    """Fire an event, and return the data of the event that answers it."""
    answers = asyncio.Queue[Mapping[str, Any]]()
    unsubscribe = hub.bus.listen(answer, lambda event: answers.put_nowait(event.data))
    hub.bus.fire(event, {})
    async with asyncio.timeout(20):
        data = await answers.get()
    unsubscribe()
    return data


async def sounded(hub: Hub, event: str) -> int:
    """Fire an event, and return how often the foghorn sounds for it."""
    return int((await answered(hub, event, "foghorn_sounded"))["blasts"])


def states(hub: Hub) -> dict[str, str]:
    return {each.id: each.state for each in hub.automation.automations.all()}


async def finished_trace(hub: Hub) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while not (found := await hub.automation.traces.list("warn")) or found[0]["outcome"] == "running":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return await hub.automation.traces.get(found[0]["run_id"])


async def test_conditions_and_actions_of_an_integration_are_checked_explained_run_and_traced(hub: Hub) -> None:
    assert not hub.config.errors
    wrong = "- {id: x, triggers: [], conditions: [{condition: tide}], actions: [{foghorn: loud}]}"
    problems = [(each.path, each.message) for each in hub.config.check_text({"automations.yaml": wrong})]
    explained = hub.automation.explain("warn")

    blasts = await sounded(hub, "fog_came")
    trace = str(await finished_trace(hub))

    assert [path for path, _ in problems] == ["automation[0].conditions[0].is", "automation[0].actions[0].foghorn"]
    assert "the tide is low" in explained
    assert "sound it 3 times" in explained
    assert blasts == 3
    assert "'tide': 'low'" in trace
    assert "'blasts': 3" in trace


async def test_an_automation_may_use_a_blueprint_of_an_integration(hub: Hub) -> None:
    listed = {each["path"]: each["bundled"] for each in hub.automation.blueprints.list()}

    assert listed["sea/foghorn.yaml"] is True
    assert await sounded(hub, "fog") == 5


async def test_a_reload_takes_up_changed_conditions_actions_and_blueprints(hub: Hub) -> None:
    folder = hub.home.custom_integrations / "sea"
    (folder / "condition.py").write_text(CONDITION.replace("now ==", "now !="))
    (folder / "action.py").write_text(ACTION.replace('"blasts": step["foghorn"]', '"blasts": 10 * step["foghorn"]'))
    (folder / "blueprints" / "automation" / "sea" / "foghorn.yaml").write_text(BLUEPRINT.replace("5", "7"))

    await hub.integration_control.reload("sea")

    assert await sounded(hub, "fog") == 70
    assert "the tide is low" in str(await answered(hub, "fog_came", "automation_not_run"))


async def test_what_uses_an_integration_is_unavailable_while_it_is_disabled_and_says_why(hub: Hub) -> None:
    await hub.integration_control.disable("sea")
    away = states(hub)
    with pytest.raises(Unavailable, match="tide comes with the integration sea, which is not in use"):
        hub.automation.automations.get("warn")
    with pytest.raises(Unavailable, match=r"there is no blueprint sea/foghorn.yaml"):
        hub.automation.automations.get("from_blueprint")
    listed = {each["path"] for each in hub.automation.blueprints.list()}

    await hub.integration_control.enable("sea")

    assert away == {"warn": "unavailable", "from_blueprint": "unavailable", "other": "on"}
    assert "sea/foghorn.yaml" not in listed
    assert set(states(hub).values()) == {"on"}
    assert await sounded(hub, "fog_came") == 3
    assert await sounded(hub, "fog") == 5


async def test_a_reload_of_an_integration_of_the_program_leaves_what_uses_its_kinds_alone(hub: Hub) -> None:
    watching = "- {id: watch, triggers: [{trigger: command, command: ['true'], restart: false}], actions: []}"
    (hub.home.path / "automations.yaml").write_text(watching)
    await hub.automation.reload()
    before = hub.automation.automations.get("watch")

    await hub.integration_control.reload("shell")

    assert hub.automation.automations.get("watch") is before


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", ["mqtt comes with the integration mqtt, which is not in use"]),
        ("mqtt: {}", []),
        ("hub: {disabled: [rss]}\nmqtt: {}", []),  # a feed is watched without the tool
    ],
)
def test_a_trigger_of_the_program_is_valid_before_its_integration_is_set_up_and_check_says_so(
    tmp_path: Path, more: str, told: list[str]
) -> None:
    triggers = "[{trigger: mqtt, topic: a}, {trigger: feed, url: 'https://a.example/feed'}]"
    (tmp_path / "configuration.yaml").write_text(
        f"automation: [{{id: x, triggers: {triggers}, actions: [{{delay: 1}}]}}]\n{more}"
    )

    result = check(tmp_path, all_sections(IntegrationSchemas(find(tmp_path))), environment={})

    assert result.errors == []
    assert [each.message for each in result.warnings] == told


def test_a_trigger_of_the_program_stays_when_its_integration_is_replaced(tmp_path: Path) -> None:
    add_integration(tmp_path, "mqtt", SETUP)
    (tmp_path / "configuration.yaml").write_text(
        "automation: [{id: x, triggers: [{trigger: mqtt, topic: a}], actions: [{delay: 1}]}]"
    )

    result = check(tmp_path, all_sections(IntegrationSchemas(find(tmp_path))), environment={})

    assert (result.errors, result.warnings) == ([], [])


def test_two_hubs_of_one_process_share_no_kinds_of_integrations(tmp_path: Path) -> None:
    homes = {name: tmp_path / name for name in ("high", "low", "without")}
    for name, home in homes.items():
        home.mkdir()
        (home / "configuration.yaml").write_text("automation: !include automations.yaml\n")
        (home / "automations.yaml").write_text(
            "- {id: x, triggers: [], conditions: [{condition: tide, is: low}], actions: []}"
        )
        if name != "without":
            folder = add_integration(home, "sea", SETUP, default=True, conditions=["tide"])
            (folder / "condition.py").write_text(
                CONDITION.replace('Required("is"): string', f'Required("is"): "{name}"')
            )
    sections = {name: all_sections(IntegrationSchemas(find(home))) for name, home in homes.items()}

    told = {
        name: [each.message for each in check(home, sections[name], environment={}).errors]
        for name, home in homes.items()
    }

    assert told["low"] == []
    assert told["high"] == ["expected high, got 'low'"]
    assert told["without"][0].startswith("there is no condition 'tide'")
