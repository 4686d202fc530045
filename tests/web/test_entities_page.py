"""The pages of entities and areas: what is there is found, controlled, named, put in an area and exposed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.servers.hub_process import HubProcess
from tests.until import until
from tests.web.plain_browser import PlainBrowser

SETUP = """
from datetime import datetime

from hub.entities.description import DeviceInfo, EntityDescription

PLUG = DeviceInfo(frozenset({"plug"}), name="Desk <b>plug</b>", manufacturer="Acme")


async def setup(host, config):
    async def turn(state):
        switch.set(state)

    switch = host.entities.add(
        EntityDescription("switch", "plug", device=PLUG),
        {"turn_on": lambda data: turn("on"), "turn_off": lambda data: turn("off")},
    )
    switch.set("off")
    power = host.entities.add(EntityDescription("sensor", "power", "Power", device=PLUG, unit="W"))
    for value in ("3", "17.5", "4"):
        power.set(value)
    for name in ("Gnome", "Gate"):
        device = DeviceInfo(frozenset({name}), name=name)
        host.entities.add(EntityDescription("light", name, device=device, is_new=True))
    async def forecast(data):
        if data["type"] != "daily":
            raise ValueError(data)
        today = datetime.now(host.time_zone).date()
        return {"forecast": [{"datetime": f"{today}", "condition": "snowy", "temperature": 2, "templow": -3}]}

    weather = host.entities.add(EntityDescription("weather", "village", "Village"), {"get_forecasts": forecast})
    weather.set("cloudy", {"temperature": 1})
    voltage = host.entities.add(EntityDescription("sensor", "voltage", "Voltage", device=PLUG, unit="V"))
    for value in ("231", None, "229"):
        voltage.set(value)
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("entities") / "home"
    folder = home / "custom_integrations" / "plugs"
    folder.mkdir(parents=True)
    manifest = {"domain": "plugs", "name": "Plugs", "kind": "tool", "version": "1.0.0", "description": "Plugs."}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "__init__.py").write_text(SETUP)
    (folder / "schema.py").write_text(
        "from hub.core.schema import AnyOf, Schema\n\nCONFIG_SCHEMA = Schema(AnyOf({}, None))\n"
    )
    (home / "configuration.yaml").write_text("plugs:\n")
    with HubProcess(home) as process:
        yield process


