"""Folders as other programs leave them, and the home that they are moved into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub.config.seed import seed
from hub.storage.homedir import Home

CONFIGURATION = """\
homeassistant:
  name: Elm Street
  packages: !include_dir_named packages
default_config:
automation: !include automations.yaml
script: !include scripts.yaml
scene:
  - name: Film
    entities:
      light.sofa: {state: "on", brightness: 40, color_mode: color_temp, color_temp_kelvin: 2700, hs_color: [28, 65]}
      switch.lamp: "off"
      sensor.odd: "3"
  - name: Odd
    entities: {sensor.odd: "3"}
input_boolean:
  guests:
rest_command:
  ring: {url: http://example.org}
"""
AUTOMATIONS = """\
# In the morning.
- id: '1700000000001'
  alias: Wake up   # not too early
  trigger:
    - platform: time
      at: "07:00"
  action:
    # all of the kitchen
    - service: light.turn_on
      target: {area_id: kitchen, entity_id: light.stove}
- id: '1700000000002'
  alias: Notes
  triggers:
    - trigger: event
      event_type: bell_pressed
  actions:
    - action: persistent_notification.create
      data: {message: Somebody rang}
- id: '1700000000003'
  alias: Near home
  triggers:
    - trigger: light.turned_on
      target: {entity_id: light.sofa}
  actions: []
- id: '1700000000004'
  alias: Call
  triggers:
    - trigger: webhook
      webhook_id: !secret hook
  actions:
    - delay: 1
- alias: Evening
  triggers: [{trigger: event, event_type: dusk}]
  actions:
    - scene: scene.film
    - if: [{condition: state, entity_id: light.sofa, state: "on"}]
      then:
        - action: scene.turn_on
          target: {entity_id: scene.film}
- alias: Moves
  use_blueprint:
    path: ada/lamp.yaml
    input: {at: "08:00"}
"""
SCRIPTS = """\
tell:
  alias: Tell
  sequence:
    - action: persistent_notification.create   # on the page
      data: {message: "{{ text }}"}
"""
PACKAGE = """\
automation:
  - alias: In a package
    triggers: [{trigger: event, event_type: bell_pressed}]
    actions:
      - action: script.tell
        data: {text: ring}
"""
BLUEPRINT = """\
blueprint:
  name: Lamp
  domain: automation
  input:
    at: {selector: {time: {}}}
triggers:
  - {trigger: time, at: !input at}
actions:
  - delay: 1
"""


def _stored(folder: Path, name: str, data: Any) -> None:
    (folder / ".storage").mkdir(exist_ok=True)
    (folder / ".storage" / name).write_text(json.dumps({"version": 1, "key": name, "data": data}))


def home_assistant(folder: Path) -> Path:
    """Return the configuration folder of a Home Assistant with one of everything."""
    folder.mkdir(parents=True)
    for name, text in {
        "configuration.yaml": CONFIGURATION,
        "automations.yaml": AUTOMATIONS,
        "scripts.yaml": SCRIPTS,
        "secrets.yaml": "hook: hook-8c1f2a\nother: never used\n",
        "packages/bell.yaml": PACKAGE,
        "blueprints/automation/ada/lamp.yaml": BLUEPRINT,
        "blueprints/automation/ada/broken.yaml": "blueprint: {name: No domain}\n",
        "custom_templates/words.jinja": "{% macro hello() %}hello{% endmacro %}\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    _stored(
        folder,
        "core.config",
        {"latitude": 52.5, "longitude": 13.4, "elevation": 34, "time_zone": "Europe/Berlin", "language": "de"},
    )
    areas = [
        {"id": "kitchen", "name": "Kitchen", "floor_id": "eg", "labels": ["warm"], "aliases": ["Cooking"]},
        {"id": "kuche", "name": "Diele"},
    ]
    _stored(folder, "core.floor_registry", {"floors": [{"floor_id": "eg", "name": "Ground floor", "level": 0}]})
    _stored(folder, "core.label_registry", {"labels": [{"label_id": "warm", "name": "Warm", "color": "red"}]})
    _stored(folder, "core.area_registry", {"areas": areas})
    _stored(folder, "person", {"items": [{"id": "ada", "name": "Ada", "user_id": "u1"}, {"id": "ben", "name": "Ben"}]})
    _stored(folder, "auth", {"users": [{"id": "u1", "is_owner": True}]})
    _stored(folder, "zone", {"items": [{"id": "work", "name": "Work", "latitude": 52.4, "longitude": 13.3}]})
    target = {"id": "target", "name": "Target", "min": 5.0, "max": 30.0, "step": 0.5, "mode": "box", "initial": None}
    _stored(folder, "input_number", {"items": [target, {"id": "odd", "name": "Odd"}]})
    _stored(
        folder,
        "core.config_entries",
        {
            "entries": [
                {
                    "domain": "mqtt",
                    "title": "broker",
                    "data": {"broker": "192.168.1.5", "port": 1884, "username": "hub", "password": "secret-word"},
                },
                {"domain": "hue", "title": "Bridge", "data": {}},
                {"domain": "sun", "title": "Sun", "data": {}},
            ]
        },
    )
    return folder


def new_home(folder: Path) -> Path:
    """Return a home as `homarus init` makes it."""
    home = Home(folder)
    home.create()
    seed(home)
    return folder
