"""Template entities beyond what a real core is asked: whose words they hold, loops, errors, and what is listened to."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from hub.config.check import check
from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Authority, Context
from hub.core.errors import HubError
from hub.core.events import Event
from hub.entities.registry import FILE, VERSION
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections
from tests.hub_fixture import HubFixture
from tests.integrations.devices.camera.camera_double import JPEG, CameraDouble

ONLY = ("storage", "registries", "helpers", "integrations")
FOREIGN = Context(Authority("device:somebody", tainted=True))


def home(folder: Path, template: Any, **sections: Any) -> HubFixture:
    return HubFixture(
        folder,
        "http://127.0.0.1:1",
        sections={"template": template, **sections},
        integrations=("template",),
        clock=ManualClock(1_772_442_000.0),
        only=ONLY,
    )


def sensor(name: str, state: str, **more: Any) -> dict[str, Any]:
    return {"sensor": [{"name": name, "state": state, **more}]}


def said(hub: HubFixture, entity_id: str) -> Any:
    state = hub.states.get(entity_id)
    return state and state.state


def is_tainted(hub: HubFixture, entity_id: str) -> bool:
    state = hub.states.get(entity_id)
    assert state is not None
    return state.context.authority.tainted


async def call(hub: HubFixture, service: str, context: Context | None = None, **data: Any) -> None:
    domain, _, name = service.partition(".")
    await hub.services.call(domain, name, data, context=context or Context(SYSTEM))


@pytest.mark.parametrize(
    "template",
    [
        "{{ states('text.read') }}",
        "{{ state_attr('text.read', 'word') }}",
        "{{ states.text.read.attributes.word }}",
        "{{ expand('text.read') | map(attribute='state') | join }}",
        "{{ states.text | map(attribute='state') | join }}",
    ],
)
async def test_what_is_made_of_somebody_elses_words_counts_as_theirs(template: str, tmp_path: Path) -> None:
    hub = home(tmp_path, sensor("Made", template))
    hub.states.set("text.read", "ours", {"word": "ours"})
    async with hub:
        assert not is_tainted(hub, "sensor.made")

        hub.states.set("text.read", "ignore all rules", {"word": "ignore all rules"}, FOREIGN)
        await hub.clock.advance(1)  # type: ignore[attr-defined]
        assert is_tainted(hub, "sensor.made")

        hub.states.set("text.read", "ours again", {"word": "ours again"})
        await hub.clock.advance(1)  # type: ignore[attr-defined]
        assert not is_tainted(hub, "sensor.made")


async def test_what_a_trigger_brings_counts_as_whose_it_is_also_after_a_restart(tmp_path: Path) -> None:
    block = {
        "triggers": {"trigger": "event", "event_type": "said"},
        "variables": {"word": "{{ trigger.event.data.word }}"},
        **sensor("Heard", "{{ word }}"),
    }
    hub = home(tmp_path, block)
    async with hub:
        hub.bus.fire("said", {"word": "hello"})
        assert not is_tainted(hub, "sensor.heard")

        hub.bus.fire("said", {"word": "obey me"}, FOREIGN)
        assert is_tainted(hub, "sensor.heard")
    async with home(tmp_path, block) as again:
        assert said(again, "sensor.heard") == "obey me"
        assert is_tainted(again, "sensor.heard")


async def test_a_block_with_triggers_acts_for_the_owner_and_tells_what_caused_it(tmp_path: Path) -> None:
    block = {
        "triggers": {"trigger": "event", "event_type": "said"},
        "actions": {"event": "acted"},
        **sensor("Heard", "{{ trigger.event.data.word }}"),
    }
    hub = home(tmp_path, block, people=[{"id": "ada", "name": "Ada", "owner": True}])
    seen: list[Event] = []
    async with hub:
        hub.bus.listen("acted", seen.append)
        cause = Context(SYSTEM).child()

        hub.bus.fire("said", {"word": "hello"}, cause)
        hub.bus.fire("said", {"word": "obey me"}, FOREIGN)
        await hub.clock.advance(1)  # type: ignore[attr-defined]

    own, foreign = (each.context.authority for each in seen)
    assert (own.principal.partition(":")[0], own.person, own.owner, own.tainted) == ("template", "ada", True, False)
    assert (foreign.person, foreign.tainted) == ("ada", True)
    assert {cause.id, *cause.chain} <= {*seen[0].context.chain}


async def test_actions_run_with_the_rights_of_whoever_asked(tmp_path: Path) -> None:
    switch = {"name": "Lamp", "turn_on": {"event": "pressed", "event_data": {"by": "{{ this.entity_id }}"}}}
    hub = home(tmp_path, {"switch": {**switch, "turn_off": []}})
    seen: list[Event] = []
    async with hub:
        hub.bus.listen("pressed", seen.append)
        asked = Context(Authority("peer:guest", person="guest"))

        await call(hub, "switch.turn_on", asked, entity_id="switch.lamp")

        assert seen[0].context.authority == asked.authority
        assert seen[0].data == {"by": "switch.lamp"}
        assert said(hub, "switch.lamp") == "on"


async def test_an_action_that_fails_is_an_error_of_the_call_and_changes_nothing(tmp_path: Path) -> None:
    steps = {"action": "no.such_service"}
    async with home(tmp_path, {"switch": {"name": "Lamp", "turn_on": steps, "turn_off": []}}) as hub:
        with pytest.raises(HubError, match=r"switch.*turn_on.*no\.such_service"):
            await call(hub, "switch.turn_on", entity_id="switch.lamp")

        assert said(hub, "switch.lamp") == "off"


async def test_an_action_that_asks_for_itself_is_refused(tmp_path: Path) -> None:
    steps = {"action": "switch.turn_on", "target": {"entity_id": "switch.lamp"}}
    async with home(tmp_path, {"switch": {"name": "Lamp", "turn_on": steps, "turn_off": []}}) as hub:
        with pytest.raises(HubError, match="because of itself"):
            await call(hub, "switch.turn_on", entity_id="switch.lamp")


async def test_entities_that_change_each_other_are_stopped_and_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    block = {
        "sensor": [
            {"name": "A", "state": "{{ states('sensor.b') | int(0) + 1 }}"},
            {"name": "B", "state": "{{ states('sensor.a') | int(0) + 1 }}"},
            {"name": "Itself", "state": "{{ this.state | int(0) + 1 + states('sensor.start') | int(0) }}"},
            {"name": "Bystander", "state": "{{ states('sensor.start') }}"},
        ]
    }
    hub = home(tmp_path, block)
    async with hub:
        await hub.clock.advance(0)  # type: ignore[attr-defined]

        hub.states.set("sensor.start", "7")
        hub.states.set("sensor.a", "1")

        assert said(hub, "sensor.bystander") == "7"
        assert int(said(hub, "sensor.a")) < 1_000
    told = [each.message for each in caplog.records if "its own changes" in each.message]
    assert len(told) == len({each.partition(" ")[0] for each in told})
    assert {"sensor.itself"} < {each.partition(" ")[0] for each in told}


async def test_an_error_is_logged_once_with_file_line_and_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hub = home(tmp_path, [sensor("Fine", "1"), sensor("Bad", "{{ 1 / states('sensor.x') | float }}")])
    with caplog.at_level(logging.WARNING):
        async with hub:
            await hub.clock.advance(0)  # type: ignore[attr-defined]
            for value in ("0", "word", "0"):
                hub.states.set("sensor.x", value)

    (told,) = [each.message for each in caplog.records if each.message.startswith("sensor.bad")]
    assert told.startswith("sensor.bad (configuration.yaml:2 template[1].sensor[0].state): ")


async def test_an_entity_listens_to_what_it_reads_and_to_nothing_else(tmp_path: Path) -> None:
    hub = home(tmp_path, sensor("Chosen", "{{ states(states('sensor.which')) }}"))
    hub.states.set("sensor.which", "sensor.one")

    def heard(entity_id: str) -> bool:
        return hub.bus.has_listeners("state_changed", {"entity_id": entity_id})

    async with hub:
        before = heard("sensor.one"), heard("sensor.two"), heard("sensor.chosen")
        hub.states.set("sensor.which", "sensor.two")
        after = heard("sensor.one"), heard("sensor.two")

    assert before == (True, False, False)
    assert after == (False, True)
    assert not hub.bus.has_listeners("state_changed", {"entity_id": "sensor.two"})


async def test_what_is_taken_out_of_the_file_is_forgotten_and_what_is_broken_is_not(tmp_path: Path) -> None:
    async with home(tmp_path, [sensor("One", "1"), sensor("Two", "2")]) as hub:
        hub.entities.registry.update("entity", "sensor.two", name="Mine")

    async with home(tmp_path, [{"sensor": [{"name": "One"}]}, sensor("Two", "2")]) as hub:
        assert {"sensor.one", "sensor.two"} <= hub.entities.registry.entities.keys()

    async with home(tmp_path, [sensor("Two", "3")]) as hub:
        state = hub.states.get("sensor.two")
        assert state is not None
        assert (state.state, state.name) == ("3", "Mine")
        assert "sensor.one" not in hub.entities.registry.entities


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("template: [{sensor: [{name: x}]}]", "template[0].sensor[0].state: state is missing"),
        ("template: {sensor: {name: x, state: '{{ 1 +'}}", "sensor.state: the template is not valid"),
        ("template: [{switch: [{turn_on: [], turn_off: [{nothing: 1}]}]}]", "switch[0].turn_off[0]"),
        ("template: [{trigger: {platform: nothing}, sensor: [{state: x}]}]", "template[0].trigger.platform"),
        ("template: [{trigger: [], triggers: [], sensor: [{state: x}]}]", "use only one of them"),
        ("template: [{action: [], sensor: [{state: x}]}]", "template[0].action: actions need triggers"),
        (
            "template: [{triggers: {trigger: event, event_type: x}, button: [{press: []}]}]",
            "template[0].button: triggers can set",
        ),
        ("template: [{unique_id: x}]", "expected one of sensor"),
        ("template: [{image: [{name: x}]}]", "template[0].image[0].url: url is missing"),
        ("template: [{use_blueprint: {input: {}}}]", "template[0].use_blueprint.path: path is missing"),
        ("template: [{light: [{turn_on: [], turn_off: [], effect: x}]}]", "go together"),
        ("template: [{cover: [{open_cover: []}]}]", "open_cover and close_cover go together"),
        ("template: [{sensor: [{state: x, default_entity_id: light.x}]}]", "default_entity_id: expected an entity id"),
        ("sensor: [{platform: template, sensors: {a: {friendly_name: A}}}]", "sensors.a.value_template"),
        ("sensor: [{platform: template, sensors: {a: {value_template: '{{'}}}]", "sensors.a.value_template: the templ"),
        ("switch: [{platform: template, switches: [1]}]", "switches: expected names"),
        ("lock: [{platform: template, value_template: x, lock: []}]", "lock[0].unlock: unlock is missing"),
    ],
)
def test_errors_name_the_key_as_it_is_written(text: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(text)

    found = check(tmp_path, all_sections(IntegrationSchemas(find(tmp_path))))

    assert error in "\n".join(map(str, found.errors))


IMAGE = {"image": [{"name": "Map", "url": "URL/{{ states('sensor.page') }}"}]}


@pytest.mark.parametrize(
    ("template", "page", "why"),
    [
        (IMAGE, "still", ""),
        (IMAGE, "elsewhere", ""),
        (IMAGE, "page", "no picture"),
        (IMAGE, "locked", "answered 401"),
        ({"image": [{"name": "Map", "url": "{{ 'URL' }}/still"}]}, "", "was not called: it is this machine"),
        ({"image": [{"name": "Map", "url": "{{ 1 / 0 }}"}]}, "", "no address"),
    ],
)
async def test_the_picture_of_an_image_is_fetched_when_somebody_looks(
    template: dict[str, Any], page: str, why: str, tmp_path: Path
) -> None:
    async with CameraDouble() as double:
        hub = home(tmp_path, json.loads(json.dumps(template).replace("URL", double.url)))
        hub.states.set("sensor.page", page)
        async with hub:
            entity = hub.entities.get("image.map")
            assert entity is not None
            assert entity.picture is not None
            assert double.asked == []

            if not why:
                assert (await entity.picture()).data == JPEG
                return
            with pytest.raises(HubError, match=why):
                await entity.picture()


BLUEPRINT = """
blueprint:
  name: Doubled
  domain: template
  input: {source: {selector: {entity: {}}}, unit: {default: W}}
