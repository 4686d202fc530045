"""The form of an automation: what is shown for its data, and the change of its text when a form is posted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, strategies

from hub.config.edit import parse_value
from hub.core.errors import InvalidRequest, NotFound
from web.automations.draft import ALREADY, NOT_A_NAME, AutomationDraft, perform, read_draft, read_item
from web.automations.draft_changes import count_changes
from web.automations.form import form_of, with_errors
from web.automations.form_kinds import FIELD, LISTS, SCRIPT_SHAPE, fresh, kind_names, kind_of, own_keys
from web.automations.item_problems import by_name, problems_of, problems_of_card
from web.core.form_fields import MISSING, Control, control_of, parse_text
from web.core.i18n import catalogue

TEXT = """\
alias: Lamp
# what sets it off
triggers:
  # the door
  - trigger: state  # eol
    entity_id: binary_sensor.door
    for: {minutes: 5}
  - platform: time
    at: "07:00"
conditions: "{{ 1 > 0 }}"
actions:
  - choose:
      - conditions:
          - condition: state
            entity_id: light.hall
            state: ["on", "off"]
        sequence:
          - delay: 5  # a moment
    default:
      - service: notify.me   # keep
        data: {a: 1}
  - repeat: {count: 3, sequence: [{delay: 1}]}
  - if:
      - "{{ true }}"
    then:
      - stop: done
