"""A Home Assistant's entities and areas become ours, commands go back, and a lost connection is made again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.core.context import SYSTEM, Context
from hub.core.errors import InvalidRequest, Unavailable
from hub.core.secret import Secret
from hub.entities.description import DeviceInfo, EntityDescription
from hub.entities.services import EntityServices
from hub.integration.json_storage import JsonStorage
from integrations.devices import home_assistant
from tests.integrations.devices.home_assistant.core_double import TOKEN, CoreDouble
from tests.integrations.tools.standing import Standing
from tests.until import until


class _QuickClock(Clock):
    """Waits a hundredth of what is asked."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)


class Connected:
    """A hub's parts with a connection to the double."""

    def __init__(self, folder: Path, core: CoreDouble) -> None:
        standing: Any = Standing(folder)
        self.parts = standing
        self.parts.clock = _QuickClock()
        self.core = core
        EntityServices(self.parts.entities, self.parts.targets, self.parts.services).register()

    async def begin(self, url: str = "", token: str = TOKEN, entities: str = "all") -> None:
        config = {"url": url or self.core.url, "token": Secret(token), "entities": entities}
        await self.parts.set_up(home_assistant, config)

    def state(self, entity_id: str) -> str | None:
        found = self.parts.states.get(entity_id)
        return None if found is None else found.state

    async def call(self, service: str, **data: Any) -> Any:
        domain, _, name = service.partition(".")
        return await self.parts.services.call(domain, name, data, context=Context(SYSTEM))


@pytest.fixture
async def core() -> AsyncIterator[CoreDouble]:
    async with CoreDouble() as core:
        core.registries["floor"] = [{"floor_id": "ground", "name": "Ground floor", "level": 0, "aliases": []}]
        kitchen = {"area_id": "k", "name": "Kitchen", "floor_id": "ground", "aliases": ["Cuisine"], "labels": ["x1"]}
        core.registries["area"] = [kitchen]
        core.registries["label"] = [{"label_id": "x1", "name": "Night", "description": "Off at ten"}]
        core.registries["device"] = [
            {
                "id": "d1",
                "labels": ["x1", "?"],
                "name": "Hue lamp",
                "name_by_user": None,
                "manufacturer": "Signify",
                "area_id": "k",
            }
        ]
        core.registries["entity"] = [
            {"id": "e1", "entity_id": "light.counter", "device_id": "d1", "entity_category": None, "labels": ["x1"]},
            {"id": "e2", "entity_id": "sensor.lamp_signal", "device_id": "d1", "entity_category": "diagnostic"},
        ]
        core.exposed = {"light.counter": {"conversation": True}, "lock.door": {"conversation": False}}
        await core.add("light.counter", "on", friendly_name="Counter", brightness=80, supported_color_modes=["hs"])
        await core.add("sensor.lamp_signal", "-60", friendly_name="Hue lamp Signal", unit_of_measurement="dBm")
        await core.add("lock.door", "locked", friendly_name="Door")
        await core.add("automation.night", "on", friendly_name="Night")
        yield core


@pytest.fixture
async def hub(tmp_path: Path, core: CoreDouble) -> AsyncIterator[Connected]:
    hub = Connected(tmp_path / "home", core)
    yield hub
    await hub.parts.registrations.undo_all()
    await hub.parts.registry.close()
    await hub.parts.tasks.cancel_all()


async def test_its_entities_and_areas_become_ours(hub: Connected) -> None:
    await hub.begin()
    await until(lambda: hub.state("lock.door") == "locked")

    state = hub.parts.states.get("light.counter")
    assert dict(state.attributes) == {
        "friendly_name": "Counter",
        "brightness": 80,
        "supported_color_modes": ["hs"],
    }
    assert state.context.authority.tainted
    registry = hub.parts.registry
    area = registry.area_of(registry.entities["light.counter"])
    assert (area.name, area.floor_id, area.aliases) == ("Kitchen", "ground_floor", ("Cuisine",))
    assert [id for id, entry in registry.entities.items() if entry.is_exposed] == ["light.counter"]
    assert [(each.name, each.description) for each in registry.labels.values()] == [("Night", "Off at ten")]
    [device] = registry.devices.values()
    labelled = (area, device, registry.entities["light.counter"], registry.entities["sensor.lamp_signal"])
    assert [each.labels for each in labelled] == [{"night"}, {"night"}, {"night"}, frozenset()]
    assert hub.state("automation.night") is None
    assert hub.parts.repairs.all() == []


