"""Blueprints in the manner of the most popular ones, filled in with MQTT devices and a phone: each does its work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ruamel.yaml import YAML

from hub.core.clock import ManualClock
from hub.hub import Hub
from hub.storage.homedir import Home
from tests.automation.ground import finish_database_work
from tests.integrations.devices.mqtt.kit import Device
from tests.nodes.making import Cable, ScriptedNode, admit
from tests.until import until

CASES: list[dict[str, Any]] = YAML(typ="safe").load(Path(__file__).with_name("popular.yaml").read_text())
CONFIGURATION = """
hub: {time_zone: Europe/Berlin, latitude: 52.5, longitude: 13.4}
models: {default: offline/rules}
memory: {embeddings: {provider: none}}
mqtt: {broker: embedded, port: 0, username: me, password: quiet-otter-44, publish_birth: never, publish_hub: false}
discovery: {mdns: off}
automation: !include automations.yaml
"""
STARTED = 1_767_245_400.0
"""2026-01-01 06:30 in Berlin; the sun rises at 08:16."""
COMMANDED = frozenset({"light", "switch", "fan", "cover", "lock", "valve", "vacuum", "number", "button"})
KINDS: Mapping[str, Mapping[str, Any]] = {
    "climate": {"modes": ["off", "heat"], "mode_state_topic": "~", "mode_command_topic": "~/set"}
    | {"temperature_command_topic": "~/temperature"},
    "alarm_control_panel": {"command_topic": "~/set", "code_arm_required": False},
    "event": {"event_types": ["ring"]},
}


class PopularHome:
    """A home with the devices and automations of all cases."""

    def __init__(self, hub: Hub, clock: ManualClock, broker: Device) -> None:
        self.hub, self.clock, self.broker = hub, clock, broker
        self.phone = ScriptedNode("f" * 64, "Anna's phone", "ios", {"system.notify": {}})
        self.ids: dict[str, dict[str, str]] = {}

    async def furnish(self) -> None:
        """Announce all devices, pair the phone, and make the automations."""
        cable = Cable()
        await self.hub.nodes.add(cable)
        cable.connect(self.phone)
        admit(self.hub.nodes, self.phone.id)
        registry = self.hub.entities.registry
        attic = registry.create("floor", "Attic").id
        for case in CASES:
            for key, kind in case["things"].items():
                await self._announce(case, key, *kind.split())
        wanted = {f"{each['name']} {key}" for each in CASES for key in each["things"]}
        names = {each["name"] for each in CASES}

        def found() -> dict[str, str]:
            return {str(each.name).lower().replace(" ", "_"): each.id for each in registry.devices.values()}

        await until(lambda: {each.replace(" ", "_") for each in wanted} <= found().keys())
        for each in list(registry.areas.values()):
            if each.id in names:
                registry.update("area", each.id, floor_id=attic if each.id == "smoke" else None)
        for case in CASES:
            self.ids[case["name"]] = {key: found()[f"{case['name']}_{key}"] for key in case["things"]}
            self.ids[case["name"]]["phone"] = found()["anna's_phone"]
            if "labelled" in case:
                label = registry.create("label", _shown(case["name"])).id
                for key in case["labelled"]:
                    entity = f"{case['things'][key].split()[0]}.{case['name']}_{key}"
                    registry.update("entity", entity, labels=[label])
        folder = self.hub.home.path / "blueprints" / "automation" / "popular"
        folder.mkdir(parents=True)
        for case in CASES:
            (folder / f"{case['name']}.yaml").write_text(case["text"])
        uses = [{"id": each["name"], "alias": each["name"], "use_blueprint": self._filled(each)} for each in CASES]
        (self.hub.home.path / "automations.yaml").write_text(json.dumps(uses))
        await self.hub.apply(await self.hub.config.reload())

    async def fire(self, case: Mapping[str, Any]) -> list[str]:
        """Let happen what a case says, and return what came of it."""
        self.broker.heard.clear()
        self.phone.asked.clear()
        await self.say(case, [*case.get("given", ()), *case["when"]])
        with suppress(TimeoutError):
            await until(lambda: len(self.came_of(case)) >= len(case["then"]))
        return self.came_of(case)

    async def say(self, case: Mapping[str, Any], said: Any) -> None:
        for each in said:
            if each.startswith("+"):
                await self.clock.advance(float(each))
            else:
                topic, _, payload = each.partition(" ")
                await self.broker.say(f"{case['name']}/{topic}", payload, qos=0)
            await self.settle()

    async def settle(self) -> None:
        """Wait until the broker has delivered all, to the hub and back."""
        for _ in range(3):
            await self.broker.say("settled", "", qos=0)
            await until(lambda: ("settled", "") in self.broker.heard)
            self.broker.heard.remove(("settled", ""))
            for _ in range(5):
                await finish_database_work(self.hub.db)
                await self.clock.advance(0)

    def came_of(self, case: Mapping[str, Any]) -> list[str]:
        own = f"{case['name']}/"
        heard = [(topic.removeprefix(own).removesuffix("/set"), payload) for topic, payload in self.broker.heard]
        notices = [f"{said['title']} {said['body']}".removeprefix("Homarus ") for _, said in self.phone.asked]
        return [*(f"{topic} {payload}" for topic, payload in heard), *(f"phone {each}" for each in notices)]

    async def _announce(self, case: Mapping[str, Any], key: str, component: str, device_class: str = "") -> None:
        name = f"{case['name']}_{key}"
        device = {"ids": [name], "name": _shown(name), "mf": "Acme", "sa": _shown(case["name"])}
        config = {"~": f"{case['name']}/{key}", "dev": device, "name": None, **KINDS.get(component, {})}
        if component != "climate":
            config["state_topic"] = "~"
        if component in COMMANDED:
            config["command_topic"] = "~/set"
        if device_class:
            config["device_class"] = device_class
        await self.broker.say(f"homeassistant/{component}/{name}/config", json.dumps({**config, "uniq_id": name}))
        for button in case.get("buttons", {}).get(key, ()):
            pressed = {"atype": "trigger", "t": f"{case['name']}/{key}/action", "type": "action", "stype": button}
            message = json.dumps({**pressed, "pl": button, "dev": device})
            await self.broker.say(f"homeassistant/device_automation/{name}/{button}/config", message)

    def _filled(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs, with the ids of devices in the place of their names."""
        ids, text = self.ids[case["name"]], json.dumps(case["inputs"])
        for key, id in ids.items():
            text = text.replace(f'"{key}"', f'"{id}"') if f'"{key}":' not in text else _only_values(text, key, id)
        return {"path": f"popular/{case['name']}.yaml", "input": json.loads(text)}