"""


def posted_as_shown(text: str, **changed: str) -> dict[str, list[str]]:
    """Return what a browser posts for the form of a text, with other texts in some fields."""
    fields: dict[str, list[str]] = {}
    for control in form_of(read_item(text)).controls():
        assert isinstance(control, Control)
        chosen = control.shown.split("\n") if control.kind == "choices" else [control.shown]
        fields[control.name] = ["", *chosen] if control.kind == "choices" else chosen
    return fields | {name.replace("__", "."): [value] for name, value in changed.items()}


def test_a_form_that_is_posted_as_it_was_shown_changes_nothing() -> None:
    assert read_draft(TEXT, posted_as_shown(TEXT)).text == TEXT


def test_a_changed_field_changes_its_line_alone() -> None:
    draft = read_draft(TEXT, posted_as_shown(TEXT, actions__0__choose__0__sequence__0__delay="00:00:09"))

    assert draft.text == TEXT.replace("- delay: 5  # a moment", '- delay: "00:00:09"  # a moment')


def test_a_field_that_is_emptied_takes_its_key_out() -> None:
    draft = read_draft(TEXT, posted_as_shown(TEXT, triggers__0__for=""))

    assert draft.text == TEXT.replace("    for: {minutes: 5}\n", "")


def test_cards_are_nested_as_the_automation_is() -> None:
    cards = {card.path: (card.what, card.kind) for card in form_of(read_item(TEXT)).cards()}

    assert cards == {
        "triggers.0": ("trigger", "state"),
        "triggers.1": ("trigger", "time"),
        "conditions": ("condition", "template"),
        "actions.0": ("action", "choose"),
        "actions.0.default.0": ("action", "action"),
        "actions.0.choose.0": ("option", "option"),
        "actions.0.choose.0.conditions.0": ("condition", "state"),
        "actions.0.choose.0.sequence.0": ("action", "delay"),
        "actions.1": ("action", "repeat"),
        "actions.1.repeat.sequence.0": ("action", "delay"),
        "actions.2": ("action", "if"),
        "actions.2.if.0": ("condition", "template"),
        "actions.2.then.0": ("action", "stop"),
    }


def test_what_the_form_cannot_show_is_yaml_and_is_kept() -> None:
    text = "triggers:\n  - triggers: [{trigger: hub, event: start}]\nactions: [{event: x}]\n"

    (card, _) = form_of(read_item(text)).cards()

    assert (card.kind, card.fields[0].kind) == (None, "yaml")
    assert read_draft(text, posted_as_shown(text)).text == text


def test_a_moved_card_takes_its_comments_along() -> None:
    draft = perform(read_draft(TEXT, {}), "down:triggers.0")

    lines = draft.text.splitlines()
    assert lines[3:9] == [
        "  - platform: time",
        '    at: "07:00"',
        "  # the door",
        "  - trigger: state  # eol",
        "    entity_id: binary_sensor.door",
        "    for: {minutes: 5}",
    ]
    assert draft.focus == "triggers.1"


def test_a_card_is_moved_to_a_place_with_its_comments() -> None:
    text = "triggers:\n  # one\n  - trigger: sun\n  - trigger: hub\n  # three\n  - trigger: time\n"

    draft = perform(read_draft(text, {}), "move:triggers.0:2")

    assert draft.text == "triggers:\n  - trigger: hub\n  # three\n  - trigger: time\n  # one\n  - trigger: sun\n"
    assert draft.focus == "triggers.2"
    with pytest.raises(InvalidRequest):
        perform(draft, "move:triggers.0:far")


def test_a_card_is_added_where_the_button_stands() -> None:
    path = "actions.0.choose.0.sequence"

    draft = perform(read_draft(TEXT, {}), f"add:{path}:action:event")

    assert draft.item["actions"][0]["choose"][0]["sequence"] == [{"delay": 5}, {"event": ""}]
    assert "- delay: 5  # a moment" in draft.text
    assert draft.focus == f"{path}.1"


def test_the_first_card_of_a_new_automation_is_written_as_a_block() -> None:
    draft = perform(read_draft("", {"alias": ["Night"]}), "add:triggers:trigger:sun")

    assert draft.text == "alias: Night\ntriggers:\n  - trigger: sun\n"


@pytest.mark.parametrize(
    ("command", "then"),
    [
        (
            "remove:actions.1",
            lambda item: [each for each in item["actions"] if "repeat" not in each] == item["actions"],
        ),
        ("copy:triggers.1", lambda item: item["triggers"][1] == item["triggers"][2]),
        ("switch:actions.2", lambda item: item["actions"][2]["enabled"] is False),
        ("option:actions.0", lambda item: len(item["actions"][0]["choose"]) == 2),
        ("remove:conditions", lambda item: "conditions" not in item),
    ],
)
def test_the_buttons_of_cards_do_what_they_say_and_keep_comments(command: str, then: Any) -> None:
    draft = perform(read_draft(TEXT, {}), command)

    assert then(draft.item)
    assert {"# the door", "# eol", "# a moment", "# keep"} <= {f"#{part}".strip() for part in _comments(draft.text)}


def _comments(text: str) -> list[str]:
    return [line.partition("#")[2].rstrip() for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("command", ["explode:actions.0", "remove:actions.9", "add:actions", "copy:nothing.there.0"])
def test_a_button_that_is_not_there_is_refused(command: str) -> None:
    draft = read_draft(TEXT, {})

    with pytest.raises((InvalidRequest, NotFound)):
        perform(draft, command)


def test_what_is_not_there_cannot_be_moved() -> None:
    draft = read_draft(TEXT, {})

    assert perform(draft, "up:nothing.there.0").text == TEXT


def test_another_kind_keeps_what_it_knows() -> None:
    fields = {"triggers.0:kind": ["numeric_state"]}

    draft = read_draft(TEXT, fields)

    assert draft.item["triggers"][0] == {
        "trigger": "numeric_state",
        "entity_id": "binary_sensor.door",
        "for": {"minutes": 5},
    }


def test_what_means_nothing_is_told_at_its_field_and_stays_as_it_was_typed() -> None:
    draft = read_draft(TEXT, posted_as_shown(TEXT, max="many"))

    assert draft.errors == {"max": "'many' is not a number"}
    assert draft.shown == {"max": "many"}
    assert draft.text == TEXT


def test_problems_of_the_grammar_stand_at_their_field_and_line() -> None:
    text = "alias: A\ntriggers:\n  - trigger: sun\n    event: noon\nactions: []\n"
    problems = problems_of(text)
    form = form_of(read_item(text))

    left = with_errors(form, by_name(problems, catalogue("en")))

    assert [(each.line, each.name) for each in problems] == [(4, "triggers.0.event")]
    assert left == []
    wrong = [control.name for control in form.controls() if control.error]
    assert wrong == ["triggers.0.event"]


def test_text_that_is_no_yaml_is_told_with_its_line() -> None:
    (problem,) = problems_of("alias: A\ntriggers: [\n")

    assert problem.line >= 2
    assert "not valid YAML" in problem.message


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words", "42"])
def test_what_is_no_mapping_is_no_automation(text: str) -> None:
    assert problems_of(text)
    with pytest.raises(InvalidRequest):
        read_item(text)


@pytest.mark.parametrize("what", LISTS)
def test_every_kind_has_a_card(what: str) -> None:
    for kind in kind_names(what):
        assert kind_of(what, fresh(what, kind)) == kind
        assert own_keys(what, kind)["properties"].keys().isdisjoint({"alias", "enabled"})


VALUES = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers(-99, 99)
    | strategies.text("ab ,:{}#'\"-", max_size=6),
    lambda inner: (
        strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.text("ab", min_size=1), inner)
    ),
    max_leaves=5,
)
SCHEMAS = strategies.sampled_from(
    [
        {"type": "string"},
        {"type": "boolean"},
        {"type": "number"},
        {"enum": ["a", "b"]},
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        {"anyOf": [{"enum": ["a", "b"]}, {"type": "array", "items": {"enum": ["a", "b"]}}]},
        {"anyOf": [{"type": ["number", "string"]}, {"type": "object"}]},
        {},
    ]
)


@given(SCHEMAS, VALUES)
@example({"type": "string"}, "{a::")
def test_any_value_can_be_shown_and_yaml_is_read_back_as_it_was(schema: dict[str, Any], value: Any) -> None:
    control = control_of("x", "x", schema, value)

    is_yaml = control.kind == "yaml" and bool(control.shown) and not control.shown.startswith(("{{", "{%"))
    assert not is_yaml or parse_text(control, control.shown) == parse_value(control.shown)
    is_text = not is_yaml and bool(control.shown.strip())
    assert not is_text or str(parse_text(control, control.shown)) not in ("", str(MISSING))


@pytest.mark.parametrize("place", [{}, {"target": {"entity_id": "light.hall"}}, {"entity_id": "light.hall"}])
def test_an_action_has_one_field_for_its_entities(place: dict[str, Any]) -> None:
    form = form_of({"triggers": [], "actions": [{"action": "light.turn_on", **place}]})

    (card,) = (card for card in form.cards() if card.what == "action")
    assert [control.key for control in card.fields].count("entity_id") == 1


# --- scripts ---

SCRIPT = """\
alias: Greet  # kept
fields:
  who:  # the first
    name: Whom
    selector: {text: {}}
  times:
    default: 1
    selector: {number: {min: 1, max: 5, mode: box}}
