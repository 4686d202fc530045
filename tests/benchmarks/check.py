"""Checking a large configuration: 1 000 items of 37 lines, each with the shape of an automation.

The engine that runs automations is not there yet, so a custom integration brings the schema: three triggers, two
conditions, a choice and a repetition. What is measured is `homarus check` as a whole process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.homes import empty_home
from tests.benchmarks.table import Row, row

ITEMS = 1_000
RUNS = 5

SCHEMA = '''"""Rules with the shape of automations."""

from __future__ import annotations

from hub.core.schema import AnyOf, In, Optional, Required, Schema, entity_id, positive_seconds, slug, string

TRIGGER = {
    Required("trigger"): In(["state", "time", "event"]),
    Optional("entity_id"): entity_id,
    Optional("from"): string,
    Optional("to"): string,
    Optional("for"): positive_seconds,
    Optional("at"): string,
    Optional("event_type"): slug,
    Optional("event_data"): {str: object},
}
CONDITION = {
    Required("condition"): In(["state", "time"]),
    Optional("entity_id"): entity_id,
    Optional("state"): string,
    Optional("after"): string,
}
CALL = {Required("action"): string, Optional("target"): {Required("entity_id"): entity_id}, Optional("data"): dict}
CONFIG_SCHEMA = Schema(
    [
        {
            Required("id"): slug,
            Required("alias"): string,
            Required("mode"): In(["single", "restart", "queued", "parallel"]),
            Required("triggers"): [TRIGGER],
            Required("conditions"): [CONDITION],
            Required("actions"): [
                AnyOf(
                    CALL,
                    {Required("choose"): [{Required("conditions"): [CONDITION], Required("sequence"): [CALL]}]},
                    {Required("repeat"): {Required("count"): int, Required("sequence"): [CALL]}},
                )
            ],
        }
    ]
)
'''

ITEM = """\
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


def write_home(home: Path, items: int = ITEMS) -> None:
    """Make a home with that many rules in an included file."""
    folder = home / "custom_integrations" / "ruleset"
    folder.mkdir(parents=True)
    manifest = {"domain": "ruleset", "name": "Rule set", "kind": "tool", "version": "1.0.0"}
    (folder / "manifest.json").write_text(json.dumps(manifest | {"documentation": "https://example.org"}))
    (folder / "schema.py").write_text(SCHEMA)
    (folder / "__init__.py").write_text(
        '"""Rules for a benchmark."""\n\nasync def setup(hub, config):\n    pass\n\nasync def unload(hub):\n    pass\n'
    )
    (home / "configuration.yaml").write_text("hub: {name: Bench}\nruleset: !include rules.yaml\n")
    (home / "rules.yaml").write_text("".join(ITEM.format(n=n, m=n % 60) for n in range(items)))


def measure() -> list[Row]:
    """Check the home, each time in a process of its own; then break one item and see that it is found."""
    with empty_home() as home:
        home.mkdir()
        write_home(home)
        lines = len((home / "rules.yaml").read_text().splitlines())
        assert lines == ITEMS * 37, lines
        taken = [_check(home, 0) for _ in range(RUNS)]
        rules = home / "rules.yaml"
        rules.write_text(rules.read_text().replace("entity_id: person.me", "entity_id: person me"))
        broken = [_check(home, 3) for _ in range(2)]
    return [
        row("homarus check, 1,000 items of 37 lines", "s", taken, "< 1.5"),
        row("homarus check, an error in each of them", "s", broken),
    ]


def _check(home: Path, expected: int) -> float:
    command = [str(Path(sys.executable).parent / "homarus"), "check", "--json", "--config", str(home)]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ}, check=False)
    taken = time.perf_counter() - begun
    assert done.returncode == expected, done.stdout[:2000] + done.stderr[:2000]
    return taken
