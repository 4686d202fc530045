"""Reading the file of a blueprint: its form, its bounds, and the line of each mistake."""

from __future__ import annotations

from textwrap import dedent

import pytest

from hub.automation.blueprints.document import SIZE_LIMIT_BYTES, Blueprint, read_blueprint
from hub.automation.blueprints.errors import BlueprintInvalid
from hub.automation.blueprints.metadata import GRAMMAR_OF_HOME_ASSISTANT

HEAD = "blueprint:\n  name: A\n  domain: automation\n"


def read(text: str) -> Blueprint:
    return read_blueprint(dedent(text).lstrip("\n"), "b.yaml")


def error_of(text: str) -> str:
    with pytest.raises(BlueprintInvalid) as caught:
        read(text)
    return caught.value.message


def test_all_that_a_blueprint_says_of_itself_is_read() -> None:
    blueprint = read(
        """
        blueprint:
          name: Motion light
          description: |
            Turns on.
          domain: automation
          author: Somebody
          icon: mdi:lightbulb
          source_url: https://example.com/a.yaml
          homeassistant: {min_version: 2024.6.0}
          homarus: {min_version: 0.1.0}
          input:
            sensor:
            timing:
              name: Timing
              icon: mdi:clock
              description: When.
              collapsed: true
              input:
                wait: {name: Wait, default: 5, selector: {number: {min: 1, max: 9}}}
                until_when:
            last: {selector: {text: }}
        """
    )
    about = blueprint.metadata

    assert (about.name, about.description, about.author) == ("Motion light", "Turns on.", "Somebody")
    assert (about.icon, about.source_url) == ("mdi:lightbulb", "https://example.com/a.yaml")
    assert list(about.inputs) == ["sensor", "wait", "until_when", "last"]
    assert [(each.key, each.collapsed) for each in about.sections] == [(None, False), ("timing", True), (None, False)]
    assert about.inputs["wait"].as_dict() == {
        "key": "wait",
        "name": "Wait",
        "description": "",
        "required": False,
        "default": 5,
        "selector": {"type": "number", "min": 1, "max": 9},
    }
    assert about.inputs["until_when"].name == "Until when"
    assert about.inputs["sensor"].as_dict()["selector"] == {"type": "text"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "b.yaml:1:1: this is not a blueprint"),
        ("- 1", "this is not a blueprint"),
        ("triggers: []", "this is not a blueprint"),
        ("blueprint: 5", "b.yaml:1:12: blueprint: expected name, domain and input, got 5"),
        ("blueprint:\n  name: A", "domain: required"),
        ("blueprint:\n  name: A\n  domain: light", "expected one of automation, script, template, got 'light'"),
        (HEAD + "  colour: red", "b.yaml:4:3: blueprint.colour: there is no key colour here"),
        (HEAD + "  source_url: file:///etc/passwd", "expected an http:// or https:// address"),
        (HEAD + "  homeassistant: {min_version: next}", "expected a version such as 2026.1.0"),
        (HEAD + "  homarus: {min_version: 99.0.0}", "this blueprint needs Homarus 99.0.0"),
        (
            HEAD + "  input:\n    a: {selector: {entty: {}}}",
            "b.yaml:5:27: blueprint.input.a.selector.entty: there is no",
        ),
        (HEAD + "  input:\n    a: {selector: {entty: {}}}", "did you mean entity?"),
        (HEAD + "  input:\n    a: {selector: {aera: {}}}", "there is no selector"),
        (HEAD + "  input:\n    a: {selector: {number: {mni: 1}}}", "there is no key mni here"),
        (HEAD + "  input:\n    a: {defautl: 1}", "there is no key defautl here"),
        (HEAD + "  input:\n    s: {input: {a: }}\n    a:", "there are two inputs a"),
        (HEAD + "  input:\n    a:\nactions: !input b", "b.yaml:6:10: actions: there is no input b (there are: a)"),
        (HEAD + "actions: !input", "!input is followed by the name of an input"),
        (HEAD + "actions: !input [a]", "!input is followed by the name of an input"),
        (HEAD + "  description: !input a", "an input cannot be used in the description of the blueprint"),
        (HEAD + "actions: !secret password", "the tag !secret cannot be used in a blueprint"),
        (HEAD + "actions: !include other.yaml", "the tag !include cannot be used in a blueprint"),
        (HEAD + "actions: !env_var HOME", "the tag !env_var cannot be used in a blueprint"),
        (HEAD + "actions: !!python/object:os.system x", "is not used here"),
        (HEAD + "actions: [", "b.yaml:"),
        (HEAD + "a: " + "[" * 100 + "]" * 100, "inside each other"),
        (
            HEAD
            + "a: &a [1,1,1,1,1,1,1,1,1]\n"
            + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(6)),
            "too many values",
        ),
        (HEAD + "a: " + "x" * SIZE_LIMIT_BYTES, "at most 1000000 bytes"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, told: str) -> None:
    assert told in error_of(text)


def test_a_blueprint_for_a_later_home_assistant_is_refused_and_for_this_one_is_not() -> None:
    year, month = GRAMMAR_OF_HOME_ASSISTANT

    read(HEAD + f"  homeassistant: {{min_version: {year}.{month}.9}}")
    assert f"needs Home Assistant {year + 1}.1.0" in error_of(
        HEAD + f"  homeassistant: {{min_version: {year + 1}.1.0}}"
    )


def test_all_mistakes_in_the_metadata_are_told() -> None:
    with pytest.raises(BlueprintInvalid) as caught:
        read("blueprint:\n  nmae: A\n  domain: lamp\n  author: [1]\n")

    assert len(caught.value.errors) >= 3
