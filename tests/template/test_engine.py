"""Compiling once, rendering often, errors that say where, and functions that take their time."""

# ruff: noqa: E501 - a template and what it gives stand on one line
from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import NotFound
from hub.core.states import StateMachine
from hub.template.contract import TemplateFailed
from hub.template.engine import Template, TemplateEngine
from hub.template.work import TemplateLimits
from tests.template.conftest import BERLIN, Render


def test_the_result_is_text_when_asked(templates: TemplateEngine) -> None:
    template = templates.compile(" {{ 1 + 1 }}\n")

    assert template.render({}, parse_result=False) == "2"
    assert template.render({}) == 2


def test_a_variable_is_never_rendered_again(render: Render) -> None:
    assert render("{{ said }}", said="{{ 1 + 1 }}") == "{{ 1 + 1 }}"
    assert render("{{ said ~ '}' }}", said="{{ now() }") == "{{ now() }}"


def test_a_variable_may_have_the_name_of_a_function(render: Render) -> None:
    assert render("{{ states }} {{ e }}", states="mine", e=5) == "mine 5"


def test_a_template_is_compiled_once_for_each_text(templates: TemplateEngine) -> None:
    one = templates.compile("{{ 1 }}", "a").compiled()
    other = templates.compile("{{ 1 }} ", "b").compiled()

    assert one is other


def test_a_broken_template_is_told_when_it_is_rendered(templates: TemplateEngine) -> None:
    template = templates.compile("{{ 1 +", "automation morning")

    for _ in range(2):
        with pytest.raises(TemplateFailed, match="automation morning"):
            template.render({})


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("{{ nothing.x }}", 1, "'nothing' is undefined"),
        ("a\n\n{{ nothing + 1 }}", 3, "'nothing' is undefined"),
        ("{{ trigger.event.x.y }}", 1, "'dict object' has no attribute 'x'"),
        ("{% if true %}\n{{ 1 / 0 }}\n{% endif %}", 2, "division by zero"),
        ("{% macro m() %}\n\n{{ nothing.x }}{% endmacro %}\n{{ m() }}", 3, "'nothing' is undefined"),
        ("a\n{{ x|uper }}", 2, "there is no filter uper; did you mean upper?"),
        ("a\n{% if x %}", 2, "Unexpected end of template"),
    ],
)
def test_an_error_names_template_line_and_variable(render: Render, text: str, line: int, reason: str) -> None:
    with pytest.raises(TemplateFailed) as failure:
        render(text, trigger={"event": {}})

    assert failure.value.line == line
    assert reason in failure.value.message
    assert "automation morning" in failure.value.message
    assert failure.value.details["line"] == line
    assert failure.value.code == "TEMPLATE_FAILED"


def test_an_error_shows_no_more_than_the_beginning_of_a_long_template() -> None:
    error = TemplateFailed("broken", text="{{ x }}\n" * 100, name="script a")

    assert "script a" in error.message
    assert len(error.message) < 160


def test_what_is_undefined_is_empty_and_told_once(render: Render, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="hub.template"):
        results = [render("a\n[{{ nothing }}]") for _ in range(3)]

    assert results == ["a\n[]"] * 3
    assert len(caplog.records) == 1
    assert "'nothing' is undefined" in caplog.text
    assert "line 2" in caplog.text
    assert "automation morning" in caplog.text


@pytest.mark.parametrize("text", ["{{ x is defined }}", "{{ x | default('') }}", "{{ x | float(0) }}", "{{ 1 }}"])
def test_what_is_asked_for_with_care_is_not_told(render: Render, caplog: pytest.LogCaptureFixture, text: str) -> None:
    with caplog.at_level(logging.WARNING, logger="hub.template"):
        render(text)

    assert not caplog.records


def test_functions_of_the_hub_can_be_called(states: StateMachine, clock: ManualClock) -> None:
    templates = TemplateEngine(states, clock, lambda: BERLIN, {"session": lambda key: {"key": key, "turns": 3}})

    assert templates.compile("{{ session('main').turns }}").render({}) == 3