sequence:
  - event: greeted
"""


def of_script(text: str, **fields: str) -> AutomationDraft:
    """Return the draft of a script's form; `__` stands for a dot and `___` for a colon in the names of fields."""
    names = {name.replace("___", ":").replace("__", "."): value for name, value in fields.items()}
    return read_draft(text, {name: [value] for name, value in names.items()}, shape=SCRIPT_SHAPE)


def test_the_form_of_a_script_has_its_fields_and_its_steps() -> None:
    form = form_of(read_item(SCRIPT), shape=SCRIPT_SHAPE)

    assert [(card.path, card.what, card.kind, card.alias) for card in form.cards()] == [
        ("fields.who", FIELD, "text", "Whom"),
        ("fields.times", FIELD, "number", "times"),
        ("sequence.0", "action", "event", ""),
    ]
    shown = {each.name: each.shown for each in form.controls() if isinstance(each, Control)}
    assert shown["fields.who:key"] == "who"
    assert shown["fields.times.selector.number.max"] == "5"
    assert shown["fields.times.selector.number.mode"] == "box"
    assert [each.name for each in form.fields] == ["alias", "description"]
    posted = {each.name: [each.shown] for each in form.controls() if isinstance(each, Control)}
    assert read_draft(SCRIPT, posted, shape=SCRIPT_SHAPE).text == SCRIPT


