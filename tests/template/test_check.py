"""The check tells what is wrong with a template before anything runs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hub.template.check import check_template
from hub.template.contract import is_template
from hub.template.refused import REFUSED


@pytest.mark.parametrize(
    "text",
    [
        "no template at all",
        "{{ trigger.event.data.x }}",
        "{{ states('light.x') | float(0) > 5 and is_state('a.b', 'on') }}",
        "{% for s in states.light %}{{ s.name }}{% endfor %}",
        "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1) }}",
        "{% set f = as_function(m) if m is defined %}{{ f(1) }}",
        "{{ memory_search('cat') }} {{ sessions() }}",
        "{{ [1] | map('round', 2) | select('odd') | list }}",
        "{{ name | default('x') }} {{ names | map(name) | list }}",
    ],
)
def test_a_good_template_passes(text: str) -> None:
    assert check_template(text) is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{{ x", "line 1: unexpected end of template"),
        ("a\n{{ x | uper }}", "line 2: there is no filter uper; did you mean upper?"),
        ("{{ x is evn }}", "line 1: there is no test evn; did you mean even?"),
        ("{{ stats('light.x') }}", "line 1: there is no function stats; did you mean states?"),
        ("{{ [1] | map('uper') | list }}", "line 1: there is no filter uper; did you mean upper?"),
        ("{{ [1] | selectattr('x', 'evn') | list }}", "line 1: there is no test evn; did you mean even?"),
        ("{{ [1] | select('evn') | list }}", "there is no test evn"),
        ("{{ entity_name('x') }}", "the function entity_name of Home Assistant is not available: there is no registry"),
        ("{{ 'x' | config_entry_id }}", "the filter config_entry_id of Home Assistant is not available"),
        ("{{ ''.__class__ }}", "closed to templates: __class__"),
        ("{{ x | _loop }}", "there is no filter _loop"),
        ("{% include 'x' %}", "line 1: `include` is not available"),
        ("{% from 'x.jinja' import y %}{{ z() }}", "line 1: there is no function z"),
        ("{% block x %}{% endblock %}", "use `macro`"),
        ("{% nope %}", "line 1: Encountered unknown tag 'nope'"),
        ("\n\n{% endif %}", "endif"),
        ("{{ " + "(" * 3000 + " }}", "too deeply nested"),
        ("{{ " + "x" * 20_000 + " }}", "longer than 16384 characters"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, error: str) -> None:
    assert error in str(check_template(text))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_exists_only_in_home_assistant_is_refused_by_name(name: str) -> None:
    told = [str(check_template(f"{{{{ {name}('x') }}}}")), str(check_template(f"{{{{ 'x' | {name} }}}}"))]

    assert all("of Home Assistant is not available" in text for text in told)


def test_functions_that_the_hub_adds_are_known_when_named() -> None:
    assert check_template("{{ mine() }}", functions={"mine"}) is None
    assert "there is no function mine" in str(check_template("{{ mine() }}"))


@pytest.mark.parametrize(
    ("text", "is_one"), [("{{ x }}", True), ("{% x %}", True), ("{# x #}", True), ("{ x }", False), ("", False)]
)
def test_a_template_is_known_by_its_braces(text: str, is_one: bool) -> None:
    assert is_template(text) is is_one


def test_nothing_loads_jinja_before_a_template_is_looked_at() -> None:
    code = (
        "import sys, hub.template.contract, hub.template.check, hub.template.engine;"
        "from hub.template.check import check_template; check_template('no template');"
        "print([name for name in sys.modules if name.startswith('jinja2')])"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert shown.stdout.strip() == "[]"