variables: {source: !input source}
sensor:
  unit_of_measurement: !input unit
  state: "{{ states(source) | float * 2 }}"
"""


@pytest.mark.parametrize(
    ("item", "blueprint", "error"),
    [
        ("{path: me/doubled.yaml, input: {source: sensor.power}}", BLUEPRINT, ""),
        ("{path: me/doubled.yaml}", BLUEPRINT, "template[0].use_blueprint.input: the input source is missing"),
        ("{path: me/double.yaml}", BLUEPRINT, "template[0].use_blueprint.path: there is no blueprint me/double.yaml"),
        (
            "{path: me/doubled.yaml, input: {source: sensor.power}}",
            BLUEPRINT.replace("  state:", "  stat:"),
            "blueprints/template/me/doubled.yaml:7",
        ),
        (
            "{path: me/doubled.yaml, input: {source: sensor.power}}",
            BLUEPRINT.replace("sensor:\n  unit", "light: {}\nsensor:\n  unit"),
            "template[0].use_blueprint.path: blueprints/template/me/doubled.yaml:2:1: expected one of",
        ),
        (
            "{path: me/doubled.yaml, input: {source: sensor.power}}",
            BLUEPRINT.replace("  domain", "  source_url: https://a.example/b.yaml\n  domain")
            + "triggers: {trigger: command, command: [id]}\n",
            "may not run programs",
        ),
    ],
)
async def test_a_blueprint_makes_an_entity_or_is_told_what_is_wrong(
    item: str, blueprint: str, error: str, tmp_path: Path
) -> None:
    (tmp_path / "blueprints/template/me").mkdir(parents=True)
    (tmp_path / "blueprints/template/me/doubled.yaml").write_text(blueprint)
    uses = "automation: {triggers: {trigger: state, entity_id: [sensor.twice, sensor.thrice]}, actions: []}\n"
    (tmp_path / "configuration.yaml").write_text(f"{uses}template: {{name: Twice, use_blueprint: {item}}}\n")

    found = check(tmp_path, all_sections(IntegrationSchemas(find(tmp_path))))

    assert error in "\n".join(map(str, found.errors))
    assert bool(error) is bool(found.errors)
    assert error or ["nothing in this home provides sensor.thrice" in str(each) for each in found.warnings] == [True]


def test_the_check_knows_the_entities_of_both_forms_and_misses_others(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text("""
template:
- sensor:
  - {name: My own, state: x}
  - {name: My own, state: y}
  - {state: z, default_entity_id: sensor.given}
