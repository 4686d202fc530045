"""Entities by commands answer as those of a real Home Assistant core; the commands run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub.core.context import Context
from tests.hub_fixture import HubFixture
from tests.until import until

SCENE = next(
    scene
    for scene in json.loads((Path(__file__).parent / "answers/commands_and_clock.json").read_text())
    if scene["name"] == "commands"
)
BEFORE_READ = 2
"""Steps until all has been read: there what has a command for its state is asked after a while, here at once."""


async def test_commands_answer_as_home_assistant_does(tmp_path: Path) -> None:
    sections = {**SCENE["config"], "exec": {"mode": "full"}}
    hub = HubFixture(tmp_path, "http://127.0.0.1:1", sections=sections, integrations=("shell", "command_line"))
    hub.states.set("input_text.word", "one", {})
    expected: dict[str, Any] = {}
    wrong: list[str] = []
    async with hub:
        for number, told in enumerate(SCENE["asked"]):
            expected |= told["answers"]
            match told["step"]:
                case ["call", service, data]:
                    domain, _, name = service.partition(".")
                    await hub.services.call(domain, name, data, context=Context(hub.people.owner_authority()))
                case ["set", entity_id, state, attributes]:
                    hub.states.set(entity_id, state, attributes)
            for entity_id, theirs in expected.items() if number + 1 >= BEFORE_READ else ():
                try:
                    await until(lambda: _shown(hub, entity_id) == _plain(theirs), limit_s=10)  # noqa: B023
                except TimeoutError:
                    wrong.append(f"{told['step']}:\n    ours   {_shown(hub, entity_id)}\n    theirs {_plain(theirs)}")

    assert not wrong, "\n".join(wrong)


def _shown(hub: HubFixture, entity_id: str) -> Any:
    state = hub.states.get(entity_id)
    return state and _plain([state.state, dict(state.attributes)])


def _plain(said: Any) -> Any:
    """Return an answer without features: there, what tells a position is said to take one too."""
    return [said[0], {key: value for key, value in said[1].items() if key != "supported_features"}]
