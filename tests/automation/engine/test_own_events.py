"""No event of the hub can be made up: the sources are read for what it fires."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hub.automation.engine.own_events import TRIED_EVENTS, is_own, refuse_own
from hub.core.context import SYSTEM, Authority
from hub.core.errors import InvalidRequest

CHECKOUT = Path(__file__).parents[3]


def fired() -> Iterator[tuple[str, str]]:
    """Each event type that a call of `fire` in the program names, with its file."""
    for folder in ("hub", "integrations", "web"):
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if ".fire(" not in text:
                continue
            tree = ast.parse(text)
            constants = _constants(tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (module := _source(node.module)) is not None:
                    theirs = _constants(ast.parse(module.read_text(encoding="utf-8")))
                    constants |= {each.asname or each.name: theirs.get(each.name) for each in node.names}
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fire":
                    type = _type_of(node, constants)
                    if type is not None:
                        yield path.relative_to(CHECKOUT).as_posix(), type


def _constants(tree: ast.Module) -> dict[str, object]:
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _source(module: str | None) -> Path | None:
    """Return the file of a module of ours."""
    path = CHECKOUT / f"{(module or '').replace('.', '/')}.py"
    return path if path.is_file() else None


def _type_of(call: ast.Call, constants: Mapping[str, object]) -> str | None:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    if isinstance(first, ast.Name) and isinstance(constants.get(first.id), str):
        return str(constants[first.id])
    return None


def test_every_event_that_the_hub_fires_is_known() -> None:
    found = list(fired())

    imported = {"person_notified", "mqtt_topic_wanted"}
    assert {"state_changed", "run_started", "message_received", *imported} <= {type for _, type in found}
    assert [each for each in found if not is_own(each[1]) and each[1] not in TRIED_EVENTS] == []


@pytest.mark.parametrize("type", ["state_changed", "run_anything", "hub_started", "automation_triggered"])
def test_what_is_the_hubs_is_refused_to_everybody(type: str) -> None:
    with pytest.raises(InvalidRequest, match=type):
        refuse_own(type, SYSTEM)


def test_what_automations_alone_act_on_is_for_owners() -> None:
    for type in TRIED_EVENTS:
        refuse_own(type, SYSTEM)
        with pytest.raises(InvalidRequest, match="owner"):
            refuse_own(type, Authority("token:x"))


@pytest.mark.parametrize("type", ["bell_pressed", "runner_came", "state", "hub"])
def test_everything_else_may_be_made_up(type: str) -> None:
    refuse_own(type, Authority("token:x"))