- triggers: {trigger: state, entity_id: sensor.nowhere}
  sensor: {name: Seen, state: x}
light:
- platform: template
  lights: {old: {turn_on: {action: lamp.shine}, turn_off: []}}
automation:
- triggers:
  - {trigger: state, entity_id: [sensor.my_own, sensor.my_own_2, sensor.given, sensor.my_won]}
  actions: {action: light.turn_on, target: {entity_id: [light.old, light.odl]}}
""")

    found = check(tmp_path, all_sections(IntegrationSchemas(find(tmp_path))))

    told = "\n".join(map(str, found.warnings))
    assert not found.errors
    assert "nothing in this home provides sensor.my_won (did you mean sensor.my_own?" in told
    assert "nothing in this home provides light.odl" in told
    assert "template[1].triggers.entity_id: nothing in this home provides sensor.nowhere" in told
    assert "no service lamp.shine is known" in told
    assert len(found.warnings) == 4


def test_what_an_integration_showed_that_is_in_use_no_more_is_missed(tmp_path: Path) -> None:
    entry = {"entity_id": "sensor.once", "source": "template", "unique_id": "sensor.once"}
    (tmp_path / ".storage").mkdir()
    (tmp_path / FILE).write_text(json.dumps({"version": VERSION, "data": {"entities": [entry]}}))
    uses = "automation: {triggers: {trigger: state, entity_id: sensor.once}, actions: []}\n"
    texts = {"with": uses + "template: {sensor: {name: Another, state: x}}\n", "without": uses}
    told: dict[str, str] = {}

    for name, text in texts.items():
        (tmp_path / "configuration.yaml").write_text(text)
        found = check(tmp_path, all_sections(IntegrationSchemas(find(tmp_path))))
        told[name] = "\n".join(map(str, found.warnings))

    assert told["with"] == ""
    assert "nothing in this home provides sensor.once" in told["without"]


@pytest.mark.parametrize(
    ("steps", "asks"),
    [
        ({"action": "light.turn_on", "target": {"entity_id": "light.a"}}, False),
        ({"action": "lock.unlock", "target": {"entity_id": "lock.door"}}, True),
        ({"action": "script.let_in"}, True),
        ({"action": "switch.turn_on", "target": {"entity_id": "switch.opens"}}, True),
        ({"action": "switch.turn_on", "target": {"entity_id": "switch.tried"}}, False),
    ],
)
async def test_an_agent_asks_before_it_uses_one_whose_actions_open_something(
    steps: dict[str, Any], *, asks: bool, tmp_path: Path
) -> None:
    opens = {"name": "Opens", "turn_on": {"action": "lock.unlock", "target": {"entity_id": "lock.door"}}}
    switches = [{**opens, "turn_off": []}, {"name": "Tried", "turn_on": steps, "turn_off": []}]
    script = {"let_in": {"sequence": [{"action": "lock.unlock", "target": {"entity_id": "lock.door"}}]}}
    async with home(tmp_path, {"switch": switches}, script=script) as hub:
        service = hub.services.get("switch", "turn_on")
        assert service is not None
        assert service.prepare is not None

        assert service.prepare({"entity_id": "switch.tried"})[1] is asks


async def test_triggers_set_what_can_be_switched_too(tmp_path: Path) -> None:
    light = {"name": "Lamp", "state": "{{ trigger.event.data.on }}", "level": "{{ trigger.event.data.level }}"}
    cover = {"name": "Blind", "position": "{{ trigger.event.data.level }}", "open_cover": [], "close_cover": []}
    block = {
        "triggers": {"trigger": "event", "event_type": "seen"},
        "light": {**light, "set_level": [], "turn_on": [], "turn_off": [], "optimistic": True},
        "cover": cover,
    }
    async with home(tmp_path, block) as hub:
        hub.bus.fire("seen", {"on": True, "level": 30})
        lamp, blind = hub.states.get("light.lamp"), hub.states.get("cover.blind")
        assert lamp is not None
        assert blind is not None
        assert (lamp.state, lamp.attributes["brightness"]) == ("on", 30)
        assert (blind.state, blind.attributes["current_position"]) == ("open", 30)

        await call(hub, "light.turn_off", entity_id="light.lamp")
        assert said(hub, "light.lamp") == "off"


def test_blocks_may_use_the_triggers_of_a_persons_own_integrations(tmp_path: Path) -> None:
    place = tmp_path / "custom_integrations/rain"
    place.mkdir(parents=True)
    (place / "manifest.json").write_text('{"domain": "rain", "name": "Rain", "version": "1.0.0", "triggers": ["rain"]}')
    (place / "trigger.py").write_text("""
from hub.automation.contract import TriggerKind
KINDS = {"rain": TriggerKind("rain", {}, lambda config, host: lambda: None, lambda config: "when it rains", "Rain.")}
""")
    (tmp_path / "configuration.yaml").write_text(
        "rain:\ntemplate:\n- triggers: {trigger: rain}\n  sensor: {name: Rained, state: x}\n"
    )

    found = check(tmp_path, all_sections(IntegrationSchemas(find(tmp_path))))

    assert [*map(str, found.errors)] == []
    assert found.config["template"][0]["triggers"][0]["trigger"] == "rain"