@pytest.mark.parametrize(
    ("given", "received"),
    [
        ("'x', [1, (2, 3)]", ["x", [1, [2, 3]]]),
        ("{'a': range(2)}, [1] | map('string')", [{"a": [0, 1]}, ["1"]]),
        ("(states.light.kitchen).state, now().year", ["on", 2026]),
        ("states, version('1.2')", ["<all states>", "1.2"]),
    ],
)
def test_functions_of_the_hub_get_plain_data(
    states: StateMachine, clock: ManualClock, given: str, received: list[Any]
) -> None:
    got: list[Any] = []
    templates = TemplateEngine(states, clock, lambda: BERLIN, {"take": lambda *args: got.extend(args)})

    templates.compile(f"{{{{ take({given}) }}}}").render({})

    assert got == received


def test_a_state_is_handed_to_functions_of_the_hub_as_a_mapping(states: StateMachine, clock: ManualClock) -> None:
    got: list[Any] = []
    templates = TemplateEngine(states, clock, lambda: BERLIN, {"take": got.append})

    templates.compile("{{ take([states.light.hall, s]) }}").render({"s": states.get("light.kitchen")})

    assert [each["entity_id"] for each in got[0]] == ["light.hall", "light.kitchen"]


def test_what_is_undefined_is_not_handed_to_functions_of_the_hub(states: StateMachine, clock: ManualClock) -> None:
    got: list[Any] = []
    templates = TemplateEngine(states, clock, lambda: BERLIN, {"take": got.append})

    with pytest.raises(TemplateFailed, match="'nothing' is undefined"):
        templates.compile("{{ take([nothing]) }}").render({})
    assert got == []


def test_a_function_of_the_hub_that_returns_more_than_plain_data_fails(
    states: StateMachine, clock: ManualClock
) -> None:
    templates = TemplateEngine(states, clock, lambda: BERLIN, {"leak": lambda: [clock]})

    with pytest.raises(TemplateFailed, match="is not plain data"):
        templates.compile("{{ leak() }}").render({})


def test_a_failing_function_of_the_hub_is_a_failed_template(states: StateMachine, clock: ManualClock) -> None:
    def session(key: str) -> Any:
        raise NotFound(f"there is no session {key}")

    templates = TemplateEngine(states, clock, lambda: BERLIN, {"session": session})

    with pytest.raises(TemplateFailed, match="there is no session main"):
        templates.compile("{{ session('main') }}").render({})


