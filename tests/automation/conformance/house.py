"""The home in which cases happen: the real engine with scripts, blueprints, webhooks and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from ruamel.yaml import YAML

from hub.automation.blueprints.blueprints import Blueprints
from hub.automation.contract import Location
from hub.automation.engine.automations import Automations
from hub.automation.engine.environment import EngineEnvironment
from hub.automation.engine.saved_states import KeptStates
from hub.automation.engine.script import ScriptEnvironment
from hub.automation.engine.scripts import Scripts
from hub.automation.running.waiting import WaitingRuns
from hub.automation.services.automations import register_automation_services
from hub.automation.tracing.trace_store import TraceStore
from hub.core.events import ANY, Event
from hub.core.schema import Schema
from hub.core.services import ResponseMode, ServiceCall
from hub.gateway.webhooks.webhooks import Webhooks
from hub.messaging.component.spoken_commands import SpokenCommands
from hub.messaging.inbox.sentence_matcher import Sentences
from hub.security.egress import Egress
from hub.security.redaction import Redactor
from tests.automation.engine_rig import Engine
from tests.automation.ground import BERLIN, CountedDatabase, make_parts

PLACE = Location(52.52, 13.4)
ROOT = """
hub: {time_zone: Europe/Berlin, latitude: 52.52, longitude: 13.4}
automation: !include automations.yaml
script: !include scripts.yaml
"""
HEARD = "\nactions: [action: test.heard]\n"
SERVICES = (
    *("light.turn_on", "light.turn_off", "light.toggle", "switch.turn_on", "switch.turn_off", "notify.notify"),
    *("test.heard", "test.one", "test.two", "test.fail"),
)


def local_time(text: str) -> float:
    """Return a local time in Berlin as seconds since the epoch."""
    return datetime.fromisoformat(str(text)).replace(tzinfo=BERLIN).timestamp()


class ConformanceHouse(Engine):
    """A home as one case describes it.

    Args:
        home: An empty directory.
        case: See `README.md`.
    """

    def __init__(self, home: Path, case: Mapping[str, Any]) -> None:
        super().__init__(home)
        if "start" in case:
            self.at = local_time(case["start"])
        self.heard: list[Event] = []
        self._states: Mapping[str, Any] = case.get("states", {})
        files = {
            "configuration.yaml": ROOT,
            "automations.yaml": with_actions(case["automation"]) if "automation" in case else "[]",
            "scripts.yaml": case.get("script", "{}"),
            **({"blueprints/automation/test.yaml": case["blueprint"]} if "blueprint" in case else {}),
            **case.get("files", {}),
        }
        for name, text in files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text, encoding="utf-8")

    def set(self, entity_id: str, state: Any) -> None:
        """Set a state: text, or a mapping with state and attributes."""
        if not isinstance(state, Mapping):
            self.parts.states.set(entity_id, str(state))
            return
        attributes = {key: value for key, value in state.items() if key != "state"}
        self.parts.states.set(entity_id, str(state["state"]), attributes)

    async def start(self, at: float | None = None) -> ConformanceHouse:
        parts = make_parts(self.home, start=self.at if at is None else at, location=PLACE)
        self.webhooks = Webhooks(parts.clock)
        sentences = Sentences(parts.tasks)
        self._parts = parts = replace(parts, sources={Webhooks: self.webhooks, Sentences: sentences})
        self.spoken = SpokenCommands(sentences, parts.bus, lambda: "en")
        parts.bus.listen(ANY, self.heard.append)
        for name in SERVICES:
            domain, service = name.split(".")
            parts.services.register(domain, service, self._called, Schema({}, extra=True), ResponseMode.OPTIONAL)
        parts.services.register("weather", "get", self._weather, Schema({}, extra=True), ResponseMode.ONLY)
        for entity_id, state in self._states.items():
            self.set(entity_id, state)
        self.db = CountedDatabase(self.home / "hub.db")
        await self.db.open()
        self.traces = TraceStore(None, Redactor(), parts.clock.time, lambda: BERLIN)
        waiting = WaitingRuns(self.db, parts.clock.time)
        expand = Blueprints(self.home, Egress(set)).expand
        desk = EngineEnvironment(
            parts,
            KeptStates(self.db, parts.clock, parts.tasks),
            self.traces,
            waiting,
            delete=self._delete,
            tell=self._tell,
        )
        config = self.read()
        assert [str(each) for each in config.errors] == []
        self.scripts = Scripts(ScriptEnvironment(parts, {}, self.traces, waiting), lambda item: expand(item, "script"))
        await self.scripts.open(config)
        self.automations = Automations(desk, self.db, expand, lambda: "anna")
        register_automation_services(parts.services, self.automations, self.automations_again)
        await self.automations.open(config)
        self.running = True
        return self

    async def _called(self, call: ServiceCall) -> None:
        self.calls.append((f"{call.domain}.{call.service}", dict(call.data)))
        if call.service == "fail":
            raise RuntimeError("broken")

    async def _weather(self, call: ServiceCall) -> Mapping[str, Any]:
        self.calls.append(("weather.get", dict(call.data)))
        return {"temperature": 21, "place": call.data.get("place")}


def with_actions(text: str) -> str:
    """Return one automation that says no actions with those of these files."""
    loaded = YAML(typ="safe").load(text)
    if not isinstance(loaded, dict) or loaded.keys() & {"actions", "action", "use_blueprint"}:
        return text
    return text.rstrip("\n") + HEARD
