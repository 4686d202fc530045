"""A hub with everything that its gateway serves, over a scripted model server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer

CONFIGURATION = """\
hub:
  name: Test
automation: !include automations.yaml
script:
  greet:
    alias: Greet
    fields: {who: {description: Whom, required: true}}
    sequence:
      - variables: {words: "Hello {{ who }}"}
      - stop: done
        response_variable: greeting
        enabled: false
"""
AUTOMATIONS = """\
# What happens by itself.
- id: bell
  alias: Bell  # the one at the front door
  triggers:
    - trigger: event
      event_type: bell_pressed
  actions:
    # told to whoever listens
    - event: bell_heard
      event_data: {door: "{{ trigger.event.data.door | default('front') }}"}
- id: never
  alias: Never
  triggers:
    - trigger: event
      event_type: bell_pressed
  conditions: "{{ false }}"
  actions:
    - event: never_heard
- id: hook
  alias: Hook
  triggers:
    - trigger: webhook
      webhook_id: front-door
    - trigger: webhook
      webhook_id: from-afar
      local_only: false
      secret: a-secret-of-many-letters
  actions:
    - event: hook_called
      event_data: {json: "{{ trigger.json }}", data: "{{ trigger.data }}", query: "{{ trigger.query }}"}
"""
"""What a home of these tests says."""
AGENTS: list[dict[str, Any]] = [{"id": "main", "default": True}, {"id": "kitchen"}]


UNUSED = ("entities", "memory", "model accounts", "nodes", "pairing", "sandboxes", "skills")


def living(path: Path, server: OpenAIServer, **sections: Any) -> HubFixture:
    """Return a hub with these automations and agents, to be entered."""
    return HubFixture(
        path,
        server.base_url,
        sections={"agents": AGENTS, **sections},
        files={"configuration.yaml": CONFIGURATION, "automations.yaml": AUTOMATIONS},
        without=UNUSED,
    )
