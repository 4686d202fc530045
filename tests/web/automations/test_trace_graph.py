"""The graph of a trace: which boxes there are, which are lit, and that none lies on another."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies

from web.automations.trace_graph import HEIGHT, WIDTH, Graph, graph_of

CONFIG: dict[str, Any] = {
    "triggers": [{"trigger": "event", "index": "0"}, {"trigger": "time", "index": "1"}],
    "conditions": [{"condition": "state", "entity_id": ["light.hall"]}],
    "actions": [
        {"event": "one"},
        {
            "choose": [
                {"conditions": [{"condition": "template"}], "sequence": [{"event": "a"}]},
                {"conditions": [], "sequence": [{"event": "b"}]},
            ],
            "default": [{"stop": "no"}],
        },
        {"repeat": {"count": 3, "sequence": [{"delay": 1}]}},
        {"parallel": [{"sequence": [{"event": "p"}]}, {"sequence": [{"event": "q"}]}]},
        {"if": [{"condition": "template"}], "then": [{"event": "t"}]},
    ],
}


def entry(**values: Any) -> list[dict[str, Any]]:
    return [{"started": "2026-01-01T00:00:00+00:00", "duration_ms": 1, **values}]


STEPS = {
    "condition/0": entry(result={"holds": True}),
    "action/0": entry(),
    "action/1": entry(),
    "action/1/choose/0": entry(result={"holds": False}),
    "action/1/choose/0/conditions/0": entry(result={"holds": False}),
    "action/1/choose/1": entry(result={"holds": True}),
    "action/1/choose/1/sequence/0": entry(error="no such thing"),
    "action/2/repeat/sequence/0": [*entry(), *entry(skipped=4)],
}


def states(graph: Graph) -> dict[str, str]:
    return {box.path: box.state for box in graph.boxes}


def test_what_was_reached_is_lit_and_what_was_not_is_there() -> None:
    found = states(graph_of(CONFIG, STEPS, "1"))

    assert found["trigger/0"] == "unreached"
    assert found["trigger/1"] == "done"
    assert found["condition/0"] == "done"
    assert found["action/1/choose/0"] == "refused"
    assert found["action/1/choose/1/sequence/0"] == "failed"
    assert found["action/1/default/0"] == "unreached"
    assert found["action/4/then/0"] == "unreached"
    assert found["action/3/parallel/1/sequence/0"] == "unreached"


def test_a_box_counts_how_often_it_was_reached() -> None:
    graph = graph_of(CONFIG, STEPS, None)

    assert {box.path: box.count for box in graph.boxes}["action/2/repeat/sequence/0"] == 6


def test_a_script_has_a_graph_too() -> None:
    graph = graph_of({"sequence": [{"event": "a"}, {"delay": 5400.0}]}, {"sequence/0": entry()}, None)

    assert states(graph) == {"sequence/0": "done", "sequence/1": "unreached"}
    assert [box.label for box in graph.boxes][1] == "wait 1 h 30 min"


def test_a_line_is_lit_where_the_run_went() -> None:
    graph = graph_of(
        {"actions": [{"event": "a"}, {"event": "b"}, {"event": "c"}]}, {"action/0": entry(), "action/1": entry()}, None
    )

    assert [line.lit for line in graph.lines] == [True, False]


def test_nothing_that_ran_makes_an_empty_sheet() -> None:
    assert graph_of({}, {}, None).boxes == []


def test_a_damaged_configuration_makes_no_error() -> None:
    graph = graph_of(
        {"triggers": ["x"], "conditions": "{{ 1 }}", "actions": [None, {"repeat": 3}, {"choose": 5}]}, {}, None
    )

    assert len(graph.boxes) >= 3


LEAF = strategies.sampled_from([{"event": "x"}, {"delay": 1}, {"stop": "x"}])
STEP = strategies.recursive(
    LEAF,
    lambda inner: strategies.one_of(
        strategies.builds(
            lambda one, two: {"if": [{"condition": "template"}], "then": one, "else": two},
            strategies.lists(inner, max_size=3),
            strategies.lists(inner, max_size=2),
        ),
        strategies.builds(
            lambda ways: {"choose": [{"conditions": [], "sequence": way} for way in ways]},
            strategies.lists(strategies.lists(inner, max_size=2), max_size=3),
        ),
        strategies.builds(lambda way: {"repeat": {"count": 2, "sequence": way}}, strategies.lists(inner, max_size=3)),
        strategies.builds(
            lambda ways: {"parallel": [{"sequence": way} for way in ways]},
            strategies.lists(strategies.lists(inner, max_size=2), max_size=3),
        ),
    ),
    max_leaves=12,
)


@given(strategies.lists(STEP, max_size=5))
def test_no_box_lies_on_another_and_all_are_on_the_sheet(actions: list[Any]) -> None:
    graph = graph_of({"triggers": [{"trigger": "event"}] * 2, "actions": actions}, {}, "0")

    shown = [box.as_dict() for box in graph.boxes]
    for index, one in enumerate(shown):
        assert 0 <= one["x"] <= graph.width - one["width"]
        assert 0 <= one["y"] <= graph.height - one["height"]
        for other in shown[index + 1 :]:
            apart = abs(one["x"] - other["x"]) >= one["width"] or abs(one["y"] - other["y"]) >= one["height"]
            assert apart, (one["path"], other["path"])
    assert len({box["path"] for box in shown}) == len(shown)


def test_a_way_that_was_refused_does_not_lead_on() -> None:
    choose = {"choose": [{"conditions": [{"condition": "template"}], "sequence": []}], "default": [{"event": "b"}]}
    steps = {
        "action/0": entry(),
        "action/0/choose/0": entry(result={"holds": False}),
        "action/0/choose/0/conditions/0": entry(result={"holds": False}),
        "action/0/default/0": entry(),
    }

    graph = graph_of({"actions": [choose]}, steps, None)

    boxes = {box.path: box for box in graph.boxes}
    refused, taken = boxes["action/0/choose/0/conditions/0"], boxes["action/0/default/0"]
    leaving = {line.x1: line.lit for line in graph.lines if line.y1 in (refused.y + HEIGHT, taken.y + HEIGHT)}
    assert leaving[refused.x + WIDTH / 2] is False
    assert leaving[taken.x + WIDTH / 2] is True


def test_a_step_that_still_runs_is_not_shown_as_done() -> None:
    steps = {"action/0": entry(), "action/1": entry(duration_ms=None), "action/2": entry(duration_ms=None, error="no")}

    found = states(graph_of({"actions": [{"event": "one"}, {"delay": 1}, {"delay": 2}]}, steps, None))

    assert found == {"action/0": "done", "action/1": "running", "action/2": "failed"}
