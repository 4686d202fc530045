"""No template takes more time, memory or room than it may."""

# ruff: noqa: E501 - a template and what it gives stand on one line
from __future__ import annotations

import time
import tracemalloc

import pytest

from hub.core.clock import ManualClock
from hub.core.states import StateMachine
from hub.template.contract import TemplateFailed
from hub.template.engine import TemplateEngine
from hub.template.work import TemplateLimits, Work
from tests.template.conftest import BERLIN, Render

MEMORY_BYTES = 50_000_000
BIG = "x" * 200_000

TEXTS = r"""
{{ 'a' * 300000 }}
{{ ('a' * 200000) ~ ('b' * 200000) }}
{{ ('a' * 200000) + ('b' * 200000) }}
{% set ns = namespace(s='aaaaaaaaaa') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}
{% set ns = namespace(s='aaaaaaaaaa') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}
{% for i in range(100000) %}{% set x = big ~ i %}{% endfor %}
{% for i in range(100000) %}{% set x = big[1:] %}{% endfor %}
{% for i in range(100000) %}{{ big }}{% endfor %}
{% set x %}{% for i in range(100000) %}{{ big }}{% endfor %}{% endset %}
{% filter upper %}{% for i in range(100000) %}{{ big }}{% endfor %}{% endfilter %}
{% for i in range(90000) %}a fixed text that is repeated without end, again and again{% endfor %}
{% set x %}{% for i in range(90000) %}a fixed text that is repeated without end, again and again{% endfor %}{% endset %}
{% macro m() %}a fixed text that is repeated, again and again{% endmacro %}{% for i in range(90000) %}{{ m() }}{% endfor %}
{{ big.center(10 ** 9) }}
{{ 'a' | center(10 ** 9) }}
{{ 'a'.ljust(10 ** 9) }}{{ 'a'.zfill(10 ** 9) }}
{{ 'a\nb' | indent(10 ** 9) }}
{{ ('\n' * 100000) | indent(1000, true, true) }}
{{ ('a' * 1000) | replace('', big) }}
{{ ('a' * 1000).replace('a', big) }}
{{ big.join(['a'] * 1000) }}
{{ (['a'] * 1000) | join(big) }}
{{ ('%(a)s' * 1000) | format(a=big) }}
{{ ('%(a)s' * 1000) % {'a': big} }}
{{ '%1000000000d' % 1 }}
{{ '%((a))1000000000d' % {'(a)': 1} }}
{{ '%.1000000000f' % 1 }}
{{ '%%%-01000000000d' % 1 }}
{{ '%*d' % (1000000000, 1) }}
{{ '%1000000000d' | format(1) }}
{{ ('{0}' * 1000).format(big) }}
{{ '{:>1000000000}'.format('a') }}
{{ '{:.1000000000f}'.format(1.0) }}
{{ '{:{w}}'.format('a', w=1000000000) }}
{{ '{a:1000000000}'.format_map({'a': 1}) }}
{{ big | wordwrap(1) }}
{{ ('<' * 100000) | striptags }}
{{ ('a' * 200000).rfind('b' + 'a' * 100000) }}
{{ ('a' * 200000).rsplit('b' + 'a' * 100000) }}
{{ now().strftime('%1000000000d') }}
{{ now().strftime('%d' * 10000) }}
{{ '{:%1000000000d}'.format(now()) }}
{{ 0 | timestamp_custom('%_9999999d') }}
{{ pack(1, '1000000000x') }}
{{ strptime('1' * 100000, '%Y') }}
{{ as_datetime('9' * 100000) }}
{{ version('9' * 100000) }}
{{ ('é' * 200000) | urlencode }}
""".strip().splitlines()
VALUES = r"""
{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}
{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}
{% set ns = namespace(s=(1,)) %}{% for i in range(100) %}{% set ns.s = (ns.s, ns.s) %}{% endfor %}{{ {ns.s: 1} }}
{% set ns = namespace(s={}) %}{% for i in range(100) %}{% set ns.s = {'a': ns.s, 'b': ns.s} %}{% endfor %}
{% set ns = namespace(s=[]) %}{% for i in range(100000) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s }}
{% set ns = namespace(s=[1]) %}{% for i in range(30) %}{% set ns.s = [ns.s] + [ns.s] %}{% endfor %}{{ ns.s }}
{% macro m() %}{{ m(varargs, varargs) }}{% endmacro %}{{ m(1) }}
{% macro m(d) %}{% if d %}{{ m(d - 1, varargs, varargs) }}{% else %}{{ varargs }}{% endif %}{% endmacro %}{{ m(35, 1) }}
{% macro m(d) %}{% if d %}{{ m(d - 1, varargs, varargs) }}{% else %}{{ {varargs: 1} }}{% endif %}{% endmacro %}{{ m(35, 1) }}
{% macro m(d) %}{% if d %}{{ m(d - 1, varargs, varargs) }}{% else %}{{ {}[varargs] }}{% endif %}{% endmacro %}{{ m(35, 1) }}
{% macro m(d) %}{% if d %}{{ m(d - 1, varargs, varargs) }}{% else %}{{ varargs == 1 + d }}{% endif %}{% endmacro %}{{ m(35, 1) }}
{% macro m(d) %}{% if d %}{{ m(d - 1, varargs, varargs) }}{% else %}{{ varargs in {} }}{% endif %}{% endmacro %}{{ m(35, 1) }}
{{ [[1] * 1000] * 1000 }}
{{ [0] * 10 ** 9 }}
{{ 10 ** 9 * [0] }}
{{ (0,) * 10 ** 9 }}
{{ big | list }}
{{ range(10 ** 18) | list }}
{{ range(-(10 ** 18), 0) }}
{{ range(90000) | list }}
{{ [1] | batch(10 ** 9, 'x') | list }}
{{ [1] | slice(10 ** 9) | list }}
{{ [1] | slice(10 ** 9, 'x') | list }}
{{ 2 ** 100000 }}
{% set ns = namespace(n=7) %}{% for i in range(100) %}{% set ns.n = ns.n * ns.n %}{% endfor %}
{{ 1 | round(-1000000000) }}
{{ 1 | round(1000000000, 'floor') }}
{{ ('9' * 5000) | int }}
{{ cyclic }}
{{ cyclic == cyclic }}
{{ cyclic | to_json }}
{{ cyclic | flatten }}
{{ [cyclic] }}
{{ (0, cyclic) in {} }}
{{ from_json('[' * 100000) }}
""".strip().splitlines()
WORK = r"""
{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}
{% for i in range(90000) if false %}{% endfor %}{% for i in range(90000) if false %}{% endfor %}{% for i in range(90000) if false %}{% endfor %}
{{ range(90000) | map('string') | map('upper') | map('lower') | list }}
{{ range(90000) | select('none') | first }}{{ range(90000) | reject('number') | list }}{{ range(90000) | select('none') | list }}
{% for i in range(90000) %}{% for x in range(90000) | select('none') %}{% endfor %}{% endfor %}
{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}
{% macro m(d) %}{% if d %}{{ m(d - 1) }}{{ m(d - 1) }}{% endif %}{% endmacro %}{{ m(30) }}
{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}
{% macro m(returns) %}{% do returns(as_function(m)()) %}{% endmacro %}{{ as_function(m)() }}
{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}
{% for i in [1] recursive %}{{ loop([i]) }}{% endfor %}
{% for i in [1] recursive %}{{ loop([i, i]) }}{% endfor %}
{{ ('ab' * 50000) | groupby(0) | list }}
{% for i in range(90000) %}{{ (range(40000) | list | sort) | length }}{% endfor %}
{% for i in range(90000) %}{{ 'b' in big }}{% endfor %}
{% for i in range(90000) %}{{ [1, 2] in items }}{% endfor %}
{% for i in range(90000) %}{{ items == others }}{% endfor %}
{% for i in range(90000) %}{{ items[:] | length }}{% endfor %}
{% for i in range(90000) %}{{ states | length }}{% endfor %}
{% for i in range(90000) %}{{ big | sha512 }}{% endfor %}
{% for i in range(90000) %}{{ big.split('x') | length }}{% endfor %}
{% for i in range(90000) %}{{ big | regex_replace('x', 'y') }}{% endfor %}
{% for i in range(90000) %}{{ ('a' * 3000) | regex_search('a*b') }}{% endfor %}
{{ ('a' * 200000) | regex_replace('a', '\\g<0>\\g<0>\\g<0>') }}
{{ ('a' * 200000) | regex_replace('a', big) }}
{{ ('a' * 100000 ~ 'b') | regex_search('(a+)+$') }}
{{ ('a' * 100000) | regex_findall('(a|aa)+c') }}
{{ ('a' * 100000 ~ 'b') | regex_replace('(a+)+$', '') }}
""".strip().splitlines()