async def test_only_what_its_assist_may_see_comes_when_that_is_configured(hub: Connected) -> None:
    await hub.begin(entities="exposed")
    await until(lambda: hub.state("light.counter") == "on")

    assert hub.state("lock.door") is None


async def test_commands_go_back_and_changes_come(hub: Connected, core: CoreDouble) -> None:
    await hub.begin()
    await until(lambda: hub.state("lock.door") == "locked")

    await hub.call("light.turn_on", area_id="kitchen", brightness_pct=50)
    await core.change("light.counter", "on", brightness=128)

    assert core.called == [
        {
            "domain": "light",
            "service": "turn_on",
            "service_data": {"brightness": 128},
            "target": {"entity_id": "light.counter"},
        }
    ]
    await until(lambda: hub.parts.states.get("light.counter").attributes["brightness"] == 128)
    await hub.call("test.call", action="notify.phone", data={"message": "hi"})
    assert core.called[1]["service_data"] == {"message": "hi"}


async def test_the_picture_of_a_camera_is_fetched_with_the_token_that_nobody_here_sees(
    hub: Connected, core: CoreDouble
) -> None:
    theirs = {"entity_picture": "/api/camera_proxy/camera.door?token=a1", "access_token": "a1", "supported_features": 2}
    await core.add("camera.door", "idle", friendly_name="Front", **theirs)
    await hub.begin()
    await until(lambda: hub.state("camera.door") == "idle")

    attributes = hub.parts.states.get("camera.door").attributes
    taken = await hub.parts.entities.get("camera.door").picture()

    assert attributes == {
        "friendly_name": "Front",
        "supported_features": 2,
        "entity_picture": "/api/camera_proxy/camera.door",
    }
    assert (taken.data, taken.mime_type) == (b"\xff\xd8\xff camera.door", "image/jpeg")


async def test_a_refusal_says_what_home_assistant_said(hub: Connected, core: CoreDouble) -> None:
    await hub.begin()
    await until(lambda: hub.state("lock.door") == "locked")
    core.refuses = "the bulb is on fire"

    with pytest.raises(InvalidRequest, match=r"light\.counter: Home Assistant refused it: the bulb is on fire"):
        await hub.call("light.turn_off", entity_id="light.counter")


async def test_what_comes_and_goes_there_comes_and_goes_here(hub: Connected, core: CoreDouble) -> None:
    await hub.begin()
    await until(lambda: hub.state("lock.door") == "locked")

    await core.add("switch.kettle", "off", friendly_name="Kettle")
    await core.remove("lock.door")
    core.registries["device"][0]["name_by_user"] = "Worktop lamp"
    await core.registry_changed("device")

    await until(lambda: hub.state("switch.kettle") == "off" and hub.state("lock.door") is None)
    await until(lambda: [each.name for each in hub.parts.registry.devices.values()] == ["Worktop lamp"])


async def test_a_lost_connection_is_made_again(hub: Connected, core: CoreDouble) -> None:
    await hub.begin()
    await until(lambda: hub.state("light.counter") == "on")
    core.states["light.counter"]["s"] = "off"
    seen: list[str] = []
    hub.parts.bus.listen("state_changed", lambda event: seen.append(event.data["new_state"].state))

    await core.drop()

    await until(lambda: core.connections >= 2 and hub.state("light.counter") == "off")
    assert "unavailable" in seen
    await until(lambda: hub.parts.repairs.all() == [])


async def test_an_address_that_cannot_be_reached_is_a_repair_and_commands_say_so(
    hub: Connected, core: CoreDouble
) -> None:
    await hub.begin(url="http://127.0.0.1:9")
    await until(lambda: len(hub.parts.repairs.all()) == 1)

    with pytest.raises(Unavailable, match="cannot be reached now"):
        await hub.call("test.call", action="notify.phone")


@pytest.mark.parametrize(
    ("path", "token", "title", "text"),
    [
        ("", "wrong", "refuses the token", "long-lived access token"),
        ("/elsewhere", TOKEN, "cannot be reached", "it redirects"),
    ],
)
async def test_what_does_not_work_is_a_repair(
    hub: Connected, core: CoreDouble, path: str, token: str, title: str, text: str
) -> None:
    await hub.begin(url=core.url + path, token=token)

    await until(lambda: len(hub.parts.repairs.all()) == 1)
    [repair] = hub.parts.repairs.all()
    assert title in repair.title
    assert text in repair.text
    assert core.connections == 0


