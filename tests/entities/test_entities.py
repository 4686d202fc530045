"""Entities get Home Assistant's ids and names, keep what people decided, and do their domain's services."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import Conflict, Forbidden, HubError, InvalidRequest, NotFound, Unavailable
from hub.entities.description import DeviceInfo, EntityDescription, clean
from hub.entities.new_devices import accept, new_ones
from hub.entities.registry import VERSION, HomeRegistry
from hub.storage.versioned_file import VersionedFile
from tests.entities.home_of_entities import PLUG, TestHome


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[TestHome]:
    home = TestHome(tmp_path)
    await home.registry.open()
    yield home
    await home.registry.close()
    await home.tasks.cancel_all()


@pytest.mark.parametrize(
    ("device", "name", "object_id", "expected", "shown"),
    [
        (PLUG, None, None, "switch.desk_plug", "Desk plug"),
        (PLUG, "Power", None, "switch.desk_plug_power", "Desk plug Power"),
        (PLUG, "Desk plug Power", None, "switch.desk_plug_power", "Desk plug Power"),
        (None, "Küche – Licht an!", None, "switch.kuche_licht_an", "Küche – Licht an!"),
        (None, "客厅的灯", None, "switch.ke_ting_de_deng", "客厅的灯"),
        (PLUG, "Power", "Kettle", "switch.kettle", "Desk plug Power"),
        (None, "♥", None, "switch.test_u1", "♥"),
        (None, "x" * 500, None, f"switch.{'x' * 100}", "x" * 128),
    ],
)
async def test_ids_and_names_are_made_as_home_assistant_makes_them(
    home: TestHome, device: Any, name: Any, object_id: Any, expected: str, shown: str
) -> None:
    handle = home.add("switch", name, device=device, unique_id="u1", object_id=object_id, state="on")

    assert handle.entity_id == expected
    state = home.states.get(expected)
    assert state is not None
    assert (state.name, state.state) == (shown, "on")
    assert state.context.authority.tainted
    assert not state.context.authority.owner


async def test_a_second_entity_of_the_same_name_gets_a_number_and_both_keep_their_ids(
    home: TestHome, tmp_path: Path
) -> None:
    home.states.set("light.lamp_2", "on")
    ids = [home.add("light", "Lamp", unique_id=each).entity_id for each in ("a", "b")]
    assert ids == ["light.lamp", "light.lamp_3"]
    await home.registry.close()

    again = TestHome(tmp_path)
    await again.registry.open()

    assert again.add("light", "Lamp", unique_id="b").entity_id == "light.lamp_3"
    assert again.add("light", "Lamp", unique_id="a").entity_id == "light.lamp"
    with pytest.raises(Conflict):
        again.add("light", "Lamp", unique_id="a")


async def test_what_people_decide_holds_at_once_and_after_a_restart(home: TestHome, tmp_path: Path) -> None:
    handle = home.add("switch", "Relay", "turn_on", device=PLUG, state="off")
    home.registry.update("entity", handle.entity_id, entity_id="switch.kettle", name="Kettle")
    home.registry.create("floor", "Ground floor", level=0)
    home.registry.update("area", "office", floor_id="ground_floor", name="Study", aliases=["Bureau"])

    assert handle.entity_id == "switch.kettle"
    assert home.states.get("switch.desk_plug_relay") is None
    handle.set("on")
    state = home.states.get("switch.kettle")
    assert state is not None
    assert (state.name, state.state) == ("Kettle", "on")
    await home.call("switch.turn_on", floor_id="ground_floor")
    assert home.done == [("switch.kettle", "turn_on", {})]
    await home.registry.close()

    again = TestHome(tmp_path)
    await again.registry.open()
    renamed = again.add("switch", "Relay", device=PLUG, state="off")

    assert renamed.entity_id == "switch.kettle"
    area = again.registry.area_of(again.registry.entities["switch.kettle"])
    assert area is not None
    assert (area.id, area.name, area.aliases) == ("office", "Study", ("Bureau",))


async def test_a_disabled_entity_has_no_state_until_it_is_enabled(home: TestHome) -> None:
    handle = home.add("sensor", "Signal", state="-60", enabled_by_default=False)
    assert home.states.get(handle.entity_id) is None

    home.registry.update("entity", handle.entity_id, disabled=False)

    state = home.states.get(handle.entity_id)
    assert state is not None
    assert state.state == "-60"


async def test_an_unavailable_entity_keeps_what_it_can_do_and_shows_its_state_again(home: TestHome) -> None:
    handle = home.add("number", "Limit", state="5", attributes={"min": 1, "max": 9}, unit="A")
    handle.set("5", {"source": "meter"})

    handle.available(False)
    state = home.states.get("number.limit")
    assert state is not None
    assert state.state == "unavailable"
    assert dict(state.attributes) == {"min": 1, "max": 9, "friendly_name": "Limit", "unit_of_measurement": "A"}

    handle.available(True)
    state = home.states.get("number.limit")
    assert state is not None
    assert (state.state, state.attributes["source"]) == ("5", "meter")


async def test_a_removed_entity_keeps_its_entry_unless_it_is_forgotten(home: TestHome) -> None:
    first, second = home.add("switch", "One", state="on"), home.add("switch", "Two", state="on")

    first.remove()
    second.remove(forget=True)

    assert home.states.all() == []
    assert list(home.registry.entities) == ["switch.one"]


async def test_removing_a_device_removes_its_entities_and_removing_an_area_empties_references(home: TestHome) -> None:
    handle = home.add("switch", None, device=PLUG, state="on")
    device = next(iter(home.registry.devices.values()))
    home.registry.remove("area", "office")
    assert home.registry.devices[device.id].area_id is None

    handle.remove()
    home.registry.remove("device", device.id)

    assert not home.registry.entities
    assert not home.registry.devices
    assert home.add("switch", None, device=PLUG).entity_id == "switch.desk_plug"


async def test_one_device_is_known_by_its_address_and_another_source_does_not_take_it_by_its_name(
    home: TestHome,
) -> None:
    mac = frozenset({("mac", "02:00:00:00:00:01")})
    one = home.registry.device_for("mqtt", DeviceInfo(frozenset({"x"}), mac, name="One"))
    same = home.registry.device_for("other", DeviceInfo(frozenset({"y"}), mac, name="One"))
    different = home.registry.device_for("other", DeviceInfo(frozenset({"x"}), name="One"))

    assert one.id == same.id != different.id
    with pytest.raises(InvalidRequest, match="neither identifiers nor connections"):
        home.registry.device_for("mqtt", DeviceInfo(name="Nothing"))


def house(home: TestHome) -> None:
    """A kitchen with two lamps, a garage with a door and a lock, and what is hidden or for settings."""
    kitchen, garage = home.registry.create("area", "Kitchen"), home.registry.create("area", "Garage")
    home.registry.create("label", "Party")
    for name, area in (("Counter", kitchen), ("Ceiling", kitchen), ("Shed", garage)):
        handle = home.add("light", name, "turn_on", "turn_off", state="off")
        home.registry.update("entity", handle.entity_id, area_id=area.id)
    hidden = home.add("light", "Oven", "turn_on", state="off")
    home.registry.update("entity", hidden.entity_id, area_id=kitchen.id, hidden=True)
    home.add("light", "Led", "turn_on", device=PLUG, entity_category="config", state="off")
    home.add("switch", None, "turn_on", "turn_off", device=PLUG, state="off")
    home.add("cover", "Gate", "open_cover", "close_cover", state="closed", device_class="garage")
    home.add("cover", "Blind", "open_cover", "close_cover", state="open")
    home.add("lock", "Front door", "lock", "unlock", state="locked")
    home.registry.update("entity", "light.shed", labels=["party"])
    home.registry.update("area", "kitchen", labels=["party"])


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"entity_id": "light.shed, light.counter"}, ["light.shed", "light.counter"]),
        ({"area_id": "kitchen"}, ["light.ceiling", "light.counter"]),
        ({"area_id": ["kitchen"], "entity_id": ["light.oven"]}, ["light.oven", "light.ceiling", "light.counter"]),
        ({"label_id": "party"}, ["light.ceiling", "light.counter", "light.shed"]),
        ({"entity_id": "none"}, []),
        ({"entity_id": "all"}, ["light.ceiling", "light.counter", "light.desk_plug_led", "light.oven", "light.shed"]),
    ],
)
async def test_a_target_means_the_entities_of_its_service(home: TestHome, target: Any, expected: list[str]) -> None:
    house(home)

    await home.call("light.turn_on", brightness_pct=40, **target)

    assert home.done == [(each, "turn_on", {"brightness": 102}) for each in expected]


@pytest.mark.parametrize(
    ("service", "data", "error", "words"),
    [
        ("light.turn_on", {}, InvalidRequest, "expected a target"),
        ("light.turn_on", {"area_id": "attic"}, NotFound, "no area 'attic'"),
        ("light.turn_on", {"entity_id": "light.moon"}, NotFound, "no entity light.moon"),
        ("light.turn_on", {"entity_id": "switch.desk_plug"}, InvalidRequest, "is for light entities"),
        ("light.turn_on", {"entity_id": "light.shed", "brightness": 300}, InvalidRequest, "brightness"),
        ("light.turn_on", {"entity_id": "light.shed", "colour": "red"}, InvalidRequest, "colour"),
        ("light.turn_on", {"entity_id": "light.shed", "rgb_color": [1, 2]}, InvalidRequest, "3 numbers"),
        ("light.turn_on", {"entity_id": "light.shed", "color_name": "hotpnik"}, InvalidRequest, "did you mean hotpink"),
        (
            *("light.turn_on", {"entity_id": "light.shed", "color_name": "red", "hs_color": [1, 2]}, InvalidRequest),
            "one colour",
        ),
        ("fan.turn_on", {"area_id": "kitchen"}, NotFound, "no fan entity"),
        ("lock.open", {"entity_id": "lock.front_door"}, InvalidRequest, "lock.front_door cannot do this: open"),
        ("number.set_value", {"entity_id": "number.limit", "value": 10}, InvalidRequest, "from 1 to 9, not 10"),
        ("select.select_option", {"entity_id": "select.mode", "option": "x"}, InvalidRequest, "one of eco, fast"),
        ("switch.turn_on", {"entity_id": "switch.state_only"}, InvalidRequest, "only has a state"),
        ("switch.turn_on", {"entity_id": "switch.gone"}, Unavailable, "cannot be reached now"),
    ],
)
async def test_a_call_that_does_not_fit_says_why(
    home: TestHome, service: str, data: Any, error: type[HubError], words: str
) -> None:
    house(home)
    home.add("number", "Limit", "set_value", state="5", attributes={"min": 1, "max": 9})
    home.add("select", "Mode", "select_option", state="eco", attributes={"options": ["eco", "fast"]})
    home.add("switch", "Gone", "turn_on", state="on").available(False)
    home.states.set("switch.state_only", "on")

    with pytest.raises(error, match=words):
        await home.call(service, **data)

    assert home.done == []


async def test_those_that_can_be_reached_are_commanded_and_the_others_are_named(home: TestHome) -> None:
    home.add("switch", "Here", "turn_on", state="off")
    home.add("switch", "Gone", "turn_on", state="off").available(False)

    with pytest.raises(Unavailable, match=r"^switch\.gone cannot"):
        await home.call("switch.turn_on", entity_id=["switch.gone", "switch.here"])

    assert home.done == [("switch.here", "turn_on", {})]


@pytest.mark.parametrize(
    ("entity", "service", "data", "expected"),
    [
        (("switch", "on", ("turn_on", "turn_off"), {}), "toggle", {}, ("turn_off", {})),
        (("cover", "closed", ("open_cover", "close_cover"), {}), "toggle", {}, ("open_cover", {})),
        (
            ("select", "b", ("select_option",), {"options": ["a", "b"]}),
            "select_next",
            {},
            ("select_option", {"option": "a"}),
        ),
        (
            ("climate", "off", ("set_hvac_mode",), {"hvac_modes": ["off", "heat"]}),
            "turn_on",
            {},
            ("set_hvac_mode", {"hvac_mode": "heat"}),
        ),
        (
            ("fan", "on", ("set_percentage",), {"percentage": 95}),
            "increase_speed",
            {},
            ("set_percentage", {"percentage": 100}),
        ),
        (
            ("light", "on", ("turn_on", "turn_off"), {"brightness": 100}),
            "turn_on",
            {"brightness_step": -200},
            ("turn_off", {}),
        ),
        (("light", "on", ("turn_on",), {}), "turn_on", {"color_temp": 250}, ("turn_on", {"color_temp_kelvin": 4000})),
    ],
)
async def test_a_service_that_an_entity_has_by_means_of_another_is_done_by_that(
    home: TestHome, entity: Any, service: str, data: Any, expected: Any
) -> None:
    domain, state, commands, attributes = entity
    handle = home.add(domain, "It", *commands, state=state, attributes=attributes)

    await home.call(f"{domain}.{service}", entity_id=handle.entity_id, **data)

    assert home.done == [(handle.entity_id, *expected)]


async def test_homeassistant_turn_off_does_what_each_domain_has(home: TestHome) -> None:
    house(home)

    await home.call("homeassistant.turn_off", entity_id=["cover.gate", "switch.desk_plug"], area_id="garage")

    assert sorted(home.done) == [
        ("cover.gate", "close_cover", {}),
        ("light.shed", "turn_off", {}),
        ("switch.desk_plug", "turn_off", {}),
    ]
    with pytest.raises(InvalidRequest, match="can do this: turn_on"):
        await home.call("homeassistant.turn_on", entity_id="lock.front_door")


@pytest.mark.parametrize("service", ["cover.open_cover", "lock.unlock", "homeassistant.turn_on"])
async def test_an_agent_asks_before_it_opens_what_is_dangerous_and_what_is_asked_is_what_is_done(
    home: TestHome, service: str
) -> None:
    house(home)
    entity = "lock.front_door" if service == "lock.unlock" else "cover.gate"
    home.registry.update("entity", entity, area_id="garage")
    home.answer = "the owner said no"

    with pytest.raises(Forbidden, match="said no"):
        await home.call_for_agent(service, area_id="garage")

    assert home.done == []
    assert entity in home.asked[0].data["entity_id"]
    assert "area_id" not in home.asked[0].data
    home.answer = None
    await home.call_for_agent(service, area_id="garage")
    assert [each[0] for each in home.done] == sorted(home.asked[1].data["entity_id"])


async def test_an_agent_controls_what_is_exposed_alone(home: TestHome) -> None:
    house(home)
    home.registry.update("entity", "light.ceiling", exposed=False)

    await home.call_for_agent("light.turn_on", area_id="kitchen")
    assert home.done == [("light.counter", "turn_on", {})]
    assert home.asked == []
    with pytest.raises(Forbidden, match=r"light\.ceiling: not exposed to agents"):
        await home.call_for_agent("light.turn_on", entity_id="light.ceiling")


async def test_words_of_devices_become_one_plain_line() -> None:
    assert clean("Lamp\n\u202eIgnore\x00 all\t") == "Lamp Ignore all"
    assert clean(" \n ") is None


async def test_an_entity_that_becomes_another_kind_gets_a_new_id(home: TestHome) -> None:
    home.add("switch", "It", unique_id="u").remove()

    assert home.add("light", "It", unique_id="u").entity_id == "light.it"
    assert list(home.registry.entities) == ["light.it"]


async def test_a_changed_description_is_taken_over(home: TestHome) -> None:
    handle = home.add("sensor", "Temp", unique_id="t", state="20", unit="°C")

    handle.update(EntityDescription("sensor", "t", "Outside", unit="°F"), {})

    state = home.states.get("sensor.temp")
    assert state is not None
    assert (state.name, state.attributes["unit_of_measurement"]) == ("Outside", "°F")
    with pytest.raises(Conflict):
        handle.update(EntityDescription("switch", "t"), {})


async def test_agents_use_what_announced_itself_once_a_person_has_said_that_it_is_theirs(
    home: TestHome, tmp_path: Path
) -> None:
    home.add("light", None, "turn_on", device=DeviceInfo(frozenset({"lamp"}), name="Lamp"), state="off")
    home.add("switch", None, "turn_on", device=PLUG, state="off", is_new=True)
    home.add("sensor", "Power", device=PLUG, state="3", is_new=True)
    home.add("light", "Loose", "turn_on", state="off", is_new=True)
    plug = next(iter(new_ones(home.registry)))

    for target in ({"entity_id": "switch.desk_plug"}, {"entity_id": ["light.lamp", "light.loose"]}):
        with pytest.raises(Forbidden, match=r"^(switch\.desk_plug|light\.loose) is new: agents may use it once"):
            await home.call_for_agent("homeassistant.turn_on", **target)
    await home.call_for_agent("homeassistant.turn_on", area_id="office")
    await home.call_for_agent("light.turn_on", entity_id="all")
    assert home.done == [("light.lamp", "turn_on", {})]
    await home.call("switch.turn_on", entity_id="switch.desk_plug")  # an automation, or a person
    assert home.done.pop() == ("switch.desk_plug", "turn_on", {})

    await home.registry.close()
    again = HomeRegistry(VersionedFile(tmp_path / "r.json", VERSION), home.bus, home.states, home.tasks)
    await again.open()
    assert new_ones(again) == {plug: "Desk plug", "light.loose": "Loose"}
    assert [accept(home.registry, plug), accept(home.registry, "light.loose")] == ["Desk plug", "Loose"]
    await home.call_for_agent("homeassistant.turn_on", entity_id=["switch.desk_plug", "light.loose"])

    assert new_ones(home.registry) == {}
    assert all(entry.is_exposed for entry in home.registry.entities.values())
    home.add("number", "Level", device=PLUG, is_new=True)  # anybody may say that it is a part of the plug
    assert new_ones(home.registry) == {plug: "Desk plug"}
    assert {each[0] for each in home.done[1:]} == {"switch.desk_plug", "light.loose"}
    with pytest.raises(NotFound):
        accept(home.registry, "nothing")


async def test_what_announces_itself_as_part_of_another_sources_device_is_new(home: TestHome) -> None:
    bridged = DeviceInfo(frozenset({"b"}), frozenset({("mac", "02:00:00:00:00:01")}), name="Door")
    home.registry.device_for("home_assistant", bridged)

    entry = home.add("lock", "Copy", device=DeviceInfo(frozenset({"x"}), bridged.connections, name="x"), is_new=True)

    assert new_ones(home.registry)[home.registry.entities[entry.entity_id].device_id or ""] == "x"
    assert not home.entities.is_exposed(entry.entity_id)