@pytest.fixture
def variables() -> dict[str, object]:
    cyclic: list[object] = []
    cyclic.append(cyclic)
    items = [[number, str(number)] for number in range(5_000)]
    return {"big": BIG, "cyclic": cyclic, "items": items, "others": [list(item) for item in items]}


@pytest.mark.parametrize("text", [*TEXTS, *VALUES, *WORK])
def test_a_hostile_template_is_refused_in_little_memory(
    render: Render, variables: dict[str, object], text: str
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(TemplateFailed):
            render(text, **variables)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < MEMORY_BYTES


@pytest.mark.parametrize("text", WORK)
def test_without_the_clock_the_steps_alone_end_a_hostile_template(
    states: StateMachine, clock: ManualClock, variables: dict[str, object], text: str
) -> None:
    templates = TemplateEngine(states, clock, lambda: BERLIN, limits=TemplateLimits(cpu_s=60.0, steps=20_000))

    with pytest.raises(TemplateFailed):
        templates.compile(text).render(variables)


def test_without_steps_the_clock_alone_ends_a_hostile_template(states: StateMachine, clock: ManualClock) -> None:
    templates = TemplateEngine(states, clock, lambda: BERLIN, limits=TemplateLimits(steps=10**12))
    text = "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}"

    with pytest.raises(TemplateFailed, match="s of work"):
        templates.compile(text).render({})


@pytest.mark.parametrize(
    ("limits", "text", "told"),
    [
        (TemplateLimits(source_chars=10), "{{ 1 }}     {{ 2 }}", "longer than 10 characters"),
        (TemplateLimits(source_parts=20), "{{ 1 }}" * 30, "more than 20 parts"),
        (TemplateLimits(output_chars=10), "{{ 'x' * 6 }}{{ 'x' * 6 }}", "gives more than 10 characters"),
        (TemplateLimits(text_chars=100), "{{ ('x' * 101) | length }}", "a text would have more than 100 characters"),
        (TemplateLimits(total_chars=100), "{{ ('x' * 60) ~ ('x' * 50) }}", "its texts have more than 100 characters"),
        (TemplateLimits(steps=1_000), "{% for i in range(2000) %}{% endfor %}", "more than 1000 steps"),
        (TemplateLimits(value_weight=100), "{{ range(101) | list }}", "a value has more than 100 values"),
        (TemplateLimits(value_weight=100), "{{ [0] * 101 }}", "a list would have more than 100 values"),
        (TemplateLimits(number_bits=64), "{{ 2 ** 65 }}", "a number would have more than 64 bits"),
        (
            TemplateLimits(call_depth=3),
            "{% macro m(n) %}{{ m(n - 1) if n }}{% endmacro %}{{ m(3) }}",
            "more than 3 macros",
        ),
        (TemplateLimits(cpu_s=0.0), "{% for i in range(2000) %}{% endfor %}", "more than 0 s of work"),
    ],
)
def test_each_bound_has_its_own_words(
    states: StateMachine, clock: ManualClock, limits: TemplateLimits, text: str, told: str
) -> None:
    templates = TemplateEngine(states, clock, lambda: BERLIN, limits=limits)

    with pytest.raises(TemplateFailed, match=told):
        templates.compile(text).render({})


@pytest.mark.parametrize(
    "text",
    [
        "{{ states | selectattr('state', 'eq', 'on') | map(attribute='name') | sort | join(', ') }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l | length }}",
        "{% for i in range(2000) %}{{ i }},{% endfor %}",
        "{{ ('word ' * 2000) | wordcount }}",
        "{{ ('a line of a log\n' * 500).splitlines() | select('search', 'log$') | list | length }}",
    ],
)
def test_what_a_household_writes_is_well_within(states: StateMachine, clock: ManualClock, text: str) -> None:
    for number in range(1_000):
        states.set(f"sensor.n{number}", "on" if number % 2 else "off", {"friendly_name": f"Sensor {number}"})
    templates = TemplateEngine(states, clock, lambda: BERLIN, limits=TemplateLimits(cpu_s=60.0))

    assert templates.compile(text).render({}) is not None


def test_work_is_counted_with_the_time_of_the_processor_alone() -> None:
    work = Work(TemplateLimits(cpu_s=0.02))

    time.sleep(0.03)

    work.check()
