"""Warnings about services, data keys and events that nothing here knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hub.automation.editing.unknown_names import SERVICES
from hub.cli.configured import check_home
from hub.core.json_schema import to_json_schema
from hub.entities.registry import FILE
from hub.hub import Hub
from hub.integration.catalog import find
from hub.storage.homedir import Home

ROOT = "people: [{id: me, owner: true}]\nautomation: !include automations.yaml\nscript: {tea: {sequence: []}}\n"


def warnings(home: Path, automations: str, more: str = "") -> list[str]:
    (home / "configuration.yaml").write_text(ROOT + more, encoding="utf-8")
    (home / "automations.yaml").write_text(automations, encoding="utf-8")
    checked = check_home(home)
    assert checked.errors == []
    return [f"{each.line}: {each.message} ({each.hint})" for each in checked.warnings]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("{action: agent.runn, data: {message: hi}}", ["3: no service agent.runn is known (did you mean agent.run?)"]),
        (
            "{action: notify.notify, data: {mesage: hi}}",
            ["3: the service notify.notify takes no mesage (did you mean message?)"],
        ),
        (
            "{action: zigbee.pair, target: {entity_id: zigbee.a}}",
            ["3: no service zigbee.pair is known (An integration may bring it while the hub runs.)"],
        ),
        (
            "{if: [], then: [{service: notify.notif}]}",
            ["3: no service notify.notif is known (did you mean notify.notify?)"],
        ),
        ("{action: 'notify.{{ who }}', data: {x: 1}}", []),
        ("{action: notify.me, data: {message: hi}}", []),
        ("{action: script.tea, data: {any: {action: agent.runn}}}", []),
        ("{variables: {any: {action: agent.runn}}}", []),
        ("{variables: {any: {condition: sun, before_offset: 1}}}", []),
        ("{action: script.tea, data: {any: {action: agent.run, data: {model: gone/x}}}}", []),
        ("{action: script.tea, data: {any: 1}}", []),
        ("{action: agent.run, data: {message: hi}}", []),
    ],
)
def test_a_name_in_a_step_that_nothing_knows_is_a_warning(tmp_path: Path, step: str, told: list[str]) -> None:
    assert warnings(tmp_path, f"- triggers: []\n  actions:\n    - {step}\n") == told


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("telegram_text", ["1: nothing here fires the event telegram_text (did you mean message_received?)"]),
        ("call_service", []),
        ("zha_event", ["1: nothing here fires the event zha_event ()"]),
        ("[mine, zha_event]", ["1: nothing here fires the event zha_event ()"]),
        ("stat_changed", ["1: nothing here is known to fire the event stat_changed (did you mean state_changed?)"]),
        ("state_changed", []),
        ("my_button", []),
    ],
)
def test_an_event_that_nothing_fires_is_a_warning(tmp_path: Path, event: str, told: list[str]) -> None:
    text = f"- {{triggers: {{trigger: event, event_type: {event}}}, actions: [{{event: mine}}]}}\n"

    assert warnings(tmp_path, text) == told


BLUEPRINT = """\
blueprint:
  name: Bell
  domain: automation
  input: {who: {name: Who}, then: {name: Then, default: [], selector: {action: {}}}}
triggers: {trigger: event, event_type: zha_event}
actions:
  - {action: notify.notif, data: {message: !input who}}
  - {choose: [], default: !input then}
