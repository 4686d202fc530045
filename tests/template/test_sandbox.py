"""What a hostile template tries to reach, it does not reach."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.secret import Secret
from hub.template.contract import TemplateFailed
from hub.template.environment import TemplateSandbox
from hub.template.library import fill
from hub.template.work import TemplateLimits
from tests.template.conftest import BERLIN, Render

REFUSED = r"""
{{ ''.__class__ }}
{{ ''['__class__'] }}
{{ '' | attr('__class__') }}
{{ '' | attr('__cl' ~ 'ass__') }}
{{ ().__class__.__base__.__subclasses__() }}
{{ [''] | map(attribute='__class__') | list }}
{{ [''] | map('attr', '__class__') | list }}
{{ [''] | sort(attribute='__class__') }}
{{ [''] | groupby('__class__') }}
{{ [''] | selectattr('__class__') | list }}
{{ [''] | sum('__class__') }}
{{ [''] | join(attribute='__class__') }}
{{ '{0.__class__}'.format('a') }}
{{ '{0[__class__]}'.format('a') }}
{{ '{a.__class__}'.format_map({'a': 1}) }}
{{ now.__globals__ }}
{{ now.__call__.__globals__ }}
{{ states.__class__ }}
{{ states._reader }}
{{ states['_reader'] }}
{{ states.light.kitchen._zone }}
{{ states.light.kitchen.__class__ }}
{{ now().__class__ }}
{{ now().tzinfo.__class__ }}
{{ self }}
{{ self._TemplateReference__context }}
{% for i in [1] %}{{ loop }}{% endfor %}{{ loop._iterable }}
{% for i in [1] %}{{ loop._iterable }}{% endfor %}
{% for i in [1] %}{{ loop['__init__'] }}{% endfor %}
{% macro m() %}{% endmacro %}{{ m._func }}
{% macro m() %}{% endmacro %}{{ m['__call__'] }}
{% macro m() %}{% endmacro %}{{ m.__init__.__globals__ }}
{{ namespace.__init__ }}
{{ namespace(a=1)['_Namespace__attrs'] }}
{{ cycler('a').__init__ }}
{{ joiner().__init__ }}
{{ [].append(1) }}
{{ [1].pop() }}
{{ [1].clear() }}
{{ {}.update({'a': 1}) }}
{{ {'a': 1}.pop('a') }}
{{ {}.setdefault('a', 1) }}
{{ set([1]).add(2) }}
{{ data.list.append(1) }}
{{ data.update({}) }}
{{ data['list'].clear() }}
{{ data.list.sort() }}
{% set data.x = 1 %}
{% do data.list.extend([1]) %}
{{ (1).to_bytes(10, 'big') }}
{{ 'a'.encode() }}
{{ 'a'.translate({}) }}
{{ 'a'.maketrans({}) }}
{{ 'a'.expandtabs(1000000000) }}
{{ (1.5).fromhex('1') }}
{{ now().strptime('1', '%d') }}
{{ ([1] | map('string')).gi_frame.f_globals }}
{{ ([1] | map('string')).throw(1) }}
{{ 1 | _spend }}
{{ [-1000000] | map('_spend') | list }}
{% set name = '_spend' %}{{ [-1000000] | map(name) | list }}
{% set name = '_loop' %}{{ [1] | map(name) | list }}
{{ thing }}
{{ thing() }}
{{ [thing] }}
{{ [thing] | list }}
{{ thing | string }}
{{ thing ~ '' }}
{{ '%s' % thing }}
{{ '{}'.format(thing) }}
{{ thing | to_json }}
{{ thing == thing }}
{{ thing | length }}
{{ thing + 1 }}
{% for x in thing %}{% endfor %}
{{ secret }}
{{ secret.get() }}
{{ [secret] | join }}
{{ data.call() }}
{{ data['call']() }}
{{ [1] | map(data.call) | list }}
{{ apply(1, data.call) }}
{{ 1 is apply(data.call) }}
{{ caller() }}
{{ super() }}
{% include 'x' %}
{% import 'x' as x %}
{% from 'x' import y %}
{% extends 'x' %}
{% block x %}{% endblock %}
{% autoescape true %}{% endautoescape %}
""".strip().splitlines()

EMPTY = r"""
{{ states.light.kitchen.raw }}
{{ states.light.kitchen['raw'] }}
{{ states.light.kitchen.local }}
{{ now.call }}
{{ now.name }}
{{ now | attr('call') }}
{{ thing.value }}
{{ thing['value'] }}
{{ thing.method }}
{{ data.call.real }}
{{ now().tzinfo.key }}
{{ 'x'.zfill.real }}
""".strip().splitlines()


class Thing:
    """An object that has no place in a template."""

    value = "reached"

    def method(self) -> str:
        return "reached"

    def __call__(self, *_: Any) -> str:
        return "reached"

    def __str__(self) -> str:
        return "reached"

    __repr__ = __str__


@pytest.fixture
def variables() -> dict[str, Any]:
    return {"thing": Thing(), "secret": Secret("reached"), "data": {"list": [1, 2], "call": Thing()}}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_closed_is_refused(render: Render, variables: dict[str, Any], text: str) -> None:
    with pytest.raises(TemplateFailed) as failure:
        render(text, **variables)

    assert "reached" not in failure.value.reason
    assert variables["data"]["list"] == [1, 2]


@pytest.mark.parametrize("text", EMPTY)
def test_what_is_not_listed_does_not_exist(render: Render, variables: dict[str, Any], text: str) -> None:
    assert render(text, **variables) == ""


def test_every_filter_function_and_test_refuses_a_foreign_object(render: Render, templates: Any) -> None:
    sandbox: TemplateSandbox = templates._environment()
    attempts = [
        *(f"{{{{ thing | {name} }}}}" for name in sandbox.filters if not name.startswith("_")),
        *(f"{{{{ {name}(thing) }}}}" for name in sandbox.globals if name not in {"e", "pi", "tau", "phi", "inf"}),
        *(f"{{{{ thing is {name} }}}}" for name in sandbox.tests if name.isidentifier() and name not in {"in"}),
    ]
    results = [str(_outcome(render, text)) for text in attempts]

    assert len(results) > 200
    assert not [text for text, result in zip(attempts, results, strict=True) if "reached" in result]


def test_every_name_in_the_sandbox_is_guarded(templates: Any) -> None:
    sandbox = TemplateSandbox(TemplateLimits(), lambda _message: None)
    fill(sandbox, templates._states, templates._clock, lambda: BERLIN)

    unguarded = [
        name
        for table in (sandbox.filters, sandbox.tests)
        for name, call in table.items()
        if not name.startswith("_") and not hasattr(call, "__wrapped__")
    ]

    assert unguarded == []


def _outcome(render: Render, text: str) -> Any:
    try:
        return render(text, thing=Thing())
    except TemplateFailed as failure:
        return failure.reason
