"""The states as rows of a table: filtered, bounded and without secrets."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hub.core.states import EntityState, StateMachine
from hub.gateway.calls.plain_data import as_json
from hub.security.redaction import Redactor
from web.core.render import Renderer
from web.settings.yaml_view import to_yaml

ROWS_LIMIT = 200
QUERY_LIMIT = 200
ATTRIBUTES_LIMIT = 4_000
TOPIC = "states"


class StateFilter(Struct, frozen=True):
    """Words that each row shows."""

    query: str = ""

    @classmethod
    def of_query(cls, query: str) -> StateFilter:
        """Return the filter of a query."""
        return cls(" ".join(query[:QUERY_LIMIT].lower().split()))

    @classmethod
    def of_topic(cls, topic: str) -> StateFilter:
        """Return the filter of a live topic, `states:WORDS`."""
        return cls.of_query(topic.partition(":")[2])

    @property
    def topic(self) -> str:
        """The live topic of these rows."""
        return f"{TOPIC}:{self.query}" if self.query else TOPIC

    def fits(self, state: EntityState) -> bool:
        """Whether a state matches."""
        if not self.query:
            return True
        text = f"{state.entity_id} {state.name} {state.state}".lower()
        return all(word in text for word in self.query.split())


class StateRows:
    """Shows states.

    Args:
        states: The states.
        redactor: Takes secrets out.
        renderer: Formats times.
    """

    def __init__(self, states: StateMachine, redactor: Redactor, renderer: Renderer) -> None:
        self._states = states
        self._redactor = redactor
        self._renderer = renderer

    def page(self, wanted: StateFilter) -> dict[str, Any]:
        """Return the matching rows, and their total number."""
        found = [state for state in self._states.all() if wanted.fits(state)]
        return {
            "q": wanted.query,
            "topic": wanted.topic,
            "count": len(found),
            "states": [self._row(state) for state in found[:ROWS_LIMIT]],
            "limit": ROWS_LIMIT,
        }

    def form(self, entity_id: str) -> dict[str, str]:
        """Return the form's values of an entity; empty without one."""
        state = self._states.get(entity_id)
        if state is None:
            return {"entity_id": entity_id[:256], "state": "", "attributes": ""}
        row = self._row(state)
        return {"entity_id": entity_id, "state": row["state"], "attributes": row["attributes"]}

    def _row(self, state: EntityState) -> dict[str, Any]:
        clean = self._redactor.redact_data(as_json({"state": state.state, "attributes": dict(state.attributes)}))
        attributes = {key: each for key, each in clean["attributes"].items() if key != "set_by"}
        shown = to_yaml(attributes) if attributes else ""
        cut = len(shown) > ATTRIBUTES_LIMIT
        ts_ms = int(state.last_updated * 1000)
        return {
            "entity_id": state.entity_id,
            "key": state.entity_id.replace(".", "-"),
            "name": str(clean["attributes"].get("friendly_name") or ""),
            "state": clean["state"],
            "attributes": shown[:ATTRIBUTES_LIMIT] + ("…" if cut else ""),
            "count": len(attributes),
            "when": self._renderer.when(ts_ms, seconds=True),
            "iso": self._renderer.iso(ts_ms),
        }
