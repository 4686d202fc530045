"""and, or, not: what holds, why, and what an error means where the others decide."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.automation.definition.fields import conditions
from hub.automation.definition.kinds import OUR_KINDS
from hub.automation.running.evaluate import (
    ConditionError,
    check_all,
    check_all_later,
    evaluate,
    evaluate_later,
    is_sync,
)
from tests.automation.ground import asking, make_parts

TRUE: dict[str, Any] = {"condition": "state", "entity_id": "light.hall", "state": "on"}
FALSE: dict[str, Any] = {"condition": "state", "entity_id": "light.hall", "state": "off"}
BROKEN: dict[str, Any] = {"condition": "state", "entity_id": "light.nowhere", "state": "on"}
ASKED: dict[str, Any] = {"condition": "agent", "question": "Is it so?"}
LEAVES = {"true": TRUE, "false": FALSE, "broken": BROKEN, "disabled": {**FALSE, "enabled": False}}


def verdict(raw: Any) -> Any:
    parts = make_parts()
    parts.states.set("light.hall", "on")
    (valid,) = conditions(raw)
    return evaluate(valid, asking(parts))


@pytest.mark.parametrize(
    ("raw", "holds"),
    [
        ({"and": [TRUE, TRUE]}, True),
        ({"and": [TRUE, FALSE]}, False),
        ({"and": [BROKEN, FALSE]}, False),
        ({"and": [{**FALSE, "enabled": False}]}, True),
        ({"or": [FALSE, TRUE]}, True),
        ({"or": [BROKEN, TRUE]}, True),
        ({"or": [FALSE, FALSE]}, False),
        ({"or": [{**TRUE, "enabled": False}]}, False),
        ({"not": [FALSE, FALSE]}, True),
        ({"not": [FALSE, TRUE]}, False),
        ({"not": [BROKEN, TRUE]}, False),
        ({"condition": "and", "conditions": [{"or": [FALSE, TRUE]}, {"not": FALSE}]}, True),
    ],
)
def test_logic_is_that_of_home_assistant(raw: Any, holds: bool) -> None:
    assert verdict(raw).holds is holds


@pytest.mark.parametrize("raw", [{"and": [TRUE, BROKEN]}, {"or": [FALSE, BROKEN]}, {"not": [FALSE, BROKEN]}])
def test_an_error_that_decides_is_told_with_its_path(raw: Any) -> None:
    with pytest.raises(ConditionError) as caught:
        verdict(raw)

    assert caught.value.message == "condition/conditions/1: there is no entity light.nowhere"
    assert list(caught.value.children) == ["conditions/0"]


def test_the_reason_is_that_of_the_first_that_does_not_hold() -> None:
    found = verdict({"and": [TRUE, {"or": [FALSE, FALSE]}, BROKEN]})

    assert found.reason == "light.hall is on, not off and light.hall is on, not off"
    assert set(found.children) == {"conditions/0", "conditions/1"}
    assert found.children["conditions/1"].children["conditions/0"].holds is False


def test_a_list_of_conditions_is_asked_until_one_does_not_hold() -> None:
    parts = make_parts()
    parts.states.set("light.hall", "on")

    found = check_all(conditions([TRUE, FALSE, BROKEN]), asking(parts))

    assert (found.holds, found.reason, list(found.children)) == (False, "light.hall is on, not off", ["0", "1"])


def test_no_conditions_hold() -> None:
    assert check_all([], asking(make_parts())).holds is True


def test_whether_a_model_must_be_waited_for_is_known_beforehand() -> None:
    assert is_sync(conditions([TRUE, {"or": [TRUE, {"not": FALSE}]}]), OUR_KINDS)
    assert not is_sync(conditions([TRUE, {"or": [TRUE, {"not": ASKED}]}]), OUR_KINDS)


def test_what_must_be_waited_for_is_refused_where_nobody_waits() -> None:
    (valid,) = conditions(ASKED)

    with pytest.raises(ConditionError, match="takes time to evaluate"):
        evaluate(valid, asking(make_parts()))


async def test_later_gives_the_same_as_at_once() -> None:
    parts = make_parts()
    parts.states.set("light.hall", "on")
    valid = conditions([TRUE, {"or": [FALSE, TRUE]}])

    assert await check_all_later(valid, asking(parts)) == check_all(valid, asking(parts))


async def test_a_model_is_not_asked_when_the_others_decide() -> None:
    parts = make_parts()
    parts.states.set("light.hall", "on")
    (valid,) = conditions({"and": [FALSE, ASKED]})

    found = await evaluate_later(valid, asking(parts))

    assert list(found.children) == ["conditions/0"]


def trees() -> st.SearchStrategy[Any]:
    return st.recursive(
        st.sampled_from(sorted(LEAVES)),
        lambda below: st.tuples(st.sampled_from(["and", "or", "not"]), st.lists(below, min_size=1, max_size=4)),
        max_leaves=12,
    )


def written(tree: Any) -> Any:
    if isinstance(tree, str):
        return LEAVES[tree]
    return {"condition": tree[0], "conditions": [written(each) for each in tree[1]]}


def expected(tree: Any) -> str:
    """Home Assistant's table, independently: true, false, disabled or broken."""
    if isinstance(tree, str):
        return tree
    word, below = tree
    values = [expected(each) for each in below]
    if ("false" if word == "and" else "true") in values:
        return "true" if word == "or" else "false"
    if "broken" in values:
        return "broken"
    return "false" if word == "or" else "true"


@given(tree=trees())
def test_any_tree_gives_what_the_table_says(tree: Any) -> None:
    parts = make_parts()
    parts.states.set("light.hall", "on")
    (valid,) = conditions(written(tree))

    try:
        found = "true" if evaluate(valid, asking(parts)).holds else "false"
    except ConditionError:
        found = "broken"

    assert found == expected(tree).replace("disabled", "true")
