"""No template made of random pieces raises anything but `TemplateFailed`."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st

from hub.core.clock import ManualClock
from hub.core.events import EventBus
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.template.check import check_template
from hub.template.contract import TemplateFailed
from hub.template.engine import TemplateEngine
from hub.template.environment import TemplateSandbox
from tests.lengths import examples
from tests.template.conftest import BERLIN

STATES = StateMachine(EventBus(TaskOwner("home")))
STATES.set("light.a", "on", {"n": 1})
TEMPLATES = TemplateEngine(STATES, ManualClock(), lambda: BERLIN)
SANDBOX: TemplateSandbox = TEMPLATES._environment()
FILTERS = sorted(name for name in SANDBOX.filters if not name.startswith("_"))
FUNCTIONS = sorted(set(SANDBOX.globals))
TESTS = sorted(name for name in SANDBOX.tests if name.isidentifier())
VARIABLES: dict[str, Any] = {
    "x": 5,
    "s": "a text",
    "l": [1, "b", None],
    "d": {"a": {"b": [1]}},
    "state": STATES.get("light.a"),
}

atoms = st.sampled_from(
    [
        "x",
        "s",
        "l",
        "d",
        "state",
        "nothing",
        "0",
        "1",
        "-1",
        "2.5",
        "1e300",
        "10**9",
        "'abc'",
        "''",
        "'%d'",
        "'{}'",
        "'%Y'",
        "'light.a'",
        "'light'",
        "none",
        "true",
        "[]",
        "{}",
        "()",
        "[1,[2]]",
        "{'a':1}",
        "d.a",
        "l[0]",
        "l[1:]",
        "states",
        "state.attributes",
        "now()",
        "range(5)",
        "'a'*9",
        "namespace(a=1)",
        "loop",
        "varargs",
    ]
)


def operations(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    names = st.sampled_from(
        [
            "a",
            "b",
            "n",
            "state",
            "upper",
            "items",
            "get",
            "format",
            "join",
            "replace",
            "split",
            "__class__",
            "entity_id",
            "hour",
        ]
    )
    arguments = st.lists(inner, max_size=3).map(", ".join)
    return st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "in", "and", "or"]), inner
        ).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, st.sampled_from(FILTERS), arguments).map(lambda t: f"({t[0]} | {t[1]}({t[2]}))"),
        st.tuples(inner, st.sampled_from(FILTERS), arguments).map(lambda t: f"(({t[0]} | map('{t[1]}')) | list)"),
        st.tuples(inner, st.sampled_from(TESTS), arguments).map(lambda t: f"({t[0]} is {t[1]}({t[2]}))"),
        st.tuples(inner, st.sampled_from(TESTS)).map(lambda t: f"({t[0]} | select('{t[1]}') | list)"),
        st.tuples(st.sampled_from(FUNCTIONS), arguments).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, names).map(lambda t: f"({t[0]}).{t[1]}"),
        st.tuples(inner, names, arguments).map(lambda t: f"({t[0]}).{t[1]}({t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]})[{t[1]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"[{t[0]}, {t[1]}]"),
        st.tuples(inner, inner).map(lambda t: f"{{{t[0]}: {t[1]}}}"),
    )


expressions = st.recursive(atoms, operations, max_leaves=6)


def statements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(expressions, inner).map(lambda t: f"{{% for x in {t[0]} %}}{t[1]}{{% endfor %}}"),
        st.tuples(expressions, inner).map(
            lambda t: f"{{% for x in {t[0]} recursive %}}{t[1]}{{{{ loop(x) }}}}{{% endfor %}}"
        ),
        st.tuples(expressions, inner).map(lambda t: f"{{% if {t[0]} %}}{t[1]}{{% endif %}}"),
        st.tuples(expressions, inner).map(lambda t: f"{{% set x = {t[0]} %}}{t[1]}"),
        st.tuples(inner, expressions).map(lambda t: f"{{% macro m(x) %}}{t[0]}{{% endmacro %}}{{{{ m({t[1]}) }}}}"),
        st.tuples(inner, inner).map("".join),
    )


templates = st.recursive(expressions.map(lambda text: f"{{{{ {text} }}}}"), statements, max_leaves=4)
noise = st.text(alphabet="{}%#|()[]'\".,:=+-*/~ \nabx01_\\forinifendset", max_size=60)


@settings(max_examples=examples(300), deadline=None)
@given(templates)
def test_a_template_of_random_pieces_renders_or_fails_as_a_template(text: str) -> None:
    try:
        TEMPLATES.compile(text).render(VARIABLES)
    except TemplateFailed:
        return


@settings(max_examples=examples(300), deadline=None)
@given(noise)
def test_noise_renders_or_fails_as_a_template(text: str) -> None:
    for form in (text, f"{{{{ {text} }}}}", f"{{% {text} %}}"):
        try:
            TEMPLATES.compile(form).render(VARIABLES)
        except TemplateFailed:
            return


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(templates, noise))
def test_the_check_always_answers(text: str) -> None:
    answer = check_template(text)

    assert answer is None or answer


@settings(max_examples=examples(100), deadline=None)
@given(
    st.recursive(
        st.one_of(templates, st.integers(), st.none()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=5,
    )
)
def test_any_value_renders_or_fails_as_a_template(value: Any) -> None:
    compiled = TEMPLATES.compile_value(value, "value")
    try:
        compiled.render(VARIABLES)
    except TemplateFailed:
        return
