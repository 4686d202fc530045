"""Helpers answer as a real Home Assistant core does: state and attributes after each service, and after a restart."""

from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError
from tests.entities.helpers.questions import SUBJECTS
from tests.entities.helpers.questions.steps import PLACE, START
from tests.hub_fixture import HubFixture

ANSWERS = {
    each["name"]: each
    for path in (Path(__file__).parent / "answers").glob("*.json")
    for each in json.loads(path.read_text())
}
SUN_S = 15.0
"""Its almanac is that of another version."""
ONLY = ("storage", "registries", "helpers")
INTEGRATIONS = {"template"}
"""Sections and platforms that are integrations."""


class Asked:
    """A hub with the helpers of a scene, over its restarts."""

    def __init__(self, folder: Path, scene: dict[str, Any]) -> None:
        self.folder, self.scene, self.config = folder, scene, scene["config"]
        self.clock = ManualClock(START)
        self.events: list[Any] = []
        self.response: Any = None

    async def start(self) -> None:
        named = {"people" if key == "person" else key: value for key, value in self.config.items()}
        people = {"people": [{**each, "owner": True} for each in named["people"]]} if "people" in named else {}
        sections = {"hub": PLACE, **named, **people}
        needed = {each for each in INTEGRATIONS if f'"{each}"' in json.dumps(self.config)}
        only = (*ONLY, "integrations") if needed else ONLY
        only = (*only, "hub database", "automations") if "automation" in self.config else only
        for name, text in self.scene.get("files", {}).items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        self.hub = HubFixture(
            self.folder, "http://127.0.0.1:1", sections=sections, integrations=needed, clock=self.clock, only=only
        )
        for type in self.scene.get("events", ()):
            self.hub.bus.listen(type, lambda event: self.events.append([event.type, dict(event.data)]))
        for _, entity_id, state, attributes in self.scene.get("first", ()):
            self.hub.states.set(entity_id, state, attributes)
        await self.hub.start()

    async def do(self, step: list[Any]) -> bool:
        """Do a step; return whether it was refused."""
        match step:
            case ["start"]:
                await self.start()
            case ["call" | "ask" as kind, service, data]:
                domain, _, name = service.partition(".")
                try:
                    self.response = await self.hub.services.call(
                        domain, name, data, context=Context(SYSTEM), wants_response=kind == "ask"
                    )
                except HubError:
                    return True
            case ["advance", seconds]:
                await self.clock.advance(seconds)
            case ["set", entity_id, state, attributes]:
                self.hub.states.set(entity_id, state, attributes)
                await self.clock.advance(0)
            case ["fire", event, data]:
                self.hub.bus.fire(event, data)
                await self.clock.advance(0)
            case ["restart", seconds]:
                await self.hub.stop()
                self.clock.jump(seconds)
                await self.start()
            case ["reload", config]:
                self.config = config
                text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in {"hub": PLACE, **config}.items())
                (self.folder / "configuration.yaml").write_text(text)
                await self.hub._reload()
        return False

    def answers(self, expected: dict[str, Any]) -> dict[str, Any]:
        """Return state and attributes of those that were asked for; what has no name there is named by its id here."""
        found: dict[str, Any] = {}
        for entity_id, theirs in expected.items():
            state = self.hub.states.get(entity_id)
            found[entity_id] = state and [state.state, json.loads(json.dumps(dict(state.attributes)))]
            if state is not None and theirs is not None and "friendly_name" not in theirs[1]:
                named = found[entity_id][1].pop("friendly_name", None)
                assert named in (None, entity_id.partition(".")[2].replace("_", " "))
        return found


def same(ours: Any, theirs: Any) -> bool:
    """Whether answers are the same: moments of the sun within 15 s, and members of a made group in any order."""
    if ours is None or theirs is None or not _says(ours[0], theirs[0]) or ours[1].keys() != theirs[1].keys():
        return bool(ours == theirs)
    return all(_alike(key, ours[1][key], value, made="auto" in theirs[1]) for key, value in theirs[1].items())


def _says(ours: str, theirs: str) -> bool:
    """Whether states are the same, of long fractions the first ten digits."""
    return ours == theirs or ("." in theirs and len(theirs) > 10 and ours[:10] == theirs[:10])


def _alike(key: str, ours: Any, theirs: Any, *, made: bool) -> bool:
    if key == "event_types" or (key == "entity_id" and made):
        return sorted(ours) == sorted(theirs)
    if key == "last_reset" or (key.startswith("next_") and key != "next_event"):
        return abs(datetime.fromisoformat(ours) - datetime.fromisoformat(theirs)).total_seconds() < SUN_S
    if isinstance(theirs, float) and isinstance(ours, float):
        return math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-9)
    return bool(ours == theirs)


@pytest.mark.parametrize(
    "name", [each["name"] for scenes in SUBJECTS.values() for each in scenes if not {"entries", "runs"} & each.keys()]
)
async def test_helpers_answer_as_home_assistant_does(name: str, tmp_path: Path) -> None:
    scene = ANSWERS[name]
    asked = Asked(tmp_path, scene)
    wrong: list[str] = []
    known: dict[str, Any] = {}

    for number, told in enumerate(scene["asked"]):
        asked.events.clear()
        asked.response = None
        refused = await asked.do(told["step"])
        place = f"{number} {told['step']}"
        if (told["refused"] and not refused) or asked.events != told["events"]:
            wrong.append(
                f"{place}: refused {refused}, theirs {told['refused']}; {asked.events}, theirs {told['events']}"
            )
        if "response" in told and json.loads(json.dumps(asked.response)) != told["response"]:
            wrong.append(f"{place}: answered {asked.response}, theirs {told['response']}")
        known |= told["answers"]
        for entity_id, ours in asked.answers(known).items():
            if not same(ours, known[entity_id]):
                wrong.append(f"{place}: {entity_id}\n    ours   {ours}\n    theirs {known[entity_id]}")
    await asked.hub.stop()

    assert not wrong, "\n".join(wrong)
