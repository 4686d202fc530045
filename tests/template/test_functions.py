"""The functions, filters and tests of Home Assistant's templates, each with what it gives."""

# ruff: noqa: E501 - a template and what it gives stand on one line
from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hub.template.contract import TemplateFailed
from tests.template.conftest import Render

NUMBERS = [
    ("{{ float('3.5') + 1 }}", 4.5),
    ("{{ 'x' | float(7) }}", 7),
    ("{{ float('x', none) is none }}", True),
    ("{{ nothing | float(2) }}", 2),
    ("{{ int('42') }}", 42),
    ("{{ '4.9' | int }}", 4),
    ("{{ 'ff' | int(base=16) }}", 255),
    ("{{ 'x' | int(default=-1) }}", -1),
    ("{{ bool('on') }} {{ bool('No') }} {{ bool(2) }}", "True False True"),
    ("{{ 'perhaps' | bool(false) }}", False),
    (
        "{{ is_number('1e3') }} {{ is_number('x') }} {{ is_number('inf') }} {{ is_number(none) }}",
        "True False False False",
    ),
    ("{{ '12' is is_number }}", True),
    ("{{ 3.14159 | round(2) }}", 3.14),
    ("{{ 2.5 | round }} {{ 2.4 | round(0, 'ceil') }} {{ 2.6 | round(0, 'floor') }}", "2 3 2"),
    ("{{ 2.3 | round(1, 'half') }}", 2.5),
    ("{{ 'x' | round(1, default='?') }}", "?"),
    ("{{ '3' | multiply(4) }}", 12.0),
    ("{{ 3 | add(4) }}", 7),
    ("{{ 'x' | multiply(2, default=0) }}", 0),
    ("{{ log(8, 2) }} {{ log(e) }}", "3.0 1.0"),
    ("{{ sqrt(16) }} {{ sin(0) }} {{ cos(0) }} {{ tan(0) }}", "4.0 0.0 1.0 0.0"),
    ("{{ asin(0) }} {{ acos(1) }} {{ atan(0) }} {{ atan2(0, 1) }}", "0.0 0.0 0.0 0.0"),
    ("{{ atan2([0, 1]) }} {{ atan2('x', 1, 'none') }}", "0.0 none"),
    ("{{ 'x' | sqrt(5) }} {{ -1 | sqrt('no') }}", "5 no"),
    ("{{ pi | round(4) }} {{ tau | round(4) }} {{ e | round(4) }} {{ inf }}", "3.1416 6.2832 2.7183 inf"),
    ("{{ min(3, 1, 2) }} {{ max([3, 1, 2]) }} {{ [4, 5] | min }} {{ [4, 5] | max }}", "1 3 4 5"),
    ("{{ average(1, 2, 3) }} {{ [2, 4] | average }} {{ average([], 'none') }}", "2.0 3.0 none"),
    ("{{ median(1, 9, 3) }} {{ [1, 2] | median }}", "3 1.5"),
    ("{{ statistical_mode(1, 2, 2) }} {{ ['a', 'a', 'b'] | statistical_mode }}", "2 a"),
    ("{{ clamp(15, 0, 10) }} {{ -5 | clamp(0, 10) }}", "10 0"),
    ("{{ wrap(370, 0, 360) }} {{ wrap(-10, 0, 360) }}", "10 350"),
    ("{{ remap(5, 0, 10, 0, 100) }}", 50.0),
    ("{{ remap(15, 0, 10, 0, 100, edges='clamp') }} {{ remap(12, 0, 10, 0, 100, edges='mirror') }}", "100.0 80.0"),
    ("{{ remap(5.4, 0, 10, 0, 100, steps=2) }} {{ remap(12, 0, 10, 0, 100, edges='wrap') }}", "50.0 20.0"),
    ("{{ bitwise_and(12, 10) }} {{ 12 | bitwise_or(3) }} {{ bitwise_xor(12, 10) }}", "8 15 6"),
    (
        "{{ 1 | ordinal }} {{ 2 | ordinal }} {{ 3 | ordinal }} {{ 11 | ordinal }} {{ 112 | ordinal }}",
        "1st 2nd 3rd 11th 112th",
    ),
    ("{{ [[1, 2], [3]] | sum(start=[0]) | join }}", "0123"),
    ("{{ [1, 2, 3] | sum }} {{ [{'a': 1}, {'a': 2}] | sum('a') }} {{ -4 | abs }}", "6 3 4"),
    ("{{ 7 // 2 }} {{ 7 % 2 }} {{ 2 ** 10 }} {{ 7 / 2 }} {{ 5 - 8 }}", "3 1 1024 3.5 -3"),
]
TEXTS = [
    (
        "{{ 'Hello' | upper }} {{ 'Hello' | lower }} {{ 'hELLO' | capitalize }} {{ 'two words' | title }}",
        "HELLO hello Hello Two Words",
    ),
    ("{{ ' x ' | trim }}|{{ 'x' | center(5) }}|", "x|  x  |"),
    ("{{ 'a-b' | replace('-', '+') }} {{ 'aaa' | replace('a', 'b', 2) }} {{ 'a-b'.replace('-', '') }}", "a+b bba ab"),
    ("{{ '%s is %.1f' | format('x', 2) }} {{ '%d%%' % 5 }} {{ '{} {b:>3}'.format(1, b=2) }}", "x is 2.0 5% 1   2"),
    (
        "{{ 'one two three' | truncate(9, leeway=0) }} {{ 'one two three' | truncate(7, true, '', 0) }}",
        "one... one two",
    ),
    ("{{ 'a b c' | wordcount }} {{ 'one two' | wordwrap(3) | replace('\n', '/') }}", "3 one/two"),
    ("{{ 'a\nb' | indent(2) | replace('\n', '/') }}", "a/  b"),
    ("{{ '<b>x</b> &amp; y' | striptags }} {{ '<' | e }} {{ 'x' | safe }}", "x & y &lt; x"),
    ("{{ 1500 | filesizeformat }} {{ 1 | filesizeformat }} {{ 2048 | filesizeformat(true) }}", "1.5 kB 1 Byte 2.0 KiB"),
    ("{{ 'Ünïcode & Co' | slugify }} {{ slugify('a b', '-') }}", "unicode_co a-b"),
    ("{{ 'a b/c' | urlencode }} {{ {'a': 'x y', 'b': 1} | urlencode }}", "a%20b/c a=x+y&b=1"),
    ("{{ 'homarus' | base64_encode }} {{ 'aG9tYXJ1cw==' | base64_decode }}", "aG9tYXJ1cw== homarus"),
    ("{{ 'aGk=' | base64_decode(none) | typeof }}", "bytes"),
    ("{{ md5('a') }}", "0cc175b9c0f1b6a831c399e269772661"),
    ("{{ 'a' | sha1 }}", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
    ("{{ ('a' | sha256)[:8] }} {{ ('a' | sha512)[:8] }}", "ca978112 1f40fc92"),
    ("{{ {'b': 1, 'a': [true, none]} | to_json }}", '{"b":1,"a":[true,null]}'),
    ("{{ {'b': 1, 'a': 2} | to_json(sort_keys=true) }}", {"a": 2, "b": 1}),
    ("{{ {'a': 1} | to_json(pretty_print=true) }}", {"a": 1}),
    ("{{ 'é' | to_json(ensure_ascii=true) }}", '"\\u00e9"'),
    ("{{ ('{\"a\": [1]}' | from_json).a[0] }} {{ from_json('no', 'bad') }}", "1 bad"),
    ("{{ '<&>' | tojson }}", '"\\u003c\\u0026\\u003e"'),
    ("{{ 'a1b22' | regex_findall('[0-9]+') }}", ["1", "22"]),
    ("{{ 'a1b22' | regex_findall('([a-z])([0-9])') }}", [("a", "1"), ("b", "2")]),
    ("{{ 'a1b22' | regex_findall_index('[0-9]+', 1) }}", 22),
    ("{{ 'Hello' | regex_match('hel', ignorecase=true) }} {{ 'Hello' | regex_match('ello') }}", "True False"),
    ("{{ 'Hello' | regex_search('.*ell') }} {{ regex_search('Hello', '^x') }}", "True False"),
    ("{{ 'a, b' | regex_replace('(\\\\w), (\\\\w)', '\\\\2 \\\\1') }}", "b a"),
    ("{{ 'light.x' is match('light') }} {{ 'my light' is search('LIGHT', true) }}", "True True"),
    ("{{ pack(258, '>H') }} {{ 0xAB | pack('>B') | unpack('>B') }} {{ pack('x', '>H') }}", r"b'\x01\x02' 171 None"),
    ("{{ 'A' | ord }} {{ ord('a') }} {{ 'x' ~ 1 ~ none }}", "65 97 x1None"),
    (
        "{{ 'a,b'.split(',') }} {{ 'Abc'.startswith('A') }} {{ '-'.join(['a', 1]) }} {{ 'x'.rjust(3) }}",
        "['a', 'b'] True a-1   x",
    ),
    (
        "{{ 'abcdef'[1:3] }} {{ 'abc'[-1] }} {{ 'abc' | reverse }} {{ 'abc' | first }} {{ 'abc' | last }}",
        "bc c cba a c",
    ),
]
TIMES = [
    ("{{ now() }}", "2026-03-14 16:09:26+01:00"),
    ("{{ utcnow().isoformat() }} {{ now().hour }} {{ now().weekday() }}", "2026-03-14T15:09:26+00:00 16 5"),
    ("{{ today_at('18:30') }} {{ today_at().hour }}", "2026-03-14 18:30:00+01:00 0"),
    ("{{ now() < today_at('16:10') }} {{ today_at('18:30:15').second }}", "True 15"),
    ("{{ as_timestamp(now()) }} {{ as_timestamp('2026-03-14T15:09:26+00:00') }}", "1773500966.0 1773500966.0"),
    ("{{ '2026-03-14 16:09:26' | as_timestamp }} {{ as_timestamp('no', 0) }}", "1773500966.0 0"),
    (
        "{{ as_datetime('2026-03-14 01:02') }} {{ as_datetime(0) }} {{ as_datetime('no') }}",
        "2026-03-14 01:02:00 1970-01-01 00:00:00+00:00 None",
    ),
    ("{{ as_datetime('no', 'x') }} {{ utcnow() | as_local }}", "x 2026-03-14 16:09:26+01:00"),
    ("{{ as_timedelta('01:30:00').total_seconds() }} {{ as_timedelta('5 days 03:00:00').days }}", "5400.0 5"),
    (
        "{{ as_timedelta('PT1H30M') }} {{ as_timedelta('P1W').days }} {{ as_timedelta('-00:10') }}",
        "1:30:00 7 -1 day, 23:59:50",
    ),
    ("{{ as_timedelta('soon') }} {{ as_timedelta('90') }}", "None 0:01:30"),
    ("{{ strptime('14.03.2026', '%d.%m.%Y').year }} {{ strptime('x', '%Y', 'no') }}", "2026 no"),
    ("{{ 1773500966 | timestamp_custom('%H:%M') }} {{ 0 | timestamp_custom('%Y', false) }}", "16:09 1970"),
    (
        "{{ 1773500966 | timestamp_local }} {{ 0 | timestamp_utc }}",
        "2026-03-14T16:09:26+01:00 1970-01-01T00:00:00+00:00",
    ),
    ("{{ 'x' | timestamp_custom('%Y', true, 'no') }} {{ 'x' | timestamp_local('no') }}", "no no"),
    ("{{ relative_time(now() - timedelta(hours=2, minutes=40)) }}", "3 hours"),
    ("{{ relative_time(now() + timedelta(hours=1)) == now() + timedelta(hours=1) }}", True),
    ("{{ time_since(now() - timedelta(hours=2, minutes=40), precision=2) }}", "2 hours 40 minutes"),
    ("{{ time_since(now() - timedelta(days=400, seconds=5), precision=0) }}", "1 year 1 month 5 days 5 seconds"),
    ("{{ time_until(now() + timedelta(minutes=1)) }} {{ time_since(now()) }}", "1 minute 0 seconds"),
    ("{{ now().strftime('%d.%m.') }} {{ (now() - timedelta(days=1)).date() }}", "14.03. 2026-03-13"),
    ("{{ now() is datetime }} {{ 'x' is datetime }}", "True False"),
    ("{{ as_timedelta('00:01:00') * 2 }}", "0:02:00"),
]
LISTS = [
    ("{{ flatten([1, [2, [3]]]) }} {{ [1, [2, [3]]] | flatten(levels=1) }}", "[1, 2, 3] [1, 2, [3]]"),
    ("{{ [1, 2, 3] | intersect([3, 2]) }} {{ difference([1, 2, 3], [2]) }}", "[2, 3] [1, 3]"),
    ("{{ union([1, 2], [2, 3]) }} {{ [1, 2] | symmetric_difference([2, 3]) }}", "[1, 2, 3] [1, 3]"),
    ("{{ combine({'a': 1}, {'a': 2, 'b': 3}) }}", {"a": 2, "b": 3}),
    ("{{ {'a': {'x': 1}} | combine({'a': {'y': 2}}, recursive=true) }}", {"a": {"x": 1, "y": 2}}),
    ("{{ zip([1, 2], ['a', 'b']) | list }} {{ [1] | zip([2]) | list }}", "[(1, 'a'), (2, 'b')] [(1, 2)]"),
    ("{{ set([1, 1, 2]) | length }} {{ tuple([1, 2]) }} {{ (1, 2) | list }}", "2 (1, 2) [1, 2]"),
    ("{{ typeof(1) }} {{ 'x' | typeof }} {{ typeof([]) }} {{ typeof(none) }}", "int str list NoneType"),
    ("{{ [1, 2] | contains(2) }} {{ contains('abc', 'd') }} {{ [1] is contains(1) }}", "True False True"),
    (
        "{{ iif(true, 'a', 'b') }} {{ iif(false, 'a', 'b') }} {{ none | iif('a', 'b', 'c') }} {{ 0 | iif }}",
        "a b c False",
    ),
    ("{{ [1, 2, 3] | shuffle(seed=1) | sort }} {{ shuffle(3, 1, 2) | length }}", "[1, 2, 3] 3"),
    ("{{ [5] | random }} {{ [] | random }}", "5 None"),
    ("{{ [1, 2, 3] | batch(2, 0) | list }} {{ [1, 2, 3] | slice(2) | list }}", "[[1, 2], [3, 0]] [[1, 2], [3]]"),
    ("{{ [3, 1, 2] | sort(reverse=true) }} {{ ['b', 'B', 'a'] | unique | list }}", "[3, 2, 1] ['b', 'a']"),
    ("{{ [{'a': 1}, {'a': 2}] | map(attribute='a') | list }} {{ [1, 2] | map('string') | join('+') }}", "[1, 2] 1+2"),
    ("{{ [1, 2, 3] | select('odd') | list }} {{ [1, 2, 3] | reject('odd') | list }}", "[1, 3] [2]"),
    ("{{ [{'a': 1}, {'a': 2}] | selectattr('a', 'gt', 1) | list }}", [{"a": 2}]),
    ("{{ [{'a': 1}, {}] | rejectattr('a', 'defined') | list }}", [{}]),
    (
        "{% for key, items in [{'k': 1, 'v': 2}, {'k': 1, 'v': 3}] | groupby('k') %}{{ key }}:{{ items | length }}{% endfor %}",
        "1:2",
    ),
    ("{% for group in [{'k': 1}] | groupby('k') %}{{ group.grouper }}{{ group.list }}{% endfor %}", "1[{'k': 1}]"),
    (
        "{{ {'b': 1, 'a': 2} | dictsort }} {{ {'a': 1} | items | list }} {{ {'a': 1}.items() }}",
        "[('a', 2), ('b', 1)] [('a', 1)] [('a', 1)]",
    ),
    (
        "{{ [1, 2] | length }} {{ 'abc' | count }} {{ [1, 2] | first }} {{ [1, 2] | last }} {{ [1, 2] | reverse | list }}",
        "2 3 1 2 [2, 1]",
    ),
    ("{{ nothing | default('x') }} {{ '' | default('y', true) }} {{ 0 | d('z') }}", "x y 0"),
    ("{{ {'a': 1}.get('b', 2) }} {{ {'a': 1} | attr('keys') is callable }} {{ {'items': 1}['items'] }}", "2 True 1"),
    (
        "{{ range(3) | list }} {{ dict(a=1) }} {{ [1, 2] + [3] }} {{ [0] * 3 }} {{ 2 in [1, 2] }}",
        "[0, 1, 2] {'a': 1} [1, 2, 3] [0, 0, 0] True",
    ),
    ("{% set row = cycler('a', 'b') %}{{ row.next() }}{{ row.next() }}{{ row.current }}", "aba"),
    ("{% set comma = joiner(';') %}{{ comma() }}x{{ comma() }}y", "x;y"),
    (
        "{{ version('2026.2.1') > '2026.2' }} {{ version('1.0') == '1' }} {{ version('1.2rc1') < version('1.2') }}",
        "True True True",
    ),
    ("{{ version('2026.2.1').major }} {{ version('v3.4').minor }} {{ version('1.2') }}", "2026 4 1.2"),
    ("{{ [] is list }} {{ (1,) is tuple }} {{ set() is set }} {{ 'x' is string_like }}", "True True True True"),
    (
        "{{ merge_response({'calendar.a': {'events': [{'s': 1}]}, 'calendar.b': {'events': []}}) }}",
        [{"s": 1, "entity_id": "calendar.a", "value_key": "events"}],
    ),
    ("{{ merge_response({'weather.a': {'t': 5}}) }}", [{"t": 5, "entity_id": "weather.a"}]),
    ("{{ apply('5', int) }} {{ ['1', '2'] | map('apply', int) | list }} {{ 4 is apply(is_number) }}", "5 [1, 2] True"),
    (
        "{{ 'x' | is_defined }} {{ 5 is divisibleby(5) }} {{ none is none }} {{ nothing is defined }}",
        "x True True False",
    ),
]
GRAMMAR = [
    (
        "{% for i in range(3) %}{{ loop.index }}/{{ loop.length }}{{ '' if loop.last else ', ' }}{% endfor %}",
        "1/3, 2/3, 3/3",
    ),
    ("{% for i in [] %}x{% else %}none{% endfor %}", "none"),
    (
        "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}.{% endfor %}",
        "0.2.",
    ),
    ("{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", 6),
    (
        "{% for i in [1, [2, [3]]] recursive %}{% if i is list %}({{ loop(i) }}){% else %}{{ i }}{% endif %}{% endfor %}",
        "1(2(3))",
    ),
    ("{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{{ twice('a') }}", "aa"),
    ("{% macro box() %}[{{ caller() }}]{% endmacro %}{% call box() %}x{% endcall %}", "[x]"),
    ("{% macro double(x, returns) %}{% do returns(x * 2) %}{% endmacro %}{{ as_function(double)(4) + 1 }}", 9),
    (
        "{% macro double(x, returns) %}{% do returns(x * 2) %}{% endmacro %}{{ [1, 2] | map('apply', double | as_function) | sum }}",
        6,
    ),
    ("{% set text %}a{{ 1 }}{% endset %}{{ text | upper }}", "A1"),
    ("{% filter upper %}a{% endfilter %}{% with x = 1 %}{{ x }}{% endwith %}", "A1"),
    ("{{ 1 if false }}{{ 'b' if true else 'c' }}", "b"),
    ("{% if 1 < 2 < 3 and 'a' not in 'bcd' %}yes{% endif %}", "yes"),
    ("{# nothing #}{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
    ("{{ [1, 2, 3][1:] }} {{ (1, 2, 3)[::2] }} {{ [[1]][0][0] }}", "[2, 3] (1, 3) 1"),
]


@pytest.mark.parametrize(("text", "expected"), [*NUMBERS, *TEXTS, *TIMES, *LISTS, *GRAMMAR])
def test_a_template_gives(render: Render, text: str, expected: Any) -> None:
    assert render(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ 'x' | float }}", "float got 'x', which it cannot use, and no default was given"),
        ("{{ 'x' | int }}", "int got 'x'"),
        ("{{ bool('perhaps') }}", "bool got 'perhaps'"),
        ("{{ sqrt(-1) }}", "sqrt got -1"),
        ("{{ average([]) }}", "average got []"),
        ("{{ from_json('{') }}", "from_json got '{'"),
        ("{{ strptime('x', '%Y') }}", "strptime got 'x'"),
        ("{{ as_timestamp('x') }}", "as_timestamp got 'x'"),
        ("{{ today_at('soon') }}", "'soon' is not a time of day"),
        ("{{ today_at('18') }}", "'18' is not a time of day"),
        ("{{ today_at('18:30:00:5') }}", "'18:30:00:5' is not a time of day"),
        ("{{ remap(1, 0, 1, 0, 1, edges='soft') }}", "not soft"),
        ("{{ 'a' | regex_search('(') }}", "is not a pattern"),
        ("{{ flatten('abc') }}", "flatten takes lists"),
        ("{{ combine(1) }}", "combine takes mappings"),
        ("{{ merge_response({'a': {'b': [{'entity_id': 1}]}}) }}", "has its own entity_id"),
        ("{{ apply(1, 'int') }}", "is not a function"),
        ("{{ as_function(int) }}", "takes a macro"),
        ("{{ nothing | is_defined }}", "'nothing' is undefined"),
        ("{{ [] | min | float }}", "No aggregated item"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ 'a' + 1 }}", "can only concatenate str"),
        ("{{ [1] | regex_findall_index('x') }}", "there is no element"),
    ],
)
def test_input_that_cannot_be_used_is_told(render: Render, text: str, reason: str) -> None:
    with pytest.raises(TemplateFailed) as failure:
        render(text)

    assert reason in failure.value.message


def test_a_duration_can_be_calculated_with(render: Render) -> None:
    assert (
        render("{{ (timedelta(hours=1) + timedelta(minutes=5)).total_seconds() }}")
        == timedelta(hours=1, minutes=5).total_seconds()
    )


def test_chance_picks_one_of_the_items(render: Render) -> None:
    assert render("{{ ['a', 'b'] | random }}") in {"a", "b"}
