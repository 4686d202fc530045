"""Lists of memory and a calendar at home answer as the ones that a real Home Assistant core keeps itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hub.core.clock import ManualClock
from hub.core.context import Authority, Context
from hub.core.errors import HubError
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.memory.contract import MemoryKind
from hub.security.people import People
from integrations.memory.todo_lists import MemoryLists
from tests.entities.helpers.questions.steps import PLACE, START
from tests.entities.home_of_entities import TestHome
from tests.hub_fixture import HubFixture
from tests.integrations.memory.notes_house import NOON, Notes
from tests.until import until

SCENES = {
    scene["name"]: scene["asked"]
    for scene in json.loads((Path(__file__).parent / "answers/lists_and_calendars.json").read_text())
}
OURS = frozenset({"uid", "supported_features", "kept_by", "recurrence_id", "rrule"})
OWNER = Context(Authority("peer:me", person="owner", owner=True))
ONLY = ("hub database", "registries", "helpers", "history", "integrations", "egress")


class Lists:
    """The list `chores` of memory."""

    def __init__(self, folder: Path) -> None:
        self.notes, self.home = Notes(folder), TestHome(folder)
        self.notes.clock.jump(START - NOON)
        self.clock, self.states, self.services = self.notes.clock, self.home.states, self.home.services

    async def start(self) -> None:
        for handle in list(self.home.entities._handles.values()):
            handle.remove()
        lists = MemoryLists(
            self.notes.memory,
            lambda: "main",
            People,
            self.home.entities,
            add=self.home.entities.add,
            spawn=self.home.tasks.spawn,
            clock=self.clock,
            zone=lambda: ZoneInfo(str(PLACE["time_zone"])),
        )
        if not self.home.registry.entities:
            await self.notes.put("Chores list: begin", MemoryKind.TODO)
            await lists.look()
            await self.services.call(
                "todo", "remove_item", {"entity_id": "todo.chores", "item": "begin"}, context=OWNER
            )
        await lists.look()

    async def stop(self) -> None:
        """Be as it is."""


class Calendars:
    """The calendar `family` at home."""

    services: ServiceRegistry
    states: StateMachine

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, ManualClock(START)

    async def start(self) -> None:
        sections = {"hub": PLACE, "calendar": {"calendars": {"family": {"name": "Family"}}}}
        self.hub = HubFixture(
            self.folder,
            "http://127.0.0.1:9",
            sections=sections,
            integrations=("calendar",),
            clock=self.clock,
            only=ONLY,
        )
        self.services, self.states = self.hub.services, self.hub.states
        await self.hub.start()

    async def stop(self) -> None:
        await self.hub.stop()


def plain(value: Any) -> Any:
    """Return an answer without ids, without texts that are empty, and without what is ours alone."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key not in OURS and each != ""}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


async def change_event(
    services: ServiceRegistry, action: str, entity_id: str, of: dict[str, Any], data: dict[str, Any]
) -> None:
    """Add, change or remove an event; one of a series by its number."""
    target: dict[str, Any] = {"entity_id": entity_id}
    if of:
        asked = {**target, "duration": {"days": 60}}
        told: Any = await services.call("calendar", "get_events", asked, context=OWNER, wants_response=True)
        one = [each for each in told[entity_id]["events"] if each["summary"] == of["summary"]][of.get("nth", 0)]
        target["uid"] = one["uid"]
        target |= {"recurrence_id": one["recurrence_id"]} if "nth" in of else {}
        target |= {"recurrence_range": "THISANDFUTURE"} if of.get("future") else {}
    kind = "date" if len(data.get("start", "")) == len("2026-03-02") else "date_time"
    named = {"start": f"start_{kind}", "end": f"end_{kind}"}
    event = {named.get(key, key): value for key, value in data.items()}
    await services.call("calendar", f"{action}_event", {**target, **event}, context=OWNER)


SCENES_OF: list[tuple[str, Any]] = [
    ("a list of things to do", Lists),
    ("a calendar at home", Calendars),
    ("events that are repeated", Calendars),
]


@pytest.mark.parametrize(("name", "kind"), SCENES_OF)
async def test_they_answer_as_home_assistant_does(name: str, kind: Any, tmp_path: Path) -> None:
    home = kind(tmp_path)
    expected: dict[str, Any] = {}
    wrong: list[str] = []

    for number, told in enumerate(SCENES[name]):
        refused, response = False, None
        match told["step"]:
            case ["start"]:
                await home.start()
            case ["advance", seconds]:
                await home.clock.advance(seconds)
            case ["restart", seconds]:
                await home.stop()
                home.clock.jump(seconds)
                await home.start()
            case ["event", action, entity_id, of, data]:
                try:
                    await change_event(home.services, action, entity_id, of, data)
                except HubError:
                    refused = True
            case [kind_of_call, service, data]:
                domain, _, action = service.partition(".")
                try:
                    response = await home.services.call(
                        domain, action, data, context=OWNER, wants_response=kind_of_call == "ask"
                    )
                except HubError:
                    refused = True
        expected |= told["answers"]
        place = f"{number} {told['step']}"
        if refused is not told["refused"] and ".none" not in str(told["step"]):  # what is missing is refused here
            wrong.append(f"{place}: refused {refused}, theirs {told['refused']}")
        if plain(response) != plain(told.get("response")):
            wrong.append(f"{place}:\n    ours   {plain(response)}\n    theirs {plain(told.get('response'))}")
        for entity_id, theirs in expected.items():
            try:
                await until(lambda: _shown(home.states, entity_id) == plain(theirs), limit_s=3)  # noqa: B023
            except TimeoutError:
                wrong.append(f"{place}:\n    ours   {_shown(home.states, entity_id)}\n    theirs {plain(theirs)}")
    await home.stop()

    assert not wrong, "\n".join(wrong)


def _shown(states: StateMachine, entity_id: str) -> Any:
    state = states.get(entity_id)
    return state and plain([state.state, dict(state.attributes)])
