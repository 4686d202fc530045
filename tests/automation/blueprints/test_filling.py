"""From an item with use_blueprint to an automation, and the place of each error."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.schema import Invalid, each_error
from tests.automation.blueprints.conftest import Shelf

LIGHT = """
    # a comment
    blueprint:
      name: Light
      description: Turns a light on.
      domain: automation
      input:
        sensor:
          name: Sensor
          description: What moves.
          selector: {entity: {domain: binary_sensor}}
        light:
          selector: {target: {entity: {domain: light}}}
        wait:
          name: Wait
          default: 120
          selector: {number: {min: 0, max: 3600}}
    mode: restart
    variables:
      seconds: !input wait
      nested: {list: [1, !input wait]}
    triggers:
      - trigger: state
        entity_id: !input sensor
        to: "on"
    actions:
      - action: light.turn_on
        target: !input light
      - delay: !input wait
"""
GIVEN = {"sensor": "binary_sensor.hall", "light": {"entity_id": "light.hall"}}


def errors_of(shelf: Shelf, inputs: dict[str, Any] | None, **own: Any) -> list[tuple[list[Any], str]]:
    with pytest.raises(Invalid) as caught:
        shelf.expand(inputs, **own)
    return [(list(error.path), error.msg) for error in each_error(caught.value)]


def test_inputs_are_put_in_their_places(shelf: Shelf) -> None:
    shelf.write(LIGHT)

    made = shelf.expand({**GIVEN, "wait": 30})

    assert made["triggers"][0]["entity_id"] == ["binary_sensor.hall"]
    assert made["actions"] == [
        {"action": "light.turn_on", "target": {"entity_id": ["light.hall"]}},
        {"delay": 30.0},
    ]
    assert made["variables"] == {"seconds": 30, "nested": {"list": [1, 30]}}
    assert "use_blueprint" not in made
    assert "blueprint" not in made


def test_a_default_stands_in_for_what_is_not_given(shelf: Shelf) -> None:
    shelf.write(LIGHT)

    assert shelf.expand({**GIVEN, "wait": None})["variables"]["seconds"] == 120


def test_the_blueprint_speaks_where_the_item_is_silent(shelf: Shelf) -> None:
    shelf.write(LIGHT)

    assert shelf.expand(GIVEN)["mode"] == "restart"


def test_the_item_comes_before_the_blueprint(shelf: Shelf) -> None:
    shelf.write(LIGHT)

    made = shelf.expand(
        GIVEN,
        mode="queued",
        alias="Hall",
        description="Mine",
        timeout="1m",
        catch_up="last",
        on_error=[{"event": "failed"}],
        retry={"attempts": 2},
        variables={"more": 1},
        enabled="{{ true }}",
    )

    assert (made["mode"], made["alias"], made["timeout"]) == ("queued", "Hall", 60.0)
    assert made["catch_up"]["mode"] == "last"
    assert made["variables"] == {"more": 1}


def test_each_place_has_a_copy_of_its_own(shelf: Shelf) -> None:
    shelf.write(
        """
        blueprint: {name: A, domain: automation, input: {data: {selector: {object: {}}}}}
        triggers: []
        variables: {one: !input data, two: !input data}
        actions: []
        """
    )
    given = {"data": {"list": [1]}}

    variables = shelf.expand(given)["variables"]
    variables["one"]["list"].append(2)

    assert variables["two"] == {"list": [1]}
    assert given == {"data": {"list": [1]}}


def test_everything_that_is_wrong_with_the_inputs_is_told_at_once(shelf: Shelf) -> None:
    shelf.write(LIGHT)

    errors = errors_of(shelf, {"sensro": "a", "sensor": "light.hall", "wait": 9999})

    assert errors == [
        (["use_blueprint", "input", "sensro"], "the blueprint has no input sensro; did you mean sensor?"),
        (["use_blueprint", "input"], "the input light is missing (Light)"),
        (["use_blueprint", "input", "sensor"], "expected an entity of binary_sensor, got 'light.hall'"),
        (["use_blueprint", "input", "wait"], "expected a number from 0 to 3600, got 9999"),
    ]


def test_a_missing_input_is_told_with_its_name_and_description(shelf: Shelf) -> None:
    shelf.write(LIGHT)

    errors = errors_of(shelf, {"light": {}})

    assert errors == [(["use_blueprint", "input"], "the input sensor is missing (Sensor: What moves.)")]


def test_a_missing_file_is_told_with_the_nearest(shelf: Shelf) -> None:
    shelf.write(LIGHT, "me/motion_light.yaml")

    errors = errors_of(shelf, {}, path="me/motion_lihgt.yaml")

    assert errors == [
        (["use_blueprint", "path"], "there is no blueprint me/motion_lihgt.yaml; did you mean me/motion_light.yaml?")
    ]


def test_what_the_grammar_finds_in_an_input_is_told_at_that_input(shelf: Shelf) -> None:
    shelf.write(
        """
        blueprint:
          name: A
          domain: automation
          input: {then: {selector: {action: {}}}, when: {selector: {trigger: {}}}}
        triggers: !input when
        actions:
          - if: "{{ true }}"
            then: !input then
        """
    )

    errors = errors_of(
        shelf, {"then": [{"action": "light.on"}, {"delay": "never"}], "when": [{"trigger": "stat", "entity_id": "a.b"}]}
    )

    paths = [path for path, _ in errors]
    assert ["use_blueprint", "input", "when", 0, "trigger"] in paths
    assert any(path[:5] == ["use_blueprint", "input", "then", 1, "delay"] for path in paths)


def test_what_the_grammar_finds_in_the_file_is_told_with_its_line(shelf: Shelf) -> None:
    shelf.write(
        """
        blueprint: {name: A, domain: automation}
        trigger:
          - platform: state
            entity_id: not an entity
        action:
          - service: light.turn_on
          - delay: never
        """
    )

    errors = errors_of(shelf, {})

    assert [path for path, _ in errors] == [["use_blueprint", "path"]] * 2
    assert errors[0][1].startswith("blueprints/automation/me/test.yaml:4:")
    assert "trigger[0].entity_id" in errors[0][1]
    assert errors[1][1].startswith("blueprints/automation/me/test.yaml:7:")


def test_what_the_grammar_finds_in_a_default_names_the_input(shelf: Shelf) -> None:
    shelf.write(
        """
        blueprint:
          name: A
          domain: automation
          input:
            wait: {default: never, selector: {text: {}}}
        actions:
          - delay: !input wait
        """
    )

    errors = errors_of(shelf, {})

    assert errors[0][0] == ["use_blueprint", "path"]
    assert "the default of the input wait" in errors[0][1]


def test_what_is_wrong_in_the_item_itself_is_told_there(shelf: Shelf) -> None:
    shelf.write(
        """
        blueprint: {name: A, domain: automation}
        triggers: []
        actions: []
        """
    )

    errors = errors_of(shelf, {}, mode="often")

    assert errors[0][0] == ["mode"]


def test_a_changed_file_counts_at_once(shelf: Shelf) -> None:
    text = "blueprint: {{name: A, domain: automation}}\nactions: [{{event: {}}}]\n"
    shelf.write(text.format("before"))
    assert shelf.expand()["actions"][0]["event"] == "before"

    shelf.write(text.format("afterwards"))

    assert shelf.expand()["actions"][0]["event"] == "afterwards"


def test_an_author_may_give_a_default_that_the_selector_would_not_take(shelf: Shelf) -> None:
    shelf.write(
        """
        blueprint:
          name: A
          domain: automation
          input:
            extra: {default: "", selector: {entity: {}}}
            then: {default: [], selector: {action: {}}}
        variables: {extra: !input extra}
        actions: !input then
        """
    )

    assert shelf.expand()["variables"]["extra"] == ""
    assert shelf.expand({"extra": ""})["variables"]["extra"] == ""
    assert errors_of(shelf, {"extra": "nonsense"})[0][0] == ["use_blueprint", "input", "extra"]


def test_a_script_is_filled_in_too(shelf: Shelf) -> None:
    shelf.write(
        """
        blueprint: {name: A, domain: script, input: {text: {selector: {text: {}}}}}
        fields: {who: {required: true}}
        sequence:
          - action: notify.notify
            data: {message: !input text}
        """,
        domain="script",
    )

    made = shelf.blueprints.expand(
        {"alias": "S", "use_blueprint": {"path": "me/test.yaml", "input": {"text": "hi"}}}, "script"
    )

    assert made["sequence"][0]["data"] == {"message": "hi"}
    assert made["alias"] == "S"


@pytest.mark.parametrize("path", ["../secret.yaml", "me/../../x.yaml", "/etc/passwd.yaml"])
def test_a_path_does_not_lead_out(shelf: Shelf, path: str) -> None:
    with pytest.raises(Invalid) as caught:
        shelf.blueprints.expand({"use_blueprint": {"path": path, "input": {}}})

    assert list(caught.value.path) == ["use_blueprint", "path"]
    assert "refused" in caught.value.msg or "no blueprint" in caught.value.msg


def test_a_symlink_is_not_followed(shelf: Shelf) -> None:
    outside = shelf.home / "outside.yaml"
    outside.write_text("blueprint: {name: A, domain: automation}\nactions: []\n", encoding="utf-8")
    link = shelf.write("x: 1", "me/link.yaml")
    link.unlink()
    link.symlink_to(outside)

    with pytest.raises(Invalid):
        shelf.expand({}, path="me/link.yaml")
