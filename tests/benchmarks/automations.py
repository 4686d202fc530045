"""Homes with many automations: the two corpora of PERFORMANCE, 1 000 of 37 lines and 5 000 of eight.

Nothing that was read or validated is kept between two starts, since reading it again is quick enough: the first start
of a home costs what every start does, and the goals for warm ones hold for all.
"""

from __future__ import annotations

from pathlib import Path

LARGE = """\
- id: rule_{n}
  alias: Rule number {n}
  mode: single
  triggers:
    - trigger: state
      entity_id: binary_sensor.door_{n}
      from: "off"
      to: "on"
      for: 00:00:30
    - trigger: time
      at: "07:{m:02d}"
    - trigger: event
      event_type: button_pressed
      event_data: {{button: b{n}}}
  conditions:
    - condition: state
      entity_id: person.me
      state: home
    - condition: time
      after: "06:00"
  actions:
    - choose:
        - conditions:
            - condition: state
              entity_id: light.kitchen_{n}
              state: "off"
          sequence:
            - action: light.turn_on
              target: {{entity_id: light.kitchen_{n}}}
              data: {{brightness: {m}}}
    - repeat:
        count: 2
        sequence:
          - action: notify.me
            data:
              message: Door {n} is open
              title: Door
"""
"""Three triggers, two conditions, choose and repeat; 37 lines."""

SMALL = """\
- id: rule_{n}
  alias: Rule number {n}
  triggers:
    - trigger: event
      event_type: button_pressed
      event_data: {{button: b{n}}}
  actions:
    - {{action: light.turn_on, data: {{brightness: {m}}}}}
"""
"""One event trigger with data, one service call; eight lines."""


def items(form: str, count: int) -> str:
    """Return so many automations of one form as the text of a file."""
    return "".join(form.format(n=number, m=number % 60) for number in range(count))


def write_home(home: Path, form: str, count: int) -> Path:
    """Make a home with so many automations in an included file; return that file."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "configuration.yaml").write_text(
        "hub: {name: Bench}\nagents:\n  - {id: main, default: true}\nautomation: !include automations.yaml\n"
    )
    file = home / "automations.yaml"
    file.write_text(items(form, count))
    return file
