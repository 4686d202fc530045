"""The hub as a device at the broker, in the form that Home Assistant discovers.

Its sensors say how much it does. Entities, buttons for automations and notifiers for agents are there only when
configured: everybody who may publish at the broker can use them. What comes by them is from outside, without rights.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any

import hub
from hub import __version__
from hub.core.context import Authority, Context
from hub.core.errors import HubError
from hub.core.events import Event
from hub.core.sql import SqlConnection
from hub.entities.danger import endangers
from hub.host import IntegrationHost
from integrations.devices.mqtt.bridge import MqttBridge, MqttMessage
from integrations.devices.mqtt.brokers import status_topic
from integrations.devices.mqtt.hub_entities import command, component

_log = logging.getLogger(__name__)

TOGETHER_S = 0.1
"""Changes within this time are published together."""
MESSAGE_LIMIT_CHARS = 4_000
_UPDATE = "{{ {'installed_version': value_json.version, 'latest_version': value_json.latest} | tojson }}"
"""What runs, and what is installed: a restart brings it."""
_STRANGER = Authority("device:mqtt", tainted=True)


def hub_topic(prefix: str, hub: str) -> str:
    """Return the topic on which the hub announces itself."""
    return f"{prefix}/device/{hub}/config"


class HubDevice:
    """Publishes the hub.

    Args:
        hub: Its name among the clients of the broker.
        config: The section; `publish_hub` and the other keys of that prefix choose what.
    """

    def __init__(self, host: IntegrationHost, bridge: MqttBridge, hub: str, config: Mapping[str, Any]) -> None:
        self._host, self._bridge, self._hub, self._config = host, bridge, hub, config
        self._base = f"homarus/{hub}"
        self._topic = hub_topic(config["discovery_prefix"], hub)
        self._day = self._today()
        self._runs, self._cost = 0, 0.0
        self._dirty = asyncio.Event()
        self._shown: dict[str, Any] = {}
        self._said = ""
        self._changed: set[str] = set()

    def begin(self) -> None:
        """Follow what the hub does, and publish it."""
        self._bridge.on_change(self._connected)
        if not self._config["publish_hub"]:
            return
        self._host.bus.listen("run_finished", self._run_finished)
        for each in ("approval_requested", "approval_resolved"):
            self._host.bus.listen(each, lambda _: self._dirty.set())
        if entities := self._config["publish_entities"]:
            self._host.bus.listen("state_changed", self._state_changed, {"entity_id": list(entities)})
        kinds = {"automation": "publish_automations", "agent": "publish_agents", "entity": "publish_entities"}
        for kind, key in kinds.items():
            for id in self._config[key]:
                self._bridge.listen(f"{self._base}/{kind}/{id}/set", self._commanded)
        self._host.spawn(self._keep_published(), name="publish the hub over MQTT")

    def announcement(self) -> dict[str, Any]:
        """Return the hub's announcement."""
        components: dict[str, Any] = {
            "runs_today": _sensor("Runs today", "runs", state_class="total"),
            "cost_today": _sensor("Cost today", "cost", unit_of_measurement="USD", device_class="monetary"),
            "approvals": _sensor("Pending approvals", "approvals", state_class="measurement"),
            "version": _sensor("Version", "version", entity_category="diagnostic"),
            "update": {
                "platform": "update",
                "name": "Update",
                "value_template": _UPDATE,
                "entity_category": "diagnostic",
            },
            **self._components(),
        }
        for id in self._config["publish_automations"]:
            topic = f"{self._base}/automation/{id}/set"
            components[f"automation_{id}"] = {"platform": "button", "name": f"Run {id}", "command_topic": topic}
        for id in self._config["publish_agents"]:
            topic = f"{self._base}/agent/{id}/set"
            components[f"agent_{id}"] = {"platform": "notify", "name": f"Ask {id}", "command_topic": topic}
        return {
            "device": {
                "identifiers": [self._hub],
                "name": str(self._host.config.or_default("hub")["name"]),
                "manufacturer": "Homarus",
                "model": "Hub",
                "sw_version": __version__,
            },
            "origin": {"name": "Homarus", "sw_version": __version__},
            "components": {name: {**each, "unique_id": f"{self._hub}_{name}"} for name, each in components.items()},
            "state_topic": f"{self._base}/state",
            "availability_topic": status_topic(self._hub),
            "qos": 1,
        }

    def _components(self) -> dict[str, Any]:
        """Return the entities, by their ids with `_` for the dot."""
        states = [self._host.states.get(each) for each in self._config["publish_entities"]]
        made = {
            each.entity_id: component(
                each, f"{self._base}/entity/{each.entity_id}", read_only=self._opens(each.entity_id)
            )
            for each in states
            if each
        }
        return {f"entity_{id.replace('.', '_')}": each for id, each in made.items()}

    # --- below ---

    def _state_changed(self, event: Event) -> None:
        self._changed.add(event.data["entity_id"])
        self._dirty.set()

    def _connected(self, connected: bool) -> None:
        if connected:
            self._host.spawn(self._announce(), name="announce the hub over MQTT")

    async def _announce(self) -> None:
        self._shown, self._said = self._components(), ""
        self._changed.update(self._config["publish_entities"])
        said = json.dumps(self.announcement()) if self._config["publish_hub"] else ""
        with suppress(HubError):  # the connection was lost again; the next one announces it
            await self._bridge.publish(self._topic, said, qos=1, retain=True)
        self._dirty.set()

    async def _keep_published(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            with suppress(HubError):
                if self._components() != self._shown:
                    await self._announce()
                await self._publish_entities()
                if (state := json.dumps(await self._state())) != self._said:
                    await self._bridge.publish(f"{self._base}/state", state, qos=1, retain=True)
                    self._said = state
            await self._host.clock.sleep(TOGETHER_S)

    async def _publish_entities(self) -> None:
        while self._changed:
            id = self._changed.pop()
            state = self._host.states.get(id)
            said = {"state": None} if state is None else {"state": state.state, "attributes": dict(state.attributes)}
            topic, payload = f"{self._base}/entity/{id}/state", json.dumps(said, default=str)
            try:
                await self._bridge.publish(topic, payload, qos=1, retain=True)
            except HubError:
                self._changed.add(id)
                raise

    async def _state(self) -> dict[str, Any]:
        def count(connection: SqlConnection) -> int:
            return int(connection.execute("SELECT count(*) FROM approvals WHERE state = 'pending'").fetchone()[0])

        self._turn_day()
        approvals = await self._host.database.read(count)
        latest = await asyncio.to_thread(_version_on_disk)
        found = {"runs": self._runs, "cost": round(self._cost, 4), "approvals": approvals}
        return {**found, "version": __version__, "latest": latest}

    def _run_finished(self, event: Event) -> None:
        self._turn_day()
        self._runs += 1
        self._cost += float(event.data.get("usage", {}).get("cost_usd") or 0.0)
        self._dirty.set()

    def _today(self) -> date:
        return datetime.fromtimestamp(self._host.clock.time(), self._host.time_zone).date()

    def _turn_day(self) -> None:
        if (today := self._today()) != self._day:
            self._day, self._runs, self._cost = today, 0, 0.0

    def _commanded(self, message: MqttMessage) -> None:
        if message.retain:
            return  # what was asked once is not asked again by each connection
        kind, id = message.topic.split("/")[2:4]
        self._host.spawn(self._carry_out(kind, id, message.payload), name=f"{kind} {id} asked over MQTT")

    def _opens(self, entity_id: str) -> bool:
        """Whether a command could open, arm or film something."""
        return endangers(entity_id, self._host.states.get, self._host.entities.all.endangers)

    async def _carry_out(self, kind: str, id: str, payload: bytes) -> None:
        context = Context(_STRANGER)
        try:
            if kind == "entity":
                state = self._host.states.get(id)
                if (
                    state is None
                    or self._opens(id)
                    or (asked := command(state, payload.decode(errors="replace")[:255])) is None
                ):
                    return
                domain, service, data = asked
                await self._host.services.call(domain, service, {"entity_id": id, **data}, context=context)
            elif kind == "automation":
                data = {"entity_id": id if id.startswith("automation.") else f"automation.{id}"}
                await self._host.services.call("automation", "trigger", data, context=context)
            elif text := payload.decode(errors="replace")[:MESSAGE_LIMIT_CHARS].strip():
                await self._host.services.call("agent", "run", {"agent": id, "message": text}, context=context)
        except (HubError, ValueError) as error:
            _log.warning("%s %s, which was asked over MQTT, failed: %s", kind, id, error)


def _version_on_disk() -> str:
    """Return the version that a restart would load."""
    text = Path(hub.__file__).read_text()
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    return found[1] if found is not None else __version__


def _sensor(name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"platform": "sensor", "name": name, "value_template": f"{{{{ value_json.{key} }}}}", **more}
