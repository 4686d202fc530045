"""Automations, scripts and a blueprint in a home, for the tests of the pages that make more of them."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self

from tests.servers.hub_process import HubProcess

AUTOMATIONS = """\
# Automations of the browser tests.
- id: porch
  alias: Porch light
  triggers:
    - trigger: state
      entity_id: sensor.porch
      to: "dark"
  actions:
    - event: porch_lit
      event_data: {by: "{{ trigger.to_state.state }}"}
- id: doorbell
  alias: Doorbell
  triggers:
    - trigger: event
      event_type: doorbell_rang
  actions:
    - event: doorbell_heard
"""
SCRIPTS = """\
# Scripts of the browser tests.
greet:
  alias: Greet somebody  # kept
  fields:
    who:
      name: Whom
      description: Who is greeted.
      required: true
      selector: {text: {}}
    times:
      name: How often
      default: 1
      selector: {number: {min: 1, max: 5}}
  sequence:
    - variables: {answer: {greeting: "Hello {{ who }}, {{ times }} times"}}
    - stop: done
      response_variable: answer
"""
SECTIONS = """\
automation: !include automations.yaml
script: !include scripts.yaml
"""
BLUEPRINT = """\
blueprint:
  name: Tell when it rings
  description: Fires an event when another one comes.
  domain: automation
  author: A neighbour
  input:
    kind:
      name: Which event
      default: bell_rang
    more:
      name: More
      collapsed: true
      input:
        loud:
          name: How loud
          default: 5
          selector: {number: {min: 1, max: 10, unit_of_measurement: dB}}
        when:
          name: Only until
          default: "23:00:00"
          selector: {time: {}}
        where:
          name: Where
          default: []
          selector: {entity: {multiple: true}}
        lit:
          name: With light
          default: true
          selector: {boolean: {}}
    what:
      name: What it tells
      description: A word.
triggers:
  - trigger: event
    event_type: !input kind
actions:
  - event: bell_told
    event_data: {what: !input what, loud: !input loud, lit: !input lit}
"""


def furnish(home: Path) -> None:
    """Add the sections to a home whose configuration is there."""
    (home / "automations.yaml").write_text(AUTOMATIONS)
    (home / "scripts.yaml").write_text(SCRIPTS)
    with (home / "configuration.yaml").open("a") as file:
        file.write(SECTIONS)


def outcomes(hub: HubProcess, automation: str) -> list[str]:
    """Return what became of the runs of an automation that have ended, the newest first."""
    traces = hub.rpc("automation.trace", {"id": automation})["traces"]
    return [each["outcome"] for each in traces if each["finished"]]


class TextServer:
    """Serves one text over HTTP, which may change."""

    def __init__(self) -> None:
        self.text = ""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = server.text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._http.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._http.server_port

    @property
    def url(self) -> str:
        """The address of the text."""
        return f"http://127.0.0.1:{self.port}/told.yaml"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
