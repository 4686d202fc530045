"""A home with devices that answer like real ones, people and automations, and what happens in it on an evening."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.homes import MODELS, add_integration
from tests.e2e.talk import ask, until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

ROOMS = """
import asyncio

from hub.core.schema import Required, Schema
from hub.entities.description import EntityDescription

async def setup(host, config):
    def lamp(name, title):
        async def become(state):
            # The device answers a moment later, from a task of its own, as one behind a broker does.
            host.spawn(answer(state), name=f"{name} answers")

        async def answer(state):
            await asyncio.sleep(0)
            entity.set(state)

        description = EntityDescription("light", name, title, object_id=name)
        commands = {"turn_on": lambda data: become("on"), "turn_off": lambda data: become("off")}
        entity = host.entities.add(description, commands)
        entity.set("off")
        return entity

    lamps = {name: lamp(name, title) for name, title in (("hall_lamp", "Hall lamp"), ("sofa_lamp", "Sofa lamp"))}
    described = EntityDescription("binary_sensor", "m", "Motion", object_id="motion", device_class="motion")
    motion = host.entities.add(described, {})
    motion.set("off")
    warm = host.entities.add(
        EntityDescription("sensor", "t", "Warmth", object_id="warmth", unit="C"), {}
    )

    async def become(call):
        entity = {"motion": motion, "warmth": warm, **lamps}[call.data["what"]]
        entity.set(call.data["state"])

    host.services.register("become", become, Schema({Required("what"): str, Required("state"): str}))
"""
AUTOMATIONS = """\
- id: motion_light
  alias: Motion light
  triggers: [{trigger: state, entity_id: binary_sensor.motion, to: "on"}]
  actions: [{action: light.turn_on, data: {entity_id: light.hall_lamp}}]
- id: at_night
  alias: Only at night
  triggers: [{trigger: event, event_type: dusk}]
  conditions:
    - {condition: state, entity_id: light.hall_lamp, state: ["on", "off"]}
    - {condition: state, entity_id: light.sofa_lamp, state: "on"}
  actions: [{event: night}]
- id: failing
  alias: Broken
  triggers: [{trigger: event, event_type: break_it}]
  actions: [{action: light.turn_on, data: {entity_id: light.nowhere}}]
- id: slow
  alias: Slow
  triggers: [{trigger: event, event_type: go_slowly}]
  actions: [{wait_for_trigger: [{trigger: event, event_type: go_on}]}]
- id: rested
  alias: Rested
  pause_after: 1
  triggers: [{trigger: event, event_type: rest}]
  actions: [{action: light.turn_on, data: {entity_id: light.nowhere}}]
- id: careful
  alias: Careful
  approval: required
  triggers: [{trigger: event, event_type: be_careful}]
  actions: [{event: was_careful}]
- id: tea
  alias: Drink tea
  triggers: [{trigger: at, at: "2031-01-01 00:00"}]
  actions: [{action: message.send, data: {session_key: main, text: Drink tea}}]
- id: briefing
  alias: Briefing
  triggers: [{trigger: event, event_type: morning}]
  actions: [{action: agent.run, data: {message: "What is on today?"}}]
- id: beat
  alias: Heartbeat
  triggers: [{trigger: event, event_type: beat}]
  conditions: [{condition: heartbeat}]
  actions: [{action: agent.heartbeat}]
"""
PEOPLE = """\
people:
  - {id: ada, name: Ada, owner: true}
  - {id: bob, name: Bob, identities: ["telegram:user:7"]}
rooms:
automation: !include automations.yaml
"""


def living_home(path: Path, base_url: str) -> Path:
    """Make the home; its models answer at `base_url`, `test/other` when `test/scripted` does not."""
    models = MODELS.format(base_url=base_url).replace(
        "default: test/scripted", "default: test/scripted\n  fallbacks: [test/other]"
    )
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    (path / "configuration.yaml").write_text(models + PEOPLE)
    (path / "automations.yaml").write_text(AUTOMATIONS)
    add_integration(path, "rooms", ROOMS)
    return path


def become(hub: HubProcess, what: str, state: str) -> None:
    """Let a device change by itself."""
    hub.rpc("service.call", {"service": "rooms.become", "data": {"what": what, "state": state}})


def fire(hub: HubProcess, type: str) -> None:
    hub.rpc("event.fire", {"type": type})


def rows(hub: HubProcess, **filters: Any) -> list[dict[str, Any]]:
    """All rows of the timeline that a filter takes, the newest first."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = hub.rpc("timeline.list", {**filters, "cursor": cursor})
        found += page["happenings"]
        cursor = page["next"]
        if cursor is None:
            return found


def row(hub: HubProcess, title: str, *, ended: bool = True, **filters: Any) -> dict[str, Any]:
    """The newest row with a title, once it is there and has ended."""

    def look() -> list[dict[str, Any]]:
        found = [each for each in rows(hub, **filters) if each["title"] == title]
        return found if not ended or (found and found[0]["outcome"] not in ("running", "waiting")) else []

    return until(look)[0]


def detail(hub: HubProcess, id: str) -> dict[str, Any]:
    found: dict[str, Any] = hub.rpc("timeline.get", {"id": id})
    return found


def an_evening(hub: HubProcess, server: OpenAIServerProcess) -> None:
    """Let something of each kind happen."""
    server.queue("It is due in November.")
    ask(hub, "When is the boiler due?\nI forgot.")
    server.queue({"tool_call": {"name": "exec", "arguments": {"command": "rm -r build"}}}, "Then not.")
    hub.rpc("chat.send", {"sessionKey": "main", "message": "clean up", "idempotencyKey": "clean"})
    (waiting,) = until(lambda: hub.rpc("approval.list")["approvals"])
    hub.rpc("approval.resolve", {"id": waiting["id"], "kind": "exec", "decision": "deny"})
    hub.rpc("agent.wait", {"runId": "clean", "timeoutMs": 60_000})
    data = {"domain": "light", "service": "turn_on", "data": {"entity_id": "light.sofa_lamp"}}
    server.queue({"tool_call": {"name": "call_service", "arguments": data}}, "It is on.")
    ask(hub, "light please")