"""
USED = "- id: bell\n  use_blueprint:\n    path: mine/bell.yaml\n    input: {who: me, then: [{action: agent.runn}]}\n"


def test_what_a_blueprint_makes_is_searched_and_told_at_the_line_that_uses_it(tmp_path: Path) -> None:
    file = tmp_path / "blueprints/automation/mine/bell.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(BLUEPRINT, encoding="utf-8")

    told = warnings(tmp_path, USED)

    assert told == [
        "3: from mine/bell.yaml: nothing here fires the event zha_event ()",
        "3: from mine/bell.yaml: no service notify.notif is known (did you mean notify.notify?)",
        "3: from mine/bell.yaml: no service agent.runn is known (did you mean agent.run?)",
    ]


async def test_the_table_of_services_is_that_of_a_running_hub(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text("memory: {}\n", encoding="utf-8")
    hub = Hub(Home(tmp_path), host="127.0.0.1", port=0)
    await hub.start()
    try:
        found = {each.id: set(to_json_schema(each.schema).get("properties", {})) for each in hub.services.all()}
    finally:
        await hub.stop()

    assert {name: set(keys) for name, keys in SERVICES.items()} == {
        name: keys
        for name, keys in found.items()
        if name != "notify.owner" and (name in SERVICES or name.partition(".")[0] not in find(None))
    }


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            "{action: message.send, data: {text: hi, channel: telegrm, to: 7}}",
            ["3: there is no channel telegrm; did you mean telegram? ()"],
        ),
        (
            "{action: message.send, data: {text: hi, channel: telegram, account: wrok, to: 7}}",
            ["3: telegram has no account wrok; did you mean work? ()"],
        ),
        (
            "{action: message.send, data: {text: hi, to: 'telegrm:7'}}",
            ["3: there is no channel telegrm; did you mean telegram? ()"],
        ),
        (
            "{action: message.send, data: {text: hi, channel: slack, to: 7}}",
            ["3: there is no channel slack; there are: telegram, webchat ()"],
        ),
        (
            "{action: agent.run, data: {message: hi, announce: 'telegrm:7'}}",
            ["3: there is no channel telegrm; did you mean telegram? ()"],
        ),
        (
            "{action: agent.run, data: {message: hi, announce: {channel: telegram, to: 7}}}",
            ["3: telegram has no account default; it has: home, work ()"],
        ),
        (
            "{action: agent.heartbeat, data: {target: 'telegrm:7'}}",
            ["3: there is no channel telegrm; did you mean telegram? ()"],
        ),
        ("{action: message.send, data: {text: hi, channel: telegram, account: work, to: 7}}", []),
        ("{action: message.send, data: {text: hi, channel: '{{ x }}', to: 7}}", []),
        ("{action: message.send, data: {text: hi, channel: last}}", []),
        ("{action: message.send, data: {text: hi, to: last}}", []),
        ("{action: message.send, data: {text: hi}}", []),
        ("{action: agent.run, data: {message: hi, announce: last}}", []),
    ],
)
def test_an_address_that_leads_nowhere_is_a_warning(tmp_path: Path, step: str, told: list[str]) -> None:
    tokens = [f"{{account: {name}, token: '12345:a-token-of-a-bot-for-tests-xxxxx'}}" for name in ("home", "work")]
    channels = f"telegram: [{', '.join(tokens)}]\n"

    assert warnings(tmp_path, f"- triggers: []\n  actions:\n    - {step}\n", channels) == told


ID, OTHER = "3f2a" * 8, "ab12" * 8
REGISTRY = {
    "areas": [{"id": "kitchen", "name": "Kitchen"}],
    "devices": [{"id": "d1", "source": "home_assistant", "identifiers": [ID]}],
    "entities": [{"entity_id": "light.hall", "source": "mqtt", "unique_id": ID}],
}


@pytest.mark.parametrize(
    ("automation", "told"),
    [
        ("triggers: {trigger: state, entity_id: light.hall}", []),
        ("triggers: {trigger: state, entity_id: [light.hal]}", ["nothing in this home provides light.hal (did you"]),
        ("conditions: {condition: state, entity_id: input_boolean.away, state: 'on'}", ["provides input_boolean.away"]),
        ("conditions: [{or: [{condition: state, entity_id: sun.sun, state: x}]}]", ["provides sun.sun"]),
        ("triggers: {trigger: time, at: input_datetime.wake}", ["provides input_datetime.wake"]),
        ("triggers: {trigger: numeric_state, entity_id: light.hall, above: sensor.limit}", ["provides sensor.limit"]),
        ("actions: {action: light.turn_on, target: {entity_id: group.all, area_id: cellar}}", ["group.all", "cellar"]),
        ("actions: {action: light.turn_on, target: {area_id: kitchen, device_id: [d1, " + ID + "]}}", []),
        ("actions: {action: light.turn_on, target: {entity_id: '{{ x }}', label_id: all}}", []),
        ("actions: {action: light.turn_on, data: {entity_id: all}}", []),
        ("actions: {action: agent.run, data: {message: light.nowhere}}", []),
        ("actions: {event: mine, event_data: {entity_id: light.nowhere}}", []),
        ("actions: {action: script.tea, data: {entity_id: script.tea}}", []),
        ("triggers: {trigger: state, entity_id: person.me}", []),
        ("triggers: {trigger: state, entity_id: " + ID + "}", []),
        ("triggers: {trigger: state, entity_id: " + OTHER + "}", [f"has the registry id {OTHER}"]),
        ("conditions: {condition: numeric_state, entity_id: light.hall, above: " + ID + "}", []),
        (
            "conditions: {condition: numeric_state, entity_id: light.hall, below: " + OTHER + "}",
            ["has the registry id"],
        ),
        (
            "triggers: {trigger: device, device_id: " + OTHER + ", domain: light, type: turned_on, entity_id: " + ID,
            [f"there is no device {OTHER} in this home"],
        ),
        ("conditions: {condition: sun, after: sunset, before_offset: 1h}", ["before_offset does nothing without"]),
        ("triggers: {trigger: webhook, webhook_id: a, local_only: false}", ["answers this machine alone"]),
        ("conditions: {condition: numeric_state, entity_id: light.hall, above: 74, below: 65}", ["both above 74"]),
        ("triggers: {trigger: numeric_state, entity_id: light.hall, above: 65, below: 65}", ["two triggers?"]),
        ("triggers: {trigger: numeric_state, entity_id: light.hall, above: 60, below: 65}", []),
    ],
)
def test_a_thing_that_nothing_provides_is_a_warning(tmp_path: Path, automation: str, told: list[str]) -> None:
    (tmp_path / ".storage").mkdir()
    (tmp_path / FILE).write_text(json.dumps({"version": 1, "data": REGISTRY}))
    whole = f"{automation}{'}' * (automation.count('{') - automation.count('}'))}"

    found = warnings(tmp_path, f"- alias: a\n  {whole}\n" + ("" if "actions" in whole else "  actions: []\n"))

    assert len(found) == len(told), found
    for warning, part in zip(found, told, strict=True):
        assert warning.startswith("2: ")
        assert part in warning


@pytest.mark.parametrize("text", ["{", '{"version": 1, "data": {"entities": 7}}'])
def test_registries_that_cannot_be_read_warn_of_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / ".storage").mkdir()
    (tmp_path / FILE).write_text(text)

    assert warnings(tmp_path, "- {triggers: {trigger: state, entity_id: light.a}, actions: []}\n") == []
