"""Blueprints in the shapes that users of Home Assistant know, written by us: they load unchanged and work."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hub.core.schema import Invalid
from tests.automation.blueprints.conftest import Shelf
from tests.automation.blueprints.house import House

FOLDER = Path(__file__).parent / "like_home_assistant"
MINUTE, HOUR = 60.0, 3_600.0


async def begin(house: House, name: str, inputs: dict[str, Any]) -> None:
    house.blueprint((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    house.use("me/test.yaml", inputs)
    await house.start()
    assert [each.error for each in house.automations.all()] == [None]


async def see(house: House, entity_id: str, state: str, **attributes: Any) -> list[tuple[str, dict[str, Any]]]:
    house.state(entity_id, state, **attributes)
    await house.settle()
    return house.take()


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
async def test_it_is_read_without_a_change(shelf: Shelf, file: Path) -> None:
    text = await asyncio.to_thread(file.read_text, encoding="utf-8")

    draft = await shelf.blueprints.import_text(text, f"neighbour/{file.name}")

    assert shelf.blueprints.find(draft.path).metadata.domain == "automation"


async def test_a_light_follows_motion(house: House) -> None:
    await begin(
        house,
        "motion_light",
        {"motion_entity": "binary_sensor.hall", "light_target": {"entity_id": "light.hall"}, "no_motion_wait": 60},
    )
    house.state("binary_sensor.hall", "off")

    on = await see(house, "binary_sensor.hall", "on")
    still = await house.after(HOUR)
    leaving = await see(house, "binary_sensor.hall", "off")
    await house.after(30)
    back = await see(house, "binary_sensor.hall", "on")
    await see(house, "binary_sensor.hall", "off")
    at_first = await house.after(59)
    off = await house.after(2)

    assert [service for service, _ in on + back] == ["light.turn_on"] * 2
    assert still == leaving == at_first == []
    assert off == [("light.turn_off", {"entity_id": ["light.hall"]})]


async def test_low_batteries_are_gathered_by_a_template(house: House) -> None:
    await begin(
        house,
        "low_battery",
        {
            "actions": [{"action": "notify.notify", "data": {"message": "Low: {{ sensors }}"}}],
            "exclude": {"entity_id": ["sensor.toy"]},
            "day": 4,
        },
    )
    for name, level in {"remote": "10", "lock": "90", "toy": "1", "broken": "unavailable"}.items():
        house.state(f"sensor.{name}", level, device_class="battery", friendly_name=name.title())
    house.state("sensor.cold", "5", device_class="temperature")

    thursday = await house.after(10 * HOUR)
    friday = await house.after(24 * HOUR)

    assert [data["message"] for _, data in thursday] == ["Low: Remote (10 %)"]
    assert friday == []


async def test_what_is_left_open_is_told_again_and_again(house: House) -> None:
    await begin(house, "left_open", {"door": ["binary_sensor.door"], "times": 2})
    house.state("binary_sensor.door", "off", friendly_name="The door")
    house.state("binary_sensor.door", "on", friendly_name="The door")

    at_once = await house.after(4 * MINUTE)
    first = await house.after(2 * MINUTE)
    rest = await house.after(HOUR)

    assert at_once == []
    assert [(data["title"], data["message"]) for _, data in first + rest] == [
        ("Open (1)", "The door is open."),
        ("Open (2)", "The door is open."),
    ]


async def test_what_is_closed_in_time_is_not_told(house: House) -> None:
    await begin(house, "left_open", {"door": ["binary_sensor.door"]})
    house.state("binary_sensor.door", "off")
    house.state("binary_sensor.door", "on")
    await house.after(4 * MINUTE)
    house.state("binary_sensor.door", "off")

    assert await house.after(HOUR) == []


async def test_buttons_do_what_their_inputs_say(house: House) -> None:
    await begin(
        house,
        "remote_buttons",
        {
            "remote": "sofa",
            "on_press": [{"service": "light.turn_on", "data": {"by": "{{ trigger.event.data.button }}"}}],
            "off_press": {"action": "light.turn_off"},
            "extra_triggers": [{"platform": "state", "entity_id": "binary_sensor.x", "to": "on"}],
            "only_if": "{{ is_state('switch.remote', 'on') }}",
        },
    )
    house.state("switch.remote", "on")
    house.state("binary_sensor.x", "off")
    for button, remote in (("on", "sofa"), ("off", "sofa"), ("on", "bed")):
        house.fire("remote_button", {"remote": remote, "button": button})
    pressed = await house.after(1)
    other = await see(house, "binary_sensor.x", "on")
    house.state("switch.remote", "off")
    house.fire("remote_button", {"remote": "sofa", "button": "on"})

    assert pressed == [("light.turn_on", {"by": "on"}), ("light.turn_off", {})]
    assert other == await house.after(1) == []
    assert house.results[-1].outcome == "stopped"


async def test_the_evening_light_knows_the_sun_and_who_is_home(house: House) -> None:
    await begin(
        house,
        "evening_light",
        {"lamps": ["light.a", "light.b"], "people_at_home": ["person.anna"], "mood": "cold", "enabled": True},
    )
    house.state("person.anna", "not_home")
    house.state("sun.sun", "above_horizon", elevation=10)
    alone = await see(house, "sun.sun", "above_horizon", elevation=3)
    home = await see(house, "person.anna", "home")

    assert alone == []
    assert home == [("light.turn_on", {"entity_id": ["light.a", "light.b"], "color_temp_kelvin": 5000})]


# --- what does not exist here is refused by name ---


@pytest.mark.parametrize("selector", ["addon", "config_entry"])
def test_inputs_of_what_is_not_here_are_refused_only_when_filled_in(shelf: Shelf, selector: str) -> None:
    shelf.write(
        f"blueprint: {{name: A, domain: automation, input: {{x: {{selector: {{{selector}: {{}}}}}}}}}}\nactions: []\n"
    )

    assert shelf.expand({"x": []})["actions"] == []
    with pytest.raises(Invalid, match=r"there are no .* here; leave it empty") as caught:
        shelf.expand({"x": "y"})
    assert list(caught.value.path) == ["use_blueprint", "input", "x"]


def test_areas_devices_and_labels_are_filled_in(shelf: Shelf) -> None:
    shelf.write((FOLDER / "motion_light.yaml").read_text(encoding="utf-8"))
    target = {"device_id": ["abc"], "area_id": "kitchen", "label_id": "party"}

    found = shelf.expand({"motion_entity": "binary_sensor.a", "light_target": target})

    assert target in [step.get("target") for step in found["actions"]]
