"""Template entities: images, and those that blueprints make."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, fire, outside, restart

_PICKED = {"trigger": "event", "event_type": "picked"}
_IMAGES: dict[str, Any] = {
    "name": "template images",
    "first": [outside("sensor.outside", "one")],
    "watch": ["image."],
    "http": True,
    "config": {
        "template": [
            {
                "image": [
                    {
                        "name": "Map",
                        "unique_id": "map",
                        "url": "http://127.0.0.1/{{ states('sensor.outside') }}.png",
                        "icon": "mdi:map",
                        "attributes": {"said": "{{ states('sensor.outside') }}"},
                    },
                    {"name": "Fixed", "url": "http://127.0.0.1/one.png", "verify_ssl": False},
                    {"url": "{{ 1 / 0 }}"},
                    {
                        "name": "Away",
                        "url": "http://127.0.0.1/a",
                        "availability": "{{ is_state('sensor.outside', '2') }}",
                    },
                    {"name": "Pictured", "url": "http://127.0.0.1/a", "picture": "/local/b.png"},
                ]
            },
            {
                "trigger": _PICKED,
                "image": [
                    {"name": "Picked", "url": "{{ trigger.event.data.url }}", "attributes": {"a": "{{ 1 + 1 }}"}}
                ],
            },
        ]
    },
    "steps": [
        advance(5),
        outside("sensor.outside", "one", changed=True),
        outside("sensor.outside", "2"),
        advance(5),
        fire("picked", url="http://127.0.0.1/picked.png"),
        advance(5),
        fire("picked", url="http://127.0.0.1/picked.png"),
        fire("picked"),
        restart(),
    ],
}

_FOLLOWS = """
blueprint:
  name: Follows
  domain: template
  input:
    source: {selector: {entity: {}}}
    step: {default: 1, selector: {number: {min: 0, max: 10}}}
variables:
  source: !input source
  step: !input step
sensor:
  name: By its author
  unit_of_measurement: °C
  state: "{{ states(source) | float(0) + step }}"
"""
_HEARD = """
blueprint:
  name: Heard
  domain: template
  input:
    event: {selector: {text: {}}}
trigger:
  - platform: event
    event_type: !input event
variables:
  word: "{{ trigger.event.data.word }}"
binary_sensor:
  state: "{{ word == 'yes' }}"
  attributes:
    word: "{{ word }}"
"""
_BLUEPRINTS: dict[str, Any] = {
    "name": "template blueprints",
    "first": [outside("sensor.outside", "19.5")],
    "watch": ["sensor.", "binary_sensor."],
    "files": {"blueprints/template/me/follows.yaml": _FOLLOWS, "blueprints/template/me/heard.yaml": _HEARD},
    "config": {
        "template": [
            {"use_blueprint": {"path": "me/follows.yaml", "input": {"source": "sensor.outside"}}},
            {
                "use_blueprint": {"path": "me/follows.yaml", "input": {"source": "sensor.outside", "step": 5}},
                "name": "Much more",
                "unique_id": "much_more",
            },
            {
                "use_blueprint": {"path": "me/heard.yaml", "input": {"event": "said"}},
                "name": "It was said",
                "unique_id": "heard",
            },
        ]
    },
    "steps": [
        outside("sensor.outside", "21"),
        fire("said", word="yes"),
        fire("said", word="no"),
        restart(),
    ],
}

SCENES: list[dict[str, Any]] = [_IMAGES, _BLUEPRINTS]
