"""The gateway's methods about entities and places: what they show, change and refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.schema import Invalid
from hub.entities.methods.entities import EntityMethods
from hub.entities.registry import VERSION
from hub.storage.history import HistoryStore
from hub.storage.history_retention import Retention
from hub.storage.versioned_file import VersionedFile
from tests.entities.home_of_entities import PLUG, TestHome


class Methods:
    """The methods over a home."""

    def __init__(self, home: TestHome, history: HistoryStore) -> None:
        methods = EntityMethods(home.entities, home.targets, history, lambda: 10_000.0).methods()
        self._methods = {each.name: each for each in methods}

    async def __call__(self, name: str, /, **params: Any) -> Any:
        method = self._methods[name]
        call: Any = SimpleNamespace(params=method.schema(params))
        return await method.handler(call)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[TestHome]:
    home = TestHome(tmp_path)
    home.add("switch", None, "turn_on", device=PLUG, state="on")
    home.add("sensor", "Power", device=PLUG, state="4", unit="W")
    yield home
    await home.registry.close()
    await home.tasks.cancel_all()


@pytest.fixture
async def ask(home: TestHome, tmp_path: Path) -> AsyncIterator[Methods]:
    history = HistoryStore(tmp_path / "history.db", retention=Retention(), redact=str)
    await history.open()
    for second, state in ((9_000.0, "3"), (9_500.0, "4")):
        history.record_state("sensor.desk_plug_power", state, {}, None, second)
    yield Methods(home, history)
    await history.close()


async def test_entities_are_shown_with_their_places(ask: Methods) -> None:
    found = (await ask("entities.list", area_id="office"))["entities"]

    assert [(each["entity_id"], each["shown_name"], each["area"], each["state"], each["unit"]) for each in found] == [
        ("sensor.desk_plug_power", "Desk plug Power", "Office", "4", "W"),
        ("switch.desk_plug", "Desk plug", "Office", "on", None),
    ]
    assert found[1]["commands"] == ["turn_on"]
    assert found[1]["is_exposed"] is True


async def test_a_change_holds_at_once_and_is_on_disk(ask: Methods, home: TestHome, tmp_path: Path) -> None:
    await ask("areas.create", kind="floor", name="Attic")
    await ask("areas.create", kind="area", name="Study", floor_id="attic")
    await ask("areas.create", kind="label", name="Power hungry")
    changed = await ask(
        "entities.update",
        entity_id="switch.desk_plug",
        new_entity_id="switch.kettle",
        name="Kettle",
        area_id="study",
        labels=["power_hungry"],
        exposed=False,
    )

    assert (changed["entity"]["shown_name"], changed["entity"]["area"], changed["entity"]["state"]) == (
        *("Kettle", "Study", "on"),
    )
    stored = VersionedFile(tmp_path / "r.json", VERSION).read()
    assert {each["entity_id"]: each.get("exposed") for each in stored["entities"]}["switch.kettle"] is False

    await ask("areas.remove", kind="area", id="study")
    cleared = (await ask("entities.update", entity_id="switch.kettle", name="", labels=[]))["entity"]
    assert (cleared["shown_name"], cleared["area"], cleared["labels"]) == ("Desk plug", "Office", [])


async def test_an_icon_is_chosen_and_given_back(ask: Methods, home: TestHome) -> None:
    async def shown(icon: str | None) -> tuple[Any, Any]:
        entity = (await ask("entities.update", entity_id="switch.desk_plug", icon=icon))["entity"]
        state = home.states.get("switch.desk_plug")
        assert state is not None
        return entity["icon"], state.attributes.get("icon")

    before = (await ask("entities.list", domain="switch"))["entities"][0]["icon"]

    assert await shown("mdi:fan") == ("mdi:fan", "mdi:fan")
    assert await shown("") == (before, before)
    with pytest.raises(Invalid, match="such as mdi:fan"):
        await shown("a fan")


async def test_a_device_is_renamed_and_moved(ask: Methods, home: TestHome) -> None:
    device = (await ask("areas.list"))["devices"][0]
    await ask("areas.create", kind="area", name="Kitchen")

    await ask("areas.update", kind="device", id=device["id"], name="Coffee", area_id="kitchen")

    state = home.states.get("sensor.desk_plug_power")
    assert state is not None
    assert state.name == "Coffee Power"
    assert [each["entities"] for each in (await ask("areas.list"))["areas"]] == [0, 2]


async def test_the_past_of_an_entity_is_shown_from_the_oldest(ask: Methods) -> None:
    past = await ask("entities.history", entity_id="sensor.desk_plug_power", hours=1)

    assert [(each["time"], each["state"]) for each in past["points"]] == [(9_000.0, "3"), (9_500.0, "4")]


@pytest.mark.parametrize(
    ("name", "params", "error", "words"),
    [
        ("entities.update", {"entity_id": "switch.none"}, NotFound, "no entity 'switch.none'"),
        ("entities.update", {"entity_id": "switch.desk_plug", "area_id": "moon"}, NotFound, "no area 'moon'"),
        ("entities.update", {"entity_id": "switch.desk_plug", "labels": ["x"]}, NotFound, "no label 'x'"),
        (
            *("entities.update", {"entity_id": "switch.desk_plug", "new_entity_id": "light.x"}),
            *(InvalidRequest, "such as switch.desk_plug"),
        ),
        (
            *("entities.update", {"entity_id": "switch.desk_plug", "new_entity_id": "switch.taken"}),
            *(Conflict, "already an entity switch.taken"),
        ),
        ("entities.remove", {"entity_id": "switch.desk_plug"}, Conflict, "disable or hide it"),
        ("areas.create", {"kind": "area", "name": "OFFICE"}, Conflict, "already an area Office"),
        ("areas.create", {"kind": "label", "name": "x", "floor_id": "y"}, InvalidRequest, "floor_id: not of a label"),
        ("areas.create", {"kind": "area", "name": "\u202e "}, InvalidRequest, "expected a name"),
        ("areas.remove", {"kind": "floor", "id": "x"}, NotFound, "no floor 'x'"),
    ],
)
async def test_what_does_not_fit_is_refused(
    ask: Methods, home: TestHome, name: str, params: dict[str, Any], error: type[Exception], words: str
) -> None:
    home.states.set("switch.taken", "on")

    with pytest.raises(error, match=words):
        await ask(name, **params)


async def test_an_entity_that_is_gone_is_removed_and_a_device_that_is_there_stays(ask: Methods, home: TestHome) -> None:
    home.add("switch", "Old").remove()
    device = next(iter(home.registry.devices))

    await ask("entities.remove", entity_id="switch.old")
    with pytest.raises(Conflict, match="has this device now"):
        await ask("areas.remove", kind="device", id=device)

    assert "switch.old" not in home.registry.entities