def _only_values(text: str, key: str, id: str) -> str:
    return text.replace(f': "{key}"', f': "{id}"').replace(f'["{key}"', f'["{id}"')


def _shown(name: str) -> str:
    return name.replace("_", " ").capitalize()


@asynccontextmanager
async def furnished(path: Path) -> AsyncIterator[PopularHome]:
    home = Home(path)
    home.create()
    home.configuration.write_text(CONFIGURATION)
    (path / "automations.yaml").write_text("[]")
    clock = ManualClock(STARTED)
    hub = Hub(home, port=0, clock=clock)
    await hub.start()
    try:
        async with Device(await _listening(hub), username="me", password="quiet-otter-44") as broker:
            made = PopularHome(hub, clock, broker)
            await made.furnish()
            for case in CASES:
                for kind in (f"{case['name']}/+/set", f"{case['name']}/+/temperature"):
                    await broker.read(kind)
            await broker.read("settled")
            yield made
    finally:
        stopping = asyncio.ensure_future(hub.stop())
        while not stopping.done():
            await clock.advance(1)
            await asyncio.sleep(0.005)


async def _listening(hub: Hub) -> int:
    method = hub.gateway.methods.get("mqtt.status")
    assert method is not None
    async with asyncio.timeout(20):
        while not (status := await method.handler(SimpleNamespace(params={})))["connected"]:  # type: ignore[arg-type]  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return int(status["listening"])


async def test_each_popular_blueprint_loads_and_does_what_it_promises(tmp_path: Path) -> None:
    async with furnished(tmp_path / "home") as home:
        errors = {each.id: each.error for each in home.hub.automation.automations.all() if each.error}
        came = {case["name"]: await home.fire(case) for case in CASES}

    assert len(CASES) == 25
    assert errors == {}
    assert came == {case["name"]: case["then"] for case in CASES}