@pytest.mark.parametrize(
    ("device", "is_here"),
    [
        ({"manufacturer": "Homarus", "model": "Hub", "identifiers": [["mqtt", "hub_1234"]]}, True),
        ({"manufacturer": "Homarus", "model": "Hub", "identifiers": [["mqtt", "hub_5678"]]}, False),
        ({"manufacturer": "IKEA", "model": "E1603", "identifiers": [["mqtt", "plug"]]}, True),
        ({"manufacturer": "IKEA", "model": "E1603", "identifiers": [["zha", "plug"], ["a", "b", "c"]]}, False),
        ({"manufacturer": "IKEA", "model": "E1603", "identifiers": [["mqtt", "gone"]]}, False),
    ],
    ids=["this hub", "another hub", "a device that this hub hears by itself", "another device", "one that went"],
)
async def test_what_is_here_already_does_not_come_a_second_time(
    hub: Connected, core: CoreDouble, device: dict[str, Any], is_here: bool
) -> None:
    await JsonStorage(hub.parts.home.storage / "integrations" / "mqtt" / "client.json").save({"id": "hub_1234"})
    gone = EntityDescription("switch", "gone", "Gone", device=DeviceInfo(frozenset({"gone"})))
    hub.parts.entities.add(gone, {}, source="mqtt").remove()
    plug = EntityDescription("switch", "plug", "Plug", device=DeviceInfo(frozenset({"plug"})))
    hub.parts.entities.add(plug, {}, source="mqtt").set("on")
    core.registries["device"].append({"id": "d9", **device})
    core.registries["entity"].append({"entity_id": "light.home_desk", "id": "e9", "device_id": "d9", "labels": []})
    await core.add("light.home_desk", "on")
    await hub.begin()
    await until(lambda: hub.state("light.counter") == "on")

    assert hub.state("light.home_desk") == (None if is_here else "on")


async def test_services_of_its_integrations_have_their_own_names_here(hub: Connected, core: CoreDouble) -> None:
    core.services = {
        "notify": {"alexa": {"name": "Alexa"}},
        "light": {"turn_on": {}},
        "homeassistant": {"restart": {}, "reload_config_entry": {}},
        "recipes": {"suggest": {"response": {"optional": False}}},
    }
    hub.parts.states.set("light.counter", "off")  # taken here, so that the bridged one is called otherwise
    await hub.begin()
    entities = hub.parts.entities.registry.entities
    await until(lambda: any(each.unique_id == "e1" for each in entities.values()))
    (ours,) = [id for id, each in entities.items() if each.unique_id == "e1"]

    await hub.call("notify.alexa", message="Hi", data={"lights": [ours]})
    answer = await hub.parts.services.call(
        "recipes", "suggest", {"entity_id": ours}, context=Context(SYSTEM), wants_response=True
    )

    assert core.called[0]["service_data"] == {"message": "Hi", "data": {"lights": ["light.counter"]}}
    assert core.called[1]["service_data"] == {"entity_id": "light.counter"}
    assert answer == {"said": "yes"}
    assert hub.parts.services.get("homeassistant", "restart") is None
    kept_in = hub.parts.home.storage / "integrations"
    await until(lambda: list(kept_in.glob("*/provides.json")))
    kept = await JsonStorage(next(kept_in.glob("*/provides.json"))).load({})
    assert kept["services"] == ["homeassistant.reload_config_entry", "notify.alexa", "recipes.suggest"]


async def test_services_come_and_go_with_those_there(hub: Connected, core: CoreDouble) -> None:
    core.services = {"notify": {"alexa": {}}}
    await hub.begin()
    await until(lambda: hub.parts.services.get("notify", "alexa") is not None)

    core.services = {"hue": {"activate_scene": {}}}
    await core.fire("service_removed", domain="notify", service="alexa")

    await until(lambda: hub.parts.services.get("hue", "activate_scene") is not None)

    assert hub.parts.services.get("notify", "alexa") is None


async def test_events_of_remotes_are_fired_here_as_words_from_outside(hub: Connected, core: CoreDouble) -> None:
    await hub.begin()
    heard: list[Any] = []
    hub.parts.bus.listen("zha_event", heard.append)
    await until(lambda: hub.state("light.counter") == "on")

    await core.fire("zha_event", command="toggle")

    await until(lambda: heard)
    assert (heard[0].data, heard[0].context.authority.tainted) == ({"command": "toggle"}, True)
