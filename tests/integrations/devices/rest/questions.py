"""What a Home Assistant core and this hub are asked about sensors of servers: answers, and what is read from them."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

_JSON = {
    "t": 21.5,
    "n": "12,5",
    "e": "",
    "b": True,
    "nul": None,
    "list": [1, 2],
    "day": "2026-01-02",
    "long": "x" * 300,
    "at": "2026-01-02T03:04:05+01:00",
    "naive": "2026-01-02T03:04:05",
    "rows": [{"a": 1, "b": [2], "c": {"d": 3}}],
}
_TEXTS: dict[str, tuple[str, str]] = {
    "/json": ("application/json", json.dumps(_JSON)),
    "/list": ("application/json", '[{"a": 5}, {"a": 6}]'),
    "/text": ("text/plain", " on \n"),
    "/num": ("text/plain", "1"),
    "/empty": ("text/plain", ""),
    "/xml": ("text/xml", '<a v="1"><b>x</b><b>y</b></a>'),
    "/yes": ("text/plain", "Yes"),
}


def _key(name: str) -> dict[str, str]:
    return {"value_template": f"{{{{ value_json.{name} }}}}"}


_OK = {"value_template": "ok"}
_SENSORS: dict[str, list[dict[str, Any]]] = {
    "/json": [
        {**_key("t"), "unit_of_measurement": "°C", "device_class": "temperature", "state_class": "measurement"},
        {**_key("n"), "unit_of_measurement": "W"},
        *(_key(each) for each in ("e", "b", "nul", "nothing.at.all", "long")),
        *({**_key(each), "device_class": "timestamp"} for each in ("at", "naive")),
        {**_key("day"), "device_class": "date"},
        {**_OK, "json_attributes": ["a", "b", "c", "z"], "json_attributes_path": "$.rows[0]"},
        {**_OK, "json_attributes": "t, list"},
        {**_OK, "json_attributes": ["a"], "json_attributes_path": "$..rows[*]"},
        {**_OK, "json_attributes": ["a"], "json_attributes_path": "$.rows"},
        {**_OK, "json_attributes": ["d"], "json_attributes_path": "rows[0].c"},
        {**_OK, "availability": "{{ value_json.t > 100 }}"},
        {**_OK, "picture": "/local/{{ value_json.t }}.png"},
        {"value_template": "{{ value_json.t }},{{ value_json.t }}"},
    ],
    "/list": [{"value_template": "{{ value_json[1].a }}", "json_attributes": ["a"]}],
    "/text": [{}, {"value_template": "{{ value }}|{{ value_json is defined }}"}],
    "/num": [{"unit_of_measurement": "W", "icon": "mdi:{{ 'fire' if value | int > 0 else 'x' }}"}],
    "/empty": [{}, {"unit_of_measurement": "W"}],
    "/xml": [{"value_template": "{{ value_json.a['@v'] }}{{ value_json.a.b }}"}],
}
_BINARY: dict[str, list[dict[str, Any]]] = {
    "/text": [{}],
    "/num": [{"device_class": "door"}],
    "/yes": [{}],
    "/empty": [{}],
    "/json": [_key("b"), _key("t"), _key("nothing.x")],
    "/xml": [{"value_template": "{{ value_json.a['@v'] }}"}],
}


def section(url: str) -> list[dict[str, Any]]:
    """Return the section `rest:` over a server; entities are named by their place."""
    found = []
    for path in _TEXTS:
        resource: dict[str, Any] = {"resource": url + path}
        for domain, of in (("sensor", _SENSORS), ("binary_sensor", _BINARY)):
            if path in of:
                resource[domain] = [{"name": f"{path[1:]} {n}", **each} for n, each in enumerate(of[path])]
        found.append(resource)
    return found


async def answer(request: web.BaseRequest) -> web.Response:
    kind, text = _TEXTS[request.path]
    return web.Response(body=text.encode(), headers={"Content-Type": kind})