class Memory:
    """A memory that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    async def search(self, query: str, limit: int = 5) -> list[Mapping[str, Any]]:
        self.asked.append((query, limit))
        await asyncio.sleep(0)
        if query == "broken":
            raise NotFound("no index")
        return [{"text": f"{query} {number}"} for number in range(limit)]


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def remembering(states: StateMachine, clock: ManualClock, memory: Memory) -> TemplateEngine:
    return TemplateEngine(states, clock, lambda: BERLIN, deferred={"memory_search": memory.search})


async def test_a_function_that_takes_its_time_is_awaited(remembering: TemplateEngine, memory: Memory) -> None:
    text = "{{ memory_search('cat', limit=2) | map(attribute='text') | list }}"

    assert await remembering.render_async(text, {}) == ["cat 0", "cat 1"]
    assert memory.asked == [("cat", 2)]


async def test_an_answer_can_lead_to_the_next_question(remembering: TemplateEngine, memory: Memory) -> None:
    text = "{% set first = memory_search('cat')[1].text %}{{ memory_search(first)[0].text }}{{ memory_search('cat')[0].text }}"

    assert await remembering.render_async(text, {}) == "cat 1 0cat 0"
    assert memory.asked == [("cat", 5), ("cat 1", 5)]


async def test_each_rendering_asks_anew(remembering: TemplateEngine, memory: Memory) -> None:
    template = remembering.compile("{{ memory_search('cat') | length }}")

    results = [await remembering.render_async(template, {}) for _ in range(2)]

    assert results == [5, 5]
    assert len(memory.asked) == 2


async def test_too_many_questions_are_refused(remembering: TemplateEngine, memory: Memory) -> None:
    text = "{% for i in range(50) %}{{ memory_search('q' ~ i) }}{% endfor %}"

    with pytest.raises(TemplateFailed, match="more than 8 rounds"):
        await remembering.render_async(text, {})
    assert len(memory.asked) == 8


async def test_a_failing_question_is_told(remembering: TemplateEngine) -> None:
    with pytest.raises(TemplateFailed, match="memory_search failed: no index"):
        await remembering.render_async(remembering.compile("{{ memory_search('broken') }}", "script a"), {})


async def test_a_wrongly_asked_question_is_told(remembering: TemplateEngine) -> None:
    with pytest.raises(TemplateFailed, match="memory_search failed"):
        await remembering.render_async("{{ memory_search(nope=1) }}", {})


def test_a_function_that_takes_its_time_is_refused_where_nothing_waits(remembering: TemplateEngine) -> None:
    with pytest.raises(TemplateFailed, match="actions and conditions"):
        remembering.compile("{{ memory_search('cat') }}").render({})


async def test_a_cancelled_question_cancels_the_rendering(states: StateMachine, clock: ManualClock) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    templates = TemplateEngine(states, clock, lambda: BERLIN, deferred={"wait": wait})
    task = asyncio.create_task(templates.render_async("{{ wait() }}", {}))
    await started.wait()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_a_value_without_templates_is_returned_as_it_is(templates: TemplateEngine) -> None:
    value = {"a": [1, "text", {"b": None}]}
    compiled = templates.compile_value(value)

    assert compiled.is_static
    assert compiled.render({}) is value


def test_templates_anywhere_in_a_value_are_rendered(templates: TemplateEngine) -> None:
    value = {
        "{{ k }}": "{{ v }}",
        "list": ["{{ v }}", 2, {"deep": "x{{ v }}"}],
        "fixed": "{ v }",
        "tuple": ("{{ v }}",),
    }

    rendered = templates.render_value(value, {"k": "key", "v": 7})

    assert rendered == {"key": 7, "list": [7, 2, {"deep": "x7"}], "fixed": "{ v }", "tuple": [7]}


async def test_templates_in_a_value_may_take_their_time(remembering: TemplateEngine) -> None:
    value = {"message": "{{ memory_search('cat', 1)[0].text }}", "fixed": 1}
    compiled = remembering.compile_value(value)

    assert not compiled.is_static
    assert await compiled.render_async({}) == {"message": "cat 0", "fixed": 1}


def test_an_error_in_a_value_names_its_path(templates: TemplateEngine) -> None:
    with pytest.raises(TemplateFailed, match=r"actions\[0\]\.data\.items\[1\]"):
        templates.render_value({"items": ["a", "{{ nothing.x }}"]}, {}, "actions[0].data")


def test_a_value_nested_too_deeply_is_refused(templates: TemplateEngine) -> None:
    value: Any = "{{ 1 }}"
    for _ in range(60):
        value = [value]

    with pytest.raises(TemplateFailed, match="nested"):
        templates.compile_value(value)


def test_truth_is_that_of_home_assistant(templates: TemplateEngine) -> None:
    assert templates.as_bool("on")
    assert not templates.as_bool("perhaps")


def test_a_rendering_inside_a_function_leaves_the_outer_one_alone(states: StateMachine, clock: ManualClock) -> None:
    inner: list[Template] = []
    templates = TemplateEngine(states, clock, lambda: BERLIN, {"inner": lambda: inner[0].render({})})
    inner.append(templates.compile("{{ states('light.hall') }}"))

    value, info = templates.compile("{{ inner() }}{{ states('light.kitchen') }}").render_info({})

    assert value == "offon"
    assert info.entities == {"light.kitchen"}


def test_the_bounds_can_be_set(states: StateMachine, clock: ManualClock) -> None:
    templates = TemplateEngine(states, clock, lambda: BERLIN, limits=TemplateLimits(output_chars=10))

    with pytest.raises(TemplateFailed, match="more than 10 characters"):
        templates.compile("{{ 'x' * 11 }}").render({})
