"""The plan of moving in from a Home Assistant: what of its folder comes, what waits, and what is refused where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hub.cli.configured import check_home, sections_of
from hub.core.clock import ManualClock
from hub.core.errors import HubError
from hub.entities.helpers.schema import helper_ids
from hub.migrate.home_assistant.moving import plan_home_assistant
from hub.migrate.plan import Move, MoveItem, Verdict
from tests.entities.helpers.questions.steps import START
from tests.hub_fixture import HubFixture
from tests.migrate.homes import home_assistant, new_home


def planned(theirs: Path, home: Path, *, secrets: bool = False, off: bool = False) -> Move:
    return plan_home_assistant(theirs, home, sections_of(home), secrets=secrets, switched_off=off)


def written(move: Move, home: Path) -> None:
    for each in move.changes.files:
        (home / each.name).parent.mkdir(parents=True, exist_ok=True)
        (home / each.name).write_bytes(each.data)


def item(move: Move, kind: str, name: str) -> MoveItem:
    (found,) = [each for each in move.items if (each.kind, each.name) == (kind, name)]
    return found


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return home_assistant(tmp_path / "ha")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_home(tmp_path / "home")


def test_each_automation_is_judged_by_our_own_schema(theirs: Path, home: Path) -> None:
    move = planned(theirs, home)

    assert item(move, "automation", "Notes").verdict is Verdict.TAKEN
    waits = item(move, "automation", "Wake up")
    assert (waits.verdict, waits.file, waits.line) == (Verdict.WAITS, "automations.yaml", 2)
    assert any("light.stove" in each for each in waits.reasons)
    assert not any("kitchen" in each for each in waits.reasons), "its area comes along"
    refused = item(move, "automation", "Near home")
    assert (refused.verdict, refused.file, refused.line) == (Verdict.REFUSED, "automations.yaml", 22)
    assert any("light.turned_on" in each for each in refused.reasons)
    assert item(move, "automation", "In a package").file == "packages/bell.yaml"
    assert item(move, "automation", "Moves").verdict is Verdict.TAKEN, "its blueprint comes along"
    broken = item(move, "blueprint", "blueprints/automation/ada/broken.yaml")
    assert (broken.verdict, broken.line) == (Verdict.REFUSED, 1)


def test_what_was_written_by_hand_keeps_its_comments(theirs: Path, home: Path) -> None:
    move = planned(theirs, home)

    text = next(each.data.decode() for each in move.changes.files if each.name == "packages/home_assistant.yaml")
    assert "  # In the morning.\n  - id: '1700000000001'\n    alias: Wake up   # not too early\n" in text
    assert "\n      # all of the kitchen\n" in text
    assert "  tell:\n    alias: Tell\n" in text
    assert "# on the page" in text


def test_the_home_is_valid_with_what_came_and_a_second_plan_is_empty(theirs: Path, home: Path) -> None:
    move = planned(theirs, home)
    assert move.errors == []

    written(move, home)
    checked = check_home(home)
    assert checked.errors == []
    assert {each["alias"] for each in checked.config["automation"]} >= {"Wake up", "Notes", "In a package", "Moves"}
    assert checked.config["hub"]["time_zone"] == "Europe/Berlin"
    assert checked.config["hub"]["latitude"] == 52.5
    assert [each["name"] for each in checked.config["people"]] == ["Ada", "Ben"], "the owner there is the owner here"

    again = planned(theirs, home)
    assert again.changes.files == []
    assert item(again, "automation", "Notes").verdict is Verdict.THERE


def test_secrets_come_along_only_when_that_is_said(theirs: Path, home: Path) -> None:
    without = planned(theirs, home)
    assert item(without, "automation", "Call").verdict is Verdict.LEFT
    assert item(without, "secret", "hook").verdict is Verdict.LEFT
    assert item(without, "mqtt", "192.168.1.5").verdict is Verdict.WAITS
    assert not any(word in each.data for each in without.changes.files for word in (b"hook-8c1f2a", b"secret-word"))

    with_them = planned(theirs, home, secrets=True)
    assert item(with_them, "automation", "Call").verdict is Verdict.TAKEN
    assert with_them.changes.secrets == ["hook", "mqtt_password"], "and none that nothing uses"
    written(with_them, home)
    assert check_home(home).errors == []
    assert "never used" not in (home / "secrets.yaml").read_text()
    assert check_home(home).config["mqtt"]["username"] == "hub"


def test_automations_can_come_switched_off(theirs: Path, home: Path) -> None:
    move = planned(theirs, home, off=True)
    written(move, home)

    checked = check_home(home)
    assert checked.errors == []
    assert {each["initial_state"] for each in checked.config["automation"] if each["alias"] != "Heartbeat"} == {False}
    assert move.notes == []


def test_what_has_no_counterpart_is_named_with_its_place(theirs: Path, home: Path) -> None:
    move = planned(theirs, home)

    assert item(move, "helper", "input_number.odd").verdict is Verdict.REFUSED
    ring = item(move, "command", "rest_command.ring")
    assert (ring.verdict, ring.line, ring.to) == (Verdict.TAKEN, 18, "rest_command")
    assert "bridge" in item(move, "integration", "hue").reasons[0]
    assert not [each for each in move.items if each.name == "sun"]


def test_helpers_and_zones_come_along_from_files_and_from_what_was_made_in_the_browser(
    theirs: Path, home: Path
) -> None:
    move = planned(theirs, home)
    guests, target = item(move, "helper", "input_boolean.guests"), item(move, "helper", "input_number.target")
    assert (guests.verdict, guests.line, guests.to) == (Verdict.TAKEN, 16, "input_boolean")
    assert (target.verdict, target.file) == (Verdict.TAKEN, ".storage/input_number")
    assert item(move, "zone", "zone.work").verdict is Verdict.TAKEN
    written(move, home)

    checked = check_home(home)
    assert checked.errors == []
    assert checked.config["input_number"]["target"]["step"] == 0.5
    assert {"input_boolean.guests", "input_number.target", "zone.work"} < set(helper_ids(checked.config))
    assert item(planned(theirs, home), "helper", "input_boolean.guests").verdict is Verdict.THERE


def test_template_entities_come_along_in_both_forms_and_from_the_browser(theirs: Path, home: Path) -> None:
    with (theirs / "configuration.yaml").open("a") as file:
        file.write(
            "template:\n"
            "  - sensor:\n"
            "      - name: Warmth   # of the balcony\n"
            "        state: '{{ 20 }}'\n"
            "  - image: {name: Picture}\n"
            "light:\n"
            "  - platform: template\n"
            "    lights: {old: {turn_on: [], turn_off: []}}\n"
            "  - platform: hue\n"
        )
    entries = theirs / ".storage/core.config_entries"
    stored = json.loads(entries.read_text())
    options = {"template_type": "switch", "name": "Made there", "value_template": "{{ true }}", "turn_on": []}
    made = {"domain": "template", "entry_id": "abc", "options": {**options, "turn_off": [], "device_id": "x"}}
    stored["data"]["entries"].append(made)
    entries.write_text(json.dumps(stored))
    known = {"platform": "template", "unique_id": "abc", "entity_id": "switch.chosen_there", "id": "1" * 32}
    registry = {"version": 1, "data": {"entities": [known]}}
    (theirs / ".storage/core.entity_registry").write_text(json.dumps(registry))

    move = planned(theirs, home)
    written(move, home)

    warmth, old = item(move, "helper", "sensor Warmth"), item(move, "helper", "light.old")
    assert (warmth.verdict, old.verdict) == (Verdict.TAKEN, Verdict.TAKEN)
    assert item(move, "helper", "switch Made there").verdict is Verdict.TAKEN
    assert item(move, "helper", "image Picture").verdict is Verdict.REFUSED
    assert item(move, "section", "light").verdict is Verdict.LEFT, "the other item of it stays there"
    checked = check_home(home)
    assert checked.errors == []
    (_, switch) = checked.config["template"]
    assert switch["switch"][0]["default_entity_id"] == "switch.chosen_there"
    assert "name: Warmth   # of the balcony" in (home / "packages/home_assistant.yaml").read_text()
    assert item(planned(theirs, home), "helper", "light.old").verdict is Verdict.THERE


def test_phones_that_are_notified_are_named_with_what_to_do(theirs: Path, home: Path) -> None:
    with (theirs / "configuration.yaml").open("a") as file:
        file.write(
            "automation more:\n"
            "  - alias: Bell\n"
            "    triggers: {trigger: event, event_type: mobile_app_notification_action}\n"
            "    actions: [{action: notify.mobile_app_annas_pixel, data: {message: Ding}}]\n"
            "notify:\n"
            "  - platform: group\n"
            "    name: All\n"
            "    services: [{service: mobile_app_annas_pixel}]\n"
        )

    move = planned(theirs, home)

    phone = item(move, "phone", "notify.mobile_app_annas_pixel")
    assert phone.verdict is Verdict.WAITS
    assert "notify All, Bell notify it" in phone.reasons[0]
    assert "name it annas pixel" in phone.reasons[0]
    assert len([each for each in move.items if each.kind == "phone"]) == 1


def test_sensors_of_servers_come_along_and_each_line_of_a_text_stays_as_it_is(theirs: Path, home: Path) -> None:
    with (theirs / "configuration.yaml").open("a") as file:
        file.write(
            "rest:\n"
            "  resource: http://192.168.1.3/\n"
            "  sensor: {name: Heat, json_attributes: [a]}\n"
            "sensor:\n"
            "  - platform: rest\n"
            "    name: Price\n"
            "    resource: https://prices.example/\n"
            "    value_template: |-\n"
            "      {{ value }}\n"
            "        \n"
            "      x\n"
            "script odd:\n"
            "  odd: {variables: {levels: {1: low, on: high}}, sequence: []}\n"
        )

    move = planned(theirs, home)
    written(move, home)

    assert item(move, "helper", "sensor Heat").verdict is Verdict.TAKEN
    assert item(move, "helper", "sensor Price").verdict is Verdict.TAKEN
    checked = check_home(home)
    assert checked.errors == []
    assert checked.config["sensor"][0]["value_template"] == "{{ value }}\n  \nx"
    assert checked.config["script"]["odd"]["variables"]["levels"] == {"1": "low", "on": "high"}


def test_scenes_come_along_and_what_turns_them_on_stays_as_it_is(theirs: Path, home: Path) -> None:
    move = planned(theirs, home)
    film = item(move, "scene", "scene.film")
    assert (film.verdict, film.line, film.to) == (Verdict.TAKEN, 8, "scene")
    written(move, home)

    checked = check_home(home)
    assert checked.errors == []
    (film_here, _) = checked.config["scene"]
    assert film_here["entities"]["switch.lamp"] == {"state": "off"}
    (evening,) = [each for each in checked.config["automation"] if each["alias"] == "Evening"]
    assert evening["actions"][0]["action"] == "scene.turn_on"
    assert evening["actions"][0]["target"] == {"entity_id": ["scene.film"]}


def test_rooms_keep_their_floor_and_their_labels(theirs: Path, home: Path) -> None:
    places = {(each.kind, each.id): each for each in planned(theirs, home).changes.places}

    assert list(places) == [("label", "warm"), ("floor", "eg"), ("area", "kitchen"), ("area", "kuche")]
    kitchen = places["area", "kitchen"]
    assert (kitchen.floor_id, kitchen.labels, kitchen.aliases) == ("eg", frozenset({"warm"}), ("Cooking",))
    assert places["floor", "eg"].level == 0


def test_broken_yaml_takes_one_file_and_not_the_rest(theirs: Path, home: Path) -> None:
    (theirs / "scripts.yaml").write_text("tell:\n  sequence: [\n")
    move = planned(theirs, home)

    (broken,) = [each for each in move.items if each.kind == "file"]
    assert (broken.verdict, broken.file) == (Verdict.REFUSED, "scripts.yaml")
    assert item(move, "automation", "Notes").verdict is Verdict.TAKEN


def test_a_link_out_of_the_folder_is_not_followed(theirs: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.yaml").write_text("- alias: Stolen\n  triggers: []\n  actions: []\n")
    (theirs / "automations.yaml").unlink()
    (theirs / "automations.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    (theirs / "blueprints/automation/ada/out.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    move = planned(theirs, home)

    assert not [each for each in move.items if "Stolen" in each.name or "out.yaml" in each.name]
    assert any(each.verdict is Verdict.REFUSED and each.kind == "file" for each in move.items)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "there is no configuration.yaml"),
        ("telegram: []\n", "none of the sections"),
        ("homeassistant: [\n", "cannot be read"),
    ],
)
def test_another_folder_is_refused(tmp_path: Path, home: Path, text: str | None, told: str) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    if text is not None:
        (folder / "configuration.yaml").write_text(text)
    with pytest.raises(HubError, match=told):
        planned(folder, home)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, home: Path) -> None:
    with pytest.raises(HubError, match="there is no folder"):
        planned(tmp_path / "none", home)


def test_what_is_made_of_other_entities_comes_along_from_files_and_from_the_browser(theirs: Path, home: Path) -> None:
    with (theirs / "configuration.yaml").open("a") as file:
        file.write(
            "utility_meter:\n"
            "  energy: {source: sensor.power, cycle: daily}   # all of it\n"
            "sensor:\n"
            "  - platform: min_max   # of all rooms\n"
            "    name: Warmest\n"
            "    entity_ids: [sensor.a, sensor.b]\n"
            "  - {platform: statistics, entity_id: sensor.a, state_characteristic: median_of_all}\n"
        )
    made = {
        "min_max": {"name": "Coldest", "entity_ids": ["1" * 32, "sensor.b"], "type": "min", "round_digits": 2.0},
        "threshold": {"name": "Hot", "entity_id": "sensor.a", "hysteresis": 0.0, "lower": None, "upper": 25.0},
        "derivative": {
            "name": "Rate",
            "source": "sensor.a",
            "round": 2.0,
            "unit_time": "min",
            "time_window": {"hours": 1},
        },
        "integration": {"name": "Sum", "source": "sensor.p", "method": "left", "round": 2.0, "unit_prefix": "none"},
        "statistics": {"name": "Mean", "entity_id": "sensor.a", "state_characteristic": "mean", "sampling_size": 20.0},
        "trend": {"name": "Rising", "entity_id": "sensor.a", "invert": False, "max_samples": 3.0},
        "group": {
            "group_type": "light",
            "name": "All lights",
            "entities": ["light.a"],
            "hide_members": True,
            "all": False,
        },
        "utility_meter": {"name": "Month", "source": "sensor.p", "cycle": "monthly", "offset": 2, "tariffs": ["day"]},
    }
    entries = theirs / ".storage/core.config_entries"
    stored = json.loads(entries.read_text())
    stored["data"]["entries"] += [
        {"domain": domain, "title": options["name"], "entry_id": domain, "options": options}
        for domain, options in made.items()
    ]
    entries.write_text(json.dumps(stored))
    known = {"platform": "min_max", "unique_id": "min_max", "entity_id": "sensor.chosen_there", "id": "2" * 32}
    named = {"platform": "x", "unique_id": "y", "entity_id": "sensor.of_the_registry", "id": "1" * 32}
    registry = {"version": 1, "data": {"entities": [known, named]}}
    (theirs / ".storage/core.entity_registry").write_text(json.dumps(registry))

    move = planned(theirs, home)
    written(move, home)

    checked = check_home(home)
    assert checked.errors == []
    assert {
        *("sensor.warmest", "sensor.chosen_there", "binary_sensor.hot", "sensor.rate", "sensor.sum", "sensor.mean"),
        *("binary_sensor.rising", "light.all_lights", "sensor.energy", "select.month", "sensor.month_day"),
    } <= set(helper_ids(checked.config))
    assert checked.config["sensor"][1]["entity_ids"] == ["sensor.of_the_registry", "sensor.b"]
    assert item(move, "helper", "sensor statistics").verdict is Verdict.REFUSED
    assert not [
        each for each in move.items if each.kind in ("section", "integration") and each.name in (*made, "sensor")
    ]
    assert "platform: min_max   # of all rooms" in (home / "packages/home_assistant.yaml").read_text()
    assert item(planned(theirs, home), "helper", "utility_meter.energy").verdict is Verdict.THERE


def test_calendars_and_lists_that_it_keeps_come_along(theirs: Path, home: Path) -> None:
    storage = theirs / ".storage"
    entries = [
        {"entry_id": "a", "domain": "local_calendar", "data": {"calendar_name": "Our family", "storage_key": "fam"}},
        {"entry_id": "b", "domain": "local_todo", "data": {"todo_list_name": "Chores", "storage_key": "chores"}},
    ]
    (storage / "core.config_entries").write_text(json.dumps({"version": 1, "data": {"entries": entries}}))
    registry = [{"config_entry_id": "a", "entity_id": "calendar.family", "platform": "local_calendar"}]
    (storage / "core.entity_registry").write_text(json.dumps({"version": 1, "data": {"entities": registry}}))
    (storage / "local_calendar.fam.ics").write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    (storage / "local_todo.chores.ics").write_bytes(
        b"BEGIN:VCALENDAR\r\nBEGIN:VTODO\r\nSUMMARY:Paint\\, the\r\n  fence\r\nDUE:20260515\r\n"
        b"DESCRIPTION:green\\nnot blue\r\n"
        b"BEGIN:VALARM\r\nSUMMARY:obey\r\nEND:VALARM\r\nSTATUS:NEEDS-ACTION\r\nEND:VTODO\r\n"
        b"BEGIN:VTODO\r\nSUMMARY:Sweep\r\nSTATUS:COMPLETED\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"
    )
    (theirs / ".shopping_list.json").write_text(
        '[{"name": "milk", "complete": false}, {"name": "soap", "complete": true}]'
    )

    move = planned(theirs, home)
    written(move, home)
    again = planned(theirs, home)

    assert move.errors == []
    assert item(move, "calendar", "Our family").to == "calendars/family.ics"
    assert "calendar:" in (home / "configuration.yaml").read_text()
    assert (home / "calendars/family.ics").read_text().startswith("BEGIN:VCALENDAR")
    (file,) = home.rglob("lists-from-home-assistant.md")
    text = file.read_text()
    assert "- Chores list: Paint, the fence (due 2026-05-14)\n  green\n  not blue\n  _todo · " in text
    assert "- ~~Chores list: Sweep~~\n" in text
    assert "- Shopping list: milk\n" in text
    assert "- ~~Shopping list: soap~~\n" in text
    assert "obey" not in text
    assert [item(again, "calendar", "Our family").verdict, item(again, "list", "Shopping (2)").verdict] == [
        Verdict.THERE,
        Verdict.THERE,
    ]


async def test_what_helpers_held_there_they_hold_here(theirs: Path, home: Path) -> None:
    with (theirs / "configuration.yaml").open("a") as file:
        file.write(
            "utility_meter: {energy: {source: sensor.p, tariffs: [day, night]}}\n"
            "timer: {wash: {duration: '01:00:00', restore: true}}\n"
            "sensor: [{platform: integration, source: sensor.p, name: Sum}]\n"
        )
    counted = {
        "last_period": "7",
        "last_reset": "2026-03-01T00:00:00+00:00",
        "last_valid_state": "99",
        "status": "paused",
    }
    told = {"duration": "1:00:00", "remaining": "0:40:00", "finishes_at": "2026-03-02T09:30:00+00:00"}
    held: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "input_boolean.guests": ("on", {}, {}),
        "input_number.target": ("21.5", {}, {}),
        "timer.wash": ("active", told, {}),
        "select.energy": ("night", {}, {}),
        "sensor.energy_day": ("3.25", {}, {"native_value": {"decimal_str": "3.25"}, **counted}),
        "sensor.sum": ("4.500", {}, {"native_value": {"decimal_str": "4.5"}, "native_unit_of_measurement": "Wh"}),
        "input_text.elsewhere": ("unknown", {}, {}),
    }
    data = [
        {"state": {"entity_id": id, "state": state, "attributes": attributes}, "extra_data": extra}
        for id, (state, attributes, extra) in held.items()
    ]
    (theirs / ".storage/core.restore_state").write_text(json.dumps({"version": 1, "data": data}))

    written(planned(theirs, home), home)
    only = ("storage", "registries", "helpers")
    text = (
        "people: [{id: me, name: Me, owner: true}]\nhub: {packages: {theirs: !include packages/home_assistant.yaml}}\n"
    )
    files = {"configuration.yaml": text}
    async with HubFixture(home, "http://127.0.0.1:1", files=files, clock=ManualClock(START), only=only) as hub:
        found = {id: state for id in held if (state := hub.states.get(id)) is not None}

    assert {id: state.state for id, state in found.items()} == {
        id: state for id, (state, _, _) in held.items() if state != "unknown"
    }
    assert found["sensor.energy_day"].attributes["last_period"] == "7"
    assert found["timer.wash"].attributes["finishes_at"] == told["finishes_at"]
    assert not (home / ".storage/helpers_brought.json").exists()
    assert "guests" in (home / ".storage/helpers.json").read_text()