async def test_an_entity_is_found_controlled_named_placed_and_hidden_from_agents(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    await plain.goto("/devices/rooms?add=yes")
    plain.fill("Name", "Office")
    await plain.press("Add", within="#add-room-form, #add-room")
    assert plain.text("h1") == "Office"
    await plain.goto("/entities?q=plug")
    assert "Desk <b>plug</b>" in plain.text("#e-switch-desk_b_plug_b")

    await plain.goto("/devices/all?entity=switch.desk_b_plug_b")
    await plain.press("Turn on")
    assert plain.text("#entity-live .big") == "On"
    plain.fill("Name", "Kettle")
    plain.fill("Entity id", "switch.kettle")
    plain.fill("Room", "office")
    for each in plain.page.select("[name=exposed]"):
        each.attrs.pop("checked", None)
    plain.check("No")
    await plain.press("Save")

    assert plain.text("h1") == "Kettle"
    [found] = hub.rpc("entities.list", {"area_id": "office"})["entities"]
    assert (found["entity_id"], found["is_exposed"], found["state"]) == ("switch.kettle", False, "on")
    await plain.goto("/devices/rooms")
    assert "Kettle On" in plain.text("#room-office")


async def test_devices_are_put_into_a_room_that_is_renamed_and_removed(plain: PlainBrowser, hub: HubProcess) -> None:
    room = hub.rpc("areas.create", {"kind": "area", "name": "Attic"})["area"]["id"]
    gate = next(each["id"] for each in hub.rpc("areas.list")["devices"] if each["shown_name"] == "Gate")

    await plain.goto(f"/devices/rooms?area={room}")
    plain.fill("Name", "Loft")
    plain.fill("Devices in this room", gate)
    await plain.press("Save")

    assert "Gate" in plain.text(f"#room-{room}")
    assert "Loft" in plain.text(f"#room-{room}")
    await plain.goto(f"/devices/rooms?area={room}")
    plain.fill("Name", "")
    await plain.press("Save")
    assert plain.status == 400
    await plain.goto(f"/devices/rooms?area={room}")
    await plain.press("Remove")
    assert room not in {each["id"] for each in hub.rpc("areas.list")["areas"]}


async def test_the_past_of_a_number_is_shown_and_downloaded(plain: PlainBrowser) -> None:
    await plain.goto("/entities?entity=sensor.desk_b_plug_b_power&hours=1")

    assert "17.5 W" in plain.text("main table")
    chart = json.loads(plain.text("#chart-data"))
    assert [each["name"] for each in chart["series"]] == ["Desk <b>plug</b> Power"]
    await plain.goto("/entities?entity=sensor.desk_b_plug_b_power&hours=24&also=sensor.desk_b_plug_b_voltage")
    assert [each["unit"] for each in json.loads(plain.text("#chart-data"))["series"]] == ["W", "V"]
    await plain.goto("/entities.csv?entity=sensor.desk_b_plug_b_power&hours=1")
    assert plain.status == 200


async def test_the_weather_tells_the_days_to_come(plain: PlainBrowser) -> None:
    await plain.goto("/devices/all?entity=weather.village")

    assert plain.text("#entity-live .big") == "Cloudy · 1 °"
    await plain.goto("/devices/rooms")
    assert re.fullmatch(r"Village Cloudy · 1 ° Village [A-Z][a-z]{2} Snow 2° -3°", plain.text("#t-weather-village"))
    await plain.goto("/devices/all?entity=weather.village")
    assert "The next days Today Snow -3° 2°" in plain.text("main")


async def test_what_is_refused_is_said_at_its_field_and_what_was_typed_stays(plain: PlainBrowser) -> None:
    await plain.goto("/entities?entity=sensor.desk_b_plug_b_power")
    plain.fill("Entity id", "light.kettle")
    plain.fill("Name", "Power of the desk")
    await plain.press("Save")

    assert plain.status == 400
    assert "is not an entity id such as sensor.desk_plug" in plain.text("#f-new_entity_id-wrong")
    assert (plain.value("Entity id"), plain.value("Name")) == ("light.kettle", "Power of the desk")


async def test_an_icon_is_chosen_and_left_to_the_device_again(plain: PlainBrowser) -> None:
    await plain.goto("/devices/all?entity=sensor.desk_b_plug_b_power")

    def icon() -> str:
        [found] = plain.page.select("#entity-live .round use")
        return str(found["href"]).partition("#")[2]

    own = icon()
    plain.fill("Icon", "mdi:washing-machine")
    await plain.press("Save")
    assert icon() == "washing-machine"
    plain.fill("Icon", "")
    await plain.press("Save")

    assert icon() == own != "washing-machine"


async def test_the_assistant_is_let_use_a_new_device(plain: PlainBrowser, hub: HubProcess) -> None:
    def told() -> list[str]:
        return [each["text"] for each in hub.rpc("status")["repairs"] if each["id"] == "new"]

    await until(lambda: bool(told()))
    await plain.goto("/entities")
    assert "2 new devices" in plain.text("#new-devices")
    assert "New" in plain.text("#e-light-gnome")
    assert told()[0].startswith("Gnome, Gate: the assistant can use them once you say")

    await plain.press("Let the assistant use Gnome")
    assert "1 new device" in plain.text("#new-devices")
    assert "Gate" in plain.text("#new-devices")
    typed = hub.cli("entities", "accept", "--all")

    assert typed.returncode == 0
    assert "Gate" in typed.stdout
    assert hub.rpc("entities.new") == {"new": []}
    await until(lambda: not told())