def test_a_field_of_a_script_is_changed_and_renamed_in_its_place() -> None:
    draft = of_script(SCRIPT, fields__times__selector__number__max="9", fields__who___key="whom")

    assert draft.errors == {}
    assert list(draft.item["fields"]) == ["whom", "times"]
    assert draft.item["fields"]["whom"]["name"] == "Whom"
    assert draft.item["fields"]["times"]["selector"] == {"number": {"min": 1, "max": 9, "mode": "box"}}
    assert draft.opened == "fields.whom"
    assert read_item(draft.text) == draft.item
    assert "# kept" in draft.text


@pytest.mark.parametrize(("key", "error"), [("1st", NOT_A_NAME), ("a b", NOT_A_NAME), ("times", ALREADY)])
def test_a_field_keeps_its_key_when_another_is_no_name_or_taken(key: str, error: str) -> None:
    draft = of_script(SCRIPT, fields__who___key=key)

    assert draft.text == SCRIPT
    assert (draft.shown, draft.errors) == ({"fields.who:key": key}, {"fields.who:key": error})


def test_a_field_is_asked_for_in_another_way() -> None:
    draft = of_script(SCRIPT, fields__times___kind="select")

    assert draft.item["fields"]["times"] == {"default": 1, "selector": {"select": {}}}
    assert draft.opened == "fields.times"


def test_fields_are_added_under_names_of_their_own_and_removed() -> None:
    draft = perform(of_script("alias: Empty\n"), "add:fields:field:number")
    draft = perform(draft, "add:fields:field:number")

    assert draft.item["fields"] == {"number": {"selector": {"number": {}}}, "number_2": {"selector": {"number": {}}}}
    assert draft.opened == "fields.number_2"
    assert list(perform(draft, "remove:fields.number").item["fields"]) == ["number_2"]
    with pytest.raises(InvalidRequest):
        perform(draft, "add:fields:field:nothing")


def test_a_field_with_a_selector_that_the_form_does_not_know_is_yaml() -> None:
    text = "fields:\n  room:\n    selector: {floor: {}}\n  any:\n"

    kinds = {card.path: card.kind for card in form_of(read_item(text), shape=SCRIPT_SHAPE).cards()}

    assert kinds == {"fields.room": None, "fields.any": "text"}


def test_changes_of_fields_and_steps_are_counted() -> None:
    new = of_script(SCRIPT, fields__who___key="whom", sequence__0__event="met", alias="Meet").item

    assert count_changes(read_item(SCRIPT), new, SCRIPT_SHAPE) == 3


# --- one card as YAML ---


def test_a_card_is_shown_as_yaml_and_taken_back() -> None:
    text = "alias: A\nactions:\n  - delay: 5  # a while\n  - event: x\n"
    shown = perform(read_draft(text, {}), "as_yaml:actions.1")
    (_, card) = form_of(shown.item, None, shown.as_yaml).cards()
    assert (card.as_yaml, card.kind, [each.shown for each in card.fields if isinstance(each, Control)]) == (
        *(True, "event", ["event: x"]),
    )

    draft = read_draft(text, {"as_yaml": ["actions.1"], "actions.1": ["delay: 7"]})

    assert draft.text == text.replace("event: x", "delay: 7")
    assert draft.as_yaml == {"actions.1"}
    assert perform(draft, "as_form:actions.1").as_yaml == frozenset()
    assert perform(draft, "remove:actions.0").as_yaml == frozenset()  # the paths of others may be others now


@pytest.mark.parametrize(
    ("what", "text", "places"),
    [
        ("trigger", "trigger: time\natt: 3\n", [(2, 1, ("att",)), (1, 1, ("at",))]),
        ("condition", "condition: state\n\nentity_id: light.a\nstate: on\nmore: 1", [(5, 1, ("more",))]),
        ("action", "event: pump_on\nevent_data: {percent: 30}", []),
        ("action", "event: [", [(2, 1, ())]),
        ("option", "conditions: []\nsequence:\n  - evnt: a", [(3, 5, ("sequence", 0, "evnt"))]),
        ("field", "- anything: goes", []),
    ],
)
def test_the_problems_of_one_card_stand_at_the_lines_of_its_own_text(
    what: str, text: str, places: list[tuple[int, int, tuple[object, ...]]]
) -> None:
    assert [(each.line, each.column, each.keys) for each in problems_of_card(text, what)] == places
